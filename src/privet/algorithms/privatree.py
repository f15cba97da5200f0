"""PrivaTree (Vos, Vos, Li, Erkin and Verwer, "Differentially-Private Decision Trees and Provable Robustness to Data
Poisoning"): splits from noisy histograms.

Numeric features are binned once, at private quantiles. At every node each feature's histogram by class gets geometric
noise, and the split of least Gini impurity is looked for in the noisy counts, in front of the curtain. Leaves get their
labels by permute-and-flip. The noise of a histogram is that of all features together divided by their number, so the
more features there are, the more a joint choice (``PrivateTreeClassifier``) is ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import choice, fraction, hint, is_number, whole
from privet.algorithms.size import Size
from privet.errors import PrivetError
from privet.privacy.amounts import exact
from privet.privacy.mechanisms import selection_scale
from privet.privacy.scores import CorrectCount
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Cells, Grid, even_grid, public_grid
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.schema import Numeric, Schema
from privet.tree.frontier import Frontier
from privet.tree.tree import Tree

MOST_BINS = 255
"""A bin's number is a byte, and missing values have a bin of their own."""

MOST_DEPTH = 16
"""Every level doubles the nodes: 65,536 leaves."""

LEAST_LEAF_SHARE = Fraction(1, 10**6)
"""A label needs some budget, however many records there are said to be."""

