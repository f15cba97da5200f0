"""Branches cover every value once, and the one that missing values take comes last."""

import pytest

from privet import Categorical, Numeric
from privet.errors import PrivetError
from privet.export.program import Input, Where, branches, program_of


def test_ranges_run_together_and_missing_values_come_last():
    own = Input(0, "x", Numeric(0, 9, missing=True), (1.0, 2.0, 3.0))
    assert branches(own, own.cuts, [0, 1, 1, 0, 1]) == [
        (0, Where(ranges=((None, 1.0), (3.0, None)))),
        (1, Where(ranges=((1.0, 3.0),))),
    ]
    assert branches(own, (2.0,), [1, 1, 0]) == [(1, Where(ranges=((None, None),))), (0, Where())]


def test_unlisted_categories_come_last():
    own = Input(0, "x", Categorical(["a", "b", "c"]), None)
    assert branches(own, None, [1, 0, 1, 1]) == [(0, Where(listed=("b",))), (1, Where(listed=("a", "c")))]


def test_hidden_models_cannot_be_exported():
    class Hidden:
        _released = "tree_"
        tree_ = object()

    with pytest.raises(PrivetError, match="hidden"):
        program_of(Hidden())
