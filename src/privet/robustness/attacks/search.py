"""The strongest attack that a search finds: blocks of added and removed records, improved against retrained models.

The attacker knows the records, the learner, its budget and the test records, and retrains at will: far more than
anybody outside has. The search begins with what tilts the law (``attacks/tilt.py``) and with the weakest leaves of a
surrogate. It changes the best plan at random, or by another tilt, and keeps what lowers the mean accuracy. Two plans
are compared with the same noise, and several times with fresh noise, because most changes are far smaller than noise.
What the search believes of its best plan is still too good, because it was chosen for that: measure it again, with
fresh retrainings.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.progress import Progress
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.plan import Plan, PoisonBlock, applied, copies
from privet.robustness.attacks.surrogate import WeakLeaf, weak_leaves
from privet.robustness.attacks.tilt import Tilt
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain

_ROUNDS = 6
"""A plan takes the best one's place if it is ahead of it after each of so many rounds."""

_MODELS = 12
"""A tilt looks at so many times the models of a round."""

_TILTS = 0.2
"""The share of changes that are another tilt: one takes as long as several of the others."""


@dataclass(frozen=True, eq=False)
class SearchedAttack:
    """Searches for ``minutes`` against ``estimator`` on the records of ``probe``; a round trains ``runs`` models."""

    estimator: Any
    probe: Probe
    minutes: float = 1.0
    runs: int = 25
    progress: Any = None

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        y, end = np.asarray(y), time.monotonic() + 60 * self.minutes
        tilt = Tilt(self.estimator, self.probe, _MODELS * self.runs)
        moves = _Moves(X, y, weak_leaves(X, y), budget, tilt, rng)
        best, tried, taken = tilt.plan(X, y, budget, rng), 0, 0
        others = iter(moves.first())
        with Progress(self.progress, "attacking", end) as bar:
            while time.monotonic() < end:
                plan = next(others, None) or moves.changed(best)
                ahead = self._ahead(applied(X, y, plan), applied(X, y, best), rng)
                best, tried, taken = plan if ahead else best, tried + 1, taken + ahead
                bar.note(f"{taken} of {tried} changes kept")
        return applied(X, y, best)

    def _ahead(self, one: Poisoned, other: Poisoned, rng: np.random.Generator) -> bool:
        """Whether the first leaves less accuracy, round after round."""
        gained = 0.0
        for _ in range(_ROUNDS):
            seed = int(rng.integers(2**31))
            gained += self._left(other, seed) - self._left(one, seed)
            if gained <= 0:
                return False
        return True

    def _left(self, bad: Poisoned, seed: int) -> float:
        return retrain(
            self.estimator, bad.X, bad.y, [self.probe], runs=self.runs, random_state=seed, n_jobs=1, progress=False
        )[0][0].mean


@dataclass(frozen=True, eq=False)
class _Moves:
    """Plans to begin with, and changes of a plan; all of them spend ``budget``."""

    X: Any
    y: np.ndarray
    leaves: list[WeakLeaf]
    budget: int
    tilt: Tilt
    rng: np.random.Generator

    def first(self) -> list[Plan]:
        """Each leaf turned, by records added and by records removed."""
        plans: list[Plan] = []
        for leaf in self.leaves:
            plans.append((copies(self.X, int(self.rng.choice(leaf.rows)), leaf.rival, self.budget),))
            plans.append((PoisonBlock(leaf.label, self.budget, leaf=leaf),))
        return plans

    def changed(self, plan: Plan) -> Plan:
        """Some of a block's records, or all, for others: a tilt's, any, those of another block, or another label's."""
        i = int(self.rng.integers(len(plan)))
        block, others = plan[i], plan[:i] + plan[i + 1 :]
        if self.rng.random() < 0.5 and block.n > 1:
            part = int(self.rng.integers(1, block.n))
            others, block = (*others, replace(block, n=block.n - part)), replace(block, n=part)
        if self.rng.random() < _TILTS:
            return (*others, self.tilt.block(self.X, self.y, others, block.n, self.rng))
        kind = self.rng.integers(3)
        if kind == 0 and others:
            j = int(self.rng.integers(len(others)))
            return (*others[:j], replace(others[j], n=others[j].n + block.n), *others[j + 1 :])
        if kind == 1:
            return (*others, replace(block, label=self._label()))
        return (*others, self._any(block.n))

    def _any(self, n: int) -> PoisonBlock:
        if self.rng.random() < 0.3:
            return PoisonBlock(self._label(), n, leaf=self.leaves[int(self.rng.integers(len(self.leaves)))])
        return copies(self.X, int(self.rng.integers(len(self.y))), self._label(), n)

    def _label(self) -> Any:
        return self.rng.choice(np.unique(self.y))
