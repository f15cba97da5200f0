"""A schema is given, or read off the records with a warning; nothing else will do."""

import pytest

from privet import BudgetWarning, Numeric, Schema, SchemaError
from privet.algorithms.given_schema import resolved_schema

X, Y = [[0.0], [1.0]], ["no", "yes"]
KNOWN = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])


def test_a_schema_is_taken_as_it_is_and_a_draft_with_a_warning():
    assert resolved_schema(KNOWN, X, Y, "classification") is KNOWN
    with pytest.warns(BudgetWarning, match="VOID"):
        resolved_schema(Schema({"x": Numeric(0, 1, inferred=True)}, classes=[0, 1]), X, Y, "classification")


def test_a_schema_that_is_read_off_the_records_is_a_draft():
    with pytest.warns(UserWarning, match="the receipt is void"):
        assert resolved_schema("infer", X, Y, "classification").unconfirmed == ("x0", "label")
    with pytest.warns(UserWarning, match="void"), pytest.raises(SchemaError, match="for a table in memory"):
        resolved_schema("infer", "some.csv", None, "classification")


def test_what_is_no_schema_is_refused_with_an_example():
    with pytest.raises(SchemaError, match="schema is a dict"):
        resolved_schema({}, X, Y, "classification")
    with pytest.raises(SchemaError, match="privet schema draft"):
        resolved_schema(None, X, Y, "classification")
