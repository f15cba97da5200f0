"""What owners and users deal is checked before it is used: zeros and ones, in each feature as many as there should be.

A program on shares is a polynomial in what it is given. Whoever could give it other numbers would read off a model what
no query tells, or make comparisons overflow that the proofs rely on. So the servers compute what is zero for honest
numbers, and look at nothing else (``Engine.must_be_zero``): x^2 - x, which modulo a power of two, as in a field, is 0
for 0 and 1 alone (x and x - 1 are not both even), and differences of sums. One multiplication.
"""

from __future__ import annotations

import numpy as np

from privet.questions.grid import Grid
from privet.shares.engine import Engine, Secret

QUERIES = (
    "A query is not a row: it must have one 1 for each feature, and zeros. The run has ended; nothing was answered."
)
ROWS = (
    "What an owner shared are not rows: each must have one 1 for each feature and one for its class, or be all zeros. "
    "Owners of different columns must have the same number of records. The run has ended; nothing was asked."
)
DRAWN = "What an owner shared does not say which records are in which part. The run has ended."


def check_queries(engine: Engine, cells: Secret, grid: Grid) -> None:
    """One 1 among the cells of each feature, (flat cells, queries)."""
    _check(engine, cells, _by_feature(engine, cells, grid) - 1, QUERIES)


def check_rows(engine: Engine, cells: Secret, classes: Secret, grid: Grid) -> None:
    """One 1 among the cells of each feature and one among the classes, or, of rows that fill up, none at all."""
    there = classes.sum(0).reshape(1, classes.shape[1])
    _check(engine, engine.concatenate([cells, classes, there]), _by_feature(engine, cells, grid) - there, ROWS)


def check_parts(engine: Engine, drawn: Secret) -> None:
    """Every row is in one part or, where it fills up, in none."""
    there = drawn.sum(0).reshape(1, drawn.shape[1])
    _check(engine, engine.concatenate([drawn, there]), None, DRAWN)


def check_samples(engine: Engine, drawn: Secret) -> None:
    """Every row is in a sample or not."""
    _check(engine, drawn, None, DRAWN)


def _by_feature(engine: Engine, cells: Secret, grid: Grid) -> Secret:
    return engine.linear(cells, lambda rows: np.add.reduceat(rows, grid.offsets[:-1], axis=0))


def _check(engine: Engine, bits: Secret, zeros: Secret | None, otherwise: str) -> None:
    squares = bits * bits - bits
    engine.must_be_zero(squares if zeros is None else engine.concatenate([squares, zeros]), otherwise)
