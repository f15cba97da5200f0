"""The tree: public rules and released labels or counts, nothing else.

Growing and the finished tree are one type: a list of nodes, children after their parents. A tree holds no exact
number and no reference to records, so everything that can be done with it is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.schema import Categorical, Schema
from privet.tree.candidates import Split
from privet.tree.grid import Grid


@dataclass(frozen=True)
class Rule:
    """Where a record goes: the child ``part[segment]``.

    For a numeric feature the segment is the number of ``cuts`` below the value, and one more for a missing value;
    for a categorical feature, whose ``cuts`` is None, it is the position of the value in the schema, and the one
    after the last for all other values.
    """

    feature: int
    cuts: tuple[float, ...] | None
    part: bytes

    @classmethod
    def of(cls, split: Split, grid: Grid) -> Rule:
        """The rule of a split on a grid, with the cuts that make no difference left out."""
        cells = grid.features[split.feature]
        if cells.cuts is None:
            return cls(split.feature, None, split.part)
        part = np.frombuffer(split.part, dtype=np.uint8)
        present = part[: len(cells.cuts) + 1]
        changes = np.flatnonzero(np.diff(present))
        segments = np.concatenate([present[:1], present[changes + 1], part[len(present) :]])
        return cls(split.feature, tuple(float(cut) for cut in cells.cuts[changes]), segments.tobytes())

    def children(self, values: np.ndarray) -> np.ndarray:
        """The child of each value: numbers of a numeric feature, codes of a categorical one."""
        part = np.frombuffer(self.part, dtype=np.uint8)
        if self.cuts is None:
            return part[values]
        segments = np.searchsorted(self.cuts, values, side="left")
        segments[np.isnan(values)] = len(self.cuts) + 1
        return part[segments]


@dataclass
class TreeNode:
    """A node: an inner one has a rule and children; a leaf a label, or noisy class counts, or both."""

    rule: Rule | None = None
    children: tuple[int, ...] = ()
    label: int | None = None
    counts: tuple[int, ...] | None = None

    @property
    def is_leaf(self) -> bool:
        return self.rule is None


@dataclass
class Tree:
    """A decision tree over a schema. ``nodes[0]`` is the root."""

    schema: Schema
    nodes: list[TreeNode] = field(default_factory=lambda: [TreeNode()])

    def grow(self, node: int, rule: Rule, n_children: int) -> range:
        """Turn a leaf into an inner node; returns the numbers of its new children."""
        children = range(len(self.nodes), len(self.nodes) + n_children)
        self.nodes.extend(TreeNode() for _ in children)
        self.nodes[node].rule, self.nodes[node].children = rule, tuple(children)
        return children

    @property
    def leaves(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if node.is_leaf]

    @property
    def depth(self) -> int:
        return max(depth for _, depth in self.walk())

    def walk(self, node: int = 0, depth: int = 0) -> Iterator[tuple[int, int]]:
        """Every node with its depth, parents first, left to right."""
        yield node, depth
        for child in self.nodes[node].children:
            yield from self.walk(child, depth + 1)

    @property
    def features(self) -> set[int]:
        """The features that a rule asks for."""
        return {node.rule.feature for node in self.nodes if node.rule is not None}

    def apply(self, columns: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
        """The number of the leaf that each row falls into; ``columns`` holds at least the tree's features."""
        leaf = np.zeros(n_rows, dtype=np.intp)
        waiting = {0: np.arange(n_rows)}
        for i, node in enumerate(self.nodes):  # parents come before their children
            rows = waiting.pop(i, None)
            if rows is None:
                continue
            if node.rule is None:
                leaf[rows] = i
                continue
            side = node.rule.children(columns[node.rule.feature][rows])
            for part, child in enumerate(node.children):
                waiting[child] = rows[side == part]
        return leaf

    def simplified(self) -> Tree:
        """The same function in fewer nodes: unreachable branches dropped, leaves with one label merged."""
        tree = Tree(self.schema, nodes=[])
        self._copy_into(tree, 0, Reach(self))
        return tree

    def _copy_into(self, tree: Tree, i: int, reach: Reach) -> int:
        """Append the simplified subtree of node ``i``, seen from what can reach it; returns its number."""
        node = self.nodes[i]
        if node.rule is None:
            tree.nodes.append(TreeNode(label=node.label, counts=node.counts))
            return len(tree.nodes) - 1
        below = [reach.within(node.rule, part) for part in range(len(node.children))]
        reached = [part for part, inside in enumerate(below) if inside is not None]
        if len(reached) == 1:
            return self._copy_into(tree, node.children[reached[0]], reach)
        here = len(tree.nodes)
        tree.nodes.append(TreeNode(rule=node.rule))
        children = [self._copy_into(tree, child, inside or reach) for child, inside in zip(node.children, below)]
        tree.nodes[here].children = tuple(children)
        leaves = [tree.nodes[child] for child in children]
        if all(leaf.is_leaf and leaf.counts is None and leaf.label == leaves[0].label for leaf in leaves):
            tree.nodes[here:] = [TreeNode(label=leaves[0].label)]
        return here

    def to_dict(self) -> dict[str, Any]:
        nodes = []
        for node in self.nodes:
            plain: dict[str, Any] = {}
            if node.rule is not None:
                plain["feature"] = self.schema.names[node.rule.feature]
                plain["cuts"] = None if node.rule.cuts is None else list(node.rule.cuts)
                plain["part"] = list(node.rule.part)
                plain["children"] = list(node.children)
            if node.label is not None:
                plain["label"] = node.label
            if node.counts is not None:
                plain["counts"] = list(node.counts)
            nodes.append(plain)
        return {"nodes": nodes}

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Tree:
        """Read a tree. Whatever the data say, the result is a well-formed tree over the schema, or an error."""
        try:
            nodes = [_read_node(plain, i, len(data["nodes"]), schema) for i, plain in enumerate(data["nodes"])]
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise SchemaError(
                "This is not a whole tree: a node is missing a field or does not fit the schema."
            ) from None
        above = [child for node in nodes for child in node.children]
        if sorted(above) != list(range(1, len(nodes))):
            raise SchemaError("This is not a tree: every node but the first needs exactly one parent.")
        return cls(schema, nodes)


