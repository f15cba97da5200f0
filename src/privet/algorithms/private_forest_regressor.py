"""Our forest for numeric targets: a few trees of joint selection that share the records and the budget.

Private trees are worth their budget in depth first: averaging trees that each have a share of it beats one tree only
where n * epsilon is large (docs/regression.md has the comparison, with boosting and disjoint parts too). So the number
of trees follows from n * epsilon, and the forest is a single tree where that is best. The size and the middle of the
targets are measured once, and all trees grow in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.algorithms.forest import ForestRegressor
from privet.algorithms.parameters import hint, whole
from privet.algorithms.private_tree_regressor import grow_means
from privet.questions.curtain import Curtain, Node
from privet.tree.forest import Forest

WORTH_A_TREE = 1_000_000
"""The n * epsilon that each tree should have for itself."""

MOST_TREES = 8


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateForestRegressor(ForestRegressor):
    """A differentially private regression forest: the mean of trees by joint selection on all records.

    Costs ``epsilon`` in all (pure differential privacy, add or remove one record), shared by the trees.

    Parameters
    ----------
    schema, epsilon, n_records, random_state
        As for ``PrivateTreeRegressor``.
    n_trees : int, optional
        How many trees; by default as many as n * epsilon supports, often one.
    max_depth : int
        The largest depth of a tree.

    Attributes
    ----------
    forest_ : Forest
        The public trees.
    privacy_ : Receipt
        What it cost and why.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivateForestRegressor, Schema
    >>> x = np.linspace(0, 1, 20000)[:, None]
    >>> schema = Schema({"x": Numeric(0, 1)}, target=(-1, 1))
    >>> model = PrivateForestRegressor(schema, epsilon=1, n_trees=2).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(model.score(x, np.sin(6 * x[:, 0])) > 0.8), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    n_trees: int | None = whole(None)
    max_depth: int = whole(10)
    n_records: int | None = hint()

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally", "choose", "target_quantiles", "focus"} | (set() if self.n_trees == 1 else {"copies"})

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Forest:
        def n_trees(worth: float) -> int:
            return self.n_trees or min(max(int(worth / WORTH_A_TREE), 1), MOST_TREES)

        return Forest(curtain.schema, grow_means(curtain, start, budget, self.max_depth, self.n_records, n_trees))
