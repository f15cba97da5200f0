"""What all curators share that can count exactly in one place: charge first, count, then noise or selection.

A subclass says how to count (``_histograms``) and how to route records; everything private happens here. One that
counts inside a joint computation instead (``mpc.py``) answers by itself what was checked and charged here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from privet.curators.base import Budget, Curator, Node, Step, Tally, budgets
from privet.curators.statistics import grouped, owner_statistics, statistic_sensitivity
from privet.errors import LeakError
from privet.privacy.ledger import Ledger, Scope
from privet.privacy.mechanisms import Mechanisms, scale_for, selection_scale
from privet.privacy.receipt import SELECTIONS, Event
from privet.privacy.sensitivity import (
    TARGET_BITS,
    TARGET_ONE,
    CorrectCount,
    Entropy,
    Gini,
    GradientNorm,
    JointQuantiles,
    Mixed,
    Quantile,
    RootGini,
    Score,
    SquaredError,
    euclidean_sensitivity,
    gradient_tally_sensitivity,
    tally_sensitivity,
    target_tally_sensitivity,
)
from privet.privacy.zcdp import ratio_for
from privet.schema import Categorical, Numeric, Schema
from privet.tree.candidates import Candidates, Choice, Split, Splits
from privet.tree.grid import Grid, numeric_cuts
from privet.tree.multiway import Multiway

CLASS_SCORES = (CorrectCount, Gini, Mixed, Entropy, RootGini)
"""The scores whose proof is about the class counts of a candidate's children."""

MEASURES = {
    "records": ("tally", tally_sensitivity),
    "target": ("target_tally", target_tally_sensitivity),
    "gradient": ("gradient_tally", gradient_tally_sensitivity),
}
"""What a tally may add up, with the lemma and the L1 sensitivity of so many tables; ``euclidean_`` lemmas are of L2."""

TARGET_CUTS = 1023
"""The points of a target's range that may be a quantile of it."""

MOST_CANDIDATES = 100_000_000
"""Their scores and priors take a few gigabytes."""

MOST_JOINT_CELLS = 2**11
"""The work of joint quantiles grows with the square of the cells."""

LARGEST_STEP = 2**32
"""More than 2^26 such steps would have to add up before a score left 64 bits; a chance is 0 or 1 long before."""

BATCH = 2**28
"""The most bytes that the histograms of one question take at a time, if not those of a single node."""

LARGEST_LOG_PRIOR = 709.0
"""A prior is a positive float, and so is its inverse."""


