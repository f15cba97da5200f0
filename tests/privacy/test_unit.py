"""Whom a guarantee covers, in words and in numbers."""

from __future__ import annotations

import numpy as np
import pytest

from privet.errors import BudgetError
from privet.privacy.unit import ROW, Unit, cap_of
from privet.schema import MOST_RECORDS_PER_PERSON, Numeric, Schema


def test_every_record_that_counts_has_a_unit():
    for records in range(1, MOST_RECORDS_PER_PERSON + 1):
        unit = Unit("id", records)
        assert records <= unit.weight <= MOST_RECORDS_PER_PERSON
        assert cap_of(str(unit)) == records
    assert (ROW.weight, cap_of(str(ROW)), ROW.name) == (1, 1, "one row")


@pytest.mark.parametrize(("person", "records"), [("id", 0), ("id", 65), ("", 2)])
def test_a_cap_that_no_weight_allows_is_refused(person, records):
    with pytest.raises(BudgetError, match="between 1 and 64"):
        Unit(person, records)


@pytest.mark.parametrize("text", ["", "one record", "one person, at most 0 records", "one person, at most 99 records"])
def test_other_words_are_no_unit(text):
    assert cap_of(text) is None


def test_units_are_rounded_to_whole_persons():
    unit = Unit("id", 20)
    units = np.array([-31, -30, -10, -9, 0, 9, 10, 29, 30, 20_000_007])
    assert unit.whole(units).tolist() == [-2, -1, 0, 0, 0, 0, 1, 1, 2, 1_000_000]
    assert ROW.whole(units) is units


def test_the_schema_says_what_the_unit_is():
    features = {"x": Numeric(0, 1)}
    assert Unit.of(Schema(features, classes=[0, 1])) is ROW
    assert Unit.of(Schema(features, classes=[0, 1], person="id", records_per_person=3)) == Unit("id", 3)
