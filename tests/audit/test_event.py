"""Whatever is released can be counted: numbers of any size, and outputs that are not always of one kind."""

import numpy as np
import pytest

from privet.audit import bound_of_samples
from privet.audit.event import Intervals, MixedCells, Regions, Seen, cells_of
from privet.errors import PrivetError

RNG = np.random.default_rng()
SURE = 1 - 1e-8


def seen(values):
    return Seen.of(list(values))


def test_text_among_numbers_is_a_cell_of_its_own():
    cells = cells_of(seen([*map(float, range(400)), "none"]), seen([]))
    assert isinstance(cells, MixedCells)
    codes = cells.code([3.0, "none", "never seen", 1e9])
    assert codes[1] == cells.n - 1
    assert codes[2] == -1
    assert 0 <= codes[0] < codes[3] < cells.n - 1


def test_numbers_that_are_text_only_where_they_are_counted_are_audited():
    rng = np.random.default_rng(1)  # which halves of them find events is still by chance: the bound is 2.2 +- 0.03
    one, other = rng.laplace(0, 1, 4000).tolist(), rng.laplace(3, 1, 4000).tolist()
    one[1] = other[3] = "none"  # every second output is counted
    bound = bound_of_samples(one, other, confidence=SURE)
    assert 1 < bound.epsilon <= 3
    assert "between" in bound.event


@pytest.mark.parametrize("size", [1.0, 1e40, 1e200])
def test_vectors_of_any_size_are_told_apart(size):
    rng = np.random.default_rng(1)  # which halves of them find events is still by chance: the bound is 2.0 +- 0.09
    one, other = (size * rng.laplace([0, shift], 1, (4000, 2)) for shift in (0, 3))
    one[1, 0], other[3, 1] = np.inf, -np.inf
    as_tuples = [list(map(tuple, table.tolist())) for table in (one, other)]
    for samples in ((one, other), as_tuples):
        assert 1 < bound_of_samples(*samples, confidence=SURE).epsilon <= 3


def test_vectors_with_a_number_that_no_float_holds_are_counted_one_by_one():
    cells = cells_of(seen([*((i, 0) for i in range(300)), (10**400, 0)]), seen([]))
    assert cells.code([(10**400, 0)]) == cells.n - 1


def test_very_few_runs_at_low_confidence_show_little_but_do_not_fail():
    for _ in range(100):
        assert bound_of_samples([1, 0, 1, 0, 1, 1, 1, 0], [0] * 8, confidence=0.6).epsilon >= 0


def test_outputs_without_a_hash_are_refused_wherever_they_come():
    with pytest.raises(PrivetError, match="cannot be compared"):
        bound_of_samples([1] * 99 + [{1}], [1] * 100)


def test_arrays_of_numbers_are_put_into_intervals_and_regions():
    assert isinstance(cells_of(*(Seen.of(RNG.normal(size=500)) for _ in "ab")).inside, Intervals)
    assert isinstance(cells_of(*(Seen.of(RNG.normal(size=(500, 2))) for _ in "ab")).inside, Regions)
