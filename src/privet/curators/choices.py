"""Private choices: charged first, scored exactly, then one selection for each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from privet.curators.base import Budget, Node, budgets
from privet.curators.counting import Counting, ratio
from privet.errors import LeakError
from privet.privacy.event import SELECTIONS, Event
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.mechanisms import selection_scale
from privet.privacy.scores import (
    CorrectCount,
    Entropy,
    Gini,
    GradientNorm,
    Mixed,
    Quantile,
    RootGini,
    Score,
    SquaredError,
)
from privet.questions.candidates import Candidates, Choice
from privet.questions.linear_maps import LARGEST_LOG_PRIOR, children_of, correct_counts, prior_points

CLASS_SCORES = (CorrectCount, Gini, Mixed, Entropy, RootGini)
"""The scores whose proof is about the class counts of a candidate's children."""


MOST_CANDIDATES = 100_000_000
"""Their scores and priors take a few gigabytes."""


class Choices(Counting):
    """``choose`` and ``choose_each``."""

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
            selection_scale(score.sensitivity, ratio(node, mechanism, amount))
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
                of_splits, of_stops = correct_counts(options, children), totals
            elif type(score) is Quantile:
                of_splits, of_stops = score.of(self._records(children)), totals[:0]
            else:
                of_splits, of_stops = score.of(children), score.of(totals[None, None, :])
            yield np.concatenate([of_splits.ravel(), of_stops if options.stop else totals[:0]])


def _question(options: Candidates) -> str:
    if options.splits is None:
        return "choose a label"
    return "choose a split with its labels" if options.labelled else "choose a split"
