"""The card of a fitted model in a notebook."""

import numpy as np
import pytest

from privet import Numeric, PrivateTreeClassifier, Schema
from privet.algorithms.explained import subject_of
from privet.explain.card import card

EVIL = "<script>alert(1)</script>"
SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"], label=EVIL)
X, Y = np.linspace(0, 1, 100)[:, None], ["no"] * 50 + ["yes"] * 50


@pytest.fixture(scope="module")
def model():
    return PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y)


def test_it_tells_the_promise_and_escapes_every_word(model):
    drawn = card(subject_of(model))
    assert "epsilon 1" in drawn
    assert "right in at most 73.2% of cases" in drawn
    assert EVIL not in drawn
    assert drawn.startswith("<div")


def test_notebooks_show_it_of_fitted_models_alone(model):
    assert model._repr_html_() == card(subject_of(model))
    assert model._repr_mimebundle_() == {"text/plain": repr(model), "text/html": card(subject_of(model))}
    unfitted = PrivateTreeClassifier(SCHEMA, epsilon=1)
    assert "Who had to be trusted?" not in (unfitted._repr_html_() or "")
    assert unfitted._repr_mimebundle_()["text/plain"] == repr(unfitted)


def test_a_void_receipt_is_no_promise():
    void = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0).fit(X, Y)
    assert "no guarantee" in card(subject_of(void))
