"""What SuLQ-ID3 and DiffPID3 share: ID3 on private answers (Friedman and Schuster 2010, Algorithms 1 and 2).

At each node a noisy size decides whether to go on; a leaf gets noisy class counts; inside, an attribute is chosen, with
one child for each of its values. The two differ in how they choose.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import whole
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.schema import Schema
from privet.tree.frontier import End, Frontier
from privet.tree.tree import Tree


@dataclass(eq=False, repr=False, kw_only=True)
class ID3Classifier(PrivateClassifier):
    """The skeleton. A subclass says what the cells are, what parts a node, and how it chooses.

    All queries cost the same. A level asks for a size and then chooses, ``_level`` queries in all; the leaves ask for a
    size and for counts.
    """

    max_depth: int = whole(4)

    _poor_score = True  # a few hundred records are not enough for so many queries

    @abstractmethod
    def _cells(self, schema: Schema) -> Grid:
        """The public cells that attributes are split into."""

    @abstractmethod
    def _most_values(self, grid: Grid, end: End) -> int:
        """The largest number of children of what still parts a node; 0 if nothing does."""

    @abstractmethod
    def _choose(self, ready: Frontier, query: Fraction) -> dict[Node, Split]:
        """A split for each node, for all queries of a level but one."""

    def _level(self, schema: Schema) -> int:
        """How many queries an inner level costs."""
        return 2

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        schema = curtain.schema
        query = budget / (self._level(schema) * self.max_depth + 2)
        grid = self._cells(schema)
        curtain.grid(grid)
        frontier = Frontier.sprout(curtain, [start], grid)
        for depth in range(self.max_depth + 1):
            sizes = frontier.sizes(query)
            ready = [
                node
                for node, end in frontier.items()
                if depth < self.max_depth and _enough(sizes[node], self._most_values(grid, end), schema, query)
            ]
            frontier.without(ready).count(query)
            frontier = frontier.split(self._choose(frontier.only(ready), query) if ready else {})
            if not ready:  # all are leaves, however many levels there might be
                break
        return frontier.finish()[0]


def _enough(size: int, most_values: int, schema: Schema, query: Fraction) -> bool:
    """The paper's rule: a class has as many records in each child, on average, as the noise has standard deviation."""
    cells = most_values * len(schema.classes or ())
    return cells > 0 and size / cells >= math.sqrt(2) / float(query)
