"""The frontier: the growing ends of one or several trees, and what can be asked about all of them at once.

An end stands for the records of a node behind the curtain. Splitting asks the curtain for the children and writes the
rule into the end's tree; labels, counts and means are asked for and written the same way. What an end remembers (which
cells can reach it, which features were used above it, how deep it is, what it has not spent) is public.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.scores import CorrectCount, Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Budget, Curtain, Node
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway
from privet.questions.split import Choice, Split
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.tree import proposals
from privet.tree.growing import GrowingNode, GrowingTree
from privet.tree.means import set_means
from privet.tree.tree import Rule, Tree


@dataclass(frozen=True, eq=False)
class End:
    """A growing end: a leaf of its tree, ``part`` of the split of the end ``above`` it; the root's has none above.

    ``saved`` is budget of its own that it has not used. ``weight`` is its share of all records, where that is measured.
    """

    tree: GrowingTree
    number: int
    grid: Grid
    above: End | None = None
    split: Split | None = None
    part: int = 0
    depth: int = 0
    saved: Fraction = Fraction(0)
    weight: float = 1.0

    @property
    def leaf(self) -> GrowingNode:
        return self.tree.nodes[self.number]

    @cached_property
    def reachable(self) -> np.ndarray:
        """The flat cells that can reach it."""
        if self.above is None or self.split is None:
            return np.ones(self.grid.n_cells, dtype=bool)
        reachable = self.above.reachable.copy()
        reachable[self._cells] &= self.split.parts == self.part
        return reachable

    @property
    def is_reached(self) -> bool:
        """Whether the last split leaves any cell for it."""
        return bool(self.reachable[self._cells].any())

    @cached_property
    def used(self) -> frozenset[int]:
        """The features that were split above it."""
        if self.above is None or self.split is None:
            return frozenset()
        return self.above.used | {self.split.feature}

    def open_cells(self, *, known: bool = False) -> np.ndarray:
        """How many cells of each feature can reach it; of numbers, if only ``known`` ones count, no missing value's."""
        cells = np.add.reduceat(self.reachable, self.grid.offsets[:-1], dtype=np.int64)
        if known:
            for f, own in enumerate(self.grid.features):
                cells[f] -= own.cuts is not None and own.special and self.reachable[self.grid.offsets[f + 1] - 1]
        return cells

    def cells_of(self, feature: int) -> np.ndarray:
        """The cells of one feature that can reach it, by their numbers in that feature."""
        return np.flatnonzero(self.reachable[self.grid.offsets[feature] : self.grid.offsets[feature + 1]])

    @property
    def _cells(self) -> slice:
        feature = self.split.feature if self.split is not None else 0
        return slice(self.grid.offsets[feature], self.grid.offsets[feature + 1])

    def children(self, split: Split, scopes: Sequence[str] = (), *, asked: bool = True) -> list[End]:
        """Grow the tree here: the new ends."""
        rule = Rule.of(split, self.grid)
        numbers = self.tree.grow(self.number, rule, split.n_children, scopes, asked=asked)
        return [
            End(self.tree, number, self.grid, self, split, part, self.depth + 1) for part, number in enumerate(numbers)
        ]