EXACT_CELLS = 2**11
"""How finely exact quantiles are read off, cells for each feature."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivaTreeClassifier(PrivateClassifier):
    """PrivaTree: a decision tree whose splits are found in noisy histograms of all features.

    ``variant="sound"`` costs ``epsilon`` (pure differential privacy, add or remove one record). A record is in the
    histogram of every one of m features, so each histogram, and each feature's quantiles, are paid with 1/m of their
    budget; no node stops on exact counts; the leaves' budget is half of Eq. 7, because class counts never fall when a
    record is added; and the number of records is public (``n_records``) or measured.

    ``variant="published"`` is Algorithm 1 with the paper's own account. It takes the features' histograms and quantiles
    for parallel, so that they really cost m times (epsilon - leaf budget), and it stops at nodes that are pure or hold
    at most one record, which tells exact data: the receipt says infinity. With ``early_stop=False`` it says what the
    features' costs add up to. Two misprints are mended: the geometric noise of Eq. 4 has the ratio exp(-epsilon), not
    epsilon; and noisy counts are cut at 0, without which the printed accuracy does not appear.

    Parameters
    ----------
    schema, random_state
        As for ``PrivateTreeClassifier``.
    epsilon : float
        The privacy budget; of the published variant, the claim.
    max_depth : int
        The depth of the tree.
    n_bins : int
        The bins of a numeric feature.
    bins : "quantile", "uniform" or "exact"
        At private quantiles; of equal width, which costs nothing; or at exact quantiles, for a price of infinity
        (PrivaTree*, for the published variant).
    max_leaf_error : float
        The expected share of records that noisy labels may get wrong: it sets the leaves' budget, up to half of all.
    leaf_share, quantile_share : float, optional
        The shares of the budget for the labels and for the quantiles, instead of Eq. 7 to 10; splits get the rest.
    early_stop : bool, optional
        Stop at nodes that are pure or hold at most one record. As printed in the published variant, never in the
        sound one.
    variant : "sound" or "published"
        A true epsilon, or the printed algorithm and what it really costs.
    n_records : int, optional
        About how many records there are, if that is public, as the paper assumes. Never compared with the data; without
        it 2% of the budget measures the number (or, where the early stop looks at all records anyway, it is read).

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = PrivaTreeClassifier(schema=schema, epsilon=1, n_records=45_000).fit(X, y)
    >>> bool(model.score(X, y) > 0.75), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    >>> claim = PrivaTreeClassifier(schema, epsilon=1, variant="published", early_stop=False, leaf_share=0.2).fit(X, y)
    >>> claim.privacy_.claimed, float(claim.privacy_.epsilon)  # 14 features * 0.8, and 0.1
    (Fraction(1, 1), 11.3)
    """

    _shortfall = (
        "A record is in the histogram of every feature, so the features' costs add up; the paper takes them for "
        "parallel. Stopping at pure nodes and exact quantiles, where they are on, tell exact data."
    )

    max_depth: int = whole(4, most=MOST_DEPTH)
    n_bins: int = whole(10, 2, MOST_BINS)
    bins: str = choice("quantile", "uniform", "exact")
    max_leaf_error: float = fraction(0.01)
    leaf_share: float | None = None
    quantile_share: float | None = None
    early_stop: bool | None = choice(None, True, False)
    variant: str = "sound"
    n_records: int | None = hint()

    def _check_params(self) -> None:
        given = [share for share in (self.leaf_share, self.quantile_share) if share is not None]
        # Exactly, as the shares are taken later: 0.7 and 0.3 are below 1 together only as floats.
        if not (all(is_number(share) and 0 < share < 1 for share in given) and self._given_in_all() < 1):
            raise PrivetError(
                "leaf_share (up to 1/2 if it is not given) and quantile_share are parts of the budget: above 0, and "
                f"below 1 together; got {self.leaf_share!r} and {self.quantile_share!r}."
            )
        if self.quantile_share is not None and self.bins != "quantile":
            raise PrivetError(f"quantile_share is for private quantiles; bins={self.bins!r} has none.")
        if self.variant == "sound" and self.early_stop:
            raise PrivetError("early_stop tells exact data: only variant='published' has it.")
        if self.variant == "sound" and self.bins == "exact":
            raise PrivetError("bins='exact' reads exact quantiles: only variant='published' has it.")

    def _given_in_all(self) -> Fraction:
        leaf = Fraction(1, 2) if self.leaf_share is None else exact(self.leaf_share)
        return leaf if self.quantile_share is None else leaf + exact(self.quantile_share)

    @property
    def _stops(self) -> bool:
        return self.variant == "published" if self.early_stop is None else bool(self.early_stop)

    def _needs(self, able: frozenset[str]) -> set[str]:
        bins = {"quantile": {"quantiles"}, "exact": {"peek"}}.get(self.bins, set())
        return {"tally", "choose"} | bins | ({"peek"} if self._stops else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        schema, grid = curtain.schema, self._grid(curtain.schema)
        curtain.grid(grid)
        size, budget = self._size(curtain, start, grid, budget)
        shares = self._shares(grid, len(schema.classes or ()), size, budget)
        tables = self._tables(curtain, start, grid, shares)
        frontier = Frontier.sprout(curtain, [start], grid)
        for _ in range(self.max_depth):
            impure = frontier.without(_done(frontier) if self._stops else ())
            frontier = frontier.split(_find_splits(curtain, list(impure), tables, shares))
        frontier.ends.label(shares.leaf)
        return frontier.finish()[0]

    def _grid(self, schema: Schema) -> Grid:
        """Public cells: the bins themselves, or what quantiles are looked for among."""
        if self.bins == "uniform":
            return even_grid(schema, self.n_bins)
        return public_grid(schema, EXACT_CELLS if self.bins == "exact" else None)

    def _size(self, curtain: Curtain, start: Node, grid: Grid, budget: Fraction) -> tuple[Fraction, Fraction]:
        """About how many records there are, for Eq. 7, and what is left of the budget."""
        if self.leaf_share is not None or self.n_records is not None:
            return Fraction(float(self.n_records or 0)), budget
        if self._stops:
            # Every record is in one cell of the first feature.
            return Fraction(int(curtain.peek([start])[start][: grid.offsets[1]].sum())), budget
        size = Size.of(curtain, start, budget, None)
        return Fraction(size.n), size.left

    def _shares(self, grid: Grid, n_classes: int, size: Fraction, budget: Fraction) -> Prices:
        """Eq. 7 to 10, or the user's shares."""
        sound, depth = self.variant == "sound", int(self.max_depth)
        # Permute-and-flip on counts costs half of what the paper pays for it: counts never fall.
        price = 1 if sound else 2
        if self.leaf_share is not None:
            leaf = budget * exact(self.leaf_share)
        else:
            records = max(size, Fraction(1)) * exact(self.max_leaf_error)
            needed = price * 2**depth * worst_label_error(n_classes) / records
            leaf = min(budget / 2, max(needed, budget * LEAST_LEAF_SHARE))
        # Every feature pays in the sound variant; the published one takes them for parallel.
        each = (budget - leaf) / (max(1, len(_parted(grid))) if sound else 1)
        quantiles = each / (1 + depth) if self.bins == "quantile" else Fraction(0)
        if self.quantile_share is not None:
            quantiles = each * budget * exact(self.quantile_share) / (budget - leaf)
        selection_scale(CorrectCount().sensitivity, leaf / price)  # refused now, not when all the rest is spent
        return Prices(quantiles, (each - quantiles) / depth, each / depth, leaf / price)

    def _tables(self, curtain: Curtain, start: Node, grid: Grid, shares: Prices) -> dict[int, Split]:
        """For each feature that has several cells, the bin of each of them."""
        features = _parted(grid)
        numeric = [f for f in features if (cuts := grid.features[f].cuts) is not None and len(cuts)]
        chosen: Mapping[int, Any] = {f: grid.features[f].cuts for f in numeric}
        if not numeric or self.bins == "uniform":
            pass  # the cells are the bins
        elif self.bins == "exact":
            chosen = _exact_quantiles(curtain.peek([start])[start], grid, numeric, self.n_bins)
        else:
            probs = [Fraction(k, self.n_bins) for k in range(1, int(self.n_bins))]
            chosen = curtain.quantiles(start, numeric, probs, shares.quantiles * len(numeric))
        return {f: Split(f, _bins(grid.features[f], chosen.get(f, ())).astype(np.uint8).tobytes()) for f in features}


