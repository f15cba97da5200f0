"""The rooms behind desks that can count exactly in one place: noise on sums, selection by scores, quantiles.

A room says how to count, and how to route records; what is private happens here, with what the desk has charged. Any
curator that sees exact counts (in memory, in files, in a database) has a subclass that counts. Rooms whose counts are
with owners or on shares answer by other means and have only what they can do.

``held`` is what a room keeps for a node; the desk gives it back with every question about that node. Questions come as
pairs of ``held`` and a word that the desk has checked, with the events that were charged, whose scale the noise has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from privet.curators.statistics import owner_statistics
from privet.privacy.event import Event
from privet.privacy.fixed_point import TARGET_BITS
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.scope import Scope
from privet.privacy.scores import GradientNorm, JointQuantiles, Quantile, ResidualNorm, Score
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, numeric_cuts
from privet.questions.linear_maps import children_of, correct_counts, prior_points, tabled
from privet.questions.scorer import Scorer
from privet.questions.split import Choice, Split
from privet.questions.tally import Tally
from privet.schema import Categorical, Numeric, Schema

TARGET_CUTS = 1023
"""The points of a target's range that may be a quantile of it."""

BATCH = 2**28
"""The most bytes that the histograms of one question take at a time, if not those of a single node."""

Asked = Sequence[tuple[Any, Any]]


