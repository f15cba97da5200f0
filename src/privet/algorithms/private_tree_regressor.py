"""Joint selection for numeric targets.

The inner levels are those of the classification tree, with the squared error as score: one private choice per node,
over every (feature, split) candidate at once. Two things differ. The noise of such a choice grows with the square of
the targets' range, while most targets lie in a small part of it; so a small share of the budget first measures where
the middle of them is, and splits are chosen on targets clamped to it. And a leaf's value is a noisy mean over the
full range, from two sums that cost what one count costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from privet.algorithms.base import PrivateRegressor
from privet.algorithms.parameters import hint, whole
from privet.algorithms.size import Size
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, public_grid
from privet.tree.frontier import Frontier
from privet.tree.planning import FOCUS_SHARE, plan_means
from privet.tree.public_splits import public_splits
from privet.tree.tree import Tree

TAIL, THIN_TAIL = Fraction(1, 4), Fraction(1, 10)
"""Splits are chosen on targets clamped to their middle, without so much at each end."""

MUCH = 100_000
"""From this n * epsilon on only thin tails are cut off: noise matters less than what they tell."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeRegressor(PrivateRegressor):
    """A differentially private regression tree.

    Costs ``epsilon`` in all (pure differential privacy, add or remove one record): every path from the root to a leaf
    spends it once. Works on numeric and categorical features together; predictions stay inside the target's range.

    Parameters
    ----------
    schema : Schema
        The public ranges and categories, and the target's range. ``"infer"`` reads them off the data and voids the
        receipt.
    epsilon, max_depth, n_records, random_state
        As for ``PrivateTreeClassifier``; so are the attributes of a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivateTreeRegressor, Schema
    >>> x = np.linspace(0, 1, 20000)[:, None]
    >>> schema = Schema({"x": Numeric(0, 1)}, target=(-1, 1))
    >>> model = PrivateTreeRegressor(schema, epsilon=1).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(model.score(x, np.sin(6 * x[:, 0])) > 0.8), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    max_depth: int = whole(10)
    n_records: int | None = hint()

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally", "choose", "target_quantiles", "focus"}

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        grid = public_grid(curtain.schema)
        curtain.grid(grid)
        size = Size.of(curtain, start, budget, self.n_records)
        return grow_means(curtain, start, budget, size, self.max_depth, lambda _: 1, grid)[0]


def grow_means(
    curtain: Curtain,
    start: Node,
    budget: Fraction,
    size: Size,
    max_depth: int,
    n_trees: Callable[[float], int],
    grid: Grid,
) -> tuple[Tree, ...]:
    """Trees that share the budget and all records, grown together; ``n_trees`` says how many from n * epsilon.

    How deep, and what each level spends, is by the ``size``, which has its part of the budget. The middle of the
    targets is measured once.
    """
    splits = public_splits(grid)
    left = size.left - budget * FOCUS_SHARE
    worth = size.n * float(left)
    n = n_trees(worth)
    plan = plan_means(size.n, left / n, len(splits), max_depth, size.margin)
    frontier = Frontier.sprout(curtain, [start] if n == 1 else curtain.copies(start, n), grid)
    leaf_budget = plan.leaf_budget
    if plan.levels:
        focus(curtain, start, budget * FOCUS_SHARE, TAIL if worth < MUCH else THIN_TAIL)
    else:
        leaf_budget += budget * FOCUS_SHARE / n
    for level in plan.levels:
        frontier = frontier.grow(splits, level.score, level.budget)
    assert curtain.schema.target is not None
    curtain.focus(*curtain.schema.target)  # means are over the whole range
    for own in frontier.by_tree():
        own.average(own.with_saved(leaf_budget), noise=1 / float(leaf_budget))
    return frontier.finish()


def focus(curtain: Curtain, start: Node, budget: Fraction, tail: Fraction) -> None:
    """Clamp targets to their middle, roughly known: noise is small against what is left of their spread."""
    assert curtain.schema.target is not None
    low, high = curtain.target_quantiles(start, (tail, 1 - tail), budget)
    if low < high:
        curtain.focus(low, high)
