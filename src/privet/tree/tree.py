"""The finished tree: public rules and released labels, counts or values, nothing else.

It is frozen, and every leaf says something: ``GrowingTree.finish`` sees to that. A tree holds no exact number and no
reference to records, so everything that can be done with it is free.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.schema import Categorical, Schema
from privet.strict_json import as_list, as_number, as_text, as_whole, only

DEEPEST = 1000
"""No tree in a file may be deeper: a chain of nodes would take quadratic time and space to print."""


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
        part = split.parts
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


@dataclass(frozen=True)
class TreeNode:
    """A node: an inner one has a rule and children; a leaf a label, or noisy class counts, or both; or a value.

    ``value`` is a noisy mean inside the target's range, and ``weight`` about how many records it is the mean of.
    ``scope`` is where the receipt has the answers that paid for the node; a leaf that was chosen together with the
    split above it has its parent's. ``asked`` is False for a rule that was drawn without asking anything.
    """

    rule: Rule | None = None
    children: tuple[int, ...] = ()
    label: int | None = None
    counts: tuple[int, ...] | None = None
    value: float | None = None
    weight: float | None = None
    scope: str = ""
    asked: bool = True

    @property
    def is_leaf(self) -> bool:
        return self.rule is None

    @property
    def answer(self) -> int | None:
        """What a leaf predicts: its label, or else the class with the largest noisy count; None inside the tree."""
        if self.label is None and self.counts is not None:
            return max(range(len(self.counts)), key=self.counts.__getitem__)
        return self.label

    def shares(self, n_classes: int) -> np.ndarray:
        """A leaf's class probabilities: its counts' shares, none above that of the label it predicts."""
        if self.counts is None:
            return np.eye(n_classes)[self.answer]
        counts = np.maximum(np.array(self.counts, dtype=float), 0)
        shares = counts / counts.sum() if counts.sum() > 0 else np.full(n_classes, 1 / n_classes)
        if shares.argmax() != self.answer:
            # The label was chosen with more of the budget than the counts: where they disagree, it is right more often.
            shares[self.answer] = shares.max() * (1 + 1e-9)
        return shares / shares.sum()


@dataclass(frozen=True)
class Tree:
    """A decision tree over a schema. ``nodes[0]`` is the root; children come after their parents."""

    schema: Schema
    nodes: tuple[TreeNode, ...]

    @property
    def leaves(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if node.is_leaf]

    @property
    def depth(self) -> int:
        return max(depth for _, depth in self.walk())

    def walk(self) -> Iterator[tuple[int, int]]:
        """Every node with its depth, parents first, left to right."""
        waiting = [(0, 0)]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            waiting.extend((child, depth + 1) for child in reversed(self.nodes[node].children))

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

    @property
    def labels(self) -> np.ndarray:
        """What every node that is a leaf predicts, by number; -1 inside the tree."""
        return np.array([-1 if node.answer is None else node.answer for node in self.nodes])

    @property
    def values(self) -> np.ndarray:
        """The value of every node that is a leaf, by number."""
        return np.array([math.nan if node.value is None else node.value for node in self.nodes])

    @property
    def shares(self) -> np.ndarray:
        """The class probabilities of every node that is a leaf, by number; in the schema's order of classes."""
        shares = np.zeros((len(self.nodes), len(self.schema.classes or ())))
        for i in self.leaves:
            shares[i] = self.nodes[i].shares(shares.shape[1])
        return shares

    @property
    def weighed(self) -> bool:
        """Whether every leaf says about how many records it has: a leaf of a label alone does not."""
        return all(self.nodes[i].counts is not None or self.nodes[i].weight is not None for i in self.leaves)

    def simplified(self) -> Tree:
        """The same function in fewer nodes: unreachable branches dropped, leaves with one label merged."""
        nodes: list[TreeNode] = []
        below: list[list[int]] = []  # the children of each of them
        waiting: list[tuple[int, Reach, int | None]] = [(0, Reach(self), None)]
        while waiting:
            i, reach, parent = waiting.pop()
            node, inside = self._first_that_parts(i, reach)
            if parent is not None:
                below[parent].append(len(nodes))
            waiting.extend(
                (child, own or reach, len(nodes)) for child, own in reversed(list(zip(node.children, inside)))
            )
            nodes.append(node)
            below.append([])
        for i in reversed(range(len(nodes))):  # children before their parents
            label = _common_label([nodes[child] for child in below[i]])
            if label is not None:
                nodes[i], below[i] = TreeNode(label=label, scope=nodes[i].scope), []
        return Tree(self.schema, _in_order(nodes, below))

    def without_small_leaves(self, share: float) -> Tree:
        """Where a side of a split has less than this share of all noisy counts, the larger side stands in its place.

        Needs two sides at every split, and counts at every leaf. It looks at released numbers alone: free.
        """
        totals, stands = [float(sum(node.counts or ())) for node in self.nodes], list(range(len(self.nodes)))
        for i in reversed(range(len(self.nodes))):  # children before their parents
            totals[i] += sum(totals[child] for child in self.nodes[i].children)
        for i, node in reversed(list(enumerate(self.nodes))):
            if min((totals[child] for child in node.children), default=math.inf) < share * totals[0]:
                stands[i] = stands[max(node.children, key=totals.__getitem__)]
        below = [[stands[child] for child in node.children] for node in self.nodes]
        nodes = [self.nodes[stands[0]], *self.nodes[1:]]
        return Tree(self.schema, _in_order(nodes, [below[stands[0]], *below[1:]]))

    def _first_that_parts(self, i: int, reach: Reach) -> tuple[TreeNode, list[Reach | None]]:
        """Node ``i``, or the first one below it that is a leaf or parts what reaches it; and what each child gets."""
        while True:
            node = self.nodes[i]
            if node.rule is None:
                return node, []
            below = reach.below(node.rule, len(node.children))
            reached = [part for part, inside in enumerate(below) if inside is not None]
            if len(reached) > 1:
                return node, below
            i = node.children[reached[0]]

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
            if node.value is not None:
                plain["value"], plain["weight"] = node.value, node.weight
            if node.scope:
                plain["scope"] = node.scope
            if not node.asked:
                plain["asked"] = False
            nodes.append(plain)
        return {"nodes": nodes}

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Tree:
        """Read a tree. Whatever the data say, the result is a well-formed tree over the schema, or an error."""
        try:
            only(data, ("nodes",))
            plain = as_list(data["nodes"])
            nodes = tuple(_read_node(node, i, len(plain), schema) for i, node in enumerate(plain))
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise SchemaError(
                "This is not a whole tree: a node is missing a field or does not fit the schema."
            ) from None
        above = [child for node in nodes for child in node.children]
        if not nodes or sorted(above) != list(range(1, len(nodes))):
            raise SchemaError("This is not a tree: every node but the first needs exactly one parent.")
        tree = cls(schema, nodes)
        if tree.depth > DEEPEST:
            raise SchemaError(f"This tree is deeper than {DEEPEST} levels, which is more than any model of Privet.")
        return tree


