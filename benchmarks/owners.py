"""Several owners in one process, without messages or masks: the law of masked sums, fast enough for simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privet import MemoryCurator, Schema
from privet.curators.base import Budget, Node
from privet.curators.statistics import owner_statistics
from privet.privacy.mechanisms import SeededMechanisms
from privet.privacy.sensitivity import Score
from privet.tree.candidates import Candidates, Choice, Split
from privet.tree.grid import Grid


class Owners(MemoryCurator):
    """All records for sums, whose noise is that of all owners' shares together; and each owner's for its own choices.

    As ``FederatedCurator`` with nobody colluding, it cannot choose for all. Noise is seeded: for research alone.
    """

    capabilities = frozenset({"tally", "choose_each", "owner_sum"})

    def __init__(self, tables: Sequence[tuple[Any, Any]], schema: Schema, seed: Any) -> None:
        X, y = (np.concatenate([np.asarray(own[i]) for own in tables]) for i in (0, 1))
        noise = SeededMechanisms(np.random.default_rng(seed))
        super().__init__(X, y, schema, mechanisms=noise)
        self.n_owners = len(tables)
        self._parties = [MemoryCurator(*own, schema, mechanisms=noise) for own in tables]
        self._theirs: dict[Node, list[Node]] = {}

    def root(self, *args: Any) -> Node:
        node = super().root(*args)
        self._theirs[node] = [party.root() for party in self._parties]
        return node

    def grid(self, grid: Grid) -> None:
        super().grid(grid)
        for party in self._parties:
            party.grid(grid)

    def split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        children = super().split(splits)
        for i, party in enumerate(self._parties):
            theirs = party.split({self._theirs[node][i]: split for node, split in splits.items()})
            for node, own in children.items():
                for child, of_party in zip(own, theirs[self._theirs[node][i]]):
                    self._theirs.setdefault(child, []).append(of_party)
        return children

    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        if not tables:
            return {}
        scales = self._charge_sums(tables, statistic, budget)
        grid, exact = self._cells(), {}
        classes = self.schema.classes is not None
        for i, party in enumerate(self._parties):
            histograms = party._histograms([self._theirs[node][i] for node in tables])
            for (node, own), histogram in zip(tables.items(), histograms):
                exact[node] = exact.get(node, 0) + owner_statistics(histogram, grid, own, classes=classes)
        return self._noisy(exact, scales)

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
        for i, party in enumerate(self._parties):
            theirs = {self._theirs[node][i]: options for node, options in candidates.items()}
            for (node, options), winner in zip(candidates.items(), party._winners(theirs, score, mechanism, scales)):
                chosen[node].append(options.choice(winner))
        return chosen


class NoBounds(Owners):
    """Owners whose least impurities are all 0."""

    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        scales = self._charge_sums(tables, statistic, budget)
        return self._noisy({node: np.zeros(len(own), dtype=np.int64) for node, own in tables.items()}, scales)
