"""Many fits' warnings: one for each kind, and nothing else is swallowed."""

import warnings

import pytest

from privet.errors import BudgetWarning
from privet.robustness.warned import Warned, listening


def test_words_that_differ_in_numbers_alone_are_said_once():
    one, other = Warned(), Warned()
    for words in ("about 63 records: n * epsilon is 1.26", "about 1,058 records: n * epsilon is 1e-05", "noise hides"):
        one.hear(words)
    other.hear("about 7 records: n * epsilon is 0.14")
    one.join(other)
    assert one.said(9) == [
        "3 of 9 models warn: about 63 records: n * epsilon is 1.26",
        "1 of 9 models warn: noise hides",
    ]


def test_other_warnings_go_where_they_go():
    heard = []
    with warnings.catch_warnings(record=True) as seen, listening(heard.append):
        for _ in range(2):  # from one place
            warnings.warn("little", BudgetWarning, stacklevel=1)
        warnings.warn("mind", UserWarning, stacklevel=1)
    assert heard == ["little", "little"]
    assert [str(own.message) for own in seen] == ["mind"]


def test_afterwards_warnings_are_as_before():
    with listening(print):
        pass
    with pytest.warns(BudgetWarning, match="later"):
        warnings.warn("later", BudgetWarning, stacklevel=1)
