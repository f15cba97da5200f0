"""What statements ask of each record, as columns with names of ours."""

from __future__ import annotations

from dataclasses import dataclass

from privet.questions.grid import Grid


@dataclass(frozen=True)
class Cell:
    """A record's cell of one feature of a grid, as a column."""

    grid: Grid
    feature: int


@dataclass(frozen=True, eq=False)
class Draw:
    """A record's, or its person's, part by a draw of its own, as a column."""

    salt: str
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Number:
    """A record's value of a numeric feature, as a double; of one that may be missing, NULL or NaN."""

    feature: int


LABEL, WEIGHT = "label", "weight"
"""The other columns: the number of the class, or the target, clamped to its range; and what the record weighs."""

Column = Cell | Draw | Number | str
