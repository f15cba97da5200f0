"""What a question costs: which lemma prices it, and which scores have a proof for what.

Sensitivities are the lemmas' times the weight of the unit: what a person's records weigh together (docs/theory.md, L5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from privet.errors import LeakError
from privet.privacy.event import Event
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.mechanisms import scale_for, selection_scale
from privet.privacy.random_stopping import COST
from privet.privacy.scope import Scope
from privet.privacy.scores import (
    CorrectCount,
    Entropy,
    Gini,
    GradientNorm,
    JointQuantiles,
    Mixed,
    Quantile,
    ResidualNorm,
    RootGini,
    Score,
    SquaredError,
    score_of,
)
from privet.privacy.sensitivity import EUCLIDEAN, SUMS, euclidean_sensitivity
from privet.privacy.unit import ROW, Unit
from privet.privacy.zcdp import ratio_for
from privet.questions.candidates import MOST_CANDIDATES, Candidates
from privet.questions.curtain import Node
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.products import Products
from privet.questions.scorer import Scorer
from privet.questions.split import Table
from privet.schema import Schema

BOOSTED = ("gradient", "residual")
"""The measures that look at scores."""

MEASURES = {
    "records": "tally",
    "target": "target_tally",
    "gradient": "clipped_gradient_tally",
    "residual": "residual_tally",
}
"""What a tally may add up, each with its lemma."""

STATISTICS = ("least_impurity",)
"""The statistics that ``owner_sum`` knows, each the name of its lemma."""

CLASS_SCORES = (CorrectCount, Gini, Mixed, Entropy, RootGini)
"""The scores whose proof is about the class counts of a candidate's children."""

MOST_JOINT_CELLS = 2**11
"""The work of joint quantiles grows with the square of the cells."""


class Place(NamedTuple):
    """What the desk knows of a node: its scope in the ledger, what the room holds for it, which of the scopes over all
    records it is below, and whom its prices are for."""

    scope: Scope
    held: Any
    top: int
    unit: Unit = ROW


@dataclass(frozen=True, eq=False)
class Asked:
    """A node with what was asked about it, and what it pays."""

    node: Node
    place: Place
    word: Any
    budget: Fraction = Fraction(0)

    def summed(self, question: str, noise: str, lemma: str, tables: int) -> Event:
        """What noisy sums over so many tables are charged: by L1 in epsilon, by L2 in rho."""
        sensitivity = Fraction(SUMS[lemma](tables))
        if self.place.scope.currency == "rho":
            lemma, sensitivity = EUCLIDEAN + lemma, euclidean_sensitivity(lemma, tables)
        sensitivity *= self.place.unit.weight
        scale = scale_for(sensitivity, self._ratio(noise))
        return self._event(question, noise, sensitivity, scale, f"{lemma}({tables})")

    def chosen(self, question: str, mechanism: str, score: Score) -> Event:
        """What a choice by a score is charged."""
        sensitivity = score.sensitivity * self.place.unit.weight
        scale = selection_scale(sensitivity, self._ratio(mechanism))
        return self._event(question, mechanism, Fraction(sensitivity), scale, score.lemma)

    def quantile(self, question: str, score: Score) -> Event:
        """What quantiles by a score are charged."""
        sensitivity = score.sensitivity * self.place.unit.weight
        scale = scale_for(sensitivity, self._ratio("exponential"))
        return self._event(question, "exponential", Fraction(sensitivity), scale, score.lemma)

    def stopped(self) -> Event:
        """What the best of a secret number of runs is charged."""
        sensitivity, name = Fraction(COST * self.place.unit.weight), "random_stopping"
        scale = scale_for(sensitivity, self.budget)
        return self._event("best of a secret number of runs", name, sensitivity, scale, name)

    def peeked(self) -> Event:
        return Event(self.place.scope.path, "peek", "peek", Fraction(0), 0.0, math.inf, "peek")

    def _event(self, question: str, mechanism: str, sensitivity: Fraction, scale: float, lemma: str) -> Event:
        return Event(self.place.scope.path, question, mechanism, sensitivity, scale, self.budget, lemma)

    def _ratio(self, mechanism: str) -> Fraction:
        """Sensitivity over noise scale that the budget pays for: an epsilon, or what a rho allows."""
        return self.budget if self.place.scope.currency == "epsilon" else ratio_for(mechanism, self.budget)


def check_memory_of_choices(asked: Sequence[Candidates]) -> None:
    """Raise LeakError for more candidates at once than memory holds."""
    if sum(len(options) for options in asked) > MOST_CANDIDATES:
        raise LeakError(
            f"More than {MOST_CANDIDATES:,} candidates at once would not fit in memory. Ask about fewer nodes, "
            "splits or labels: every split counts once for every two classes if it is chosen with its labels."
        )