@dataclass(frozen=True)
class Prices:
    """What one feature's quantiles, one numeric and one categorical histogram, and a leaf's label may cost."""

    quantiles: Fraction
    numeric: Fraction
    categorical: Fraction
    leaf: Fraction


@lru_cache(maxsize=64)
def worst_label_error(n_classes: int) -> Fraction:
    """The most records that permute-and-flip on class counts with exponent 1 is expected to get wrong, rounded up.

    All classes but the best are equally far behind: log(1/p) (1 - (1 - (1 - p)^K) / (K p)), at the worst p. It is half
    of what Eq. 7 maximises, because the paper's exponent is epsilon/2; for two classes, 1/(2e).

    >>> float(worst_label_error(2) * 1000).__ceil__()
    184
    """
    p = np.arange(1, 2**17 + 1) / 2**17
    errors = -np.log(p) * (1 - (1 - (1 - p) ** n_classes) / (n_classes * p))
    return Fraction(int(errors.max() * 2**20) + 1, 2**20)


def _parted(grid: Grid) -> list[int]:
    """The features that have anything to part."""
    return [f for f, cells in enumerate(grid.features) if cells.n_cells > 1]


def _exact_quantiles(histogram: np.ndarray, grid: Grid, features: Sequence[int], n_bins: int) -> dict[int, np.ndarray]:
    """The cuts at or next above the exact quantiles."""
    found = {}
    for f in features:
        cuts = grid.features[f].cuts
        assert cuts is not None
        up_to = np.cumsum(histogram[grid.offsets[f] :][: len(cuts) + 1].sum(axis=1))
        places = np.searchsorted(up_to, up_to[-1] * np.arange(1, n_bins) / n_bins)
        found[f] = cuts[np.minimum(places, len(cuts) - 1)]
    return found


