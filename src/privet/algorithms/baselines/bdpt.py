"""BDPT: greedy splits by Gini whose noise follows a noisy node size, deeper levels with more budget (Guan et al. 2020).

The original is one tree of a forest that the authors call DPGDF too; this file keeps PrivaTree's name for it, and its
reading where texts leave a choice, whose printed accuracies it reproduces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import whole
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, even_grid
from privet.tree.frontier import Frontier
from privet.tree.public_splits import single_splits
from privet.tree.tree import Tree

MOST_DEPTH = 16
"""Deeper trees of so many children would not end, and records do not reach that far."""

FEWEST = 2
"""Fewer records are not split."""

MERGED = 5
"""So many neighbouring values of a numeric feature make a category of the published tree."""

RESOLUTION = 4096
"""The published tree sees two values as one if they share one of so many public cells."""


@dataclass(eq=False, repr=False, kw_only=True)
class BDPTClassifier(PrivateClassifier):
    """A greedy tree, one category or bin against the rest, with counts that get more budget the deeper they are.

    ``variant="sound"`` costs ``epsilon``: ``epsilon / (2 max_depth)`` for the split of each level, by the exponential
    mechanism on the count-weighted Gini impurity, and ``epsilon / 2`` for noisy class counts of the nodes on a path,
    the cube root of two more on each level. A node whose noisy size is below 2 is not split. The counts are what the
    leaves predict by, so ``predict_proba`` has real shares. Worth using to see what measuring every node costs: a leaf
    has about a seventh of the budget at depth 4.

    ``variant="published"`` claims the same and costs infinity. Numeric features are cut between every five of the exact
    values; nodes that are pure or have fewer than 2 records are not split, by exact counts; and the Gini impurity's
    sensitivity is taken at a *noisy* node size, which may be far above the true one: with 2 or 3 records and eps = 1, a
    choice differs by a factor of e^3.7 between neighbours at a noisy size of 50, of e^41 at 500 (docs/theory.md, B3).

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth.
    n_bins : int
        How many public bins of one width a numeric feature has in the sound variant.
    variant : "sound" or "published"
        Truly epsilon-DP, or as printed: then ``epsilon`` is the claim.
    """

    _shortfall = (
        "It cuts numeric features between exact values, stops by exact counts, and takes the sensitivity of a choice "
        "at a noisy node size, which may exceed the true one."
    )

    max_depth: int = whole(4, most=MOST_DEPTH)
    n_bins: int = whole(10, 2, 256)
    variant: str = "sound"

    @property
    def _poor_score(self) -> bool:
        return self.variant == "published"  # a split sets five of the values apart: four levels, twenty values

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally", "choose"} | ({"peek"} if self.variant == "published" else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        published = self.variant == "published"
        grid = _merged(curtain, start) if published else even_grid(curtain.schema, self.n_bins)
        curtain.grid(grid)
        splits = single_splits(grid, tuple(range(len(grid.features))))
        count_budgets = count_shares(budget / 2, self.max_depth)
        frontier = Frontier.sprout(curtain, [start], grid)
        level = _published_level if published else _sound_level
        for depth in range(self.max_depth + 1):
            options = frontier.candidates(splits) if depth < self.max_depth else {}
            frontier = level(frontier, options, budget / 2 / self.max_depth, count_budgets[depth])
        return frontier.finish()[0]


def count_shares(budget: Fraction, max_depth: int) -> tuple[Fraction, ...]:
    """The counts' budget by depth: each level the cube root of two more than the one above, together the whole.

    >>> shares = count_shares(Fraction(1, 2), 4)
    >>> [round(float(share), 4) for share in shares], sum(shares) == Fraction(1, 2)
    ([0.0598, 0.0753, 0.0949, 0.1195, 0.1506], True)
    """
    weights = [Fraction(round(2 ** (depth / 3) * 10**6), 10**6) for depth in range(max_depth + 1)]
    return tuple(budget * weight / sum(weights) for weight in weights)


def _sound_level(frontier: Frontier, options: Mapping[Node, Candidates], split: Fraction, counts: Fraction) -> Frontier:
    """Count every node; split those that seem large enough."""
    told = frontier.count(counts)
    ready = {node: own for node, own in options.items() if told[node].sum() >= FEWEST}
    return frontier.split(frontier.choose(ready, Gini(), split, mechanism="exponential"))


def _published_level(
    frontier: Frontier, options: Mapping[Node, Candidates], split: Fraction, counts: Fraction
) -> Frontier:
    """Split by exact rules, with the published exponents; count the rest."""
    exact = frontier.exact_counts()
    ready = {
        node: own
        for node, own in options.items()
        if len(own) and exact[node].sum() >= FEWEST and (exact[node] > 0).sum() > 1
    }
    frontier.without(ready).count(counts)
    sizes = frontier.only(ready).sizes(counts)
    prices = {node: published_price(split, sizes[node], int(exact[node].sum())) for node in ready}
    return frontier.split(frontier.choose(ready, Gini(), prices, mechanism="exponential"))


def published_price(share: Fraction, noisy: int, size: int) -> Fraction:
    """The budget with which a choice by n times the mean impurity G has the published exponent eps * G / (2 Delta).

    Delta = 1 - (N / (N + 1))^2 - (1 / (N + 1))^2 at the noisy size N: if that were the true one, this would be about
    half the share. It is as much more as N is above the truth.
    """
    noisy = max(noisy, 1)
    return share / (Fraction(2 * noisy, (noisy + 1) ** 2) * size)


def _merged(curtain: Curtain, start: Node) -> Grid:
    """The published cells: numeric features cut before every fifth value that some record has."""
    fine = even_grid(curtain.schema, RESOLUTION)
    curtain.grid(fine)
    records = curtain.peek([start])[start].sum(axis=1)
    merged: list[np.ndarray | None] = []
    for f, cells in enumerate(fine.features):
        if cells.cuts is None:
            merged.append(None)
            continue
        values = np.flatnonzero(records[fine.offsets[f] : fine.offsets[f] + len(cells.cuts) + 1])
        merged.append(cells.cuts[values[MERGED::MERGED] - 1])
    return Grid(curtain.schema, merged)
