"""Noisy sums: charged first, counted exactly, then noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy as np

from privet.curators.base import Budget, Node, Tally, budgets
from privet.curators.counting import Counting, ratio
from privet.curators.statistics import owner_statistics, statistic_sensitivity
from privet.errors import LeakError
from privet.privacy.event import Event
from privet.privacy.fixed_point import TARGET_BITS
from privet.privacy.mechanisms import scale_for
from privet.privacy.sensitivity import (
    euclidean_sensitivity,
    gradient_tally_sensitivity,
    tally_sensitivity,
    target_tally_sensitivity,
)
from privet.questions.candidates import Split
from privet.questions.linear_maps import grouped

MEASURES = {
    "records": ("tally", tally_sensitivity),
    "target": ("target_tally", target_tally_sensitivity),
    "gradient": ("gradient_tally", gradient_tally_sensitivity),
}
"""What a tally may add up, with the lemma and the L1 sensitivity of so many tables; ``euclidean_`` lemmas are of L2."""


class Tallies(Counting):
    """``tally``, ``owner_sum`` and, at the price of infinity, ``peek``."""

    noises: Mapping[str, str] = MappingProxyType({"epsilon": "geometric", "rho": "gaussian"})
    """The noise that a currency pays for."""

    def tally(self, tallies: Mapping[Node, Tally], budget: Budget) -> dict[Node, np.ndarray]:
        if not tallies:
            return {}
        return self._noisy_tallies(tallies, self._charge_tallies(tallies, budget))

    def _charge_tallies(self, tallies: Mapping[Node, Tally], budget: Budget) -> list[float]:
        """Check and charge; the noise scale that each node has paid for."""
        nodes = list(tallies)
        self._own(nodes)
        self._fit_all(tally.tables for tally in tallies.values())
        for tally in tallies.values():
            if tally.measure not in MEASURES:
                raise LeakError(f"A tally's measure is one of {', '.join(MEASURES)}, not {tally.measure!r}.")
            if tally.measure == "target" and self.schema.target is None:
                raise LeakError("There is no numeric target to add up: this schema has classes.")
            if tally.measure == "gradient":
                self._has_scores(tally.output)
        events, scales = [], []
        for (node, tally), amount in zip(tallies.items(), budgets(nodes, budget)):
            event = self._sum_event(node, "tally", *MEASURES[tally.measure], max(1, len(tally.tables)), amount)
            events.append((node.scope, self._tally_event(event, tally)))
            scales.append(event.scale)
        self.ledger.charge(events)
        return scales

    def _sum_event(
        self, node: Node, question: str, lemma: str, constant: Callable[[int], int], tables: int, amount: Fraction
    ) -> Event:
        """What noisy sums over so many tables are charged: by L1 in epsilon, by L2 in rho."""
        mechanism = self.noises[node.scope.currency]
        sensitivity = Fraction(constant(tables))
        if node.scope.currency == "rho":
            lemma, sensitivity = f"euclidean_{lemma}", euclidean_sensitivity(constant(1), tables)
        scale = scale_for(sensitivity, ratio(node, mechanism, amount))
        return Event(node.scope.path, question, mechanism, sensitivity, scale, amount, f"{lemma}({tables})")

    def _tally_event(self, event: Event, tally: Tally) -> Event:
        """What is charged for a tally; raises, before anything is, if it cannot be answered."""
        return event

    def _noisy_tallies(self, tallies: Mapping[Node, Tally], scales: Sequence[float]) -> dict[Node, np.ndarray]:
        exact = self._exact_tallies(tallies)
        return self._noisy({node: exact[node] for node in tallies}, scales)

    def _noisy(self, exact: Mapping[Node, np.ndarray], scales: Sequence[float]) -> dict[Node, np.ndarray]:
        """Each node's exact integers with noise of its scale, of the kind that its currency pays for."""
        answers: dict[Node, np.ndarray] = dict.fromkeys(exact, np.empty(0))
        # One call for all nodes that share a scale: a level, as a rule.
        alike: dict[tuple[str, float], list[Node]] = {}
        for node, scale in zip(exact, scales):
            alike.setdefault((node.scope.currency, scale), []).append(node)
        for (currency, scale), together in alike.items():
            flat = np.concatenate([exact[node].ravel() for node in together])
            noisy = getattr(self._mechanisms, self.noises[currency])(flat, scale)
            ends = np.cumsum([exact[node].size for node in together])[:-1]
            for node, values in zip(together, np.split(noisy, ends) if len(ends) else [noisy]):
                answers[node] = values.reshape(exact[node].shape)
        return answers

    def _exact_tallies(self, tallies: Mapping[Node, Tally]) -> dict[Node, np.ndarray]:
        exact: dict[Node, np.ndarray] = {
            node: self._gradient_tables(node, tally) for node, tally in tallies.items() if tally.measure == "gradient"
        }
        plain = [node for node, tally in tallies.items() if not tally.tables and node not in exact]
        tables = [node for node, tally in tallies.items() if tally.tables and node not in exact]
        for node, totals in zip(plain, self._totals(plain)[:, None] if plain else ()):
            exact[node] = self._measured(totals, tallies[node])
        for batch in self._batches(tables) if tables else ():
            histograms = self._histograms(batch)
            for places in _alike([tallies[node].tables for node in batch]):
                counts = self._tables(histograms[places], tallies[batch[places[0]]].tables)
                exact.update((batch[i], self._measured(own, tallies[batch[i]])) for i, own in zip(places, counts))
        return exact

    def _tables(self, histograms: np.ndarray, tables: Sequence[Split]) -> np.ndarray:
        """The cells of tables, one table below the other, of histograms of (..., cells, numbers)."""
        offsets = self._cells().offsets
        spans = [(offsets[split.feature], offsets[split.feature + 1]) for split in tables]
        each = [grouped(histograms[..., a:b, :], split) for (a, b), split in zip(spans, tables)]
        return np.concatenate(each, axis=-2)

    def _gradient_tables(self, node: Node, tally: Tally) -> np.ndarray:
        # Every record is in one part of a table that has one.
        tables = tally.tables or (Split(0, bytes(self._cells().features[0].n_cells)),)
        sums = self._gradients([node], tally.output, [split.feature for split in tables])[0]
        ends = np.cumsum([len(split.part) for split in tables])
        each = zip(np.split(sums, ends[:-1]), tables)
        return np.concatenate([grouped(cells, split) for cells, split in each])

    def _measured(self, statistics: np.ndarray, tally: Tally) -> np.ndarray:
        """What a tally asks for, from the statistics that cells hold."""
        if tally.measure == "target":
            high_ends = statistics[..., 0] << TARGET_BITS
            return np.stack([statistics[..., 1], high_ends - statistics[..., 1]], axis=-1)
        by_class = tally.by_class and self.schema.classes is not None
        return statistics if by_class else self._records(statistics)

    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        if "owner_sum" not in self.capabilities:
            self._cannot("owner_sum")
        if not tables:
            return {}
        scales = self._charge_sums(tables, statistic, budget)
        exact: dict[Node, np.ndarray] = {}
        nodes = list(tables)
        for places in _alike(list(tables.values())):
            for batch in self._batches([nodes[i] for i in places]):
                exact.update(zip(batch, self._sums(batch, tables[batch[0]])))
        return self._noisy({node: exact[node] for node in tables}, scales)

    def _sums(self, nodes: Sequence[Node], tables: Sequence[Split]) -> np.ndarray:
        """Every table's statistic for each of these nodes, added up over the owners: here there is one."""
        classes = self.schema.classes is not None
        return owner_statistics(self._histograms(nodes), self._cells(), tables, classes=classes)

    def _charge_sums(self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget) -> list[float]:
        """Check and charge; the noise scale that each node has paid for."""
        nodes = list(tables)
        self._own(nodes)
        self._fit_all(tables.values())
        events, scales = [], []
        for (node, own), amount in zip(tables.items(), budgets(nodes, budget)):
            constant = partial(statistic_sensitivity, statistic)
            event = self._sum_event(node, "owner sum", statistic, constant, len(own), amount)
            events.append((node.scope, event))
            scales.append(event.scale)
        self.ledger.charge(events)
        return scales

    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        if not len(nodes):
            return {}
        self._own(nodes)
        self._cells()
        self.ledger.charge(
            (node.scope, Event(node.scope.path, "peek", "peek", Fraction(0), 0.0, math.inf, "peek")) for node in nodes
        )
        return dict(zip(nodes, self._histograms(nodes)))


def _alike(tables: Sequence[tuple[Split, ...]]) -> list[list[int]]:
    """The places of those that are asked for the same tables, together: a level, as a rule."""
    alike: dict[int, list[int]] = {}
    for i, own in enumerate(tables):
        alike.setdefault(id(own), []).append(i)
    return list(alike.values())
