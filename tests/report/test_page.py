"""The report's page: one for every kind of model, whole, self-contained, and small."""

import json
import math
import re
import warnings
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import privet
from privet import Categorical, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema, TopDownClassifier
from privet.algorithms.explained import subject_of
from privet.algorithms.registry import MODELS, model_class
from privet.algorithms.stand_in import stand_in
from privet.errors import PrivetError, ReceiptError
from privet.explain.subject import Subject
from privet.explain.words import LedgerWords
from privet.report.page import (
    CHOSEN_TOGETHER,
    MERGED,
    NO_COUNTS,
    NO_PROMISE_OF_SCORES,
    NOISY_COUNTS,
    embedded,
    facts_of,
    filled,
    left_in,
    report_page,
    write_report,
)
from privet.robustness import Approximate, Concentrated, Pure
from sample_certificate import certificate

SCHEMA = Schema({"a": Numeric(0, 9, missing=True), "b": Categorical(["x", "y"])}, classes=["no", "yes"], label="it")
TARGET = Schema({"a": Numeric(0, 9, missing=True), "b": Categorical(["x", "y"])}, target=(0, 1), label="it")


def fitted(model, schema=SCHEMA, n=400, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*stand_in(schema, n)[:2], **options)


@pytest.fixture(scope="module")
def tree():
    return fitted(PrivateTreeClassifier(SCHEMA, epsilon=2), holdout=0.2)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_report(name):
    kind = model_class(name)
    schema = TARGET if kind._task == "regression" else SCHEMA
    page = report_page(subject_of(fitted(kind(schema=schema, epsilon=2), schema, holdout=0.2)))
    for part in ("What was learned?", "Who had to be trusted?", "Where the budget went", "How good it is"):
        assert part in page
    assert "{{" not in page.split("<script")[0]


def test_a_hidden_model_has_a_report_without_a_tree(tree):
    subject = subject_of(tree)
    page = report_page(Subject("HiddenTreeClassifier", SCHEMA, None, subject.receipt))
    assert "This model is hidden" in page
    assert "Try a record" not in page
    assert facts_of(Subject("HiddenTreeClassifier", SCHEMA, None, subject.receipt))["model"] == {"kind": "hidden"}


def test_a_page_loads_nothing_and_names_the_only_script_that_may_run(tree):
    page = report_page(subject_of(tree))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert policy.count("sha256-") == 2
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(["']?http""", page)
    assert not re.search(r'\sstyle="', page.split("<script")[0])  # the policy forbids it


def test_a_void_receipt_is_said_first():
    page = report_page(subject_of(fitted(PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0))))
    assert page.index("No guarantee holds") < page.index("In six answers")


def test_void_scores_are_said_first_and_a_void_page_is_its_owners(tmp_path, tree):
    X, y, _ = stand_in(SCHEMA, 100)
    scored = replace(subject_of(tree), evaluation=tree.evaluate(X, y, epsilon=1, random_state=0))
    page = report_page(scored)
    assert page.index(NO_PROMISE_OF_SCORES) < page.index("In six answers")
    write_report(fitted(PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0)), tmp_path / "void.html")
    assert (tmp_path / "void.html").stat().st_mode & 0o077 == 0


def test_an_epsilon_that_promises_nothing_is_said_first():
    page = report_page(subject_of(fitted(PrivateTreeClassifier(SCHEMA, epsilon=12))))
    assert 0 < page.index('class="notice alarm"') < page.index("Epsilon 12 promises nothing") < page.index("In six")
    assert "Epsilon 3 is a weak promise" in report_page(subject_of(fitted(PrivateTreeClassifier(SCHEMA, epsilon=3))))


