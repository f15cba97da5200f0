"""What the base install lacks: an extra that is missing is named, and its names can still be imported and listed."""

from __future__ import annotations

import importlib.util
from typing import Any, NoReturn

from privet.errors import MissingExtraError


def need(extra: str, *packages: str) -> None:
    """Raise, saying what to install, if one of these packages is not there."""
    lacking = [package for package in packages if importlib.util.find_spec(package) is None]
    if lacking:
        raise MissingExtraError(f"This needs {' and '.join(lacking)}: pip install 'privet[{extra}]'")


def stand_in(name: str, missing: MissingExtraError) -> Any:
    """What can be imported and listed in place of a class whose extra is not installed; using it says what is missing.

    So ``from privet import *`` and ``help(privet)`` work whatever is installed.
    """

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise MissingExtraError(f"{name}: {missing}") from None

    return type(name, (), {"__init__": refuse, "__doc__": f"Not installed. {missing}", "__module__": "privet"})