def check_memory_of_sums(asked: Sequence[tuple[Table | Levels, ...]], schema: Schema) -> None:
    """Raise LeakError for more sums at once than memory holds: few words ask many nodes for all tables."""
    parts = {id(tables): sum(table.n_children for table in tables) or 1 for tables in asked}
    if sum(parts[id(tables)] for tables in asked) * len(schema.classes or range(3)) > MOST_CANDIDATES:
        raise LeakError(f"More than {MOST_CANDIDATES:,} sums at once would not fit in memory. Ask about fewer nodes.")


def only_number(answers: Mapping[Node, np.ndarray], unit: Unit) -> float | None:
    """The number of records, or persons, that a question was answered by, where it is one for one node."""
    found = [answer for answer in answers.values() if answer.size == 1]
    return float(found[0].ravel()[0]) / unit.weight if len(found) == len(answers) == 1 else None


def check_measure(measure: str, schema: Schema) -> None:
    """Raise LeakError for sums of what records of this schema do not have."""
    if measure in ("target", "residual") and schema.target is None:
        raise LeakError("There is no numeric target to add up: this schema has classes.")
    if measure == "gradient" and schema.classes is None:
        raise LeakError("Numeric targets have residuals, and no gradients.")


def check_output(output: int, schema: Schema) -> None:
    """Raise LeakError unless records have a score of this class; of a numeric target they have one, number 0."""
    n_classes = len(schema.classes or (0,))
    if n_classes == 2 and output != 1:
        raise LeakError("Of two classes only class 1 has a score: the other one's is its opposite.")
    if not 0 <= output < n_classes:
        raise LeakError("Records have no score of such a class.")


def check_statistic(statistic: str) -> None:
    """Raise LeakError for a statistic that has no proof."""
    if statistic not in STATISTICS:
        raise LeakError(f"A sum over owners is one of {', '.join(STATISTICS)}, not {statistic!r}.")


class KnowsCells(Protocol):
    """A desk: its schema, and its present grid, which it raises for where there is none yet."""

    @property
    def schema(self) -> Schema: ...
    @property
    def cells(self) -> Grid: ...


def check_options(options: Candidates, desk: KnowsCells) -> None:
    """Raise LeakError unless there is something to choose, of the classes and the grid that there are."""
    if len(options) == 0:
        raise LeakError("A choice needs at least one candidate.")
    if options.n_classes != len(desk.schema.classes or ()):
        raise LeakError("Candidates must have as many classes as the schema.")
    if options.splits is not None or not options.labelled:  # labels alone need no histogram
        grid = desk.cells
        if options.splits is not None and options.splits.grid != grid:
            raise LeakError("The candidates' splits are not those of the curator's grid.")


def check_cut(features: Sequence[int], grid: Grid) -> None:
    """Raise LeakError for features that have no quantiles."""
    for cells in (grid.features[f] for f in features):
        if cells.cuts is None or not len(cells.cuts):
            raise LeakError(f"Column {cells.name!r} has no cut points, so it has no quantiles.")


def check_scorers(scorers: tuple[Scorer, ...], schema: Schema) -> tuple[Scorer, ...]:
    """At least one, all of models of this schema; otherwise LeakError."""
    if not scorers:
        raise LeakError("Ask about at least one model.")
    if any(scorer.grid.schema != schema for scorer in scorers):
        raise LeakError("A scorer must have the schema's features and classes.")
    return scorers


def score_named(score: Any) -> Score:
    """A score made anew from its lemma's name: whatever else the caller's object is or does stays outside."""
    return score_of(getattr(score, "lemma", None))  # type: ignore[arg-type]


def check_score(score: Score, options: Candidates, schema: Schema) -> None:
    """Raise LeakError unless the score has a proof for what is known of the candidates' children."""
    if options.labelled and type(score) is not CorrectCount:
        raise LeakError("Labels are chosen by their correct count: another score has no proof.")
    if type(score) in (GradientNorm, ResidualNorm) or type(options.splits) is Products:
        if type(score) not in (GradientNorm, ResidualNorm) or type(options.splits) is not Products:
            raise LeakError("Gradients and residuals choose among Products, and these are chosen by them alone.")
        if (type(score) is ResidualNorm) != (schema.classes is None):
            raise LeakError("Classes have gradients, and numeric targets have residuals.")
    elif type(score) is Quantile:
        if options.stop or options.splits is None or not (options.splits.n_children == 2).all():
            raise LeakError("A quantile is chosen among splits in two alone.")
    elif schema.classes is None:
        if type(score) is not SquaredError or score.span != TARGET_ONE:
            raise LeakError("Splits of numeric targets are chosen by SquaredError(TARGET_ONE) or a quantile.")
    elif type(score) not in CLASS_SCORES or (type(score) is RootGini and options.n_classes != 2):
        raise LeakError("This score has no proof for the class counts of children.")


def quantile_score(probs: Sequence[Fraction], n_cells: int) -> Quantile | JointQuantiles:
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
