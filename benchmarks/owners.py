"""Several owners in one process, without messages or masks: the law of masked sums, fast enough for simulations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from privet import Ledger, MemoryCurator, Schema
from privet.curators.base import Budget, Node
from privet.curators.statistics import owner_statistics
from privet.privacy.mechanisms import SeededMechanisms
from privet.privacy.scores import Score
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid
from privet.questions.split import Choice, Split


class OwnersNoise(SeededMechanisms):
    """Sums have the noise of all owners' shares together: ``shares`` times as much as one machine's."""

    def __init__(self, generator: np.random.Generator, shares: float) -> None:
        super().__init__(generator)
        self._shares = shares

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        p = -math.expm1(-1 / scale)
        if self._shares == 1 or p >= 1:
            return super().geometric(values, scale)
        one, other = self.generator.negative_binomial(self._shares, p, (2, *np.shape(values)))
        return np.asarray(values, dtype=np.int64) + one - other

    def skellam_shares(self, values: np.ndarray, scale: float) -> np.ndarray:
        one, other = self.generator.poisson(self._shares * scale**2 / 2, (2, *np.shape(values)))
        return np.asarray(values, dtype=np.int64) + one - other


def _together(parts: Sequence[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


class Owners(MemoryCurator):
    """All records for sums, whose noise is that of all owners' shares together; and each owner's for its own choices.

    As ``FederatedCurator`` it cannot choose for all. ``colluders`` are tolerated: the noise of the others is enough;
    ``noise="own"`` is each owner's whole noise. It is seeded: for research alone. A record's owner is counted like a
    class, so that one pass counts for all of them. With a ``delta`` noise is Skellam's.
    """

    capabilities = frozenset({"tally", "choose_each", "owner_sum", "zcdp"})
    noises = MappingProxyType({"epsilon": "geometric", "rho": "skellam_shares"})

    def __init__(
        self,
        tables: Sequence[tuple[Any, Any]],
        schema: Schema,
        seed: Any,
        *,
        colluders: int = 0,
        noise: str = "shared",
        delta: float | None = None,
    ) -> None:
        X, y = (_together([own[i] for own in tables]) for i in (0, 1))
        shares = len(tables) if noise == "own" else len(tables) / (len(tables) - colluders)
        ledger = Ledger(math.inf, delta, whole_orders=True)
        super().__init__(X, y, schema, ledger=ledger, mechanisms=OwnersNoise(np.random.default_rng(seed), shares))
        self.n_owners = len(tables)
        self._n_classes = len(schema.classes or ())
        owner = np.repeat(np.arange(self.n_owners), [len(labels) for _, labels in tables])
        self._labels = (self._labels + self._n_classes * owner).astype(self._labels.dtype)
        self._asked: int | None = None  # the owner that counts; None: all together

    @property
    def _width(self) -> int:
        return self.n_owners * self._n_classes

    def _totals(self, nodes: Sequence[Node]) -> np.ndarray:
        return self._seen(self._by_owner(super()._totals(nodes)))

    def _histograms(self, nodes: Sequence[Node]) -> np.ndarray:
        if self._asked is not None:
            return self._seen(self._by_owner(super()._histograms(nodes)))
        if new := [node for node in nodes if node not in self._together]:
            self._together.update(zip(new, self._by_owner(super()._histograms(new)).sum(axis=-2)))
        return np.stack([self._together[node] for node in nodes])

    def grid(self, grid: Grid) -> None:
        super().grid(grid)
        self._together: dict[Node, np.ndarray] = {}  # all owners' histograms on the present grid

    def _by_owner(self, counts: np.ndarray) -> np.ndarray:
        return counts.reshape(*counts.shape[:-1], self.n_owners, self._n_classes)

    def _seen(self, counts: np.ndarray) -> np.ndarray:
        return counts.sum(axis=-2) if self._asked is None else counts[..., self._asked, :]

    def _sums(self, nodes: Sequence[Node], tables: Sequence[Split]) -> np.ndarray:
        counts = np.moveaxis(self._by_owner(super()._histograms(nodes)), -2, 0)
        return owner_statistics(counts, self._cells(), tables, classes=True).sum(axis=0)

    def choose_each(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, list[Choice]]:
        if not candidates:
            return {}
        scales = self._charge_choice(candidates, score, budget, mechanism)
        chosen: dict[Node, list[Choice]] = {node: [] for node in candidates}
        for owner in range(self.n_owners):
            self._asked = owner
            for (node, options), winner in zip(candidates.items(), self._winners(candidates, score, mechanism, scales)):
                chosen[node].append(options.choice(winner))
        self._asked = None
        return chosen
