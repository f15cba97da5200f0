"""Sums over many tables at once are those of each table alone, however few of them are counted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.curators import table_sums as sums
from privet.curators.records import Records
from privet.questions.grid import public_grid
from privet.questions.split import Product, Split, factors_of

SCHEMA = Schema(
    {
        "a": Numeric(0, 6, integer=True),
        "b": Numeric(0, 1, missing=True),
        "c": Categorical(list("xyz")),
        "d": Categorical(["u", "v"]),
        "e": Categorical(range(300)),
    },
    classes=[0, 1],
)
GRID = public_grid(SCHEMA, 8)
SIZES = [cells.n_cells for cells in GRID.features]
WIDE = 4  # a feature whose cells take two bytes


@st.composite
def tables(draw):
    features = sorted(draw(st.sets(st.integers(0, WIDE), min_size=1, max_size=4)))
    seed = draw(st.integers(0, 3))
    factors = [
        Split(f, bytes(draw(st.lists(st.integers(0, 2), min_size=SIZES[f], max_size=SIZES[f]))), 3)
        if f != WIDE
        else Split(f, np.random.default_rng(seed).integers(3, size=SIZES[f]).astype(np.uint8).tobytes(), 3)
        for f in features
    ]
    return Product(factors) if len(factors) > 1 else factors[0]


def records(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.array(
        [
            [
                float(rng.integers(7)),
                rng.choice([np.nan, rng.random()]),
                rng.choice(list("xyzw")),
                rng.choice(list("uv")),
                int(rng.integers(300)),
            ]
            for _ in range(n)
        ],
        dtype=object,
    )
    return Records(X, rng.integers(2, size=n), SCHEMA).binned(GRID)


BINNED = records()
VALUES = np.random.default_rng(1).integers(-(2**29), 2**29, size=(40, 2), dtype=np.int32)
COLUMNS = tuple(VALUES.T.copy())


def one_by_one(table, rows):
    """The part of each record, and the sums over parts, in plain Python."""
    shape = [split.n_children for split in factors_of(table)]
    found = np.zeros((table.n_children, 2), dtype=np.int64)
    for i in range(40) if rows is None else rows:
        place = [split.part[BINNED.column(split.feature)[i]] for split in factors_of(table)]
        found[np.ravel_multi_index(place, shape)] += VALUES[i]
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(tables(), min_size=1, max_size=6), st.sampled_from([None, [], [3, 4, 39]]))
def test_sums_of_many_tables_are_those_of_each(several, some):
    rows = None if some is None else np.array(some, dtype=np.int32)
    found = sums.table_sums(BINNED, several, COLUMNS, rows)
    assert found.tolist() == np.concatenate([one_by_one(table, rows) for table in several]).tolist()
    for table in several:
        scores, worth = np.full(40, 5), np.arange(table.n_children) ** 3
        parts = sums.parts_of(BINNED, table, rows)
        sums.add_step(BINNED, table, worth.tolist(), rows, scores)
        kept = np.arange(40) if rows is None else rows
        assert scores.tolist() == [5 + (worth[parts[i]] if i in kept else 0) for i in range(40)]
        sizes = np.bincount(parts if rows is None else parts[rows], minlength=table.n_children)
        assert sizes.sum() == (40 if rows is None else len(rows))


def test_what_follows_from_a_block_is_not_counted_again(monkeypatch):
    fine = [Split(f, bytes(i % 3 for i in range(n)), 3) for f, n in enumerate(SIZES[:WIDE])]
    coarse = Split(0, bytes(min(part, 1) for part in fine[0].part), 2)
    block = Product(fine)
    others = [Product(fine[1:3]), Product((coarse, *fine[2:])), Product((coarse, fine[3]))]
    expected = [one_by_one(table, None).tolist() for table in others]
    counted = []
    proper = sums._counted_sums
    monkeypatch.setattr(sums, "_counted_sums", lambda *args: counted.extend(args[1]) or proper(*args))
    found = sums.table_sums(BINNED, [block, *others], COLUMNS, None)[block.n_children :]
    ends = np.cumsum([table.n_children for table in others])[:-1]
    assert [own.tolist() for own in np.split(found, ends)] == expected
    assert counted == [block]
    sums.table_sums(BINNED, [*others, block], COLUMNS, None)
    assert counted == [block, *others[:2], block]  # the last of the others follows from the one before it


@pytest.mark.parametrize("engine", ["numpy_engine", "numba_engine"])
def test_both_engines_give_the_same(engine, monkeypatch):
    from importlib import import_module

    from privet.curators import kernels

    monkeypatch.setattr(kernels, "_engine", import_module(f"privet.curators.kernels.{engine}"))
    table = Product([Split(f, bytes(i % 2 for i in range(n)), 2) for f, n in enumerate(SIZES[:WIDE])])
    found = sums.table_sums(BINNED, [Split(0, bytes(7)), table], COLUMNS, None)
    assert found[1:].tolist() == one_by_one(table, None).tolist()