def _bins(cells: Cells, cuts: Any) -> np.ndarray:
    """The bin of every cell. Missing values have their own, the last; very many categories share some."""
    if cells.cuts is None:
        return np.arange(cells.n_cells) * min(cells.n_cells, MOST_BINS) // cells.n_cells
    bins = np.append(np.searchsorted(np.unique(cuts), cells.cuts), len(np.unique(cuts)))
    return np.append(bins, bins[-1] + 1) if cells.special else bins


def _done(frontier: Frontier) -> set[Node]:
    """The ends that hold one class only or at most one record: exact data, at the price of infinity."""
    return {node for node, counts in frontier.exact_counts().items() if (counts > 0).sum() <= 1}


def _find_splits(
    curtain: Curtain, nodes: Sequence[Node], tables: Mapping[int, Split], shares: Prices
) -> dict[Node, Split]:
    """For each node, the split of least Gini impurity in noisy histograms of all features."""
    schema = curtain.schema
    numeric = {f for f in tables if isinstance(schema.features[schema.names[f]], Numeric)}
    ordered = numeric if len(schema.classes or ()) == 2 else set(tables)
    kinds: dict[Fraction, list[int]] = {}
    for f in tables:
        kinds.setdefault(shares.numeric if f in numeric else shares.categorical, []).append(f)
    histograms: dict[Node, dict[int, np.ndarray]] = {node: {} for node in nodes}
    for share, features in kinds.items():
        tally = Tally(tuple(tables[f] for f in features))
        ends = np.cumsum([tables[f].n_children for f in features])[:-1]
        for node, counts in curtain.tally(dict.fromkeys(nodes, tally), share * len(features)).items():
            histograms[node] |= zip(features, np.split(np.maximum(counts, 0), ends))
    return {node: _best_split(tables, own, ordered) for node, own in histograms.items()} if tables else {}


def _best_split(tables: Mapping[int, Split], histograms: Mapping[int, np.ndarray], ordered: set[int]) -> Split:
    """The split of least impurity between the bins of a feature; of equal ones, the first feature's first."""
    orders = [
        np.arange(len(histograms[f])) if f in ordered else np.argsort(_first_share(histograms[f]), kind="stable")
        for f in tables
    ]
    up_to = [np.cumsum(histograms[f][order], axis=0) for f, order in zip(tables, orders)]
    left = np.concatenate([counts[:-1] for counts in up_to])
    right = np.concatenate([counts[-1] - counts[:-1] for counts in up_to])
    best = int(np.argmin(weighted_gini(left, right)))
    for table, order in zip(tables.values(), orders):
        if best < len(order) - 1:
            side = np.ones(len(order), dtype=np.uint8)
            side[order[: best + 1]] = 0
            return Split(table.feature, side[np.frombuffer(table.part, dtype=np.uint8)].tobytes())
        best -= len(order) - 1
    raise AssertionError("there are as many impurities as splits")


def _first_share(counts: np.ndarray) -> np.ndarray:
    """The share of the first class in every bin; a half where a bin is empty."""
    totals = counts.sum(axis=1)
    return np.where(totals > 0, counts[:, 0] / np.maximum(totals, 1), 0.5)


def weighted_gini(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The mean Gini impurity of two children, weighted by their counts (classes in the last axis).

    Rounded to 12 digits, so that impurities that are equal compare equal; 1, more than any, where there are no counts.

    >>> weighted_gini(np.array([[3, 0], [1, 1], [0, 0]]), np.array([[0, 3], [1, 1], [0, 0]])).tolist()
    [0.0, 0.5, 1.0]
    """
    impure = np.zeros(left.shape[:-1])
    for counts in (left, right):
        n = counts.sum(axis=-1)
        impure += n - (counts.astype(float) ** 2).sum(axis=-1) / np.maximum(n, 1)
    n = left.sum(axis=-1) + right.sum(axis=-1)
    return np.where(n > 0, np.round(impure / np.maximum(n, 1), 12), 1.0)
