"""A split: where each cell of one feature goes; a product of several; and a choice: what a node was answered."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import MOST_CELLS, Grid
from privet.questions.word import Word, all_of, exactly, put, whole

MOST_FEATURES = 2**20
MOST_CHILDREN = 256
"""A child's number is one byte."""

MOST_FACTORS = 4
"""Of a product: a table of more features has too many parts, or too coarse ones."""


@dataclass(frozen=True, slots=True, init=False)
class Split(Word):
    """Send the records in cell c of ``feature`` to child ``part[c]``; the last of ``least`` may be empty."""

    feature: int
    part: bytes
    least: int
    n_children: int = field(repr=False, compare=False)

    def __init__(self, feature: int, part: bytes, least: int = 1) -> None:
        own = _bytes(part)
        if not 0 < len(own) <= MOST_CELLS:
            raise LeakError("A split says for every cell of its feature where it goes.")
        least = whole(least, 1, MOST_CHILDREN, "A split's number of children")
        n_children = max(max(own) + 1, least)
        put(self, feature=whole(feature, 0, MOST_FEATURES, "A feature's number"), part=own, least=least)
        put(self, n_children=n_children)

    @property
    def parts(self) -> np.ndarray:
        """The child of each cell."""
        return np.frombuffer(self.part, dtype=np.uint8)

    @property
    def keeps_cells(self) -> bool:
        """Whether every cell goes to a child of its own, in order: a histogram's table."""
        return self.n_children == len(self.part) and self.part == bytes(range(len(self.part)))

    def check(self, grid: Grid) -> None:
        """Raise LeakError unless it sends every cell of a feature of the grid somewhere."""
        if self.feature >= len(grid.features):
            raise LeakError("There is no such feature.")
        if len(self.part) != grid.features[self.feature].n_cells:
            raise LeakError("A split must say for every cell of its feature where it goes.")


@dataclass(frozen=True, slots=True, init=False)
class Product(Word):
    """A split over several features: a record's child is told by the children that each of ``factors`` sends it to.

    The factors are splits of different features, in the features' order. Children are numbered as
    ``np.ravel_multi_index`` does, the last factor's first. A record is in one child, as it is in one of each factor.
    """

    factors: tuple[Split, ...]
    n_children: int = field(repr=False, compare=False)

    def __init__(self, factors: Iterable[Split]) -> None:
        own = all_of(Split, factors, "A product's factors")
        if not 2 <= len(own) <= MOST_FACTORS:
            raise LeakError(f"A product is of 2 to {MOST_FACTORS} splits; of one feature it is a Split.")
        if not all(one.feature < other.feature for one, other in pairwise(own)):
            raise LeakError("A product's factors are splits of different features, in the features' order.")
        n_children = math.prod(split.n_children for split in own)
        if n_children > MOST_CHILDREN:
            raise LeakError(f"A product has at most {MOST_CHILDREN} children.")
        put(self, factors=own, n_children=n_children)

    def check(self, grid: Grid) -> None:
        """Raise LeakError unless each factor is a split of the grid."""
        for split in self.factors:
            split.check(grid)


Table = Split | Product
"""What parts records in one way: each record is in one part."""


def factors_of(table: Table) -> tuple[Split, ...]:
    """The one-feature splits that a table is made of."""
    return table.factors if isinstance(table, Product) else (table,)


@dataclass(frozen=True, slots=True, init=False)
class Choice(Word):
    """One answer: a split or none, with a label for each child (or for the node itself) or none; or a product."""

    split: Split | None
    labels: tuple[int, ...] | None
    product: Product | None

    def __init__(self, split: Split | None, labels: tuple[int, ...] | None, product: Product | None = None) -> None:
        if split is not None:
            exactly(Split, split, "A chosen split")
        if labels is not None:
            labels = tuple(whole(label, 0, MOST_CELLS, "A label") for label in labels)
            if len(labels) != (1 if split is None else split.n_children):
                raise LeakError("A choice has a label for each child.")
        if product is not None and (split, labels) != (None, None):
            raise LeakError("A product is chosen by itself.")
        if product is not None:
            exactly(Product, product, "A chosen product")
        put(self, split=split, labels=labels, product=product)

    @property
    def table(self) -> Table | None:
        """The split or the product that was chosen."""
        return self.split if self.product is None else self.product


def each_cell(grid: Grid, feature: int) -> Split:
    """The split of one feature with one child for each of its cells."""
    return Split(feature, bytes(range(grid.features[feature].n_cells)))


def check_splits(splits: Any, grid: Grid) -> tuple[Split, ...]:
    """Splits of a grid, each of them checked once however often it is named."""
    own: tuple[Split, ...] = all_of(Split, splits, "Splits")
    for split in dict.fromkeys(own):
        split.check(grid)
    return own


def check_tables(tables: Any, grid: Grid) -> tuple[Table, ...]:
    """Splits or products of a grid, each of them checked once however often it is named."""
    own: tuple[Table, ...] = all_of((Split, Product), tables, "Tables")
    for table in dict.fromkeys(own):
        table.check(grid)
    return own


def _bytes(part: Any) -> bytes:
    if isinstance(part, np.ndarray):
        if part.dtype != np.uint8:
            raise LeakError("A split's parts are bytes.")
        part = np.array(part, subok=False).tobytes()
    if not isinstance(part, bytes | bytearray | memoryview):
        raise LeakError("A split's parts are bytes.")
    return bytes(memoryview(part))
