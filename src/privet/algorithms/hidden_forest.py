"""Hidden forests (paper 003, appendix D): ID3 forests and extra trees whose trees stay on secret shares.

Each record is in one tree, by an independent draw of its owner: the trees' records are disjoint, so a forest costs what
one tree costs, whichever way its trees are chosen.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privet.algorithms.base import check_whole
from privet.algorithms.forest import ForestClassifier
from privet.algorithms.hidden_tree import HiddenTreeClassifier
from privet.curators.base import Curator, Node
from privet.hidden.growth import HiddenGrowth, OpenGrowth
from privet.hidden.shape import shape_of
from privet.schema import Schema
from privet.tree.forest import Forest


class HiddenForestClassifier(ForestClassifier):
    """A forest that can stay hidden: trees of ``HiddenTreeClassifier`` on disjoint parts of the records, which vote.

    Costs ``epsilon``, in the open and on secret shares. ``structure="chosen"`` is the paper's ID3 forest with private
    choices, ``"random"`` its extra trees, whose structure costs nothing. Worth using where records are many: a tree
    sees only its own part of them.

    Parameters
    ----------
    schema : Schema
        The public ranges, categories and classes. ``"infer"`` reads them off the data and voids the receipt.
    epsilon : float
        The privacy budget.
    n_trees : int
        How many trees, and so how many parts.
    max_depth, branches, n_values, structure, labels
        As in ``HiddenTreeClassifier``, of every tree.
    n_records : int, optional
        About how many records there are in all, as far as is publicly known.
    variant : "sound" or "published"
        ``"published"`` chooses structures exactly, as printed; its receipt says infinity.
    random_state : int, optional
        Reproducible noise for research; voids the receipt.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = HiddenForestClassifier(schema, epsilon=1, n_trees=3, branches="thresholds").fit(X, y)
    >>> bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _shortfall = HiddenTreeClassifier._shortfall

    def __init__(
        self,
        schema: Schema | str | None = None,
        *,
        epsilon: float = 1.0,
        n_trees: int = 5,
        max_depth: int = 3,
        branches: str = "values",
        n_values: int = 5,
        structure: str = "chosen",
        labels: str = "permute_and_flip",
        n_records: int | None = None,
        variant: str = "sound",
        random_state: Any = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.branches = branches
        self.n_values = n_values
        self.structure = structure
        self.labels = labels
        self.n_records = n_records
        self.variant = variant
        self.random_state = random_state

    def _check_params(self) -> None:
        check_whole("n_trees", self.n_trees, 1, 1000)
        self._tree()._check_params()

    def _tree(self) -> HiddenTreeClassifier:
        """One of the trees, which sees its part of the records."""
        each = None if self.n_records is None else int(self.n_records // max(1, self.n_trees))
        params = {name: value for name, value in self.get_params(deep=False).items() if name != "n_trees"}
        return HiddenTreeClassifier(**{**params, "n_records": each})

    def hidden_bits(self, joint: Any, schema: Schema, most: int) -> int:
        """As of one tree: any of them may hold all records."""
        return self._tree().hidden_bits(joint, schema, most)

    def _grow(self, curator: Curator, start: Node, budget: Fraction) -> Any:
        tree = self._tree()
        shape = shape_of(curator.schema, self.branches, self.n_values)
        curator.grid(shape.grid)
        parts = curator.parts(start, self.n_trees)
        if "hidden" in curator.capabilities:
            from privet.hidden.forest import HiddenForest

            return HiddenForest.of(tree.steps(HiddenGrowth(curator, parts, shape), shape, budget), self.n_trees)
        return Forest(curator.schema, [tree.steps(OpenGrowth(curator, part, shape), shape, budget) for part in parts])