class CentralCurator(Curator):
    """A trusted curator: it sees all records, and what leaves it has been paid for."""

    capabilities = frozenset(
        {
            *("tally", "choose", "choose_each", "owner_sum", "quantiles", "target_quantiles", "peek"),
            *("parts", "copies", "focus", "advance", "zcdp"),
        }
    )
    trust = "The machine that trained the model saw all records; nobody else had to."
    noises: Mapping[str, str] = MappingProxyType({"epsilon": "geometric", "rho": "gaussian"})
    """The noise that a currency pays for."""

    def __init__(self, schema: Schema, ledger: Ledger, mechanisms: Mechanisms) -> None:
        self.schema = schema
        self.ledger = ledger
        self._mechanisms = mechanisms
        self._grid: Grid | None = None
        self._focus = schema.target
        self.roots = []
        reasons = []
        if schema.unconfirmed:
            reasons.append(f"schema inferred from the data: {', '.join(schema.unconfirmed)}")
        if mechanisms.reproducible:
            reasons.append("random_state: the noise can be reproduced")
        self.void = tuple(reasons)

    @abstractmethod
    def _everything(self, scope: Scope) -> Node:
        """A node of all records with this scope."""

    @abstractmethod
    def _use(self, grid: Grid) -> None:
        """Put the records into the cells of a grid that fits the schema."""

    @abstractmethod
    def _histograms(self, nodes: Sequence[Node]) -> np.ndarray:
        """Exact counts, int64 of shape (nodes, cells of the grid, classes).

        Without classes the last axis is the number of records and their targets' sum and sum of squares.
        """

    @abstractmethod
    def _totals(self, nodes: Sequence[Node]) -> np.ndarray:
        """The same of whole nodes, int64 of shape (nodes, classes) or (nodes, 3)."""

    @abstractmethod
    def _aim(self, low: float, high: float) -> None:
        """Clamp targets to this range and count anew."""

    @abstractmethod
    def _targets_of(self, node: Node) -> np.ndarray:
        """The exact targets, in the schema's range whatever the focus."""

    def _gradients(self, nodes: Sequence[Node], output: int, features: Sequence[int] | None = None) -> np.ndarray:
        """Exact sums of ``gradient_pairs`` over the cells of some features, in their order: int64, (nodes, cells, 2).

        Of all features, the gradients alone: (nodes, cells, 1).
        """
        self._cannot("advance")

    def _advance(self, node: Node, feature: int, values: np.ndarray, output: int) -> None:
        """Add ``values[cell]`` to the scores of a node's records."""
        self._cannot("advance")

    @abstractmethod
    def _own(self, nodes: Sequence[Node]) -> None:
        """Raise LeakError unless this curator made all these nodes."""

    def root(self, limit: Fraction | float = math.inf, currency: str = "epsilon") -> Node:
        if currency != "epsilon" and "zcdp" not in self.capabilities:
            self._cannot("zcdp")
        scope = self.ledger.open("fit", limit, currency)
        self.roots.append(scope)
        if self.schema.target is not None:
            self.focus(*self.schema.target)
        return self._everything(scope)

    def grid(self, grid: Grid) -> None:
        grid.check(self.schema)
        self._use(grid)
        self._grid = grid

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._mechanisms.geometric(values, scale)

    def focus(self, low: float, high: float) -> None:
        if self.schema.target is None:
            raise LeakError("There is no numeric target to clamp: this schema has classes.")
        if not self.schema.target[0] <= low <= high <= self.schema.target[1]:
            raise LeakError("A focus is a part of the target's public range.")
        if (low, high) != self._focus:
            self._focus = low, high
            self._aim(low, high)

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
        scale = scale_for(sensitivity, _ratio(node, mechanism, amount))
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

    def advance(self, steps: Mapping[Node, Step]) -> None:
        self._own(list(steps))
        for step in steps.values():
            self._has_scores(step.output)
            self._fits(step.split)
            if len(step.values) != step.split.n_children or not all(abs(v) <= LARGEST_STEP for v in step.values):
                raise LeakError(f"A step needs a whole number of at most {LARGEST_STEP} for each part of its split.")
        for node, step in steps.items():
            values = np.array(step.values, dtype=np.int64)
            self._advance(node, step.split.feature, values[np.frombuffer(step.split.part, np.uint8)], step.output)

    def _has_scores(self, output: int) -> None:
        """Raise unless records have a score of this class."""
        if "advance" not in self.capabilities:
            self._cannot("advance")
        n_classes = len(self.schema.classes or ())
        if n_classes == 2 and output != 1:
            raise LeakError("Of two classes only class 1 has a score: the other one's is its opposite.")
        if not 0 <= output < n_classes:
            raise LeakError("Records have no score of such a class.")
        self._cells()

    def _fit_of(self, node: Node) -> str:
        """The path of the root that a node comes from: each has scores of its own."""
        return next(root.path for root in self.roots if f"{node.scope.path}/".startswith(f"{root.path}/"))

    def _measured(self, statistics: np.ndarray, tally: Tally) -> np.ndarray:
        """What a tally asks for, from the statistics that cells hold."""
        if tally.measure == "target":
            high_ends = statistics[..., 0] << TARGET_BITS
            return np.stack([statistics[..., 1], high_ends - statistics[..., 1]], axis=-1)
        by_class = tally.by_class and self.schema.classes is not None
        return statistics if by_class else self._records(statistics)

    def _records(self, statistics: np.ndarray) -> np.ndarray:
        """The number of records, from the statistics that cells hold."""
        return statistics[..., 0] if self.schema.classes is None else statistics.sum(axis=-1)

    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
        hidden: bool = False,
    ) -> dict[Node, Choice]:
        if hidden:
            self._cannot("choose(hidden=True)")
        if not candidates:
            return {}
        scales = self._charge_choice(candidates, score, budget, mechanism)
        winners = self._winners(candidates, score, mechanism, scales)
        return {node: candidates[node].choice(winner) for node, winner in zip(candidates, winners)}

    def _charge_choice(
        self, candidates: Mapping[Node, Candidates], score: Score, budget: Budget, mechanism: str
    ) -> list[float]:
        """Check and charge; the noise scale that each node has paid for."""
        nodes = list(candidates)
        self._own(nodes)
        if mechanism not in SELECTIONS:
            raise LeakError(f"A choice is made by one of {', '.join(SELECTIONS)}, not by {mechanism!r}.")
        if sum(len(options) for options in candidates.values()) > MOST_CANDIDATES:
            raise LeakError(
                f"More than {MOST_CANDIDATES:,} candidates at once would not fit in memory. Ask about fewer nodes, "
                "splits or labels: every split counts once for every two classes if it is chosen with its labels."
            )
        for options in candidates.values():
            self._may_choose(options, score)
        if type(score) is GradientNorm and len(set(map(self._fit_of, nodes))) > 1:
            raise LeakError("Scores belong to one root: ask about gradients root by root.")
        scales = [
            selection_scale(score.sensitivity, _ratio(node, mechanism, amount))
            for node, amount in zip(nodes, budgets(nodes, budget))
        ]
        self.ledger.charge(
            (
                node.scope,
                self._choice_event(
                    Event(
                        node.scope.path,
                        _question(candidates[node]),
                        mechanism,
                        Fraction(score.sensitivity),
                        scale,
                        amount,
                        score.lemma,
                    ),
                    candidates[node],
                    score,
                ),
            )
            for node, scale, amount in zip(nodes, scales, budgets(nodes, budget))
        )
        return scales

    def choose_each(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, list[Choice]]:
        """The choice of the one owner that there is."""
        if "choose_each" not in self.capabilities:
            self._cannot("choose_each")
        choices = self.choose(candidates, score, budget, mechanism=mechanism)
        return {node: [choice] for node, choice in choices.items()}

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

    def _choice_event(self, event: Event, options: Candidates, score: Score) -> Event:
        """What is charged for a choice; raises, before anything is, if it cannot be answered."""
        return event

    def _winners(
        self, candidates: Mapping[Node, Candidates], score: Score, mechanism: str, scales: Sequence[float]
    ) -> list[int]:
        # Node by node: with many classes the candidates of one are enough to hold in memory.
        offset = (
            exact + prior_points(options.log_prior, scale)
            for exact, options, scale in zip(self._scores(candidates, score), candidates.values(), scales)
        )
        return self._mechanisms.select(mechanism, offset, scales)

    def _may_choose(self, options: Candidates, score: Score) -> None:
        """Raise LeakError for a choice that could not be answered or that no lemma covers: before it is charged."""
        if len(options) == 0:
            raise LeakError("A choice needs at least one candidate.")
        if options.n_classes != len(self.schema.classes or ()):
            raise LeakError("Candidates must have as many classes as the schema.")
        if options.labelled and type(score) is not CorrectCount:
            raise LeakError("Labels are chosen by their correct count: another score has no proof.")
        self._may_score(options, score)
        if options.splits is not None or not options.labelled:  # labels alone need no histogram
            grid = self._cells()
            if options.splits is not None and options.splits.grid is not grid:
                raise LeakError("The candidates' splits are not those of the curator's grid.")
        if options.splits is not None and options.allowed is not None and len(options.allowed) != len(options.splits):
            raise LeakError("``allowed`` must say yes or no to every split.")
        if not (np.abs(options.log_prior) <= LARGEST_LOG_PRIOR).all():
            raise LeakError("A prior's logarithm is too large: with it, scores would not fit in 64-bit integers.")

    def _may_score(self, options: Candidates, score: Score) -> None:
        """Raise LeakError unless the score has a proof for what this curator knows of a candidate's children."""
        if type(score) is Quantile:
            if options.stop or options.splits is None:
                raise LeakError("A quantile is chosen among splits alone.")
        elif type(score) is GradientNorm:
            if options.stop or options.labelled or options.splits is None:
                raise LeakError("Gradients choose among splits alone.")
            self._has_scores(score.output)
        elif self.schema.classes is None:
            if type(score) is not SquaredError or score.span != TARGET_ONE:
                raise LeakError("Splits of numeric targets are chosen by SquaredError(TARGET_ONE) or a quantile.")
        elif type(score) not in CLASS_SCORES or (type(score) is RootGini and options.n_classes != 2):
            raise LeakError("This score has no proof for the class counts of children.")

    def _fit_all(self, tables: Iterable[tuple[Split, ...]]) -> None:
        """``_fits`` for each split, however many nodes ask for it."""
        for split in {id(split): split for own in {id(own): own for own in tables}.values() for split in own}.values():
            self._fits(split)

    def _fits(self, split: Split) -> None:
        """Raise LeakError unless the split sends every cell of a feature of the grid somewhere."""
        features = self._cells().features
        if not 0 <= split.feature < len(features):
            raise LeakError("There is no such feature.")
        if len(split.part) != features[split.feature].n_cells:
            raise LeakError("A split must say for every cell of its feature where it goes.")

    def _scores(self, candidates: Mapping[Node, Candidates], score: Score) -> Iterator[np.ndarray]:
        """Exact integer scores of every candidate of every node."""
        nodes = list(candidates)
        if all(options.splits is None and options.labelled for options in candidates.values()):
            yield from self._totals(nodes)  # labels alone need no histogram
            return
        histograms: Iterable[np.ndarray] = (
            self._gradients(nodes, score.output)
            if isinstance(score, GradientNorm)
            else (histogram for batch in self._batches(nodes) for histogram in self._histograms(batch))
        )
        for options, histogram in zip(candidates.values(), histograms):
            # Every record is in one cell of the first feature.
            totals = histogram[: self._cells().offsets[1]].sum(axis=0)
            children = children_of(options, histogram, totals)
            if options.labelled:
                of_splits, of_stops = _correct(options, children), totals
            elif type(score) is Quantile:
                of_splits, of_stops = score.of(self._records(children)), totals[:0]
            else:
                of_splits, of_stops = score.of(children), score.of(totals[None, None, :])
            yield np.concatenate([of_splits.ravel(), of_stops if options.stop else totals[:0]])

    def _batches(self, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """The nodes, as many at once as have histograms that fit into a bounded memory."""
        per_node = self._cells().n_cells * 8 * max(len(self.schema.classes or ()), 3)
        size = max(1, BATCH // per_node)
        for start in range(0, len(nodes), size):
            yield nodes[start : start + size]

    def quantiles(
        self, node: Node, features: Sequence[int], probs: Sequence[Fraction], budget: Fraction
    ) -> dict[int, list[float]]:
        self._own([node])
        grid = self._cells()
        if not len(features) or not len(probs):
            raise LeakError("Ask for at least one feature and one probability.")
        if not all(isinstance(p, Fraction) for p in probs):
            raise LeakError("A probability must be a Fraction.")
        for f in features:
            if not 0 <= f < len(grid.features):
                raise LeakError("There is no such feature.")
            cuts = grid.features[f].cuts
            if cuts is None or not len(cuts):
                raise LeakError(
                    f"Column {grid.features[f].name!r} has no cut points, so it has no quantiles to ask for."
                )
        score = _quantile_score(probs, max(grid.features[f].n_cells for f in features))
        share = budgets([node], budget)[0] / len(features)
        scale = scale_for(score.sensitivity, _ratio(node, "exponential", share))
        question = "quantile" if isinstance(score, Quantile) else "joint quantiles"
        event = Event(node.scope.path, question, "exponential", Fraction(score.sensitivity), scale, share, score.lemma)
        self.ledger.charge((node.scope, event) for _ in features)
        histogram = self._records(self._histograms([node])[0])
        answers = {}
        for f in features:
            cuts = grid.features[f].cuts
            assert cuts is not None
            counts = histogram[grid.offsets[f] : grid.offsets[f] + len(cuts) + 1]
            widths = _widths(cuts, self.schema.features[grid.features[f].name])
            if isinstance(score, Quantile):
                left = np.cumsum(counts)[:-1]
                scores = score.of(np.stack([left, counts.sum() - left], axis=1))
                points = prior_points(np.log(widths) - np.log(widths.max()), scale)
                chosen = self._mechanisms.select("exponential", [scores + points], [scale])
            else:
                chosen = self._mechanisms.joint_quantiles(counts, score, widths, scale)
            answers[f] = [float(cuts[i]) for i in chosen]
        return answers

    def target_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[float]:
        self._own([node])
        if self.schema.target is None:
            raise LeakError("There is no numeric target: this schema has classes.")
        if not probs or not all(isinstance(p, Fraction) and 0 <= p <= 1 for p in probs):
            raise LeakError("Quantiles need probabilities from 0 to 1, as Fractions.")
        share = budgets([node], budget)[0] / len(probs)
        scores = [Quantile(p.numerator, p.denominator) for p in probs]
        scales = [scale_for(score.sensitivity, _ratio(node, "exponential", share)) for score in scores]
        self.ledger.charge(
            (
                node.scope,
                Event(
                    node.scope.path,
                    "quantile of the target",
                    "exponential",
                    Fraction(score.sensitivity),
                    scale,
                    share,
                    score.lemma,
                ),
            )
            for score, scale in zip(scores, scales)
        )
        scope = Numeric(*self.schema.target)
        cuts = numeric_cuts(scope, TARGET_CUTS)
        if not len(cuts):
            return [float(scope.low)] * len(probs)
        # As for features: a target at a cut is on its left.
        cells = np.searchsorted(cuts, self._targets_of(node), side="left")
        left = np.cumsum(np.bincount(cells, minlength=len(cuts) + 1))
        sides = np.stack([left[:-1], left[-1] - left[:-1]], axis=1)
        widths = _widths(cuts, scope)
        log_width = np.log(widths) - np.log(widths.max())
        vectors = [score.of(sides) + prior_points(log_width, scale) for score, scale in zip(scores, scales)]
        return sorted(float(cuts[i]) for i in self._mechanisms.select("exponential", vectors, scales))

    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        if not len(nodes):
            return {}
        self._own(nodes)
        self._cells()
        self.ledger.charge(
            (node.scope, Event(node.scope.path, "peek", "peek", Fraction(0), 0.0, math.inf, "peek")) for node in nodes
        )
        return dict(zip(nodes, self._histograms(nodes)))

    def _cells(self) -> Grid:
        if self._grid is None:
            raise LeakError("Set the curator's grid before asking about cells.")
        return self._grid


def children_of(options: Candidates, histogram: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The statistics of the children of every candidate split, empty ones where a split has fewer than others."""
    if isinstance(options.splits, Multiway):
        return options.splits.children(histogram)[options.indices]
    children = np.empty((len(options.indices), 2, len(totals)), dtype=np.int64)
    if options.splits is not None:
        np.take(left_counts(options.splits, histogram), options.indices, axis=0, out=children[:, 0])
        np.subtract(totals, children[:, 0], out=children[:, 1])
    return children


def _correct(options: Candidates, children: np.ndarray) -> np.ndarray:
    """The correct counts of all labellings of every candidate split, neighbours of as many children together."""
    edges = [0, *(np.flatnonzero(np.diff(options.n_children)) + 1), len(children)]
    counts = [children[:0, 0, 0]]
    for a, b in pairwise(edges) if len(children) else ():
        labels = options.labellings(int(options.n_children[a]))
        counts.append(np.sum([children[a:b, k][:, row] for k, row in enumerate(labels)], axis=0).ravel())
    return np.concatenate(counts)


def left_counts(splits: Splits, histogram: np.ndarray) -> np.ndarray:
    """The statistics of every split's left child: a public linear map of the node's histogram."""
    begin, end = splits.span  # all cells, or those of the one feature that the splits are of
    up_to = np.zeros((end - begin + 1, histogram.shape[1]), np.int64)
    np.cumsum(histogram[begin:end], axis=0, out=up_to[1:])
    runs = np.take(up_to, splits.last + 1 - begin, axis=0)
    runs -= np.take(up_to, splits.first - begin, axis=0)
    extra = splits.extra >= 0
    if extra.any():
        runs[extra] += histogram[splits.extra[extra]]
    offsets = splits.grid.offsets
    subsets = [masks.astype(np.int64) @ histogram[offsets[f] : offsets[f + 1]] for f, masks in splits.subsets]
    return np.concatenate([runs, *subsets]) if subsets else runs


def _alike(tables: Sequence[tuple[Split, ...]]) -> list[list[int]]:
    """The places of those that are asked for the same tables, together: a level, as a rule."""
    alike: dict[int, list[int]] = {}
    for i, own in enumerate(tables):
        alike.setdefault(id(own), []).append(i)
    return list(alike.values())


def prior_points(log_prior: np.ndarray, scale: float) -> np.ndarray:
    """A public log-weight as points of a score whose noise has this scale; cut where it would not fit in 63 bits."""
    return np.rint(np.clip(log_prior, -LARGEST_LOG_PRIOR, LARGEST_LOG_PRIOR) * scale).astype(np.int64)


def _quantile_score(probs: Sequence[Fraction], n_cells: int) -> Quantile | JointQuantiles:
    """The score of one quantile, or of several together."""
    if len(probs) == 1:
        return Quantile(probs[0].numerator, probs[0].denominator)
    if n_cells > MOST_JOINT_CELLS:
        raise LeakError(f"Several quantiles together need a grid of at most {MOST_JOINT_CELLS} cells for each feature.")
    ends = [Fraction(0), *sorted(probs), Fraction(1)]
    spacings = [after - before for before, after in pairwise(ends)]
    if min(spacings) <= 0:
        raise LeakError("Several probabilities must differ from each other and from 0 and 1.")
    whole = math.lcm(*(p.denominator for p in probs))
    return JointQuantiles(tuple(int(spacing * whole) for spacing in spacings))


def _widths(cuts: np.ndarray, feature: Numeric | Categorical) -> np.ndarray:
    """How much of the range each cut stands for: half of the two cells beside it."""
    assert isinstance(feature, Numeric)
    edges = np.concatenate([[feature.low], cuts, [feature.high]]).astype(float)
    return np.maximum(edges[2:] / 2 - edges[:-2] / 2, np.finfo(float).tiny)  # every cut has a weight, however small


def _ratio(node: Node, mechanism: str, amount: Fraction) -> Fraction:
    """Sensitivity over noise scale that a node's budget pays for: an epsilon, or what a rho allows the mechanism."""
    return amount if node.scope.currency == "epsilon" else ratio_for(mechanism, amount)


def _question(options: Candidates) -> str:
    if options.splits is None:
        return "choose a label"
    return "choose a split with its labels" if options.labelled else "choose a split"
