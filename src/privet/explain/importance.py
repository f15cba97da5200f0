"""Importances and partial dependence of released trees: post-processing, so they cost nothing and reveal nothing new.

All they know of the records is what the trees say: noisy weights and values, or counts, at the leaves. Trees of labels
alone do not say how many records go which way, so these functions are not for them (``Tree.weighed``).
"""

from __future__ import annotations

import numpy as np

from privet.tree.tree import Tree, TreeNode


def importances(trees: list[Tree], n_features: int) -> np.ndarray:
    """How much of the trees' gain comes from splits of each feature; they add up to 1, or are 0 without any split.

    The gain of a split is the weighted sum of squared distances between its children's predictions and their mean: for
    numbers the squared error that it explains, for classes the Gini impurity, both by the released leaves alone.
    """
    total = np.zeros(n_features)
    for tree in trees:
        weights, outputs = _summaries(tree)
        own = np.zeros(n_features)
        for i, node in enumerate(tree.nodes):
            if node.rule is not None:
                apart = outputs[list(node.children)] - outputs[i]
                own[node.rule.feature] += float((weights[list(node.children)] * (apart**2).sum(axis=1)).sum())
        total += own / own.sum() if own.sum() > 0 else own
    return total / total.sum() if total.sum() > 0 else total


def partial_dependence(trees: list[Tree], feature: int, values: np.ndarray) -> np.ndarray:
    """The trees' mean output for each value of one feature, over whatever the others are: (values, outputs).

    At a node that asks for the feature the value decides; at another all children are followed, by their weights.
    """
    outputs_of: list[np.ndarray] = []
    for tree in trees:
        weights, outputs = _summaries(tree)
        reach = np.zeros((len(tree.nodes), len(values)))
        reach[0] = 1
        answer = np.zeros((len(values), outputs.shape[1]))
        for i, node in enumerate(tree.nodes):  # parents come before their children
            if node.rule is None:
                answer += reach[i][:, None] * outputs[i]
                continue
            side = node.rule.children(values) if node.rule.feature == feature else None
            whole = weights[list(node.children)].sum()
            for part, child in enumerate(node.children):
                share = weights[child] / whole if whole > 0 else 1 / len(node.children)
                reach[child] = reach[i] * (share if side is None else side == part)
        outputs_of.append(answer)
    return np.mean(outputs_of, axis=0)


def _summaries(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """For every node its weight, and its output: what leaves say, and the mean of what is below."""
    n_outputs = len(tree.schema.classes or (0,))
    outputs = np.zeros((len(tree.nodes), n_outputs))
    weights = np.zeros(len(tree.nodes))
    for i in reversed(range(len(tree.nodes))):
        node = tree.nodes[i]
        if node.is_leaf:
            weights[i], outputs[i] = _leaf(node, n_outputs)
            continue
        below = list(node.children)
        weights[i] = weights[below].sum()
        shares = weights[below] / weights[i] if weights[i] > 0 else np.full(len(below), 1 / len(below))
        outputs[i] = shares @ outputs[below]
    return weights, outputs


def _leaf(node: TreeNode, n_outputs: int) -> tuple[float, np.ndarray]:
    if node.counts is None:
        assert node.value is not None
        return node.weight or 0.0, np.array([node.value])
    counts = np.maximum(np.array(node.counts, dtype=float), 0)
    if counts.sum() > 0:
        return float(counts.sum()), counts / counts.sum()
    return 0.0, np.full(n_outputs, 1 / n_outputs)
