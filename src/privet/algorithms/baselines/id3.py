"""What SuLQ-ID3 and DiffPID3 share: ID3 on private answers (Friedman and Schuster 2010, Algorithms 1 and 2).

At each node a noisy size decides whether to go on; a leaf gets noisy class counts; inside, an attribute is chosen, with
one child for each of its values. The two differ in how they choose.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privet.algorithms.base import PrivateClassifier
from privet.questions.candidates import Split
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.tree.growth import Branch, branches, sprout
from privet.tree.tree import Tree


class ID3Classifier(PrivateClassifier):
    """The skeleton. A subclass says what the cells are, what parts a node, and how it chooses.

    All queries cost the same. A level asks for a size and then chooses, ``_level`` queries in all; the leaves ask for a
    size and for counts.
    """

    max_depth: int

    @abstractmethod
    def _cells(self, schema: Schema) -> Grid:
        """The public cells that attributes are split into."""

    @abstractmethod
    def _most_values(self, grid: Grid, branch: Branch) -> int:
        """The largest number of children of what still parts a node; 0 if nothing does."""

    @abstractmethod
    def _choose(self, curtain: Curtain, ready: Mapping[Node, Branch], grid: Grid, query: Fraction) -> dict[Node, Split]:
        """A split for each node, for all queries of a level but one."""

    def _level(self, schema: Schema) -> int:
        """How many queries an inner level costs."""
        return 2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a few hundred records are not enough for so many queries
        return tags

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        schema = curtain.schema
        query = budget / (self._level(schema) * self.max_depth + 2)
        grid = self._cells(schema)
        curtain.grid(grid)
        tree = Tree(schema)
        frontier = sprout(tree, start, grid)
        for depth in range(self.max_depth + 1):
            sizes = curtain.tally(dict.fromkeys(frontier, Tally(by_class=False)), query)
            ready = {
                node: branch
                for node, branch in frontier.items()
                if depth < self.max_depth
                and _enough(int(sizes[node][0]), self._most_values(grid, branch), schema, query)
            }
            leaves = {node: branch for node, branch in frontier.items() if node not in ready}
            for node, counts in curtain.tally(dict.fromkeys(leaves, Tally()), query).items():
                tree.nodes[leaves[node].number].counts = tuple(int(count) for count in counts[0])
            frontier = {}
            chosen = self._choose(curtain, ready, grid, query) if ready else {}
            for node, children in curtain.split(chosen).items():
                frontier |= zip(children, branches(tree, ready[node], chosen[node], grid))
        return tree.simplified()


def _enough(size: int, most_values: int, schema: Schema, query: Fraction) -> bool:
    """The paper's rule: a class has as many records in each child, on average, as the noise has standard deviation."""
    cells = most_values * len(schema.classes or ())
    return cells > 0 and size / cells >= math.sqrt(2) / float(query)