def test_scores_that_are_void_do_not_hide_that_the_model_promises_nothing():
    X, y, _ = stand_in(SCHEMA, 100)
    for options, said in (
        ({"epsilon": 12}, "Epsilon 12 promises nothing"),
        ({"epsilon": 12, "random_state": 0}, "No guarantee holds"),
        ({"epsilon": 1}, NO_PROMISE_OF_SCORES),
    ):
        model = fitted(PrivateTreeClassifier(SCHEMA, **options))
        subject = replace(subject_of(model), evaluation=model.evaluate(X, y, epsilon=1, random_state=0))
        page = report_page(subject)
        (alarm,) = re.findall(r'<div class="notice alarm" role="note"><p><strong>([^<]*)\.</strong>', page)
        assert alarm == said


def test_a_tree_says_what_was_counted_and_what_was_merged(tree):
    labels = report_page(subject_of(tree))
    assert NO_COUNTS in labels
    assert NOISY_COUNTS not in labels
    counts = report_page(subject_of(fitted(PrivateTreeClassifier(SCHEMA, epsilon=2, leaves="counts"))))
    assert NOISY_COUNTS in counts
    assert CHOSEN_TOGETHER in counts
    asked = sum("split" in event.question for event in tree.privacy_.events)
    drawn = sum(node.rule is not None for node in tree.tree_.nodes)
    assert (MERGED.format(asked=asked, drawn=drawn) in labels) == (asked > drawn)


def test_what_a_ledger_has_left_is_told_of_releases_that_it_lists(tmp_path, tree):
    with privet.Ledger.create(tmp_path / "l.ledger", 4, records="ward 3"):
        known = fitted(PrivateTreeClassifier(SCHEMA, epsilon=1))
    said = left_in(tmp_path / "l.ledger", subject_of(known), datetime(2026, 11, 18, 13, 5, tzinfo=UTC))
    assert said.known
    assert said.left.startswith(
        "As of 2026-11-18, 13:05 UTC, epsilon 3 of 4 is left (all that was spent is together epsilon 1: a guess is "
        "right in at most 73.2% of"
    )
    assert "It counts only what was charged to it" in said.left
    assert f"As of {datetime.now(UTC):%Y-%m}" in left_in(tmp_path / "l.ledger", subject_of(known)).left
    other = left_in(tmp_path / "l.ledger", subject_of(tree))
    assert not other.known
    assert "does NOT list this release" in other.left
    assert "is left" not in other.left


def test_the_promise_has_its_picture_and_the_schema_is_linked_from_the_answers(tree):
    page = report_page(subject_of(tree))
    answers = page[page.index("In six answers") : page.index("</dl>")]
    promise = answers[answers.index("What does it promise") : answers.index("What did it cost")]
    assert promise.count('<figure class="meter') == 1 == page.count('<figure class="meter')
    assert 'href="#schema"' in answers[answers.index("Who had to be trusted?") :]
    assert "<li>With the records: the machine" in answers


def test_a_receipt_that_does_not_add_up_has_no_page(tree):
    subject = subject_of(tree)
    with pytest.raises(ReceiptError):
        report_page(replace(subject, receipt=replace(subject.receipt, spent=Fraction(1, 7))))


def test_a_certificate_and_a_ledger_are_told(tree):
    own = certificate(guarantee=str(Pure(2)), unit="one row")
    page = report_page(subject_of(tree), ledger=LedgerWords("x", "There epsilon 1 is left."), certificate=own)
    assert "epsilon 1 is left" in page
    assert 'href="#robustness"' in page


def test_a_certificate_of_another_model_is_refused(tmp_path, tree):
    """It would stand beside this model's promise, and be read as one more of its own."""
    own = {"guarantee": str(Pure(2)), "unit": "one row"}
    for other, words in (
        ({"estimator": "PrivateForestClassifier"}, "'PrivateForestClassifier' there and 'PrivateTreeClassifier' here"),
        ({"guarantee": str(Pure(0.7))}, "epsilon 0.7' there and .*epsilon 2' here"),
        ({"unit": "one person, at most 2 records"}, "at most 2 records' there and 'one row' here"),
    ):
        with pytest.raises(PrivetError, match=words):
            write_report(tree, tmp_path / "r.html", certificate=certificate(**own | other))
    assert not (tmp_path / "r.html").exists()
    void = replace(subject_of(tree), receipt=replace(tree.privacy_, void=("exact values were read",)))
    with pytest.raises(PrivetError, match="No certificate follows"):
        report_page(void, certificate=certificate(**own))


