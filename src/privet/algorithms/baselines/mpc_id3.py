"""What paper 003 compares its hidden trees with: CDP+PMPC-ID3, whose tree is revealed, and MPC-ID3, without noise.

Both run on any curator. On a ``HiddenCurator`` they are the paper's Algorithms 7 to 10: rows on secret shares, choices
and counts opened with their noise, the rest in the clear. (Algorithm 7, line 2, must read "no attribute is left".)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.hidden_tree import HiddenTreeClassifier
from privet.algorithms.parameters import choice, whole
from privet.curators.desk import Desk
from privet.privacy.receipt import Receipt
from privet.privacy.scores import CorrectCount
from privet.questions.curtain import Curtain, Node
from privet.questions.multiway import MOST_CHILDREN
from privet.questions.shape import Shape
from privet.schema import Schema
from privet.tree.hidden_growth import OpenGrowth
from privet.tree.hidden_shape import shape_of
from privet.tree.tree import Tree


@dataclass(eq=False, repr=False, kw_only=True)
class PMPCID3Classifier(PrivateClassifier):
    """CDP+PMPC-ID3: attributes by the exponential mechanism, leaves by noisy counts, all of it revealed (Algorithm 7).

    Costs ``epsilon``: every level and the leaves have the same share. Worth using to see what a sharper choice gains
    (``HiddenTreeClassifier``), or one that looks at thresholds too (``PrivateTreeClassifier``).

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The depth of all leaves, as far as there are attributes.
    n_values : int
        Into how many bins of one width numeric ranges are cut, and how many groups categories fall into.
    leaves : "laplace" or "exponential"
        Noisy counts of the classes (Algorithm 9), or a label by the exponential mechanism (Algorithm 10).
    variant : "sound" or "published"
        As printed, exponents are halved, which the correct count does not need: ``"published"`` costs less than it
        says, and ``"sound"`` is as sharp as its price allows.
    """

    max_depth: int = whole(3)
    n_values: int = whole(5, 2, MOST_CHILDREN - 1)
    leaves: str = choice("laplace", "exponential")
    variant: str = "sound"

    _poor_score = True  # a few hundred records are not enough for so many leaves

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"choose", "tally"} if self.leaves == "laplace" else {"choose"}

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        shape = shape_of(curtain.schema, "values", self.n_values)
        curtain.grid(shape.grid)
        growth = OpenGrowth(curtain, start, shape)
        depth = min(self.max_depth, len(shape.splits))
        query = budget / (depth + 1)
        exponent = query / 2 if self.variant == "published" else query
        for _ in range(depth):
            growth.choose(exponent, CorrectCount(), "exponential")
        if self.leaves == "laplace":
            growth.count(query)
        else:
            growth.label(exponent, "exponential")
        return growth.finished()


class MPCID3Classifier(HiddenTreeClassifier):
    """MPC-ID3: no noise at all, hidden or not. A baseline for accuracy; its receipt says infinity."""

    def __init__(
        self, schema: Schema | str | None = None, *, max_depth: int = 3, branches: str | None = None, n_values: int = 5
    ) -> None:
        # There is no noise for an epsilon to govern: any will do.
        fixed: dict[str, Any] = {"epsilon": 1.0, "variant": "published"}
        super().__init__(schema, max_depth=max_depth, branches=branches, n_values=n_values, **fixed)

    def steps(self, growth: Any, shape: Shape, budget: Fraction, n_classes: int) -> Any:
        for _ in self.plan(shape, budget, n_classes).inner:
            growth.choose_exactly()
        growth.label_exactly()
        return growth.finished()

    def _receipt(self, curator: Desk, budget: Fraction) -> Receipt:
        return replace(super()._receipt(curator, budget), claimed=math.inf, shortfall="")
