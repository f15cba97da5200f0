"""The machine code alone: buckets keep order, crowded ones are searched, wide counters hold weighed counts."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.curators.kernels import compiled

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    from privet.curators.kernels import numba_engine  # noqa: F401  compiles, or loads


def tables(cuts, n_buckets=256):
    padded = np.append(cuts, np.inf)[None]
    lows, scales, firsts = np.empty(1), np.empty(1), np.empty((1, n_buckets + 1), np.uint16)
    compiled.tabulate(padded, np.array([len(cuts)]), lows, scales, firsts)
    return padded, lows, scales, firsts


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=2).map(sorted), low=finite, width=st.floats(1e-300, 1e308))
def test_buckets_keep_order_whatever_the_rounding(values, low, width):
    found = [int(compiled.bucket.py_func(x, low, 100.0 / width, 100.0)) for x in np.array(values)]
    assert found == sorted(found)
    assert found[0] >= 0
    assert found[-1] <= 100


@settings(max_examples=100, deadline=None)
@given(cuts=st.lists(finite, max_size=80, unique=True).map(sorted))
def test_a_table_says_how_many_cuts_lie_in_lower_buckets_and_marks_those_that_hold_some(cuts):
    with np.errstate(over="ignore"):
        _, lows, scales, firsts = tables(np.array(cuts))
        held = [int(compiled.bucket.py_func(x, lows[0], scales[0], 255.0)) for x in np.array(cuts)]
    counts = np.bincount(np.array(held, int), minlength=256)
    np.testing.assert_array_equal(firsts[0] & (compiled.UNSURE - 1), np.append(0, np.cumsum(counts)))
    np.testing.assert_array_equal(firsts[0, :-1] >= compiled.UNSURE, counts > 0)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("n_cuts", [1, 2, 64, 65, 300])
def test_cuts_that_crowd_one_bucket_are_all_told_apart(n_cuts, by_columns):
    cuts = np.append(np.arange(n_cuts) * 1e-9, 1.0)
    padded, lows, scales, firsts = tables(cuts)
    assert firsts[0, 1] & (compiled.UNSURE - 1) == n_cuts
    values = np.concatenate([cuts, np.nextafter(cuts, 2), np.nextafter(cuts, -1), [-5.0, 5.0]])
    X, out, flags = (
        values[None] if by_columns else values[:, None],
        np.zeros((len(values), 1), np.uint16),
        np.zeros(1, np.uint8),
    )
    known = (padded, np.array([len(cuts)]), np.zeros(1, np.uint8), lows, scales, firsts)
    compiled.cut(np.ascontiguousarray(X), by_columns, 0, len(values), *known, out, flags)
    np.testing.assert_array_equal(out[:, 0], np.searchsorted(cuts, values))


def test_weighed_counts_may_pass_32_bits():
    n = 9_000_000
    rows, out = np.zeros(n, np.int32), np.zeros((1, 1, 1), np.int64)
    one = np.array([1])
    record = (np.zeros((1, 1), np.uint8), np.zeros(1, np.uint16), np.array([255], np.uint8))
    compiled.count(*record, rows, False, np.array([0, n]), 0 * one, one, 0, 1, np.empty(64, np.int64), out)
    assert out[0, 0, 0] == 255 * n > 2**31


def test_a_cell_without_part_is_reported():
    column, table, parts = np.array([0, 2], np.uint8), np.zeros(2, np.uint8), np.zeros(2, np.uint8)
    no_rows = np.empty(0, np.int32)
    assert compiled.refine(column, table, 1, no_rows, True, 0, 1, parts)
    assert not compiled.refine(column, table, 1, no_rows, True, 0, 2, parts)


def test_compiling_is_announced_once_per_machine(tmp_path):
    code = """
from privet.curators.kernels import compiled
first = next(compiled._signatures())
compiled._signatures = lambda: [first]
compiled.load()
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stderr
        for _ in range(2)
    ]
    assert told[0].count("privet: compiling kernels") == 1
    assert told[1] == ""
