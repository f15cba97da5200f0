"""The strongest attack that a search finds: blocks of added and removed records, improved against retrained models.

The attacker knows the records, the learner, its budget and the test records, and retrains at will: far more than
anybody outside has. A plan is a list of blocks. It is changed at random, and kept when the learner's mean accuracy,
over some retrainings, falls. What the search believes of its best plan is too good, because it was chosen for that:
measure it again, with fresh retrainings.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.progress import Progress
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.surrogate import WeakLeaf, weak_leaves
from privet.robustness.attacks.table_edits import joined, rows_of
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain


@dataclass(frozen=True)
class PoisonBlock:
    """``n`` copies of a row with a label, added; or ``n`` records of a leaf with a label, removed (``leaf``)."""

    label: Any
    n: int
    row: int = -1
    leaf: int = -1


Plan = tuple[PoisonBlock, ...]


@dataclass(frozen=True, eq=False)
class SearchedAttack:
    """Searches for ``minutes`` against ``estimator`` on the records of ``probe``; ``runs`` models try each plan."""

    estimator: Any
    probe: Probe
    minutes: float = 1.0
    runs: int = 25
    progress: Any = None

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        y = np.asarray(y)
        moves = _Moves(np.unique(y), weak_leaves(X, y), len(y), budget, rng)
        end = time.monotonic() + 60 * self.minutes
        best = min((self._measured(X, y, plan, moves.leaves) for plan in moves.first()), key=lambda found: found[0])
        with Progress(self.progress, "attacking", end) as bar:
            while time.monotonic() < end:
                found = self._measured(X, y, moves.changed(best[1]), moves.leaves)
                if found[0] <= best[0]:
                    # Measured again before it is believed, so that luck alone does not carry a plan for ever.
                    again = self._measured(X, y, found[1], moves.leaves)
                    best = ((found[0] + again[0]) / 2, found[1]) if again[0] <= best[0] else best
                bar.note(f"accuracy {best[0]:.4f}")
        return applied(X, y, best[1], moves.leaves)

    def _measured(self, X: Any, y: np.ndarray, plan: Plan, leaves: list[WeakLeaf]) -> tuple[float, Plan]:
        poisoned = applied(X, y, plan, leaves)
        outcomes, _ = retrain(
            self.estimator, poisoned.X, poisoned.y, [self.probe], runs=self.runs, n_jobs=1, progress=False
        )
        return outcomes[0].mean, plan


def applied(X: Any, y: np.ndarray, plan: Plan, leaves: list[WeakLeaf]) -> Poisoned:
    """The records once a plan was carried out; blocks that ask for more than there is take what there is."""
    gone = np.zeros(len(y), dtype=bool)
    for block in plan:
        if block.leaf >= 0:
            rows = leaves[block.leaf].rows
            gone[rows[(y[rows] == block.label) & ~gone[rows]][: block.n]] = True
    added = [block for block in plan if block.row >= 0 and block.n]
    rows = np.repeat([block.row for block in added], [block.n for block in added]).astype(np.int64)
    labels = np.repeat(np.array([block.label for block in added], dtype=y.dtype), [block.n for block in added])
    kept = np.flatnonzero(~gone)
    poisoned = joined(rows_of(X, kept), rows_of(X, rows))
    return Poisoned(poisoned, np.concatenate([y[kept], labels]), int(gone.sum()) + len(rows))


@dataclass(frozen=True, eq=False)
class _Moves:
    """Plans to begin with, and random changes of a plan; all of them spend ``budget``."""

    classes: np.ndarray
    leaves: list[WeakLeaf]
    n_rows: int
    budget: int
    rng: np.random.Generator

    def first(self) -> list[Plan]:
        plans: list[Plan] = [(self._block(self.budget),) for _ in range(4)]
        for i, leaf in enumerate(self.leaves):
            row = int(self.rng.choice(leaf.rows))
            plans.append((PoisonBlock(leaf.rival, self.budget, row=row),))
            plans.append((PoisonBlock(leaf.label, self.budget, leaf=i),))
        return plans

    def changed(self, plan: Plan) -> Plan:
        """Another block, another label, two halves of a block, or one block's records for another."""
        i = int(self.rng.integers(len(plan)))
        block, others = plan[i], plan[:i] + plan[i + 1 :]
        kind = self.rng.integers(4)
        if kind == 0 or (kind == 3 and not others):
            return (*others, self._block(block.n))
        if kind == 1:
            return (*others, replace(block, label=self.rng.choice(self.classes)))
        if kind == 2 and block.n > 1:
            half = int(self.rng.integers(1, block.n))
            return (*others, replace(block, n=half), self._block(block.n - half))
        if not others:
            return (self._block(block.n),)
        j = int(self.rng.integers(len(others)))
        return (*others[:j], replace(others[j], n=others[j].n + block.n), *others[j + 1 :])

    def _block(self, n: int) -> PoisonBlock:
        label = self.rng.choice(self.classes)
        if self.rng.random() < 0.3:
            return PoisonBlock(label, n, leaf=int(self.rng.integers(len(self.leaves))))
        return PoisonBlock(label, n, row=int(self.rng.integers(self.n_rows)))
