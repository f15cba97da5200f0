"""Parameters of estimators: fields that say what they may be, and the generator that public structures are drawn from.

An estimator is a dataclass. ``check_parameters`` looks at its fields before any record is read; what depends on several
of them is for the estimator's own ``_check_params``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import BudgetError, PrivetError
from privet.privacy.amounts import exact

NO_EPSILON = (
    "epsilon is not set, and it has no default: how much a model may tell about one person is for you to decide. "
    "Smaller is more private. Usual are 0.1 to 1: with epsilon 0.1 a guess whether somebody was in the records is "
    "right in at most 52.5% of cases, with epsilon 1 in at most 73.2%; blind guesses are right in 50%. "
    "`privet plan --schema SCHEMA.toml --n-records N --choose` shows how accurate a model is at each, for nothing."
)


def parameter(default: Any, check: Callable[[str, Any], None]) -> Any:
    """A field whose value must pass ``check``; None always passes where it is the default."""
    return field(default=default, metadata={"check": check})


def whole(default: int | None, least: int = 1, most: float = math.inf) -> Any:
    """A whole number from ``least`` to ``most``."""
    return parameter(default, lambda name, value: check_whole(name, value, least, most))


def choice(*choices: Any) -> Any:
    """One of these; the first is the default."""
    return parameter(choices[0], lambda name, value: check_choice(name, value, choices))


def fraction(default: float) -> Any:
    """A number between 0 and 1, both excluded."""
    return parameter(default, _check_fraction)


def hint() -> Any:
    """About how many records there are, if that is public."""
    return parameter(None, check_hint)


def checked_budget(epsilon: Any) -> Fraction:
    """An estimator's epsilon, exact; BudgetError that says how to choose one where none was given."""
    if epsilon is None:
        raise BudgetError(NO_EPSILON)
    return exact(epsilon)


def check_misplaced(model: Any, given: Mapping[str, Any]) -> None:
    """Raise TypeError, as Python does, for what is no argument of ``fit``; and say where a parameter belongs."""
    for name in given:
        if name in model.get_params(deep=False):
            raise TypeError(f"fit() takes no {name}: it belongs to the model, {type(model).__name__}(..., {name}=...).")
        raise TypeError(f"fit() got an unexpected keyword argument {name!r}")


def check_parameters(model: Any) -> None:
    """Raise PrivetError for a field that may not have its value."""
    for own in fields(model):
        value = getattr(model, own.name)
        if "check" in own.metadata and not (value is None and own.default is None):
            own.metadata["check"](own.name, value)


def check_whole(name: str, value: Any, least: int = 1, most: float = math.inf) -> None:
    """Raise unless a parameter is a whole number from ``least`` to ``most``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        within = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise PrivetError(f"{name} must be a whole number {within}; got {value!r}.")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise unless a parameter is one of the words that it may be."""
    if not any(value is choice or (isinstance(choice, str) and value == choice) for choice in choices):
        raise PrivetError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_hint(name: str, value: Any) -> None:
    """Raise unless a number of records is one that a float holds."""
    if not (is_number(value) and 0 <= float(value) <= 1e300):
        raise PrivetError(f"{name} is about how many records there are, a number from 0 on; got {value!r}.")


def check_share(name: str, value: Any) -> None:
    """Raise unless a number is at least 0 and below a half."""
    if not (is_number(value) and 0 <= value < 0.5):
        raise PrivetError(f"{name} is a share, from 0 to below 0.5; got {value!r}.")


def _check_fraction(name: str, value: Any) -> None:
    if not (is_number(value) and 0 < value < 1):
        raise PrivetError(f"{name} must lie between 0 and 1; got {value!r}.")


def public_generator(structure: int | None, random_state: Any) -> np.random.Generator:
    """What a public structure is drawn from: its own seed, or one beside the noise's; any will do."""
    if structure is not None or random_state is None:
        return np.random.default_rng(structure)
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(int(random_state.integers(2**31)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    return np.random.default_rng([1, random_state])  # not the numbers that the noise is made of
