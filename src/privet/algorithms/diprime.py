"""DiPriMe forests: trees of private medians on disjoint parts of the records (paper 004).

A node is split at a private median of an attribute, so that leaves are balanced and their noise is small against their
records. The attribute is drawn at random, or chosen by its split's error among K candidates, each at its own median.
All nodes of all trees of a level are asked about at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.algorithms.forest import ForestClassifier, ForestRegressor, PrivateForest, deepest, purity
from privet.algorithms.parameters import check_whole, choice, hint, public_generator, whole
from privet.algorithms.size import Size
from privet.errors import PrivetError
from privet.privacy.amounts import exact
from privet.privacy.scores import MEDIAN
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, public_grid
from privet.questions.multiway import Multiway
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.schema import Numeric, Schema
from privet.tree.forest import Forest
from privet.tree.frontier import End, Frontier

CELLS = 256
"""The public cells of a numeric feature: a median is one of their edges. Trees of more than 8 levels have 1024."""

MOST_SUBSETS = 10
"""So many categories are split by every subset; more are put in a random order first."""


@dataclass(frozen=True)
class LevelShares:
    """What a node of an inner level spends: on one median, and on the choice among its candidates (0: none)."""

    median: Fraction
    attribute: Fraction


@dataclass(eq=False, repr=False, kw_only=True)
class DiPriMe(PrivateForest):
    """What the two forests share; see them for the parameters."""

    _poor_score = True  # random attributes promise nothing on small data

    n_trees: int = whole(10)
    max_depth: int | None = None
    occupancy: int = whole(25)
    attribute: str = choice("random", "exp", "flip")
    n_candidates: int = whole(5)
    rho: float = 0.5
    partition: bool = choice(True, False)
    n_records: int | None = hint()
    variant: str = "sound"
    structure: int | None = whole(None, 0)

    def _check_params(self) -> None:
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 0, deepest(self.n_trees))
        if not exact(self.rho, "rho") < 1:
            raise PrivetError(f"rho must be between 0 and 1, both excluded; got {self.rho!r}.")

    def _needs(self, able: frozenset[str]) -> set[str]:
        printed, splits = self.variant == "published", self.max_depth != 0
        exact_leaves = printed and self._task == "regression"
        asked = {
            "tally": not exact_leaves or (self.max_depth is None and self.n_records is None),
            "choose": splits,
            "noise": exact_leaves,
            "peek": exact_leaves or (printed and splits and self.attribute == "flip"),
            "parts" if self.partition else "copies": True,
        }
        return {question for question, needed in asked.items() if needed}

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Forest:
        # A grid reads every column, and refuses bad ones before anything is spent.
        curtain.grid(grid := public_grid(curtain.schema, CELLS))
        depth, budget = self._depth(curtain, start, budget)
        if depth > 8:
            curtain.grid(grid := public_grid(curtain.schema, 4 * CELLS))
        roots = curtain.parts(start, self.n_trees) if self.partition else curtain.copies(start, self.n_trees)
        budget = budget if self.partition else budget / self.n_trees
        rho, draws = exact(self.rho), public_generator(self.structure, self.random_state)
        frontier = Frontier.sprout(curtain, roots, grid)
        for _ in range(depth):
            frontier = frontier.split(self._medians(frontier, budget * rho / depth, draws))
        self._measure(frontier.ends, budget * (1 - rho) if depth else budget)
        return Forest(curtain.schema, frontier.finish())

    def _depth(self, curtain: Curtain, start: Node, budget: Fraction) -> tuple[int, Fraction]:
        """The depth at which a leaf is expected to hold ``occupancy`` records, and what is left of the budget."""
        if self.max_depth is not None:
            return self.max_depth, budget
        size = Size.of(curtain, start, budget, self.n_records)
        parts, occupancy = self.n_trees if self.partition else 1, float(self.occupancy)
        if self.n_records is None:
            # Noise alone must not buy leaves, however large it is: each holds at least as much as its own noise.
            at_leaf = float(size.left) * (1 - self.rho) * parts / self.n_trees
            occupancy = max(occupancy, 1 / at_leaf)
        return min(int(math.log2(max(size.trusted / parts / occupancy, 1))), deepest(self.n_trees)), size.left

    def _shares(self, curtain: Curtain, level: Fraction, n_candidates: int) -> LevelShares:
        """Half of a level's budget for the medians; sound: a share for each of them, since a record is in all."""
        if self.attribute == "random":
            return LevelShares(level, Fraction(0))
        if self.variant == "published":
            return LevelShares(level / 2, level / 2 * self._printed(curtain.schema))
        if n_candidates == 1:  # nothing to choose among
            return LevelShares(level, Fraction(0))
        return LevelShares(level / 2 / n_candidates, level / 2)

    def _medians(self, frontier: Frontier, level: Fraction, draws: np.random.Generator) -> dict[Node, Split]:
        """For every node that something parts a private median split, of a drawn attribute or of the best candidate."""
        wanted = 1 if self.attribute == "random" else self.n_candidates
        queues = {node: _attributes(end, wanted, draws) for node, end in frontier.items()}
        # How many attributes can still be split follows from the splits above: public.
        shares = {node: self._shares(frontier.curtain, level, len(queue)) for node, queue in queues.items() if queue}
        occupied = self._occupied(frontier)
        medians: dict[Node, list[Split]] = {node: [] for node in shares}
        for turn in range(wanted):
            asked = {}
            for node, queue in queues.items():
                if turn >= len(queue):
                    continue
                splits = _halvings(queue[turn], frontier[node], draws)
                allowed = splits.allowed_within(frontier[node].reachable)
                if node in occupied:
                    splits, allowed = _between_records(splits, allowed, occupied[node], draws)
                asked[node] = Candidates(splits, frontier.n_classes, allowed)
            each = {node: shares[node].median for node in asked}
            for node, split in frontier.choose(asked, MEDIAN, each, mechanism=self._mechanism).items():
                medians[node].append(split)
        options = {
            node: Candidates(Multiway.of(frontier.grid, splits), frontier.n_classes)
            for node, splits in medians.items()
            if len(splits) > 1
        }
        each = {node: shares[node].attribute for node in options}
        best = frontier.choose(options, purity(frontier.curtain.schema), each, mechanism=self._mechanism)
        return {node: best.get(node, splits[0]) for node, splits in medians.items()}

    def _occupied(self, frontier: Frontier) -> dict[Node, np.ndarray]:
        """Which cells hold records: what permute-and-flip as printed needs to know, at the price of infinity."""
        if self.variant == "sound" or self.attribute != "flip":
            return {}
        classes = frontier.curtain.schema.classes is not None
        return {
            node: (cells.sum(axis=1) if classes else cells[:, 0]) > 0
            for node, cells in frontier.curtain.peek(list(frontier)).items()
        }

    @property
    def _mechanism(self) -> str:
        return "permute_and_flip" if self.attribute == "flip" else "exponential"

    def _printed(self, schema: Schema) -> Fraction:
        """The part of its budget that the printed exponent of the choice among attributes really spends.

        Of classes half: the exponent is halved, though the score is monotone. Of numbers it is eps * SSE / (2 (2B)^2),
        B the largest absolute target; ours, at that price, is eps * SSE / R^2.
        """
        low, high = map(Fraction, schema.target or (0, 0))
        return (high - low) ** 2 / (8 * max(abs(low), abs(high)) ** 2) if high > low else Fraction(1, 2)


