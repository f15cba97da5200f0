"""Levels: records parted by their own present scores, at public points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from privet.errors import LeakError
from privet.questions.split import MOST_CHILDREN
from privet.questions.word import Word, put, whole

LARGEST_LEVEL = 2**40


@dataclass(frozen=True, slots=True, init=False)
class Levels(Word):
    """A record is in part i if its score is above cut i-1 and at most cut i, in units of 1 / ``TARGET_ONE``.

    Scores are sums of released functions of a record's features, so a record is in one part, which depends on that
    record and on released numbers alone: what is proven of a table of cells holds of levels.
    """

    cuts: tuple[int, ...]

    def __init__(self, cuts: Iterable[int]) -> None:
        own = tuple(whole(cut, -LARGEST_LEVEL, LARGEST_LEVEL, "A level") for cut in cuts)
        if len(own) >= MOST_CHILDREN or not all(one < other for one, other in pairwise(own)):
            raise LeakError(f"Levels increase, and part records into at most {MOST_CHILDREN}.")
        put(self, cuts=own)

    @property
    def n_children(self) -> int:
        return len(self.cuts) + 1