class Room:
    """What every room has. ``noises`` is the noise that a currency pays for."""

    noises: Mapping[str, str] = MappingProxyType({"epsilon": "geometric", "rho": "gaussian"})
    scorer: type = Scorer
    """What records are scored by: a released model, or a hidden one."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._grid: Grid | None = None

    def priced_sum(self, event: Event, asked: Any) -> Event:
        """What is charged for noisy numbers; raises, before anything is, if they cannot be told."""
        return event

    def priced_choice(self, event: Event, options: Candidates, score: Score) -> Event:
        """The same for a choice."""
        return event

    def priced_preference(self, event: Event, scorers: Sequence[Scorer], score: Score) -> Event:
        """The same for a choice between models."""
        return event

    def _cells(self) -> Grid:
        assert self._grid is not None
        return self._grid


class CountingRoom(Room, ABC):
    """Everything that can be asked of records that are counted in one place.

    Rooms that can draw have ``parts``, by a draw for each record, and ``samples``; those whose records have scores are
    in ``boosting_room.py``. A room that holds something beyond its own memory has ``close``, for the end of the fit.
    """

    def __init__(self, schema: Schema, mechanisms: Mechanisms) -> None:
        super().__init__(schema)
        self._mechanisms = mechanisms

    # -- structure: how records are routed ----------------------------------------------------------------------------

    @abstractmethod
    def everything(self, scope: Scope) -> Any:
        """All records, with scores that are 0."""

    def gathered(self, scope: Scope) -> Any:
        """All records, for a fit that parts them first."""
        return self.everything(scope)

    @abstractmethod
    def anew(self, held: Any, scope: Scope) -> Any:
        """The records of a node as those of a root of their own: with scores that are 0."""

    @abstractmethod
    def use(self, grid: Grid) -> None:
        """Put the records into the cells of a grid of the schema."""

    @abstractmethod
    def split(self, splits: Sequence[tuple[Any, Split]]) -> list[list[Any]]:
        """The children of nodes, by splits of the grid."""

    @abstractmethod
    def copies(self, held: Any, n: int) -> list[Any]:
        """The same records, with scores of their own root."""

    @abstractmethod
    def focus(self, low: float, high: float) -> None:
        """Clamp targets to this range and count anew."""

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._mechanisms.geometric(values, scale)

    # -- exact counts -------------------------------------------------------------------------------------------------

    @abstractmethod
    def histograms(self, nodes: Sequence[Any]) -> np.ndarray:
        """Exact counts, int64 of shape (nodes, cells of the grid, classes).

        Without classes the last axis is the number of records and their targets' sum and sum of squares.
        """

    @abstractmethod
    def totals(self, nodes: Sequence[Any]) -> np.ndarray:
        """The same of whole nodes, int64 of shape (nodes, classes) or (nodes, 3)."""

    @abstractmethod
    def target_counts(self, held: Any, cuts: np.ndarray) -> np.ndarray:
        """How many targets lie between these cuts of the schema's range, whatever the focus: int64, (cuts + 1,)."""

    @abstractmethod
    def scored(self, held: Any, scorer: Scorer) -> np.ndarray:
        """How many of the node's records are in each cell of a scorer's table: int64, (groups, bins, classes)."""

    # -- sums ----------------------------------------------------------------------------------------------------------

    def tally(self, asked: Sequence[tuple[Any, Tally]], events: Sequence[Event]) -> list[np.ndarray]:
        exact: dict[int, np.ndarray] = {
            i: self._gradient_tables(held, own)
            for i, (held, own) in enumerate(asked)
            if own.measure in ("gradient", "residual")
        }
        plain = [i for i, (_, tally) in enumerate(asked) if not tally.tables and i not in exact]
        tables = [i for i, (_, tally) in enumerate(asked) if tally.tables and i not in exact]
        if plain:
            for i, totals in zip(plain, self.totals([asked[i][0] for i in plain])[:, None]):
                exact[i] = self._measured(totals, asked[i][1])
        for batch in self._batches(tables):
            histograms = self.histograms([asked[i][0] for i in batch])
            for places in _alike([asked[i][1].tables for i in batch]):
                counts = tabled(histograms[places], self._cells(), asked[batch[places[0]]][1].tables)
                exact.update((batch[p], self._measured(own, asked[batch[p]][1])) for p, own in zip(places, counts))
        return self._noisy([exact[i] for i in range(len(asked))], events)

    def evaluate(self, asked: Sequence[tuple[Any, Scorer]], events: Sequence[Event]) -> list[np.ndarray]:
        return self._noisy([self.scored(held, scorer) for held, scorer in asked], events)

    def _noisy(self, exact: Sequence[np.ndarray], events: Sequence[Event]) -> list[np.ndarray]:
        """Exact integers with the noise that was paid for, one call for all that share a scale: a level, as a rule."""
        answers: dict[int, np.ndarray] = {}
        alike: dict[tuple[str, float], list[int]] = {}
        for i, event in enumerate(events):
            alike.setdefault((event.mechanism, event.scale), []).append(i)
        for (mechanism, scale), together in alike.items():
            flat = np.concatenate([exact[i].ravel() for i in together])
            noisy = getattr(self._mechanisms, mechanism)(flat, scale)
            ends = np.cumsum([exact[i].size for i in together])[:-1]
            answers |= {i: own.reshape(exact[i].shape) for i, own in zip(together, np.split(noisy, ends))}
        return [answers[i] for i in range(len(exact))]

    def _measured(self, statistics: np.ndarray, tally: Tally) -> np.ndarray:
        """What a tally asks for, from the statistics that cells hold."""
        if tally.measure == "target":
            high_ends = statistics[..., 0] << TARGET_BITS
            return np.stack([statistics[..., 1], high_ends - statistics[..., 1]], axis=-1)
        by_class = tally.by_class and self.schema.classes is not None
        return statistics if by_class else self._records(statistics)

    def owner_sum(
        self, asked: Sequence[tuple[Any, tuple[Split, ...]]], events: Sequence[Event], statistic: str
    ) -> list[np.ndarray]:
        """Every table's statistic for each node, added up over the owners: here there is one."""
        exact: dict[int, np.ndarray] = {}
        for places in _alike([tables for _, tables in asked]):
            tables = asked[places[0]][1]
            for batch in self._batches(places):
                histograms = self.histograms([asked[i][0] for i in batch])
                classes = self.schema.classes is not None
                exact.update(zip(batch, owner_statistics(histograms, self._cells(), tables, classes=classes)))
        return self._noisy([exact[i] for i in range(len(asked))], events)

    def peek(self, asked: Asked, events: Sequence[Event]) -> list[np.ndarray]:
        return [own.copy() for own in self.histograms([held for held, _ in asked])]

    # -- choices -------------------------------------------------------------------------------------------------------

    def choose(
        self, asked: Sequence[tuple[Any, Candidates]], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[Choice]:
        scales = [event.scale for event in events]
        # Node by node: with many classes the candidates of one are enough to hold in memory.
        offset = (
            exact + prior_points(options.log_prior, scale)
            for exact, (_, options), scale in zip(self._scores(asked, score), asked, scales)
        )
        winners = self._mechanisms.select(mechanism, offset, scales)
        return [options.choice(winner) for (_, options), winner in zip(asked, winners)]

    def choose_each(
        self, asked: Sequence[tuple[Any, Candidates]], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[list[Choice]]:
        """The choice of the one owner that there is."""
        return [[choice] for choice in self.choose(asked, events, score, mechanism)]

    def _scores(self, asked: Sequence[tuple[Any, Candidates]], score: Score) -> Iterator[np.ndarray]:
        """Exact integer scores of every candidate of every node."""
        nodes = [held for held, _ in asked]
        if all(options.splits is None and options.labelled for _, options in asked):
            yield from self.totals(nodes)  # labels alone need no histogram
            return
        if isinstance(score, GradientNorm | ResidualNorm):
            yield from (self._gradient_scores(held, options, score) for held, options in asked)
            return
        histograms = (own for batch in self._batches(nodes) for own in self.histograms(batch))
        for (_, options), histogram in zip(asked, histograms):
            # Every record is in one cell of the first feature.
            totals = histogram[: self._cells().offsets[1]].sum(axis=0)
            children = children_of(options, histogram, totals)
            if options.labelled:
                counts = (own.ravel() for own in correct_counts(options, children))
                of_splits, of_stops = np.concatenate([totals[:0], *counts]), totals
            elif isinstance(score, Quantile):
                of_splits, of_stops = score.of(self._records(children)), totals[:0]
            else:
                of_splits, of_stops = score.of(children), score.of(totals[None, None, :])
            yield np.concatenate([of_splits.ravel(), of_stops if options.stop else totals[:0]])

    def prefer(self, held: Any, scorers: Sequence[Scorer], score: Score, event: Event) -> int:
        """The number of the scorer that is chosen, by what its predictions are worth."""
        exact = [int(score.of((self.scored(held, scorer) * scorer.gains).ravel())) for scorer in scorers]
        (winner,) = self._mechanisms.select(event.mechanism, [np.array(exact, dtype=np.int64)], [event.scale])
        return int(winner)

    # -- quantiles: the exponential mechanism over public points -------------------------------------------------------

    def quantiles(
        self, held: Any, features: Sequence[int], score: Quantile | JointQuantiles, scale: float
    ) -> dict[int, list[float]]:
        grid, histogram = self._cells(), self._records(self.histograms([held])[0])
        answers = {}
        for f in features:
            cuts = grid.features[f].cuts
            assert cuts is not None
            counts = histogram[grid.offsets[f] : grid.offsets[f] + len(cuts) + 1]
            feature = self.schema.features[grid.features[f].name]
            if isinstance(score, Quantile):
                answers[f] = self._cuts(counts, cuts, _widths(cuts, feature), [score], [scale])
            else:
                chosen = self._mechanisms.joint_quantiles(counts, score, _widths(cuts, feature), scale)
                answers[f] = [float(cuts[i]) for i in chosen]
        return answers

    def target_quantiles(self, held: Any, scores: Sequence[Quantile], scales: Sequence[float]) -> list[float]:
        assert self.schema.target is not None
        scope = Numeric(*self.schema.target)
        cuts = numeric_cuts(scope, TARGET_CUTS)
        if not len(cuts):
            return [float(scope.low)] * len(scores)
        return sorted(self._cuts(self.target_counts(held, cuts), cuts, _widths(cuts, scope), scores, scales))

    def _cuts(
        self,
        counts: np.ndarray,
        cuts: np.ndarray,
        widths: np.ndarray,
        scores: Sequence[Quantile],
        scales: Sequence[float],
    ) -> list[float]:
        """A cut for each score, chosen by the records on its two sides; its width is its prior."""
        left = np.cumsum(counts)
        sides = np.stack([left[:-1], left[-1] - left[:-1]], axis=1)
        log_width = np.log(widths) - np.log(widths.max())
        vectors = [score.of(sides) + prior_points(log_width, scale) for score, scale in zip(scores, scales)]
        return [float(cuts[i]) for i in self._mechanisms.select("exponential", vectors, scales)]

    # -- what only rooms have whose records have scores (``boosting_room.py``) -----------------------------------------

    def _gradient_tables(self, held: Any, tally: Tally) -> np.ndarray:
        raise NotImplementedError("The desk refuses it where there is no ``advance``.")

    def _gradient_scores(self, held: Any, options: Candidates, score: GradientNorm | ResidualNorm) -> np.ndarray:
        raise NotImplementedError("The desk refuses it where there is no ``advance``.")

    # -- small parts ---------------------------------------------------------------------------------------------------

    def _records(self, statistics: np.ndarray) -> np.ndarray:
        """The number of records, from the statistics that cells hold."""
        return statistics[..., 0] if self.schema.classes is None else statistics.sum(axis=-1)

    def _batches(self, nodes: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """The nodes, as many at once as have histograms that fit into a bounded memory."""
        if not len(nodes):
            return
        per_node = self._cells().n_cells * 8 * max(len(self.schema.classes or ()), 3)
        size = max(1, BATCH // per_node)
        for start in range(0, len(nodes), size):
            yield nodes[start : start + size]


def _alike(tables: Sequence[tuple[Split, ...]]) -> list[list[int]]:
    """The places of those that are asked for the same tables, together: a level, as a rule."""
    alike: dict[int, list[int]] = {}
    for i, own in enumerate(tables):
        alike.setdefault(id(own), []).append(i)
    return list(alike.values())


def _widths(cuts: np.ndarray, feature: Numeric | Categorical) -> np.ndarray:
    """How much of the range each cut stands for: half of the two cells beside it."""
    assert isinstance(feature, Numeric)
    edges = np.concatenate([[feature.low], cuts, [feature.high]]).astype(float)
    return np.maximum(edges[2:] / 2 - edges[:-2] / 2, np.finfo(float).tiny)  # every cut has a weight, however small
