"""A tree while it grows: what frontiers write to, until ``finish`` turns it into a ``Tree``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from privet.errors import PrivetError
from privet.schema import Schema
from privet.tree.tree import Rule, Tree, TreeNode


@dataclass
class GrowingNode:
    """As ``TreeNode``. An inner node may have counts or a label too: ``finish`` leaves them out."""

    scope: str = ""
    rule: Rule | None = None
    children: tuple[int, ...] = ()
    label: int | None = None
    counts: tuple[int, ...] | None = None
    value: float | None = None
    weight: float | None = None
    asked: bool = True

    def finished(self) -> TreeNode:
        if self.rule is not None:
            return TreeNode(self.rule, self.children, scope=self.scope, asked=self.asked)
        if self.label is None and self.counts is None and self.value is None:
            raise PrivetError(
                "This tree is not finished: a leaf has neither a label nor counts nor a value. Ask for one on all ends "
                "(frontier.ends), also where nothing parts a node, and on the frontier that the last split gave back."
            )
        return TreeNode(label=self.label, counts=self.counts, value=self.value, weight=self.weight, scope=self.scope)


@dataclass
class GrowingTree:
    """A tree over a schema, at first a single leaf. ``nodes[0]`` is the root; children come after their parents."""

    schema: Schema
    nodes: list[GrowingNode] = field(default_factory=lambda: [GrowingNode()])

    def grow(
        self, number: int, rule: Rule, n_children: int, scopes: Sequence[str] = (), *, asked: bool = True
    ) -> range:
        """Turn a leaf into an inner node; returns the numbers of its children.

        ``scopes`` are theirs; without, the answers that paid for the leaf pay for them too.
        """
        node = self.nodes[number]
        children = range(len(self.nodes), len(self.nodes) + n_children)
        self.nodes.extend(map(GrowingNode, scopes or [node.scope] * n_children))
        node.rule, node.children, node.asked = rule, tuple(children), asked
        return children

    @property
    def leaves(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if node.rule is None]

    def as_grown(self) -> Tree:
        """The same nodes, finished; refuses a leaf that says nothing."""
        return Tree(self.schema, tuple(node.finished() for node in self.nodes))

    def finish(self) -> Tree:
        """The finished tree, in as few nodes as say the same."""
        return self.as_grown().simplified()
