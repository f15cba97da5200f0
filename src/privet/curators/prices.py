"""Which lemma prices which question, and which scores have a proof for what."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privet.errors import LeakError
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.scores import (
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
    score_of,
)
from privet.privacy.sensitivity import (
    gradient_tally_sensitivity,
    least_impurity_sensitivity,
    tally_sensitivity,
    target_tally_sensitivity,
)
from privet.questions.candidates import Candidates
from privet.schema import Schema

MEASURES: dict[str, tuple[str, Callable[[int], int]]] = {
    "records": ("tally", tally_sensitivity),
    "target": ("target_tally", target_tally_sensitivity),
    "gradient": ("gradient_tally", gradient_tally_sensitivity),
}
"""What a tally may add up, with the lemma and the L1 sensitivity of so many tables; ``euclidean_`` lemmas are of L2."""

STATISTICS: dict[str, Callable[[int], int]] = {"least_impurity": least_impurity_sensitivity}
"""The statistics that ``owner_sum`` knows, each the name of its lemma, with the sensitivity of so many tables."""

CLASS_SCORES = (CorrectCount, Gini, Mixed, Entropy, RootGini)
"""The scores whose proof is about the class counts of a candidate's children."""

MOST_JOINT_CELLS = 2**11
"""The work of joint quantiles grows with the square of the cells."""


def statistic_sensitivity(statistic: str, tables: int) -> int:
    """The L1 sensitivity of a statistic of so many tables; raises LeakError for one that has no proof."""
    if statistic not in STATISTICS:
        raise LeakError(f"A sum over owners is one of {', '.join(STATISTICS)}, not {statistic!r}.")
    if not tables:
        raise LeakError("A sum over owners needs at least one table.")
    return STATISTICS[statistic](tables)


def score_named(score: Any) -> Score:
    """A score made anew from its lemma's name: whatever else the caller's object is or does stays outside."""
    return score_of(getattr(score, "lemma", None))  # type: ignore[arg-type]


def check_score(score: Score, options: Candidates, schema: Schema) -> None:
    """Raise LeakError unless the score has a proof for what is known of the candidates' children."""
    if options.labelled and type(score) is not CorrectCount:
        raise LeakError("Labels are chosen by their correct count: another score has no proof.")
    if type(score) is Quantile:
        if options.stop or options.splits is None or not (options.splits.n_children == 2).all():
            raise LeakError("A quantile is chosen among splits in two alone.")
    elif type(score) is GradientNorm:
        if options.stop or options.labelled or options.splits is None:
            raise LeakError("Gradients choose among splits alone.")
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