@dataclass(frozen=True, eq=False)
class Frontier(Mapping[Node, End]):
    """The ends that still grow, in order, and those that have ``stopped``. Growing gives back the next frontier."""

    curtain: Curtain
    grid: Grid
    trees: tuple[GrowingTree, ...]
    growing: Mapping[Node, End]
    stopped: Mapping[Node, End] = field(default_factory=dict)

    @classmethod
    def sprout(cls, curtain: Curtain, roots: Sequence[Node], grid: Grid) -> Frontier:
        """One new tree for each root, each still a single leaf."""
        trees = tuple(GrowingTree(curtain.schema, [GrowingNode(curtain.path(root))]) for root in roots)
        return cls(curtain, grid, trees, {root: End(tree, 0, grid) for root, tree in zip(roots, trees)})

    def __getitem__(self, node: Node) -> End:
        return self.growing[node]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.growing)

    def __len__(self) -> int:
        return len(self.growing)

    def only(self, nodes: Iterable[Node]) -> Frontier:
        """Only these ends."""
        return replace(self, growing={node: self[node] for node in nodes}, stopped={})

    def without(self, nodes: Collection[Node]) -> Frontier:
        """All ends but these."""
        return replace(self, growing={node: end for node, end in self.items() if node not in nodes}, stopped={})

    @property
    def ends(self) -> Frontier:
        """All ends of the trees: those that have stopped, and those that still grow."""
        return replace(self, growing={**self.stopped, **self.growing}, stopped={})

    def by_tree(self) -> list[Frontier]:
        """The ends tree by tree."""
        own: dict[int, list[Node]] = {id(tree): [] for tree in self.trees}
        for node, end in self.items():
            own[id(end.tree)].append(node)
        return [
            replace(self, trees=(tree,), growing={node: self[node] for node in own[id(tree)]}, stopped={})
            for tree in self.trees
        ]

    @cached_property
    def n_classes(self) -> int:
        return len(self.curtain.schema.classes or ())

    def with_saved(self, budget: Fraction) -> dict[Node, Fraction]:
        """A budget for each end: this one, and what it has saved."""
        return {node: budget + end.saved for node, end in self.items()}

    # -- splitting ---------------------------------------------------------------------------------------------------

    def candidates(self, splits: Splits | Multiway | None, **options: Any) -> dict[Node, Candidates]:
        """For each end the splits that part what can reach it."""
        return {
            node: Candidates(
                splits, self.n_classes, None if splits is None else splits.allowed_within(end.reachable), **options
            )
            for node, end in self.items()
        }

    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, Split]:
        """One private choice among the splits of each node; a node without candidates has none, and pays nothing."""
        ready = {node: options for node, options in candidates.items() if len(options)}
        return _splits(self.curtain.choose(ready, score, budget, mechanism=mechanism)) if ready else {}

    def split(
        self, chosen: Mapping[Node, Split], *, asked: bool = True, saved: Mapping[Node, Fraction] | None = None
    ) -> Frontier:
        """Split ends; the others stop. ``saved`` is handed on to an end's children, or kept where it stops."""
        own = self if saved is None else {node: replace(end, saved=saved[node]) for node, end in self.items()}
        grown = self._split(chosen, asked)
        children = {
            child: end if saved is None else replace(end, saved=saved[node])
            for node, ends in grown.items()
            for child, end in ends.items()
        }
        stopped = {node: end for node, end in own.items() if node not in grown}
        return replace(self, growing=children, stopped={**self.stopped, **stopped})

    def split_in_place(
        self, chosen: Mapping[Node, Split], *, asked: bool = True, saves: Fraction = Fraction(0)
    ) -> Frontier:
        """Split ends; the others stay in their places, and save so much."""
        grown = self._split(chosen, asked)
        growing: dict[Node, End] = {}
        for node, end in self.items():
            growing |= grown.get(node) or {node: replace(end, saved=end.saved + saves)}
        return replace(self, growing=growing)

    def grow(self, splits: Splits, score: Score, budget: Fraction) -> Frontier:
        """Split every end that something parts, by one private choice each; the others keep their share."""
        ready = {node: options for node, options in self.candidates(splits).items() if len(options)}
        chosen = _splits(proposals.choose(self.curtain, ready, score, budget)) if ready else {}
        return self.split_in_place(chosen, saves=budget)

    def _split(self, chosen: Mapping[Node, Split], asked: bool) -> dict[Node, dict[Node, End]]:
        grown = {}
        for node, children in self.curtain.split(chosen).items():
            ends = self[node].children(chosen[node], [self.curtain.path(child) for child in children], asked=asked)
            grown[node] = dict(zip(children, ends))
        return grown

    # -- what the ends say ---------------------------------------------------------------------------------------------

    def label(self, budget: Budget, mechanism: str = "permute_and_flip") -> None:
        """A private label for every end."""
        options = dict.fromkeys(self, Candidates(None, self.n_classes, labelled=True, stop=True))
        for node, choice in self.curtain.choose(options, CorrectCount(), budget, mechanism=mechanism).items():
            self[node].leaf.label = choice.labels[0]

    def split_and_label(self, candidates: Mapping[Node, Candidates], budget: Budget) -> dict[Node, Split]:
        """For every end one choice of a split with its labels, or of one label: the last level. Returns the splits."""
        choices = proposals.choose(self.curtain, candidates, CorrectCount(), budget)
        for node, choice in choices.items():
            ends = [self[node]] if choice.split is None else self[node].children(choice.split)
            for end, label in zip(ends, choice.labels or (), strict=True):
                end.leaf.label = label
        return _splits(choices)

    def count(self, budget: Budget) -> dict[Node, np.ndarray]:
        """Noisy class counts of every end."""
        counts = {node: own[0] for node, own in self.curtain.tally(dict.fromkeys(self, Tally()), budget).items()}
        for node, own in counts.items():
            self[node].leaf.counts = tuple(int(count) for count in own)
        return counts

    def count_last(self, last: Mapping[Node, Split], budget: Budget) -> None:
        """Noisy class counts after ``split_and_label``: those of a last split are the rows of one table."""
        tables = {node: Tally((last[node],) if node in last else ()) for node in self}
        counts = self.curtain.tally(tables, budget)
        for node, end in self.items():
            leaves = [end.tree.nodes[child] for child in end.leaf.children] or [end.leaf]
            for leaf, row in zip(leaves, counts[node], strict=True):
                leaf.counts = tuple(int(count) for count in row)

    def sizes(self, budget: Budget) -> dict[Node, int]:
        """Noisy numbers of records."""
        counts = self.curtain.tally(dict.fromkeys(self, Tally(by_class=False)), budget)
        return {node: int(own[0]) for node, own in counts.items()}

    def average(self, budget: Budget, noise: float) -> None:
        """A noisy mean for every end, by two sums, whose noise is worth ``noise`` records."""
        assert self.curtain.schema.target is not None
        sums = self.curtain.tally(dict.fromkeys(self, Tally(measure="target")), budget)
        for own in self.by_tree():
            by_leaf = {end.number: sums[node][0] for node, end in own.items()}
            set_means(own.trees[0], by_leaf, self.curtain.schema.target, noise)

    # -- exact values, at the price of infinity ------------------------------------------------------------------------

    def exact_counts(self) -> dict[Node, np.ndarray]:
        """The exact class counts of each end; of numeric targets, the moments."""
        # Every record is in one cell of the first feature.
        first = self.grid.offsets[1]
        return {node: cells[:first].sum(axis=0) for node, cells in self.curtain.peek(list(self)).items()}

    def average_as_printed(self, budget: Fraction) -> None:
        """Exact means with noise of scale 2B / (N eps), B the largest absolute target (DiPriMe's and its peers')."""
        assert self.curtain.schema.target is not None
        low, high = self.curtain.schema.target
        widest = 2 * max(abs(low), abs(high)) / (high - low) if high > low else 0.0
        for node, moments in self.exact_counts().items():
            n, total = int(moments[0]), int(moments[1])
            place = 0.5
            if n and widest:
                scale = widest * TARGET_ONE / (n * float(budget))
                place = float(self.curtain.noise(np.array([total // n]), scale)[0]) / TARGET_ONE
            leaf = self[node].leaf
            leaf.value = low + (high - low) * place  # not clamped: printed predictions may leave the range
            leaf.weight = 1.0  # the paper releases no sizes

    # -- the end -------------------------------------------------------------------------------------------------------

    def finish(self) -> tuple[Tree, ...]:
        """The finished trees."""
        return tuple(tree.finish() for tree in self.trees)


def _splits(choices: Mapping[Node, Choice]) -> dict[Node, Split]:
    return {node: choice.split for node, choice in choices.items() if choice.split is not None}
