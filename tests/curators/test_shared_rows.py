"""Histograms of a level on shares are those in the open, by whichever way they are counted."""

import numpy as np
import pytest

pytest.importorskip("cryptography")

from in_threads import run_threads
from privet.curators import shared_rows
from privet.curators.shared_rows import RowLevel, SharedRows

RNG = np.random.default_rng(2)
N, CLASSES, SIZES = 40, 3, (4, 2)
CELLS = np.concatenate([np.eye(n, dtype=np.int64)[:, RNG.integers(0, n, N)] for n in SIZES])
LABELS = np.eye(CLASSES, dtype=np.int64)[:, RNG.integers(0, CLASSES, N)]
CELLS[:, -3:] = LABELS[:, -3:] = 0  # rows that fill up


def level_of(n):
    """So many nodes, each row in one of them."""
    return (np.arange(n)[:, None] == RNG.integers(0, n, N)).astype(np.int64)


def in_the_open(members):
    return np.einsum("cr,kr,nr->ckn", CELLS, LABELS, members)


def rows(engine):
    return SharedRows(engine, engine.constant(CELLS), engine.constant(LABELS))


def test_cells_are_sorted_by_class():
    expected = (LABELS[:, None] * CELLS[None]).reshape(CLASSES * len(CELLS), N)
    (found, *_) = run_threads(lambda engine: engine.open(rows(engine).by_class))
    assert (found == expected).all()


@pytest.mark.parametrize("n", [1, 3])
def test_a_level_is_counted_by_its_members(n):
    members = level_of(n)

    def program(engine):
        level = RowLevel(engine.constant(members))
        return engine.open(level.histograms(rows(engine)))

    assert (run_threads(program)[0] == in_the_open(members)).all()


@pytest.mark.parametrize("at_once", [2**26, 100])
@pytest.mark.parametrize("n", [2, 30])
def test_children_are_counted_alike_whether_members_or_cells_are_routed(n, at_once, monkeypatch):
    """With more nodes than cells it is cheaper to route the cells; what comes out is the same, in pieces or at once."""
    monkeypatch.setattr(shared_rows, "ROWS_AT_ONCE", at_once)
    parents, goes = level_of(n), level_of(3)[:2]  # of three ways, the last is the rest
    ways = np.concatenate([goes, 1 - goes.sum(axis=0, keepdims=True)])
    expected = in_the_open((parents[:, None] * ways[None]).reshape(n * 3, N))

    def program(engine):
        above = RowLevel(engine.constant(parents))
        below = RowLevel(None, None, above, engine.constant(goes))
        counted = engine.open(below.histograms(rows(engine)))
        return counted, engine.open(below.members(engine))

    counted, members = run_threads(program)[0]
    assert (counted == expected).all()
    assert (members == (parents[:, None] * ways[None]).reshape(n * 3, N)).all()