class Reach:
    """Which values can reach a node, given the rules above it: public, since rules are.

    Each feature's values fall into the segments between all the cuts that the tree has on it.
    """

    def __init__(self, tree: Tree) -> None:
        rules = [node.rule for node in tree.nodes if node.rule is not None]
        cuts: dict[int, set[float]] = {}
        for rule in rules:
            cuts.setdefault(rule.feature, set()).update(rule.cuts or ())
        self._ends = {f: np.array([*sorted(of_feature), np.inf]) for f, of_feature in cuts.items()}
        self._open: dict[int, np.ndarray] = {}

    def below(self, rule: Rule, n_children: int) -> list[Reach | None]:
        """What reaches each child of a node with this rule; None where nothing does."""
        parts = np.frombuffer(rule.part, dtype=np.uint8)
        if rule.cuts is not None:
            segments = np.searchsorted(rule.cuts, self._ends[rule.feature], side="left")
            parts = np.concatenate([parts[segments], parts[len(rule.cuts) + 1 :]])
        still = self._open.get(rule.feature, True)
        return [self._with(rule.feature, (parts == part) & still) for part in range(n_children)]

    def segments(self, rule: Rule) -> list[bool]:
        """Which segments of a rule have values that reach its node."""
        still = self._open.get(rule.feature)
        if still is None or rule.cuts is None:
            return [True] * len(rule.part) if still is None else still.tolist()
        ends = self._ends[rule.feature]
        own = np.searchsorted(rule.cuts, ends, side="left")
        inside = np.bincount(own[still[: len(ends)]], minlength=len(rule.cuts) + 1) > 0
        return [*inside.tolist(), *still[len(ends) :].tolist()]

    def _with(self, feature: int, inside: np.ndarray) -> Reach | None:
        if not inside.any():
            return None
        reach = Reach.__new__(Reach)
        reach._ends = self._ends
        reach._open = {**self._open, feature: inside}
        return reach


