"""Data that do not fit their schema are seen: by their holder, in coarse words, before anything is spent."""

import io
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privet
from privet import Categorical, Ledger, Numeric, PrivateTreeClassifier, Schema
from privet.errors import SchemaError
from privet.tables import misfit
from privet.tables.misfit import check_data, refuse_misfits

SCHEMA = Schema(
    {"age": Numeric(0, 120, integer=True), "height": Numeric(0.5, 2.5), "sex": Categorical(["f", "m"])},
    classes=["no", "yes"],
)
GOOD = {"age": np.arange(100) % 90, "height": np.linspace(1.5, 2, 100), "sex": ["f", "m"] * 50}
Y = ["no", "yes"] * 50


def said(schema=SCHEMA, **changed):
    return [str(misfit) for misfit in check_data(pd.DataFrame(GOOD | changed), Y, schema)]


def test_data_that_fit_say_nothing():
    assert said() == []
    assert check_data(pl.DataFrame(GOOD), Y, SCHEMA) == []
    few = ["x"] * 4 + GOOD["sex"][4:]
    assert said(sex=few) == []  # a few unlisted values are what 'other' is for


def test_capital_letters_where_the_schema_has_small_ones():
    (words,) = said(sex=["F", "M"] * 50)
    assert words == (
        "column 'sex': all values are missing or not listed, and count as 'any other value'; small or capital letters "
        "and spaces seem to be all that is different"
    )


def test_trailing_spaces():
    (words,) = said(sex=["f ", "m"] * 50)
    assert words.startswith("column 'sex': most values are missing or not listed")
    assert words.endswith("spaces around them seem to be all that is different")


def test_another_code_has_no_hint():
    (words,) = said(sex=["1", "2"] * 50)
    assert words == "column 'sex': all values are missing or not listed, and count as 'any other value'"
    (words,) = said(sex=pd.Categorical(["1", "m"] * 50))
    assert "most values are missing" in words


def test_another_unit_clamps_all_values():
    (words,) = said(height=np.linspace(150, 200, 100))
    assert "column 'height': all values are above its range, 0.5 to 2.5," in words
    assert "is the unit the same" in words


def test_fractions_in_a_column_of_whole_numbers():
    (words,) = said(age=np.arange(100) / 2)
    assert words == "column 'age': most values are no whole numbers, and the schema says integer"


def test_columns_of_an_array_in_another_order():
    schema = Schema({"age": Numeric(0, 120), "height": Numeric(0.5, 2.5)}, classes=["no", "yes"])
    swapped = np.column_stack([GOOD["height"], GOOD["age"]])
    *columns, order = map(str, check_data(swapped, Y, schema))
    assert any("column 'height': most values are above" in words for words in columns)
    assert "is their order the schema's?" in order


def test_targets_outside_their_range():
    schema = Schema({"age": Numeric(0, 120)}, target=(0, 1))
    (words,) = map(str, check_data(pd.DataFrame({"age": [1, 2, 3]}), [5, 6, 7], schema))
    assert words.startswith("column 'the target': all values are above its range, 0 to 1,")


def test_no_value_of_a_record_is_ever_quoted():
    text = " ".join(said(sex=["Zebedee"] * 100, height=np.full(100, 8675309.0), age=np.full(100, 86.75309)))
    assert "Zebedee" not in text
    assert "86" not in text


def test_nothing_to_look_at_says_nothing():
    assert check_data(pd.DataFrame({name: [] for name in GOOD}), [], SCHEMA) == []


def test_strictly_it_is_refused():
    refuse_misfits(pd.DataFrame(GOOD), Y, SCHEMA)
    with pytest.raises(SchemaError, match="do not fit the schema; column 'sex'"):
        refuse_misfits(pd.DataFrame(GOOD | {"sex": ["F"] * 100}), Y, SCHEMA)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_fit_tells_whoever_sits_at_the_terminal_before_anything_is_spent(monkeypatch):
    screen, told = Terminal(), []
    monkeypatch.setattr(sys, "stderr", screen)
    grow = PrivateTreeClassifier._grow
    monkeypatch.setattr(
        PrivateTreeClassifier, "_grow", lambda *args: told.append((screen.getvalue(), ledger.spent)) or grow(*args)
    )
    with Ledger(1) as ledger:
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(pd.DataFrame(GOOD | {"sex": ["F"] * 100}), Y)
    (words, spent), *_ = told
    assert words.startswith("warning: column 'sex': all values are missing or not listed")
    assert spent == 0


def test_without_a_terminal_nothing_is_said_anywhere(capfd, caplog, recwarn):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=100).fit(pd.DataFrame(GOOD | {"sex": ["F"] * 100}), Y)
    out, err = capfd.readouterr()
    assert (out, err, caplog.records, list(recwarn)) == ("", "", [], [])
    assert "listed" not in str(model.privacy_)


def test_a_notebook_is_told_once_how_to_ask_whatever_the_records_are(monkeypatch, capsys):
    misfit._tell_how_to_ask.cache_clear()
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    for _ in range(2):
        misfit.tell_misfits(None, None, None)  # nothing is looked at
    assert capsys.readouterr().err.count("privet.check_data(X, y, schema)") == 1


def test_it_is_there_for_whoever_asks():
    assert privet.check_data is check_data


def test_labels_that_are_no_class_are_refused_as_by_a_fit():
    with pytest.raises(SchemaError, match="does not list among its classes"):
        check_data(pd.DataFrame(GOOD), ["Yes"] * 100, SCHEMA)