class DiPriMeForestClassifier(DiPriMe, ForestClassifier):
    """A forest of private median trees that vote with noisy class counts.

    ``variant="sound"`` costs ``epsilon``: ``1 - rho`` of it for the leaves' counts, the rest evenly for the levels.
    With ``attribute="random"`` a level is one median. With ``"exp"`` or ``"flip"`` half of it chooses among
    ``n_candidates`` medians, which share the other half: a record has a value in each of them.

    ``variant="published"`` gives each candidate median the whole half. With a random attribute that changes nothing
    and the claim holds; otherwise a level costs ``n_candidates`` halves more than claimed, and ``"flip"`` looks at the
    gaps between exact values, which costs infinity.

    Parameters
    ----------
    schema, random_state
        As for ``PrivateTreeClassifier``.
    epsilon : float
        The privacy budget; of the published variant, the claim.
    n_trees : int
        How many trees.
    max_depth : int, optional
        The depth of all trees; by default the one at which a leaf is expected to hold ``occupancy`` records (and where
        their number is measured, as many as its noise).
    occupancy : int
        See ``max_depth``.
    attribute : "random", "exp" or "flip"
        How a node's attribute is found: drawn, or chosen by the exponential mechanism or permute-and-flip, which
        then draw the medians too.
    n_candidates : int
        The paper's K, for ``"exp"`` and ``"flip"``.
    rho : float
        The share of the budget that is for the splits.
    partition : bool
        Each record belongs to one tree, drawn independently; else every tree has all records and a share of the budget.
    n_records : int, optional
        About how many records there are, if that is public; else 2% of the budget measures it, unless ``max_depth`` is
        given.
    variant : "sound" or "published"
        Truly epsilon-DP, or as printed.
    structure : int, optional
        A public seed for the attributes that are drawn.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = DiPriMeForestClassifier(schema, epsilon=1, attribute="exp").fit(X, y)
    >>> bool(model.score(X, y) > 0.74), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _shortfall = (
        "The medians of all candidate attributes are charged as one, though every record has a value in each; with "
        "permute-and-flip they are also drawn between exact values."
    )


class DiPriMeForestRegressor(DiPriMe, ForestRegressor):
    """A forest of private median trees; a prediction is the mean of the leaves' noisy means.

    ``variant="sound"`` costs ``epsilon``, as ``DiPriMeForestClassifier`` does: attributes are chosen by the squared
    error of their splits with its whole exponent, and a leaf's mean comes from two noisy sums.

    ``variant="published"`` gives each candidate median the whole half of a level's budget, chooses attributes with the
    printed exponent, which is smaller, and adds noise to a leaf's mean that is scaled by the exact number of its
    records: that reads exact values and costs infinity. Predictions may leave the target's range; an empty leaf
    predicts its middle.

    Parameters
    ----------
    schema : Schema
        The public ranges and categories, and the target's range.
    epsilon, n_trees, max_depth, occupancy, attribute, n_candidates, rho, partition, n_records, variant, structure
        As for ``DiPriMeForestClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import DiPriMeForestRegressor, Numeric, Schema
    >>> x = np.linspace(0, 1, 20000)[:, None]
    >>> schema = Schema({"x": Numeric(0, 1)}, target=(-1, 1))
    >>> model = DiPriMeForestRegressor(schema, epsilon=2).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(model.score(x, np.sin(6 * x[:, 0])) > 0.8), model.privacy_.epsilon <= 2, model.privacy_.verify()
    (True, True, True)
    """

    _shortfall = (
        "The medians of all candidate attributes are charged as one, though every record has a value in each; and the "
        "noise of a leaf's mean is scaled by the exact number of its records."
    )


def _attributes(end: End, wanted: int, draws: np.random.Generator) -> list[int]:
    """Up to ``wanted`` different attributes, drawn from those that can still be split; missing values do not count."""
    able = np.flatnonzero(end.open_cells(known=True) > 1)
    return [int(f) for f in draws.choice(able, size=min(wanted, len(able)), replace=False)]


def _halvings(f: int, end: End, draws: np.random.Generator) -> Splits:
    """The splits of one attribute that a median is chosen from."""
    grid = end.grid
    if grid.features[f].cuts is not None:
        return _cuts(f, end.tree.schema, grid)
    inside = end.cells_of(f)
    n = len(inside)
    if n <= MOST_SUBSETS:
        left = (np.arange(1, 2 ** (n - 1))[:, None] >> np.arange(n)) & 1 == 1  # the last one is always on the right
    else:
        left = np.tri(n - 1, n, dtype=bool)
        inside = draws.permutation(inside)
    masks = np.zeros((len(left), grid.features[f].n_cells), dtype=bool)
    masks[:, inside] = left
    none = np.empty(0, dtype=np.int64)
    return Splits(grid, np.full(len(masks), f), none, none, none, ((f, masks),), np.zeros(len(masks)))


@lru_cache(maxsize=4096)
def _cuts(f: int, schema: Schema, grid: Grid) -> Splits:
    """The cuts of a numeric attribute, each weighted by half of the two cells beside it; missing values go right."""
    feature, cuts = schema.features[schema.names[f]], grid.features[f].cuts
    assert isinstance(feature, Numeric)
    assert cuts is not None
    edges = np.concatenate([[feature.low], cuts, [feature.high]]).astype(float)
    widths = np.maximum(edges[2:] / 2 - edges[:-2] / 2, np.finfo(float).tiny)
    start, n = int(grid.offsets[f]), len(cuts)
    last = start + np.arange(n)
    log_prior = np.maximum(np.log(widths) - np.log(widths.max()), -700.0)
    return Splits(grid, np.full(n, f), np.full(n, start), last, np.full(n, -1), (), log_prior)


def _between_records(
    splits: Splits, allowed: np.ndarray, occupied: np.ndarray, draws: np.random.Generator
) -> tuple[Splits, np.ndarray]:
    """One cut, anywhere in it, for each gap between records, all gaps alike: permute-and-flip as printed."""
    if not splits.n_runs:
        return splits, allowed
    gap = np.cumsum(occupied[splits.first[0] : splits.last[-1] + 1])
    one_each = np.zeros_like(allowed)
    order = draws.permutation(np.flatnonzero(allowed))
    one_each[order[np.unique(gap[order], return_index=True)[1]]] = True
    alike = np.zeros(len(splits))
    return Splits(splits.grid, splits.feature, splits.first, splits.last, splits.extra, (), alike), one_each