def _common_label(leaves: list[TreeNode]) -> int | None:
    """The label that all of these are leaves with, if there is one and none of them has counts."""
    labels = {leaf.label if leaf.is_leaf and leaf.counts is None else None for leaf in leaves}
    return labels.pop() if len(labels) == 1 else None


def _in_order(nodes: list[TreeNode], below: list[list[int]]) -> tuple[TreeNode, ...]:
    """The nodes that the first one reaches, parents first, left to right, with new numbers."""
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(below[order[-1]]))
    number = {i: new for new, i in enumerate(order)}
    return tuple(
        replace(nodes[i], children=tuple(number[child] for child in below[i])) if below[i] else nodes[i] for i in order
    )


_INNER = ("feature", "cuts", "part", "children", "scope", "asked")
_LEAF = ("label", "counts", "value", "weight", "scope")


def _read_node(plain: Any, i: int, n_nodes: int, schema: Schema) -> TreeNode:
    only(plain, _INNER if "feature" in plain else _LEAF)
    node = TreeNode(**_read_leaf(plain, schema), scope=as_text(plain.get("scope", "")))
    if "feature" in plain:
        node = replace(node, **_read_rule(plain, i, n_nodes, schema), asked=plain.get("asked", True))
        if type(node.asked) is not bool:
            raise TypeError("yes or no expected")
    if (node.rule is None) == (node.label is None and node.counts is None and node.value is None):
        raise ValueError("a leaf needs a label, counts or a value, and only a leaf has them")
    return node


def _read_rule(plain: dict[str, Any], i: int, n_nodes: int, schema: Schema) -> dict[str, Any]:
    feature = schema.names.index(plain["feature"])
    field = schema.features[plain["feature"]]
    part = bytes(as_whole(child) for child in as_list(plain["part"]))
    children = tuple(as_whole(child) for child in as_list(plain["children"]))
    if isinstance(field, Categorical):
        cuts, n_segments = None, len(field.values) + field.other
        if plain["cuts"] is not None:
            raise ValueError("cuts on a category")
    else:
        cuts = tuple(as_number(cut) for cut in as_list(plain["cuts"]))
        n_segments = len(cuts) + 1 + field.missing
        if not all(a < b for a, b in pairwise(cuts)):
            raise ValueError("cuts must increase")
    if len(part) != n_segments or not set(part) <= set(range(len(children))):
        raise ValueError("every segment needs a child")
    if not children or not all(i < child < n_nodes for child in children):
        raise ValueError("children come after their parents")
    return {"rule": Rule(feature, cuts, part), "children": children}


def _read_leaf(plain: dict[str, Any], schema: Schema) -> dict[str, Any]:
    n_classes, said = len(schema.classes or ()), dict[str, Any]()
    if plain.get("label") is not None:
        said["label"] = as_whole(plain["label"])
        if not 0 <= said["label"] < n_classes:
            raise ValueError("a label is the number of a class")
    if plain.get("counts") is not None:
        said["counts"] = tuple(as_whole(count) for count in as_list(plain["counts"]))
        if len(said["counts"]) != n_classes:
            raise ValueError("one count for each class")
    if ("value" in plain) != ("weight" in plain):
        raise ValueError("a value has a weight, and nothing else has one")
    if plain.get("value") is not None:
        said["value"], said["weight"] = as_number(plain["value"]), as_number(plain["weight"])
        if schema.target is None or said["weight"] < 0:
            raise ValueError("only numbers to predict are values, and no weight is negative")
    return said
