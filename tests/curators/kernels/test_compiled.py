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
    from privet.curators.kernels import numba_engine

    for kernel, names, _ in compiled.signatures():
        numba_engine.ready(kernel, *names)


def tables(cuts, n_buckets=256):
    """What :func:`compiled.cut` is told of one feature: cuts and all that follows from them."""
    padded, lengths = np.append(cuts, np.inf)[None], np.array([len(cuts)])
    lows, scales, bent = np.empty(1), np.empty(1), np.empty(1, np.uint8)
    firsts = np.empty((1, n_buckets + 1), np.uint16)
    compiled.tabulate(padded, lengths, lows, scales, bent, firsts)
    return padded, lengths, np.zeros(1, np.uint8), lows, scales, bent, firsts


def cells(values, known, by_columns):
    X = np.ascontiguousarray(values[None] if by_columns else values[:, None])
    out, flags = np.zeros((len(values), 1), np.uint16), np.zeros(1, np.uint8)
    compiled.cut(X, by_columns, 0, len(values), *known, out, flags)
    return out[:, 0]


def straight(xs, low, width):
    return [int(compiled.bucket.py_func(x, low, 255.0 / width, 255.0)) for x in xs]


def bent(xs, anchor, width):
    found = np.empty(len(xs), np.uint16)
    compiled.bend(np.array(xs), len(xs), anchor, 1.0 / width, 128, np.empty(len(xs), np.int32), found)
    return found.tolist()


@pytest.mark.parametrize("buckets", [straight, bent])
@settings(max_examples=200, deadline=None)
@given(xs=st.lists(st.floats(allow_nan=False), min_size=2).map(sorted), low=finite, width=st.floats(1e-300, 1e308))
def test_buckets_keep_order_whatever_the_rounding(buckets, xs, low, width):
    found = buckets(xs, low, width)
    assert found == sorted(found)
    assert found[0] >= 0
    assert found[-1] <= 255


@settings(max_examples=100, deadline=None)
@given(cuts=st.lists(finite, max_size=80, unique=True).map(sorted), n_buckets=st.sampled_from([64, 256, 8192]))
def test_a_table_counts_the_cuts_in_lower_buckets_and_marks_those_that_hold_some(cuts, n_buckets):
    *_, firsts = tables(np.array(cuts), n_buckets)
    known = firsts[0] & (compiled.UNSURE - 1)
    held = np.diff(known.astype(int))
    assert known[0] == 0
    assert known[-1] == len(cuts)
    assert (held >= 0).all()
    np.testing.assert_array_equal(firsts[0, :-1] >= compiled.UNSURE, held > 0)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("n_cuts", [1, 2, 64, 65, 300])
def test_cuts_that_crowd_one_bucket_are_all_told_apart(n_cuts, by_columns):
    cuts = np.concatenate([[-1.0], 0.7 + np.arange(n_cuts) * 1e-9, [1.0]])
    known = tables(cuts)
    assert max(np.diff(known[-1][0].astype(int) & (compiled.UNSURE - 1))) == n_cuts
    values = np.concatenate([cuts, np.nextafter(cuts, 2), np.nextafter(cuts, -1), [-5.0, 5.0]])
    np.testing.assert_array_equal(cells(values, known, by_columns), np.searchsorted(cuts, values))


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("sign", [[1], [-1], [-1, 1]])
def test_cuts_that_crowd_near_zero_get_narrow_buckets_there(sign, by_columns):
    cuts = np.unique(np.outer(sign, np.geomspace(1e-6, 1.0, 100)))
    known = tables(cuts, 8192)
    assert known[-2][0] == 1
    assert np.diff(known[-1][0].astype(int) & (compiled.UNSURE - 1)).max() == 1
    around = np.concatenate([cuts, np.nextafter(cuts, 2), np.nextafter(cuts, -2)])
    values = np.concatenate([around, [0.0, -0.0, 5e-324, -7.0, 7.0]])
    np.testing.assert_array_equal(cells(values, known, by_columns), np.searchsorted(cuts, values))


def test_evenly_spaced_cuts_keep_buckets_of_one_width():
    assert tables(np.linspace(-5, 5, 99), 8192)[-2][0] == 0


def test_weighed_counts_may_pass_32_bits():
    n = 9_000_000
    rows, out = np.zeros(n, np.int32), np.zeros((1, 1, 1), np.int64)
    one = np.array([1])
    record = (np.zeros((1, 1), np.uint8), np.zeros(1, np.uint16), np.array([255], np.uint8))
    compiled.count(*record, rows, False, np.array([0, n]), 0 * one, one, 0, 1, np.empty(64, np.int64), out)
    assert out[0, 0, 0] == 255 * n > 2**31


def test_compiling_is_announced_once_per_machine(tmp_path):
    code = """
from privet.curators.kernels import compiled, numba_engine
numba_engine.ready(compiled.fill)
numba_engine.ready(compiled.route)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stderr
        for _ in range(2)
    ]
    assert told[0].count("privet: compiling kernels") == 1
    assert told[1] == ""
