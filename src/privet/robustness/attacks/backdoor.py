"""A backdoor: copies of records with a trigger and a false label, so that the trigger turns predictions later.

BadNets (Gu, Dolan-Gavitt and Garg 2017), as PrivaTree's Figure 4 has it. The trigger of a table is a value, or several,
that its features take; of an image, a patch of pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.table_edits import joined, overwritten, rows_of
from privet.robustness.probe import WithstoodProbe


@dataclass(frozen=True)
class Backdoor:
    """``trigger`` maps columns (names, or numbers in an array) to values; ``target`` is the label that it brings about.

    >>> X, y = np.zeros((3, 2)), np.array(["no", "no", "yes"])
    >>> door = Backdoor({1: 9.0}, "yes")
    >>> poisoned = door.poison(X, y, 1, np.random.default_rng(0))
    >>> poisoned.X[-1].tolist(), str(poisoned.y[-1]), poisoned.distance
    ([0.0, 9.0], 'yes', 1)
    """

    trigger: Mapping[Any, Any]
    target: Any

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        """Add copies of records of other classes, with the trigger and the target as their label."""
        y = np.asarray(y)
        others = np.flatnonzero(y != self.target)
        if not len(others):
            raise PrivetError(f"Every record has the label {self.target!r}: there is nothing to turn into it.")
        chosen = rng.choice(others, budget, replace=budget > len(others))
        stamped = overwritten(rows_of(X, chosen), self.trigger)
        return Poisoned(joined(X, stamped), np.concatenate([y, np.full(budget, self.target, dtype=y.dtype)]), budget)

    def probe(self, X_test: Any, y_test: np.ndarray) -> WithstoodProbe:
        """The test records of other classes, with the trigger."""
        others = np.flatnonzero(np.asarray(y_test) != self.target)
        if not len(others):
            raise PrivetError(f"Every test record has the label {self.target!r}: the backdoor has nothing to turn.")
        stamped = overwritten(rows_of(X_test, others), self.trigger)
        return WithstoodProbe(stamped, np.full(len(others), self.target))
