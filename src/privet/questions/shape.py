"""The shape of a hidden tree: all that is public about it, and so all that its transcripts may depend on.

Every inner node has the same number of children and chooses among the same list of splits, so that a tree of some depth
always looks alike from outside (paper 003, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.errors import LeakError
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway
from privet.questions.splits import Splits
from privet.questions.word import Word, put, whole


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Shape(Word):
    """The list of splits, and how many children each of them has.

    ``Multiway`` splits are attributes, one for each feature, and no attribute is chosen twice on a path. ``Splits`` are
    binary and may be.
    """

    splits: Multiway | Splits
    width: int

    def __init__(self, splits: Multiway | Splits, width: int) -> None:
        if type(splits) not in (Multiway, Splits):
            raise LeakError("A shape has Splits or Multiway, exactly.")
        put(self, splits=splits, width=whole(width, 1, 256, "The number of children"))
        if not (splits.n_children == width).all():
            raise LeakError("Hidden splits have all the same number of children: nobody may see which one it is.")
        if type(splits) is Multiway and len({split.feature for split in splits.splits}) < len(splits):
            raise LeakError("Hidden attributes are of different features.")

    @classmethod
    def of(cls, options: Candidates) -> Shape:
        """The shape that a list of candidates has."""
        if not isinstance(options.splits, Splits | Multiway) or not len(options.splits):
            raise LeakError("A hidden choice that splits nodes is among splits.")
        return cls(options.splits, int(options.splits.n_children.max()))

    @property
    def grid(self) -> Grid:
        return self.splits.grid

    @property
    def once(self) -> bool:
        """Whether what was chosen is no candidate any more further down."""
        return type(self.splits) is Multiway

    def unused(self, used: frozenset[int]) -> np.ndarray:
        """Which splits a node may choose: of attributes those that were not, of binary splits all. That one cannot part
        a node is no reason to leave it out, because on shares nobody knows which node that is."""
        if isinstance(self.splits, Multiway):
            return np.array([split.feature not in used for split in self.splits.splits])
        return np.ones(len(self.splits), dtype=bool)
