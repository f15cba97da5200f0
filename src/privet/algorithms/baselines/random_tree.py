"""A tree of random splits with private labels: DiffPrivLib's tree, and one tree of the forests called DP-ERT.

Features and thresholds are drawn before any record is seen, so the structure is free and the whole budget goes to the
leaves: one permute-and-flip for each, in parallel (Jagannathan et al. 2009; Bojarski et al. 2014; DiffPrivLib).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import choice, public_generator, whole
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.schema import Categorical, Numeric, Schema
from privet.tree.frontier import Frontier
from privet.tree.tree import Tree

DEEPEST = 16
"""A random tree is grown in full: one level more is twice as many leaves."""


@dataclass(eq=False, repr=False, kw_only=True)
class RandomTreeClassifier(PrivateClassifier):
    """A tree whose splits are drawn at random, labelled with the whole budget.

    Costs ``epsilon``: the structure does not depend on any record, and leaves are disjoint. DiffPrivLib's claim for its
    tree holds, so there is one variant. Worth using where n * epsilon is so small that any budget for splits is wasted,
    and as the yardstick that every greedy tree has to beat.

    Parameters
    ----------
    schema, epsilon
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The depth; a branch that nothing can part ends before.
    categories : "order" or "subsets"
        ``"order"`` cuts the schema's list of categories at a random place, as PrivaTree's comparison does, which
        encodes them as integers; ``"subsets"`` tosses a coin for each category.
    structure : int, optional
        A public seed for the structure. It says nothing about records, and the receipt stays valid.
    random_state : int, optional
        Reproducible structure and noise for research; voids the receipt.
    """

    max_depth: int = whole(4, most=DEEPEST)
    categories: str = choice("order", "subsets")
    structure: int | None = whole(None, 0)

    _draws_rules = True
    _poor_score = True  # random splits promise nothing

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"choose"}

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        generator = public_generator(self.structure, self.random_state)
        plan = Drawer(curtain.schema, self.categories == "subsets", generator).draw(self.max_depth)
        grid = grid_of([plan], curtain.schema)
        curtain.grid(grid)
        frontier = grow_drawn(Frontier.sprout(curtain, [start], grid), [plan])
        frontier.label(budget)
        return frontier.finish()[0]


def grow_drawn(frontier: Frontier, plans: Sequence[Structure]) -> Frontier:
    """The ends of trees that are grown as drawn, one plan for each: free, because nothing is asked."""
    drawn = dict(zip(frontier, plans))
    while frontier:
        splits = {node: own.split(frontier.grid) for node, own in drawn.items() if own.children}
        frontier = frontier.split(splits, asked=False)
        below = (child for node in splits for child in drawn[node].children)
        drawn = dict(zip(frontier, below, strict=True))
    return frontier.ends


def grid_of(plans: Sequence[Structure], schema: Schema) -> Grid:
    """Cells between all thresholds of all structures, no finer."""
    cuts: list[set[float] | None] = [set() if isinstance(own, Numeric) else None for own in schema.features.values()]
    for node in (node for plan in plans for node in plan.walk()):
        if (own := cuts[node.feature]) is not None and node.children:
            own.add(node.threshold)
    return Grid(schema, (None if own is None else sorted(own) for own in cuts))


@dataclass(frozen=True, eq=False)
class Structure:
    """A node of the structure. Inside: its feature, the threshold or the categories of its left side, two children."""

    feature: int = -1
    threshold: float = 0.0
    left: np.ndarray | None = None
    missing_left: bool = False
    children: tuple[Structure, ...] = ()

    def walk(self) -> Iterator[Structure]:
        yield self
        for child in self.children:
            yield from child.walk()

    def split(self, grid: Grid) -> Split:
        cells = grid.features[self.feature]
        if self.left is not None:
            right = ~self.left
        else:
            assert cells.cuts is not None
            right = np.arange(cells.n_cells) > np.searchsorted(cells.cuts, self.threshold)
            if cells.special:
                right[-1] = not self.missing_left
        return Split(self.feature, right.astype(np.uint8).tobytes())


class Drawer:
    """Draws structures over a schema: at each node a feature that it can be parted by, then where."""

    def __init__(self, schema: Schema, subsets: bool, generator: np.random.Generator) -> None:
        self._features = list(schema.features.values())
        self._subsets = subsets
        self._generator = generator

    def draw(self, depth: int) -> Structure:
        return self._draw(
            depth,
            [
                np.ones(feature.n_codes, dtype=bool)
                if isinstance(feature, Categorical)
                else np.array([feature.low, feature.high], dtype=float)
                for feature in self._features
            ],
        )

    def _draw(self, depth: int, region: list[np.ndarray]) -> Structure:
        """A structure for the records in a region: for each feature the categories, or the range, that are open."""
        able = [f for f, inside in enumerate(region) if _can_be_parted(self._features[f], inside)]
        if not depth or not able:
            return Structure()
        f = int(self._generator.choice(able))
        feature, inside = self._features[f], region[f]
        if isinstance(feature, Categorical):
            left = self._left_categories(inside)
            node, sides = Structure(f, left=left), [inside & left, inside & ~left]
        else:
            at = self._threshold(feature, *inside)
            node = Structure(f, threshold=at, missing_left=bool(self._generator.integers(2)))
            sides = [np.array([inside[0], at]), np.array([at + feature.integer, inside[1]])]
        below = tuple(self._draw(depth - 1, [*region[:f], side, *region[f + 1 :]]) for side in sides)
        return Structure(node.feature, node.threshold, node.left, node.missing_left, below)

    def _left_categories(self, inside: np.ndarray) -> np.ndarray:
        codes = np.flatnonzero(inside)
        left = np.zeros(len(inside), dtype=bool)
        if not self._subsets:
            left[codes[: self._generator.integers(1, len(codes))]] = True
            return left
        while not 0 < left.sum() < len(codes):  # a coin for each, again while all fall on one side
            left[codes] = self._generator.integers(2, size=len(codes)) == 1
        return left

    def _threshold(self, feature: Numeric, low: float, high: float) -> float:
        """Evenly distributed over the range, or its logarithm; of integers one below the last."""
        u = self._generator.random()
        at = low ** (1 - u) * high**u if feature.log and low > 0 else low * (1 - u) + high * u
        if feature.integer:
            return float(np.clip(np.floor(at), low, high - 1))
        return float(np.clip(at, low, np.nextafter(high, low)))


def _can_be_parted(feature: Numeric | Categorical, inside: np.ndarray) -> bool:
    return int(inside.sum()) > 1 if isinstance(feature, Categorical) else bool(inside[0] < inside[1])
