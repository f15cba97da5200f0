"""Trees as flat arrays over the cells that they tell apart: for loops that look children up instead of comparing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.schema import Numeric
from privet.tree.tree import Tree

Cuts = Sequence[Sequence[float] | None]


def cuts_of(trees: Sequence[Tree]) -> Cuts:
    """All cuts that trees have on each feature, in order; None for a categorical one."""
    schema = trees[0].schema
    found: list[set[float]] = [set() for _ in schema.features]
    for tree in trees:
        for node in tree.nodes:
            if node.rule is not None:
                found[node.rule.feature].update(node.rule.cuts or ())
    numeric = [isinstance(feature, Numeric) for feature in schema.features.values()]
    return [sorted(own) if is_number else None for own, is_number in zip(found, numeric)]


def flat_tree(tree: Tree, cuts: Cuts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each node its feature, -1 at a leaf, and where in the third array its children by cell begin."""
    features = np.full(len(tree.nodes), -1, dtype=np.int64)
    starts, children = np.zeros(len(tree.nodes), dtype=np.int64), [np.empty(0, dtype=np.int32)]
    at = 0
    for i, node in enumerate(tree.nodes):
        if node.rule is None:
            continue
        features[i], starts[i] = node.rule.feature, at
        parts = np.frombuffer(node.rule.part, dtype=np.uint8)
        if node.rule.cuts is not None:
            ends = np.array([*(cuts[node.rule.feature] or ()), np.inf])
            segments = np.searchsorted(node.rule.cuts, ends, side="left")
            parts = np.concatenate([parts[segments], parts[len(node.rule.cuts) + 1 :]])
        children.append(np.array(node.children, dtype=np.int32)[parts])
        at += len(parts)
    return features, starts, np.concatenate(children)
