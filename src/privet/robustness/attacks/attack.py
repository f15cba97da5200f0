"""What all attacks share: an attacker who may add, remove or change some training records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Poisoned:
    """Poisoned training records. ``distance`` is how many records were added or removed; a changed one is two."""

    X: Any
    y: np.ndarray
    distance: int


class Attack(Protocol):
    """Poisons at most ``budget`` records, counted as added or removed."""

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned: ...
