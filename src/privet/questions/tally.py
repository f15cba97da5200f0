"""Which sums to ask for, and what boosting adds to scores."""

from __future__ import annotations

from dataclasses import dataclass

from privet.questions.candidates import Split


@dataclass(frozen=True)
class Tally:
    """Which sums to ask for: one table for each of ``tables``, cell by cell where the split has a part.

    ``tables`` empty asks for the node's own. ``measure`` says what each record adds to its cell. ``"records"``: one;
    ``by_class`` counts each class apart, at no extra price: a record has one class. ``"target"``: two numbers that add
    up to ``TARGET_ONE``, how far its target is above the low end of the public range and how far below the high end;
    they cost no more than a count (``target_tally_sensitivity``), and their shares of the sum are the mean's place
    between the ends. ``"gradient"``: the gradient and the Hessian of the logistic loss of class ``output`` at the
    record's present score, in units of 1 / ``GRADIENT_ONE``; the pair's norm is at most one (``gradient_pairs``).
    """

    tables: tuple[Split, ...] = ()
    by_class: bool = True
    measure: str = "records"
    output: int = 0


@dataclass(frozen=True)
class Step:
    """A released function of one feature: ``values[p]`` for the records that ``split`` sends to part p.

    Whole numbers, in units of 1 / ``GRADIENT_ONE``, that are added to the records' scores of class ``output``.
    """

    split: Split
    values: tuple[int, ...]
    output: int = 0
