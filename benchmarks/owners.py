"""Several owners in one process, without messages or masks: the law of masked sums, fast enough for simulations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from privet import Ledger, MemoryCurator, Schema
from privet.curators.desk import Desk
from privet.curators.memory import Held, MemoryRoom
from privet.curators.records import Records
from privet.curators.statistics import owner_statistics
from privet.privacy.event import Event
from privet.privacy.mechanisms import SeededMechanisms
from privet.privacy.scores import Score
from privet.questions.grid import Grid
from privet.questions.split import Choice


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
    ``noise="own"`` is each owner's whole noise. It is seeded: for research alone. With a ``delta`` noise is Skellam's.
    """

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
        self._noise = OwnersNoise(np.random.default_rng(seed), shares)
        super().__init__(X, y, schema, ledger=Ledger(math.inf, delta, whole_orders=True), mechanisms=self._noise)
        self._owner = np.repeat(np.arange(len(tables)), [len(labels) for _, labels in tables])

    def open(self) -> Desk:
        room = OwnersRoom(self.records, self._noise, self._owner)
        desk = Desk(self.schema, self.ledger, room, trust=self.trust, void=self.void)
        desk.capabilities = frozenset({"tally", "choose_each", "owner_sum", "zcdp"})
        return desk


class OwnersRoom(MemoryRoom):
    """A record's owner is counted like a class, so that one pass counts for all of them."""

    noises = MappingProxyType({"epsilon": "geometric", "rho": "skellam_shares"})

    def __init__(self, records: Records, mechanisms: OwnersNoise, owner: np.ndarray) -> None:
        super().__init__(records, mechanisms)
        self.n_owners = int(owner.max()) + 1
        self._n_classes = len(records.schema.classes or ())
        self._labels = (self._labels + self._n_classes * owner).astype(np.uint16)
        self._asked: int | None = None  # the owner that counts; None: all together
        self._all: dict[Held, np.ndarray] = {}  # all owners' histograms on the present grid

    @property
    def _width(self) -> int:
        return self.n_owners * self._n_classes

    def use(self, grid: Grid) -> None:
        super().use(grid)
        self._all = {}

    def totals(self, nodes: Sequence[Held]) -> np.ndarray:
        return self._seen(self._by_owner(super().totals(nodes)))

    def histograms(self, nodes: Sequence[Held]) -> np.ndarray:
        if self._asked is not None:
            return self._seen(self._by_owner(super().histograms(nodes)))
        if new := [held for held in nodes if held not in self._all]:
            self._all.update(zip(new, self._by_owner(super().histograms(new)).sum(axis=-2)))
        return np.stack([self._all[held] for held in nodes])

    def _by_owner(self, counts: np.ndarray) -> np.ndarray:
        return counts.reshape(*counts.shape[:-1], self.n_owners, self._n_classes)

    def _seen(self, counts: np.ndarray) -> np.ndarray:
        return counts.sum(axis=-2) if self._asked is None else counts[..., self._asked, :]

    def owner_sum(self, asked: Sequence[Any], events: Sequence[Event], statistic: str) -> list[np.ndarray]:
        exact = []
        for held, tables in asked:
            counts = np.moveaxis(self._by_owner(super().histograms([held])), -2, 0)
            exact.append(owner_statistics(counts, self._cells(), tables, classes=True).sum(axis=0)[0])
        return self._noisy(exact, events)

    def choose_each(
        self, asked: Sequence[Any], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[list[Choice]]:
        chosen: list[list[Choice]] = [[] for _ in asked]
        for owner in range(self.n_owners):
            self._asked = owner
            for own, choice in zip(chosen, self.choose(asked, events, score, mechanism)):
                own.append(choice)
        self._asked = None
        return chosen
