"""How good a model is, in words that follow from the intervals."""

import numpy as np
import pytest

from privet import Numeric, PrivateTreeClassifier, Schema
from privet.algorithms.explained import subject_of
from privet.evaluate.evaluation import Evaluation
from privet.explain.score_words import quality

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"], label="deposit")
X, Y = np.linspace(0, 1, 200)[:, None], ["no"] * 100 + ["yes"] * 100


@pytest.fixture(scope="module")
def subject():
    return subject_of(PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y))


def scored(right_no, wrong_no, wrong_yes, right_yes, variance=1.0, classes=("no", "yes")):
    counts = np.array([[[right_no, wrong_yes], [wrong_no, right_yes]]])
    return Evaluation(classes, counts, np.array([0.0, 1.0]), np.zeros(2), np.array([0, 1]), variance)


def test_the_verdict_comes_first_and_recall_and_precision_are_counted_out(subject):
    first, more = quality(subject, scored(7870, 130, 820, 180))
    assert first.startswith("Barely better than always saying no, by 0.6 points (")
    assert "Of 100 records whose deposit is yes it finds 18 (15 to 21)." in more
    assert "Of 100 that it calls yes, 58 (52 to 64) are." in more
    assert "recall" not in more
    assert "precision" not in more


def test_the_command_prints_shares_as_the_page_has_them(subject):
    found = scored(7870, 130, 820, 180)
    assert found.accuracy.percent in quality(subject, found)[1]
    assert found.accuracy.percent.startswith("89.4% (")
    for line in (
        f"accuracy               {found.accuracy.percent}",
        f"recall of yes          {found.recall('yes').percent},",
    ):
        assert f"  {line}" in str(found)
    assert "always saying no       88.9% (" in str(found)


def test_few_records_have_their_recall_with_an_interval_too(subject):
    first, more = quality(subject, scored(95, 15, 20, 55))
    assert first.startswith("Clearly better")
    assert "it finds 73 (62 to 83)." in more


def test_what_noise_hides_of_a_class_is_said(subject):
    _, more = quality(subject, scored(9000, 0, 5, 1, variance=4.0))
    assert "Noise hides how many records whose deposit is yes it finds, and how many that it calls so are." in more
    assert "Of 100" not in more


def test_a_schema_without_a_label_has_classes_all_the_same():
    nameless = subject_of(PrivateTreeClassifier(Schema(SCHEMA.features, classes=["no", "yes"]), epsilon=1).fit(X, Y))
    _, more = quality(nameless, scored(7870, 130, 820, 180))
    assert "Of 100 records of class yes it finds 18" in more
    _, more = quality(nameless, scored(9000, 0, 5, 1, variance=4.0))
    assert "Noise hides how many records of class yes it finds" in more


def test_a_bare_class_is_said_with_its_label(subject):
    _, more = quality(subject, scored(7870, 130, 820, 180, classes=(0, 1)))
    assert "Of 100 records with deposit = 1 it finds 18" in more
    assert "Of 100 that it calls deposit = 1, 58" in more
