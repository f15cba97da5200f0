"""Models by name: every class in ``registry.MODELS``, made with what ``--set name=value`` says."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from privet.cli.screen import say
from privet.errors import PrivetError

DEFAULTS = {"classification": "PrivateTreeClassifier", "regression": "PrivateTreeRegressor"}
"""What is learned where nobody says what, by the schema's task."""

OPTIONS = {"schema": "--schema", "epsilon": "--epsilon", "random_state": "--seed"}
"""Parameters that have an option of their own."""


def settings(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``name=value``: numbers, true, false and none as such, anything else as text.

    >>> settings(["max_depth=3", "leaves=counts", "share=1/3", "n_records=none", "early_stop=true"])
    {'max_depth': 3, 'leaves': 'counts', 'share': '1/3', 'n_records': None, 'early_stop': True}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise PrivetError(f"--set takes name=value, such as --set max_depth=3; got {text!r}")
        if name in OPTIONS:
            raise PrivetError(f"{name} is not for --set: it has the option {OPTIONS[name]}")
        if name in found:
            raise PrivetError(f"--set gives {name} twice")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    known = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in known:
        return known[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text


def make(name: str, **params: Any) -> Any:
    """A model by the name of its class, its parameters checked."""
    kind = find(name)
    known = parameters(kind)
    for param in params:
        if param not in known:
            free = ", ".join(own for own in known if own not in OPTIONS)
            raise PrivetError(f"{name} has no parameter {param}; it has {free}")
    model = kind(**params)
    try:
        model._budget()  # parameters that make no sense are refused before any record is read
    except TypeError:
        raise PrivetError(f"a parameter of {name} is of a wrong type: see privet models {name}") from None
    return model


def find(name: str) -> Any:
    """The class of that name."""
    from privet.algorithms.registry import MODELS, model_class

    if name not in MODELS:
        raise PrivetError(f"there is no model {name}: choose one of {', '.join(MODELS)}")
    return model_class(name)


def parameters(kind: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class, with their defaults."""
    return {name: own for name, own in inspect.signature(kind.__init__).parameters.items() if name != "self"}


def show(name: str | None) -> None:
    """Every model with one line about it, or all about one."""
    from privet.algorithms.registry import MODELS

    if name is not None:
        kind = find(name)
        say(inspect.getdoc(kind) or "")
        own = [f"{param}={p.default!r}" for param, p in parameters(kind).items() if param not in OPTIONS]
        say(f"\nFor --set, as they come: {', '.join(own)}")
        return
    width = max(map(len, MODELS))
    for each in MODELS:
        first = (inspect.getdoc(find(each)) or "").partition("\n")[0]
        say(f"{each:{width}}  {first}")
