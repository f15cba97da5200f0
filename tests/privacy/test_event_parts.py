"""Records that are learned from and records that score pay apart, and that is said only where it is so."""

from dataclasses import replace
from fractions import Fraction

from privet.privacy.event import Event
from privet.privacy.event_parts import ON_ALL, disjoint_sum, parts_of, steps_of

HALF = Event.example(Fraction(1, 2))


def asked(*questions):
    return [replace(HALF, scope=scope, question=question) for scope, question in questions]


def names(events):
    return [part.name for part in parts_of(events)]


def said(events):
    parts = parts_of(events)
    return disjoint_sum(parts, [f"{float(part.spent):g}" for part in parts], "record")


LEARNED, SCORED = ("/fit0:0/parts0:0/fit0:0", "choose a split"), ("/fit0:0/parts0:1/fit0:0", "evaluate")


def test_a_path_names_its_parts():
    assert steps_of("/fit0:0/parts0:1/split0:0/parts2:3") == [
        ("/fit0:0/parts0", 1),
        ("/fit0:0/parts0:1/split0:0/parts2", 3),
    ]


def test_a_holdout_has_two_parts_with_a_sum_each():
    events = asked(LEARNED, LEARNED, SCORED)
    assert names(events) == ["learning", "scoring"]
    assert said(events) == "learning 1, scoring 0.5. No record is in both, so each pays 1 at most, and not the sum."


def test_what_all_records_pay_is_apart():
    events = asked(("/fit0:0", "tally"), LEARNED, SCORED)
    assert names(events) == [ON_ALL, "learning", "scoring"]
    assert "on top" in said(events)
    assert "at most" not in said(events)


def test_parts_that_do_the_same_are_one():
    events = asked(LEARNED, ("/fit0:0/parts0:1/fit0:0", "choose a split"))
    assert names(events) == ["learning"]
    assert said(events) == ""


def test_two_draws_of_the_same_records_are_not_called_disjoint():
    again = [("/fit0:0/parts1:0/fit0:0", "choose a split"), ("/fit0:0/parts1:1/fit0:0", "evaluate")]
    assert names(asked(LEARNED, SCORED, *again)) == ["learning"]