def test_a_model_with_a_delta_is_shown_with_the_certificate_of_the_same_epsilon_and_delta():
    """Also if it was learned in a ledger that converts at whole orders, as joint ones are: its rho is another."""
    trees = TopDownClassifier(SCHEMA, epsilon=2, delta=1e-6)
    with privet.Ledger(math.inf, delta=1e-6, whole_orders=True):
        joint = fitted(trees)
    alone = fitted(clone(trees))
    rho = alone.privacy_.reserved
    assert rho != joint.privacy_.reserved
    for model in (joint, alone):
        for own, fits in ((Concentrated(rho), True), (Concentrated(rho / 2), False), (Pure(2), False)):
            with nullcontext() if fits else pytest.raises(PrivetError, match="the guarantee is"):
                shown = certificate(estimator=subject_of(model).model, unit="one row", guarantee=str(own))
                assert "Poisoned records" in report_page(subject_of(model), certificate=shown)


def test_a_forest_that_a_measured_size_decides_on_has_the_weak_certificate_alone():
    decides = fitted(PrivateForestClassifier(SCHEMA, epsilon=2, delta=1e-6))
    names = {"estimator": "PrivateForestClassifier", "unit": "one row"}
    weak = certificate(**names, guarantee=str(Approximate(2, 1e-6)))
    assert "Poisoned records" in report_page(subject_of(decides), certificate=weak)
    for strong in (Pure(2), Concentrated(decides.privacy_.reserved or 1)):
        with pytest.raises(PrivetError, match="the guarantee is"):
            report_page(subject_of(decides), certificate=certificate(**names, guarantee=str(strong)))


def test_large_models_have_small_pages():
    many = Schema({f"f{i}": Numeric(0, 1) for i in range(8)}, classes=["no", "yes"])
    tree = fitted(PrivateTreeClassifier(many, epsilon=200, max_depth=6, leaves="counts"), many, 4000)
    assert len(tree.tree_.leaves) > 30
    assert len(report_page(subject_of(tree))) < 200_000
    boosted = fitted(PrivateForestClassifier(many, epsilon=6, delta=1e-6, method="boosting"), many, 2000)
    rounds = len(boosted.forest_.rounds)
    assert rounds > 40
    bare = len(report_page(replace(subject_of(boosted), released=tree.tree_)))
    assert bare + (len(report_page(subject_of(boosted))) - bare) * 200 / rounds < 600_000  # as if it had 200 rounds


def test_embedded_data_cannot_end_their_element():
    data = {"a": "</script><!--\u2028 &amp;"}
    assert not set("<>&\u2028") & set(embedded(data))
    assert json.loads(embedded(data)) == data


def test_a_value_is_never_taken_for_a_blank():
    assert filled("{{a}} {{b}}", a="{{b}}", b="2") == "{{b}} 2"


def test_facts_are_of_released_numbers_alone(tree):
    facts = facts_of(subject_of(tree))
    assert {own["a"] for own in facts["model"]["trees"][0]["nodes"] if "a" in own} <= {0, 1}
    assert facts["budget"]["total"] == pytest.approx(2)
    assert np.isclose(sum(amount for _, amount in facts["budget"]["dearest"]), 2)


def test_a_page_is_written_from_python_and_not_over_another(tree, tmp_path):
    privet.write_report(tree, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == report_page(subject_of(tree))
    with pytest.raises(PrivetError, match="overwrite=True"):
        privet.write_report(tree, tmp_path / "r.html")
    privet.write_report(tree, tmp_path / "r.html", overwrite=True)
