"""Joint selection, our default tree.

One private choice per node, over every (feature, split) candidate at once: the cost does not grow with the number of
features, and a candidate more costs only a logarithm. The last level chooses its splits together with the labels of
both sides, so labels cost nothing extra. How deep the tree grows follows from a public or privately measured number of
records (``privet.tree.planning``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import check_share, choice, hint, parameter, whole
from privet.algorithms.size import Size
from privet.errors import PrivetError
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import public_grid
from privet.questions.splits import Splits
from privet.tree.frontier import Frontier
from privet.tree.planning import COUNT_SHARE, Plan, plan_levels, stop_log_prior
from privet.tree.proposals import needs_to_choose
from privet.tree.public_splits import public_splits
from privet.tree.tree import Tree


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeClassifier(PrivateClassifier):
    """A differentially private decision tree for two or more classes.

    Costs ``epsilon`` in all (pure differential privacy, add or remove one record): every path from the root to a leaf
    spends it once. Works on numeric and categorical features together.

    Parameters
    ----------
    schema : Schema
        The public ranges, categories and classes. ``"infer"`` reads them off the data and voids the receipt.
    epsilon : float
        The privacy budget: how much the model may tell about one record. Without a default: ``fit`` refuses None.
    max_depth : int
        The largest depth; the tree stays shallower where n * epsilon would not support more. 0 is one label for all
        records, on which the whole budget is spent: better where n * epsilon is below about 10 and no split is
        expected to tell much.
    leaves : "labels" or "counts"
        ``"labels"`` gives the most accurate predictions, and no probabilities. ``"counts"`` spends a tenth of
        the budget on noisy class counts at the leaves: real probabilities.
    min_leaf : float
        Where a side of a split has less than this share of the records, by the released counts, the larger side takes
        its place: a few planted records get no leaf of their own. Needs ``leaves="counts"``; 0 keeps all.
    n_records : int, optional
        About how many records there are, if that is public. A planning hint, never compared with the data; without it
        2% of the budget measures the number.
    random_state : int, optional
        Reproducible noise for research; voids the receipt.

    Attributes
    ----------
    tree_ : Tree
        The public tree.
    privacy_ : Receipt
        What it cost and why.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = PrivateTreeClassifier(schema=schema, epsilon=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.privacy_.epsilon <= 0.1, model.privacy_.verify()
    (True, True, True)
    """

    max_depth: int = whole(4, least=0)
    leaves: str = choice("labels", "counts")
    min_leaf: float = parameter(0.0, check_share)
    n_records: int | None = hint()

    def _check_params(self) -> None:
        super()._check_params()
        if self.min_leaf and self.leaves != "counts":
            raise PrivetError('min_leaf compares leaves by their released counts: it needs leaves="counts".')

    def _needs(self, able: frozenset[str]) -> set[str]:
        counted = self.leaves == "counts" or (self.n_records is None and self.max_depth > 1)
        return needs_to_choose(able) | ({"tally"} if counted else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        grid = public_grid(curtain.schema)
        splits = public_splits(grid)
        curtain.grid(grid)
        counts_budget = budget * COUNT_SHARE if self.leaves == "counts" else Fraction(0)
        plan = self._plan(curtain, start, budget - counts_budget, splits)
        tree = grow_trees(curtain, [start], splits, plan, counts_budget)[0]
        return tree.without_small_leaves(self.min_leaf) if self.min_leaf else tree

    def _plan(self, curtain: Curtain, start: Node, budget: Fraction, splits: Splits) -> Plan:
        """How deep, and what each level spends: by the public hint, or by a noisy number of records."""
        n_classes = len(curtain.schema.classes or ())
        # Owners who choose each for itself (tree/proposals.py) see their own part of the records.
        owners = curtain.n_owners
        if self.n_records is not None or self.max_depth <= 1:
            return plan_levels((self.n_records or 0) / owners, budget, len(splits), n_classes, self.max_depth)
        size = Size.of(curtain, start, budget, None)
        return plan_levels(size.n / owners, size.left, len(splits), n_classes, self.max_depth, size.margin / owners)


def grow_trees(
    curtain: Curtain,
    starts: Sequence[Node],
    splits: Splits,
    plan: Plan,
    counts_budget: Fraction = Fraction(0),
    tell: Callable[[], None] = lambda: None,
) -> tuple[Tree, ...]:
    """A tree for each start, all of them level by level together; with counts at the leaves if they have a budget.

    ``tell`` is called after each level, the last included.
    """
    frontier = Frontier.sprout(curtain, starts, splits.grid)
    for level in plan.inner:
        frontier = frontier.grow(splits, level.score, level.budget)
        tell()
    options = frontier.candidates(
        splits if plan.joint else None, labelled=True, stop=True, stop_log_prior=stop_log_prior(plan.last_budget)
    )
    last = frontier.split_and_label(options, frontier.with_saved(plan.last_budget))
    if counts_budget:
        frontier.count_last(last, counts_budget)
    tell()
    return frontier.finish()
