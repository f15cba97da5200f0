"""What owners compute alone: every table has its own least impurity, whatever its parts."""

import numpy as np

from privet import Categorical, Numeric, Schema
from privet.curators.statistics import owner_statistics
from privet.privacy.sensitivity import least_impurities
from privet.questions.grid import even_grid
from privet.questions.split import Split

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])


def test_tables_of_any_number_of_parts_are_answered_in_their_order():
    grid = even_grid(SCHEMA, 4)
    histogram = np.arange(12).reshape(6, 2) ** 2
    tables = (Split(1, bytes([0, 1])), Split(0, bytes([0, 1, 2, 3])), Split(0, bytes([0, 1, 0, 1])), Split(0, bytes(4)))
    answers = owner_statistics(histogram, grid, tables, classes=True)
    x, s = histogram[:4], histogram[4:]
    expected = [s, x, np.stack([x[0] + x[2], x[1] + x[3]]), x.sum(axis=0, keepdims=True)]
    assert answers.tolist() == [int(least_impurities(parts)) for parts in expected]


def test_an_owner_without_records_adds_nothing():
    grid = even_grid(SCHEMA, 4)
    nothing = np.zeros((6, 2), dtype=np.int64)
    assert owner_statistics(nothing, grid, (Split(0, bytes([0, 1, 2, 3])),), classes=True).tolist() == [0]
