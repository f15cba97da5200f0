"""DP-ERT and DP-RF: the forests that DiPriMe is compared with, for classes and, as its authors did, for numbers.

DP-ERT (Bojarski et al. 2014) draws its trees without looking at records and spends everything on the leaves. DP-RF
(Patil and Singh 2014) chooses an attribute among K by the exponential mechanism and makes a child for each of its
values, numbers in five bins. Every tree has all records and a share of the budget.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.baselines.random_tree import Drawer, grid_of, grow_drawn
from privet.algorithms.forest import ForestClassifier, ForestRegressor, PrivateForest, deepest, purity
from privet.algorithms.parameters import check_whole, public_generator, whole
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import even_grid
from privet.questions.multiway import MOST_CHILDREN, Multiway, each_cell
from privet.tree.forest import Forest
from privet.tree.frontier import End, Frontier


@dataclass(eq=False, repr=False, kw_only=True)
class BaselineForest(PrivateForest):
    """What they share; see the classes for the parameters."""

    n_trees: int = whole(10)
    max_depth: int = whole(4)
    variant: str = "sound"
    structure: int | None = whole(None, 0)

    _poor_score = True  # random structures promise nothing on small data

    def _check_params(self) -> None:
        check_whole("max_depth", self.max_depth, 1, deepest(self.n_trees))

    def _needs(self, able: frozenset[str]) -> set[str]:
        exact_leaves = self.variant == "published" and self._task == "regression"
        return {"copies"} | ({"peek", "noise"} if exact_leaves else {"tally"})


class DPERT(BaselineForest):
    """Random trees; the whole budget for the leaves."""

    _draws_rules = True

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Forest:
        drawer = Drawer(curtain.schema, True, public_generator(self.structure, self.random_state))
        plans = [drawer.draw(self.max_depth) for _ in range(self.n_trees)]
        grid = grid_of(plans, curtain.schema)
        curtain.grid(grid)
        frontier = grow_drawn(Frontier.sprout(curtain, curtain.copies(start, self.n_trees), grid), plans)
        self._measure(frontier, budget / self.n_trees)
        return Forest(curtain.schema, frontier.finish())


@dataclass(eq=False, repr=False, kw_only=True)
class BinnedForest(BaselineForest):
    """Attributes of few values, numbers in bins: a node has a child for each value of an attribute, chosen among K."""

    max_depth: int = whole(3)
    n_bins: int = whole(5, 2, MOST_CHILDREN - 1)
    n_candidates: int = whole(5)

    def _options(self, end: End, draws: np.random.Generator, but: Collection[int] = ()) -> Candidates:
        """Up to K attributes that were not used above, each with a child for every value."""
        small = [cells.n_cells <= MOST_CHILDREN for cells in end.grid.features]
        able = np.setdiff1d(np.flatnonzero((end.open_cells() > 1) & small), list(but))
        drawn = draws.choice(able, size=min(self.n_candidates, len(able)), replace=False)
        splits = Multiway.of(end.grid, (each_cell(end.grid, int(f)) for f in drawn))
        return Candidates(splits, len(end.tree.schema.classes or ()))


class DPRF(BinnedForest):
    """All queries of a path, a choice on each level and the leaf's, have the same share of a tree's budget."""

    def _needs(self, able: frozenset[str]) -> set[str]:
        return super()._needs(able) | {"choose"}

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Forest:
        grid = even_grid(curtain.schema, self.n_bins)
        curtain.grid(grid)
        draws = public_generator(self.structure, self.random_state)
        share = budget / self.n_trees / (self.max_depth + 1)
        frontier = Frontier.sprout(curtain, curtain.copies(start, self.n_trees), grid)
        score = purity(curtain.schema)
        for _ in range(self.max_depth):
            options = {node: self._options(end, draws) for node, end in frontier.items()}
            frontier = frontier.split(frontier.choose(options, score, share, mechanism="exponential"))
        self._measure(frontier.ends, share)
        return Forest(curtain.schema, frontier.finish())


_MEANS = "The noise of a leaf's mean is scaled by the exact number of its records."


class DPERTClassifier(DPERT, ForestClassifier):
    """Extremely random trees with noisy class counts at their leaves: DP-ERT.

    Costs ``epsilon``, as its authors claim: each of ``n_trees`` trees spends its share on the counts of its leaves.
    Worth using as the yardstick for every method that spends something on its splits.

    Parameters
    ----------
    schema
        As for ``PrivateTreeClassifier``.
    epsilon : float
        The privacy budget; of a published variant whose claim fails, the claim.
    n_trees : int
        How many trees; each has all records and a share of the budget.
    max_depth : int
        The depth of all trees; a branch that nothing can part ends before.
    variant : "sound" or "published"
        The same here: the claim holds.
    structure : int, optional
        A public seed for what is drawn. It says nothing about records, and the receipt stays valid.
    random_state : int, optional
        Reproducible structure and noise for research; voids the receipt.
    """


class DPERTRegressor(DPERT, ForestRegressor):
    """Extremely random trees with noisy means: DP-ERT as DiPriMe's authors carried it over to numbers.

    ``variant="sound"`` costs ``epsilon``; ``"published"`` scales a mean's noise by the exact size of its leaf, which
    costs infinity. The schema has a target's range.

    Parameters
    ----------
    schema, epsilon, n_trees, max_depth, variant, structure, random_state
        As for ``DPERTClassifier``.
    """

    _shortfall = _MEANS


class DPRFClassifier(DPRF, ForestClassifier):
    """Random forest with private choices among K attributes, numbers in five bins: DP-RF.

    Costs ``epsilon``: a tree's share is divided evenly among the choices of a path and the counts of its leaf. Many
    children make small leaves: worth using to see what binary splits gain.

    Parameters
    ----------
    n_bins : int
        How many bins of one width a numeric feature has.
    n_candidates : int
        The paper's K: how many attributes, drawn from those not used above, a node's is chosen from.
    schema, epsilon, n_trees, max_depth, variant, structure, random_state
        As for ``DPERTClassifier``.
    """


class DPRFRegressor(DPRF, ForestRegressor):
    """DP-RF as DiPriMe's authors carried it over to numbers: attributes by squared error, means at the leaves.

    ``variant="sound"`` costs ``epsilon``; ``"published"`` scales a mean's noise by the exact size of its leaf, which
    costs infinity. The schema has a target's range.

    Parameters
    ----------
    schema, epsilon, n_trees, max_depth, n_bins, n_candidates, variant, structure, random_state
        As for ``DPRFClassifier``.
    """

    _shortfall = _MEANS