class Reach:
    """Which values can reach a node, given the rules above it: public, since rules are.

    Each feature's values fall into the segments between all the cuts that the tree has on it.
    """

    def __init__(self, tree: Tree) -> None:
        rules = [node.rule for node in tree.nodes if node.rule is not None]
        self._cuts = {
            f: sorted({cut for rule in rules if rule.feature == f for cut in rule.cuts or ()})
            for f in {rule.feature for rule in rules}
        }
        self._open: dict[int, np.ndarray] = {}

    def within(self, rule: Rule, part: int) -> Reach | None:
        """What reaches child ``part`` of a node with this rule; None if nothing does."""
        parts = np.frombuffer(rule.part, dtype=np.uint8)
        if rule.cuts is not None:
            segment_ends = np.append(self._cuts[rule.feature], np.inf)
            segments = np.searchsorted(rule.cuts, segment_ends, side="left")
            parts = np.append(parts[segments], parts[len(rule.cuts) + 1 :])
        inside = (parts == part) & self._open.get(rule.feature, True)
        if not inside.any():
            return None
        reach = copy(self)
        reach._open = {**self._open, rule.feature: inside}
        return reach


def _read_node(plain: Any, i: int, n_nodes: int, schema: Schema) -> TreeNode:
    node = TreeNode()
    n_classes = len(schema.classes or ())
    if "feature" in plain:
        feature = schema.names.index(plain["feature"])
        field_ = schema.features[plain["feature"]]
        part = bytes(plain["part"])
        node.children = tuple(int(child) for child in plain["children"])
        if isinstance(field_, Categorical):
            cuts, n_segments = None, len(field_.values) + field_.other
            if plain["cuts"] is not None:
                raise ValueError("cuts on a category")
        else:
            cuts = tuple(float(cut) for cut in plain["cuts"])
            n_segments = len(cuts) + 1 + field_.missing
            if not all(a < b for a, b in pairwise(cuts)) or not np.isfinite(cuts).all():
                raise ValueError("cuts must increase")
        if len(part) != n_segments or not set(part) <= set(range(len(node.children))):
            raise ValueError("every segment needs a child")
        if not node.children or not all(i < child < n_nodes for child in node.children):
            raise ValueError("children come after their parents")
        node.rule = Rule(feature, cuts, part)
    if plain.get("label") is not None:
        node.label = range(n_classes)[plain["label"]]
    if plain.get("counts") is not None:
        node.counts = tuple(int(count) for count in plain["counts"])
        if len(node.counts) != n_classes:
            raise ValueError("one count for each class")
    if node.rule is None and node.label is None and node.counts is None:
        raise ValueError("a leaf needs a label or counts")
    return node
