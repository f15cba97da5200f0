"""Means of leaves from noisy sums: post-processing of released numbers, free.

A leaf has two noisy sums: how far its targets are above the low end of a public range, and how far below the high end,
both in units of the range. Their total is about the number of records, and the first one's share of it is where the
mean lies between the ends. The sums of an inner node are those of its leaves.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from privet.privacy.fixed_point import TARGET_ONE
from privet.tree.growing import GrowingTree

SHRINKAGE = 5.0
"""How many noise scales of records with its parent's mean each node is given: one with few records predicts that."""


def set_means(tree: GrowingTree, sums: Mapping[int, np.ndarray], target: tuple[float, float], noise: float) -> None:
    """Give every leaf its value and weight from its two noisy sums, whose noise is worth ``noise`` records.

    From the root down, a node's mean is drawn toward its parent's, by as many records of it as ``SHRINKAGE`` noise
    scales. A sum below zero counts as zero, and no record at all as the middle of the range.
    """
    records = np.zeros((len(tree.nodes), 2))
    for leaf, pair in sums.items():
        records[leaf] = np.maximum(pair / TARGET_ONE, 0)
    for i in reversed(range(len(tree.nodes))):
        for child in tree.nodes[i].children:
            records[i] += records[child]
    weights = records.sum(axis=1)
    drawn = SHRINKAGE * noise
    places = np.full(len(tree.nodes), 0.5)
    if weights[0] > 0:
        places[0] = records[0, 0] / weights[0]
    for i, node in enumerate(tree.nodes):  # parents come before their children
        for child in node.children:
            places[child] = (records[child, 0] + drawn * places[i]) / (weights[child] + drawn)
    low, high = target
    for leaf in sums:
        tree.nodes[leaf].value = float(min(max(low + (high - low) * places[leaf], low), high))
        tree.nodes[leaf].weight = float(weights[leaf])
