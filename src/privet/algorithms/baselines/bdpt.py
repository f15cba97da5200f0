"""BDPT: greedy splits by Gini whose noise follows a noisy node size, deeper levels with more budget (Guan et al. 2020).

The original is one tree of a forest that the authors call DPGDF too; this file keeps PrivaTree's name for it, and its
reading where texts leave a choice, whose printed accuracies it reproduces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier, check_whole
from privet.algorithms.baselines.exact import exact_counts
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates, Splits
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, even_grid
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.tree.growth import Branch, branches, candidates_of, sprout
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
    schema : Schema
        The public ranges, categories and classes. ``"infer"`` reads them off the data and voids the receipt.
    epsilon : float
        The privacy budget; of the published variant, the claim.
    max_depth : int
        The largest depth.
    n_bins : int
        How many public bins of one width a numeric feature has in the sound variant.
    variant : "sound" or "published"
        Truly epsilon-DP, or as printed.
    random_state : int, optional
        Reproducible noise for research; voids the receipt.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = BDPTClassifier(schema, epsilon=1).fit(X, y)
    >>> bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _shortfall = (
        "It cuts numeric features between exact values, stops by exact counts, and takes the sensitivity of a choice "
        "at a noisy node size, which may exceed the true one."
    )

    def __init__(
        self,
        schema: Schema | str | None = None,
        *,
        epsilon: float = 1.0,
        max_depth: int = 4,
        n_bins: int = 10,
        variant: str = "sound",
        random_state: Any = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.n_bins = n_bins
        self.variant = variant
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.variant == "published":
            tags.classifier_tags.poor_score = True  # a split sets five of the values apart: four levels, twenty values
        return tags

    def _check_params(self) -> None:
        check_whole("max_depth", self.max_depth, 1, MOST_DEPTH)
        check_whole("n_bins", self.n_bins, 2, 256)

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally", "choose"} | ({"peek"} if self.variant == "published" else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        published = self.variant == "published"
        grid = _merged(curtain, start) if published else even_grid(curtain.schema, self.n_bins)
        curtain.grid(grid)
        splits = single_splits(grid, tuple(range(len(grid.features))))
        shares = Shares(budget / 2 / self.max_depth, count_shares(budget / 2, self.max_depth))
        tree = Tree(curtain.schema)
        frontier = sprout(tree, start, grid)
        level = _published_level if published else _sound_level
        for depth in range(self.max_depth + 1):
            frontier = level(curtain, tree, frontier, splits, shares, depth)
        return tree.simplified()


@dataclass(frozen=True)
class Shares:
    """What a split costs, on each level the same, and what counts cost, by depth; no split follows the last of them."""

    split: Fraction
    counts: tuple[Fraction, ...]


def count_shares(budget: Fraction, max_depth: int) -> tuple[Fraction, ...]:
    """The counts' budget by depth: each level the cube root of two more than the one above, together the whole.

    >>> shares = count_shares(Fraction(1, 2), 4)
    >>> [round(float(share), 4) for share in shares], sum(shares) == Fraction(1, 2)
    ([0.0598, 0.0753, 0.0949, 0.1195, 0.1506], True)
    """
    weights = [Fraction(round(2 ** (depth / 3) * 10**6), 10**6) for depth in range(max_depth + 1)]
    return tuple(budget * weight / sum(weights) for weight in weights)


def _sound_level(
    curtain: Curtain, tree: Tree, frontier: Mapping[Node, Branch], splits: Splits, shares: Shares, depth: int
) -> dict[Node, Branch]:
    """Count every node; split those that seem large enough."""
    counts = curtain.tally(dict.fromkeys(frontier, Tally()), shares.counts[depth])
    options = _options(tree, frontier, splits, shares, depth)
    ready = {node: own for node, own in options.items() if counts[node].sum() >= FEWEST}
    _count(tree, {node: branch for node, branch in frontier.items() if node not in ready}, counts)
    return _split(curtain, tree, frontier, ready, dict.fromkeys(ready, shares.split))


def _published_level(
    curtain: Curtain, tree: Tree, frontier: Mapping[Node, Branch], splits: Splits, shares: Shares, depth: int
) -> dict[Node, Branch]:
    """Split by exact rules, with the published exponents; count the rest."""
    exact = exact_counts(curtain, frontier, splits.grid)
    options = _options(tree, frontier, splits, shares, depth)
    ready = {
        node: own
        for node, own in options.items()
        if sum(exact[node]) >= FEWEST and sum(count > 0 for count in exact[node]) > 1
    }
    leaves = {node: branch for node, branch in frontier.items() if node not in ready}
    _count(tree, leaves, curtain.tally(dict.fromkeys(leaves, Tally()), shares.counts[depth]))
    sizes = curtain.tally(dict.fromkeys(ready, Tally(by_class=False)), shares.counts[depth])
    prices = {node: published_price(shares.split, int(sizes[node][0]), sum(exact[node])) for node in ready}
    return _split(curtain, tree, frontier, ready, prices)


def published_price(share: Fraction, noisy: int, size: int) -> Fraction:
    """The budget with which a choice by n times the mean impurity G has the published exponent eps * G / (2 Delta).

    Delta = 1 - (N / (N + 1))^2 - (1 / (N + 1))^2 at the noisy size N: if that were the true one, this would be about
    half the share. It is as much more as N is above the truth.
    """
    noisy = max(noisy, 1)
    return share / (Fraction(2 * noisy, (noisy + 1) ** 2) * size)


def _options(
    tree: Tree, frontier: Mapping[Node, Branch], splits: Splits, shares: Shares, depth: int
) -> dict[Node, Candidates]:
    """What nodes that are not on the last level may be split by; those that nothing parts are left out."""
    if depth == len(shares.counts) - 1:
        return {}
    return {node: options for node, options in candidates_of(tree, frontier, splits).items() if len(options)}


def _count(tree: Tree, leaves: Mapping[Node, Branch], counts: Mapping[Node, np.ndarray]) -> None:
    for node, branch in leaves.items():
        tree.nodes[branch.number].counts = tuple(int(count) for count in counts[node][0])


def _split(
    curtain: Curtain,
    tree: Tree,
    frontier: Mapping[Node, Branch],
    ready: Mapping[Node, Candidates],
    prices: Mapping[Node, Fraction],
) -> dict[Node, Branch]:
    """Choose a split for each ready node; the branches that grow out of them."""
    answers = curtain.choose(ready, Gini(), prices, mechanism="exponential")
    chosen = {node: choice.split for node, choice in answers.items() if choice.split is not None}
    grown: dict[Node, Branch] = {}
    for node, children in curtain.split(chosen).items():
        splits = ready[node].splits
        assert splits is not None
        grown |= zip(children, branches(tree, frontier[node], chosen[node], splits.grid))
    return grown


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
