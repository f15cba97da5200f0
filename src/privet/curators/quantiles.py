"""Private quantiles of features and of the target, by the exponential mechanism over public points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privet.curators.base import Node, budgets
from privet.curators.counting import Counting, ratio
from privet.errors import LeakError
from privet.privacy.event import Event
from privet.privacy.mechanisms import scale_for
from privet.privacy.scores import JointQuantiles, Quantile
from privet.questions.grid import numeric_cuts
from privet.questions.linear_maps import prior_points
from privet.schema import Categorical, Numeric

TARGET_CUTS = 1023
"""The points of a target's range that may be a quantile of it."""


MOST_JOINT_CELLS = 2**11
"""The work of joint quantiles grows with the square of the cells."""


class Quantiles(Counting):
    """``quantiles`` and ``target_quantiles``."""

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
        scale = scale_for(score.sensitivity, ratio(node, "exponential", share))
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
        scales = [scale_for(score.sensitivity, ratio(node, "exponential", share)) for score in scores]
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
