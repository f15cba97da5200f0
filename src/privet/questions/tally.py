"""Which sums to ask for, and what boosting adds to scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from privet.errors import LeakError
from privet.questions.levels import Levels
from privet.questions.split import Product, Split, Table
from privet.questions.word import Word, all_of, flag, put, text, whole

MEASURES = ("records", "target", "gradient", "residual")

MOST_TABLES = 2**20

LARGEST_CLAMP = 2**16
"""The whole range of a target."""

LARGEST_STEP = 2**32
"""More than 2^26 such steps would have to add up before a score left 64 bits; a chance is 0 or 1 long before."""


@dataclass(frozen=True, slots=True, init=False)
class Tally(Word):
    """Which sums to ask for: one table for each of ``tables``, cell by cell where the split has a part.

    ``tables`` empty asks for the node's own. ``measure`` says what each record adds to its cell. ``"records"``: one;
    ``by_class`` counts each class apart, at no extra price: a record has one class. ``"target"``: two numbers that add
    up to ``TARGET_ONE``, how far its target is above the low end of the public range and how far below the high end;
    they cost no more than a count (``target_tally_sensitivity``), and their shares of the sum are the mean's place
    between the ends. ``"gradient"``: the clipped gradient and a quarter of the Hessian of class ``output`` at the
    record's present score, in units of 1 / ``GRADIENT_ONE`` (``gradient_pairs``).
    ``"residual"``: what its target is above its present score, as a part of ``clamp``, at most one and at least minus
    one, and a quarter, in the same units (``residual_pairs``); instead of tables it may be asked by ``levels``.
    """

    tables: tuple[Table, ...]
    by_class: bool
    measure: str
    output: int
    clamp: int
    levels: Levels | None

    def __init__(
        self,
        tables: Iterable[Table] = (),
        by_class: bool = True,
        measure: str = "records",
        output: int = 0,
        clamp: int = 1,
        levels: Levels | None = None,
    ) -> None:
        own = all_of((Split, Product), tables, "A tally's tables")
        if len(own) > MOST_TABLES:
            raise LeakError(f"A tally has at most {MOST_TABLES:,} tables.")
        if text(measure, "A tally's measure") not in MEASURES:
            raise LeakError(f"A tally's measure is one of {', '.join(MEASURES)}, not {measure!r}.")
        put(self, tables=own, by_class=flag(by_class, "by_class"), measure=measure)
        if levels is not None and (type(levels) is not Levels or own or measure != "residual"):
            raise LeakError("Levels are those of residuals, instead of tables.")
        put(self, output=whole(output, 0, 2**16, "A class"), clamp=whole(clamp, 1, LARGEST_CLAMP, "A clamp"))
        put(self, levels=levels)

    @property
    def parted_by(self) -> tuple[Table | Levels, ...]:
        """What it is asked by: tables, or levels; nothing where it asks for the node's own."""
        return self.tables if self.levels is None else (self.levels,)


@dataclass(frozen=True, slots=True, init=False)
class Step(Word):
    """A released function of one feature or several: ``values[p]`` for the records that ``split`` sends to part p.

    Whole numbers, in units of 1 / ``GRADIENT_ONE``, that are added to the records' scores of class ``output``; a
    numeric target has one score, number 0, in units of 1 / ``TARGET_ONE`` of its range.
    """

    split: Table
    values: tuple[int, ...]
    output: int

    def __init__(self, split: Table, values: Iterable[int], output: int = 0) -> None:
        own = tuple(whole(value, -LARGEST_STEP, LARGEST_STEP, "What a step adds") for value in values)
        if type(split) not in (Split, Product):
            raise LeakError("A step's split must be a Split or a Product.")
        if len(own) != split.n_children:
            raise LeakError("A step needs a whole number for each part of its split.")
        put(self, split=split, values=own, output=whole(output, 0, 2**16, "A class"))
