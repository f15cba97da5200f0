"""The six answers say what is true, in words."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.algorithms.explained import subject_of
from privet.curators.files import FileCurator
from privet.explain.subject import Subject
from privet.explain.words import LedgerWords, about_how_many, answers, cost, how_many, promised, trusted

FEATURES = {"a": Numeric(0, 1), "b": Numeric(0, 1)}
SCHEMA = Schema(FEATURES, classes=["no", "yes"], label="ill")
X = np.random.default_rng(0).random((2000, 2))
Y = np.where(X[:, 0] > 0.6, "yes", "no")


@pytest.fixture(scope="module")
def subject():
    """With the same noise each time, since its range of 95% misses now and then; but for that its receipt is sound."""
    seeded = PrivateTreeClassifier(SCHEMA, epsilon=1, leaves="counts", random_state=0).fit(X, Y, holdout=0.3)
    return replace(subject_of(seeded), receipt=replace(seeded.privacy_, void=()))


def texts(subject, **more):
    return {own.question: own.text for own in answers(subject, **more)}


def test_all_six_are_answered(subject):
    said = texts(subject, ledger=LedgerWords("ward 3", "Half is left."))
    learned, whose, promise, price, quality, trust = said.values()
    assert "decision tree" in learned
    assert "predicts ill (no or yes) from 2 features" in learned
    assert "one row of the table" in whose
    assert whose.startswith("The ledger that lists this release names them: ward 3. It was learned from about 1,")
    assert "and scored on about" in whose
    assert "they need not add up" in whose
    assert promise.startswith(
        "If the chances were even before, a guess whether one record was used is right at most 73.2 times in 100."
    )
    assert promise.index("73.2 times in 100") < promise.index("2.72 times as likely") < promise.index("several rows")
    assert price.endswith("all that this fit was given. Half is left.")
    assert quality.startswith("Clearly better than always saying no, by ")
    assert "where always saying no would be right for " in quality
    assert "95% confidence" in quality
    assert "no program can check it" in trust  # that the schema is public
    assert "alpha software" in trust


def test_a_model_without_scores_says_how_to_get_them(subject):
    assert "--holdout 0.2" in texts(replace(subject, evaluation=None))["How good is it?"]


def test_scores_with_a_receipt_of_their_own_say_what_they_cost_whom(subject):
    """And not that the model has never seen these records: no receipt tells."""
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y)
    for options, said, warned in (
        ({"epsilon": 0.5}, "they cost the records that score it epsilon 0.5", False),
        ({"epsilon": 5}, "epsilon 5", True),
        ({"epsilon": 0.5, "random_state": 0}, "nothing is promised: random_state", True),
    ):
        own = replace(subject, evaluation=model.evaluate(X, Y, **options))
        quality = answers(own)[4]
        assert said in quality.text
        assert quality.warning == warned
        assert "did not learn from" not in quality.text
        assert " others." not in texts(own)["From whose records?"]
    assert "did not learn from" in texts(subject)["How good is it?"]
    assert not answers(subject)[4].warning


def test_nothing_is_promised_where_nothing_holds(subject):
    void = replace(subject, receipt=replace(subject.receipt, void=("random_state was given",)))
    assert promised(void)[0].startswith("Nothing: random_state was given")
    assert answers(void)[2].warning
    assert math.isinf(float(void.receipt.epsilon))


@pytest.mark.parametrize(("epsilon", "said"), [(3, "weak promise"), (7, "weak promise"), (10, "promises nothing")])
def test_a_weak_promise_is_called_weak(subject, epsilon, said):
    weak = replace(subject, receipt=replace(subject.receipt, spent=Fraction(epsilon), claimed=Fraction(epsilon)))
    assert said in promised(weak)[0]
    assert answers(weak)[2].warning
    assert ("possibly always right" in promised(weak)[0]) == (epsilon >= 10)


def test_a_ledger_without_the_release_is_a_warning_and_names_nobody(subject):
    said = answers(subject, LedgerWords("ward 3", "The ledger of ward 3 does NOT list this release.", known=False))
    assert said[3].warning
    assert "ward 3" not in said[1].text


def test_how_many_were_learned_from_is_said_or_that_nobody_was_told(subject):
    labels = subject_of(PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y, holdout=0.3))
    assert how_many(labels).startswith("How many records it was learned from was not released. It was scored on about")
    assert "records that it did not learn from. That number is noisy" in how_many(labels)
    hinted = subject_of(PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=2000).fit(X, Y))
    assert how_many(hinted) == (
        "How many records it was learned from was not released; those who fitted it told the program that there are "
        "about 2,000 in all."
    )


def test_a_forest_has_counts_and_no_one_number_of_records():
    """Each tree has counts of its own, so it would be wrong that they were not released."""
    forest = subject_of(PrivateForestClassifier(SCHEMA, epsilon=5, n_trees=3, random_state=0).fit(X, Y))
    assert all(tree.weighed for tree in forest.trees)
    assert how_many(forest) == "How many records it was learned from is not told in one number."


def test_no_range_is_spoken_of_that_is_not_there(subject):
    assert "a range holds with 95% confidence" in how_many(replace(subject, evaluation=None))
    target = Schema(FEATURES, target=(0, 10))
    numbers = subject_of(PrivateTreeRegressor(target, epsilon=5, random_state=0).fit(X, 10 * X[:, 0]))
    assert about_how_many(numbers).low == about_how_many(numbers).high
    assert how_many(numbers).endswith(" records. That number is noisy.")


def test_a_range_is_rounded_outward_wherever_it_is_said(subject):
    size = subject.evaluation.size
    assert (size.low, size.high) == (int(size.low), int(size.high))
    assert f"scored on about {size.value:,.0f} ({size.low:,.0f} to {size.high:,.0f}) others" in how_many(subject)
    assert f"about {size.value:,.0f} records (a noisy count: {size.low:,.0f} to {size.high:,.0f})" in str(
        subject.evaluation
    )


def test_those_who_had_to_be_trusted_are_a_list_and_the_disk_comes_last(subject):
    memory = answers(subject)[5]
    assert [point.partition(":")[0] for point in memory.points] == [
        "With the records", "With what counts as public", "With the program",
    ]  # fmt: skip
    files = replace(subject, receipt=replace(subject.receipt, trust=FileCurator.trust))
    *parties, disk = trusted(files)
    assert (
        parties[0]
        == "With the records: the machine that trained the model read all files, and no other machine had to."
    )
    assert disk.startswith("With that machine's disk: while it learned, it kept a coarser copy of the records in temp")
    assert "deleted when the program ends" in disk
    assert "nobody else" not in memory.text.lower()


def test_what_is_technical_is_in_no_answer(subject):
    for own in answers(subject):
        assert not any(word in own.text for word in ("mixed(", "permute", "tally", "noise scale", "lemma"))


def test_a_single_number_of_records_has_nothing_to_add_up_with(subject):
    said = texts(replace(subject, evaluation=None))["From whose records?"]
    assert "That number is noisy" in said
    assert "add up" not in said


def test_a_note_says_whose_records_they_were(subject):
    assert "note: ward 3, 2024." in texts(replace(subject, note="ward 3, 2024"))["From whose records?"]


def test_the_number_of_records_has_a_range_that_holds_it(subject):
    about = about_how_many(subject)
    assert about.low < 1400 < about.high
    assert about.high - about.low < 400


@pytest.mark.parametrize(("label", "said"), [(0, "ill = 0"), (True, "ill = True"), (-1.5, "ill = -1.5"), ("no", "no")])
def test_a_bare_class_says_what_it_is_of(subject, label, said):
    assert subject.says(label) == said


def test_a_small_epsilon_keeps_its_digits(subject):
    for epsilon, said in (("1/100", "1.011 times"), ("1/100000", "(1 + 1.01e-05) times")):
        small = replace(subject, receipt=replace(subject.receipt, spent=Fraction(epsilon)))
        assert said in promised(small)[1]
        assert "right at most 50.0 " not in promised(small)[0]
    large = replace(subject, receipt=replace(subject.receipt, spent=Fraction(10)))
    assert "more than 10^5 times" in promised(large)[1]  # e^10 is 22,026


def test_scores_that_are_noise_are_called_so(subject):
    noisy = replace(subject.evaluation, variance=1e7)
    said = texts(replace(subject, evaluation=noisy))["How good is it?"]
    assert said.startswith("Noise hides it")
    assert "Always saying" not in said


def test_a_shortfall_is_told(subject):
    short = replace(subject.receipt, spent=Fraction(3), shortfall="histograms were counted once")
    assert "not the 1 that was claimed: histograms" in cost(short)


def test_persons_deltas_numbers_and_hidden_models():
    schema = Schema(FEATURES, target=(0, 10), person="id", records_per_person=3)
    model = PrivateTreeRegressor(schema, epsilon=1).fit(X, 10 * X[:, 0], groups=np.arange(2000) // 2, holdout=0.3)
    said = texts(subject_of(model))
    assert "at most 3 records of each person count" in said["From whose records?"]
    assert "off by" in said["How good is it?"]
    assert said["What does it promise to one person?"].startswith(
        "If the chances were even before, a guess whether one person was used is right"
    )
    assert "row" not in said["What does it promise to one person?"]
    boosted = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method="boosting").fit(X, Y)
    assert "rounds of boosting" in texts(subject_of(boosted))["What was learned?"]
    assert "probability of 1e-06" in promised(subject_of(boosted))[1]
    hidden = Subject("HiddenTreeClassifier", SCHEMA, None, subject_of(boosted).receipt)
    assert "three servers answer" in texts(hidden)["What was learned?"]
