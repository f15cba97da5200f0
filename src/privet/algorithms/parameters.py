"""Checks of parameters, before any record is read, and the generator that public structures are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import PrivetError


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


def check_hint(hint: Any) -> None:
    """Raise unless ``n_records`` is left out or a number that a float holds."""
    if hint is not None and not (is_number(hint) and 0 <= float(hint) <= 1e300):
        raise PrivetError(f"n_records is about how many records there are, a number from 0 on; got {hint!r}.")


def public_generator(structure: int | None, random_state: Any) -> np.random.Generator:
    """What a public structure is drawn from: its own seed, or one beside the noise's; any will do."""
    if structure is not None or random_state is None:
        return np.random.default_rng(structure)
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(int(random_state.integers(2**31)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    return np.random.default_rng([1, random_state])  # not the numbers that the noise is made of
