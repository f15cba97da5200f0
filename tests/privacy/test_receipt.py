"""A receipt can be re-checked by a stranger: what flatters is refused, and nothing but ReceiptError comes out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import ReceiptError
from privet.privacy.amounts import exact
from privet.privacy.event import MECHANISMS, Event, add_up
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import scale_for
from privet.privacy.receipt import Receipt
from privet.privacy.scores import CorrectCount, Entropy, Gini, Quantile

F = Fraction


def ask(scope, mechanism, sensitivity, lemma, charged):
    scale = scale_for(sensitivity, charged)
    return scope, Event(scope.path, "a question", mechanism, F(sensitivity), scale, charged, lemma)


def honest(void=(), peek=False):
    """A small tree's receipt: a size, two levels of choices, labels and counts."""
    total = math.inf if peek else exact(1)
    ledger = Ledger(total)
    fit = ledger.begin("fit", total)
    ledger.charge([ask(fit, "geometric", 1, "tally", F(1, 10))])
    ledger.charge([ask(fit, "permute_and_flip", Gini().sensitivity, "gini", F(1, 4))])
    left, right = fit.split(2)
    entropy = Entropy(1000)
    ledger.charge([ask(left, "exponential", entropy.sensitivity, entropy.lemma, F(1, 3))])
    ledger.charge([ask(right, "permute_and_flip", 1, CorrectCount().lemma, F(1, 6))])
    for part in right.split(3, "parts"):
        ledger.charge([ask(part, "geometric", 2, "tally(2)", F(1, 7))])
    ledger.charge([ask(left.copy(), "exponential", 2, Quantile(1, 2).lemma, F(1, 20))])
    if peek:
        ledger.charge([(fit, Event(fit.path, "peek", "peek", F(0), 0.0, math.inf, "peek"))])
    return Receipt(F(1), ledger.spent, F(0), tuple(void), "The machine saw all records.", tuple(ledger.events))


HONEST = honest()
EVENTS = range(len(HONEST.events))


def tampered(i, **fields):
    events = list(HONEST.events)
    events[i] = replace(events[i], **fields)
    return replace(HONEST, events=tuple(events))


def resummed(i, **fields):
    """A forger who also adds up again, so that only the event itself can give the change away."""
    receipt = tampered(i, **fields)
    return replace(receipt, spent=add_up(receipt.events))


# -- honest receipts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("receipt", [HONEST, honest(void=["a seed"]), honest(void=["a peek"], peek=True)])
def test_an_honest_receipt_verifies_and_survives_json(receipt):
    assert receipt.verify()
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt
    assert again.verify()
    assert json.loads(receipt.to_json())["events"][0]["charged"] == "1/10"


def test_an_empty_receipt_costs_nothing():
    receipt = Receipt(F(1), F(0), F(0), (), "nobody", ())
    assert receipt.verify()
    assert Receipt.from_json(receipt.to_json()).epsilon == 0


def test_a_void_receipt_has_no_epsilon():
    receipt = honest(void=["a seed"])
    assert receipt.spent == HONEST.spent < math.inf
    assert receipt.epsilon == math.inf
    assert json.loads(receipt.to_json())["epsilon"] == "infinity"


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-9, 1e9), st.sampled_from([1, 2, 5, 512, 10**6]), st.sampled_from(["geometric", "exponential"]))
def test_every_charge_covers_the_cost_that_is_recomputed(epsilon, sensitivity, mechanism):
    _, event = ask(Ledger(1).root, mechanism, sensitivity, "tally", exact(epsilon))
    assert event.cost <= event.charged
    assert event.cost >= event.charged * (1 - F(1, 2**48))


# -- tampering in the flattering direction -----------------------------------------------------------------


@pytest.mark.parametrize("make", [tampered, resummed])
@pytest.mark.parametrize("i", EVENTS)
def test_a_smaller_charge_is_found(i, make):
    for charged in (HONEST.events[i].charged * (1 - F(1, 2**48)), F(1, 10**9), F(0)):
        with pytest.raises(ReceiptError):
            make(i, charged=charged).verify()


@pytest.mark.parametrize("charged", [F(-1, 2), -math.inf, math.nan])
def test_a_charge_that_is_no_amount_is_found(charged):
    with pytest.raises(ReceiptError):
        tampered(0, charged=charged).verify()


@pytest.mark.parametrize("i", EVENTS)
def test_a_smaller_sensitivity_is_found(i):
    for sensitivity in (HONEST.events[i].sensitivity - 1, F(0), F(-1)):
        with pytest.raises(ReceiptError, match="sensitivity"):
            tampered(i, sensitivity=sensitivity).verify()


@pytest.mark.parametrize("i", EVENTS)
def test_less_noise_than_was_paid_for_is_found(i):
    for scale in (HONEST.events[i].scale * (1 - 2**-48), 0.0, 5e-324, -1.0, math.nan, math.inf, -math.inf):
        with pytest.raises(ReceiptError):
            tampered(i, scale=scale).verify()


@pytest.mark.parametrize("i", EVENTS)
def test_more_noise_for_the_same_charge_flatters_nobody(i):
    assert tampered(i, scale=HONEST.events[i].scale * 2).verify()


@pytest.mark.parametrize("i", EVENTS)
@pytest.mark.parametrize("name", ["", "none", "normal", "Geometric", "permute_and_flip ", "tally"])
def test_an_unknown_mechanism_is_found(i, name):
    with pytest.raises(ReceiptError, match="mechanism"):
        tampered(i, mechanism=name).verify()


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
@pytest.mark.parametrize("i", EVENTS)
def test_a_lemma_serves_only_the_mechanisms_it_speaks_about(i, mechanism):
    """Gini's constant says nothing about added noise, nor a tally's about selection."""
    selections = {"permute_and_flip", "exponential", "report_noisy_max"}
    geometric = {"geometric", "geometric_shares"}  # the same noise, drawn in one place or in shares
    own = HONEST.events[i].mechanism
    # All selections cost the same: lemma L1.
    same = mechanism == own or {mechanism, own} <= selections or {mechanism, own} <= geometric
    if same:
        assert tampered(i, mechanism=mechanism).verify()
    else:
        with pytest.raises(ReceiptError):
            tampered(i, mechanism=mechanism).verify()


@pytest.mark.parametrize("lemma", ["", "free", "peek", "gini(2)", "tally(9)", "squared_error(999)", "entropy(0)"])
@pytest.mark.parametrize("i", EVENTS)
def test_a_lemma_that_does_not_prove_the_sensitivity_is_found(i, lemma):
    with pytest.raises(ReceiptError):
        tampered(i, lemma=lemma).verify()


def test_a_peek_cannot_pose_as_a_noisy_answer_without_sensitivity():
    event = Event("", "a question", "geometric", F(0), 1.0, F(0), "peek")
    with pytest.raises(ReceiptError, match="lemma"):
        Receipt(F(1), F(0), F(0), (), "", (event,)).verify()


def test_sequential_scopes_that_pose_as_parallel_do_not_add_up():
    """By design the paths are the curator's word. A forger who rewrites them and the sum has another receipt."""
    last = len(HONEST.events) - 1  # a copy below the left child
    for path in ("/fit0:0/split0:1", "/fit0:0/split0:2", "/fit0:0/split0:1/parts0:3"):
        receipt = tampered(last, scope=path)
        assert add_up(receipt.events) < HONEST.spent
        with pytest.raises(ReceiptError, match="add up"):
            receipt.verify()
        assert resummed(last, scope=path).verify()


@pytest.mark.parametrize("i", EVENTS)
def test_an_event_left_out_is_found_where_it_counts(i):
    """A part that costs no more than its sibling adds nothing, so its absence cannot be seen."""
    receipt = replace(HONEST, events=HONEST.events[:i] + HONEST.events[i + 1 :])
    if add_up(receipt.events) == HONEST.spent:
        assert HONEST.events[i].scope.startswith("/fit0:0/split0:1")
    else:
        with pytest.raises(ReceiptError, match="add up"):
            receipt.verify()


@pytest.mark.parametrize(
    "scope",
    [
        *("fit0:0", "x/fit0:0", "/", "/fit", "/fit0", "/fit0:", "/0:0", "/fit0:0/", "//", "/fit0:0//split0:0"),
        *("/fit00:0", "/fit0:00", "/FIT0:0", "/fit-1:0", "/fit٣:0", "/fit0:0\n", "/fit0:0:0", " "),
    ],
)
def test_a_scope_that_is_no_path_of_the_ledger_is_found(scope):
    with pytest.raises(ReceiptError, match="path"):
        resummed(0, scope=scope)
    with pytest.raises(ReceiptError):
        tampered(0, scope=scope).verify()


def test_only_the_ledgers_own_kinds_of_groups_are_parallel():
    half = Event.example(F(1, 2))
    for kind, spent in [("split", F(1, 2)), ("parts", F(1, 2)), ("splits", F(1)), ("copy", F(1)), ("partsa", F(1))]:
        assert add_up([replace(half, scope=f"/{kind}0:{i}") for i in range(2)]) == spent


@pytest.mark.parametrize(
    "fields",
    [
        {"spent": F(0)},
        {"spent": HONEST.spent / 2},
        {"spent": math.nan},
        {"spent": -math.inf},
        {"claimed": HONEST.spent / 2},
        {"claimed": math.nan},
        {"unit": "one table"},
        {"unit": ""},
        {"unit": "one person"},
        {"unit": "one person, at most 2 records"},
        {"unit": "one person, at most 65 records", "weight": 65},
        {"weight": 12},
        {"weight": 0},
        {"neighbours": "replace any number"},
        {"delta": F(-1)},
        {"delta": math.nan},
        {"events": ()},
    ],
    ids=str,
)
def test_a_receipt_whose_own_fields_flatter_is_found(fields):
    with pytest.raises(ReceiptError):
        replace(HONEST, **fields).verify()


def of_persons(weight, stated=12):
    """A receipt of persons with up to 2 records, whose one sum was given noise for so much weight."""
    scale = math.nextafter(float(weight), math.inf)
    event = Event("/fit0:0", "tally", "geometric", F(weight), scale, F(1), "tally(1)")
    unit = "one person, at most 2 records"
    return Receipt(F(1), F(1), F(0), (), "", (event,), unit=unit, weight=stated)


def test_a_persons_receipt_needs_every_sensitivity_times_the_persons_weight():
    receipt = of_persons(12)
    assert receipt.verify()
    assert "one person, at most 2 records" in str(receipt)
    assert Receipt.from_json(receipt.to_json()) == receipt
    with pytest.raises(ReceiptError, match="smaller sensitivity"):
        of_persons(11).verify()
    with pytest.raises(ReceiptError, match="weight"):
        of_persons(1, stated=1).verify()


def test_a_receipt_of_rows_says_that_it_covers_no_person_with_several():
    assert "one row of the table, not a person who has several" in str(HONEST)


def test_a_receipt_from_before_there_were_persons_is_one_of_rows():
    data = HONEST.to_dict() | {"format": "privet-receipt-2", "unit": "one record"}
    del data["weight"]
    assert Receipt.from_dict(data) == HONEST


def test_more_spent_than_claimed_needs_a_reason():
    receipt = replace(HONEST, claimed=F(1, 2))
    with pytest.raises(ReceiptError, match="claimed"):
        receipt.verify()
    assert replace(receipt, void=("published accounting",)).verify()


# -- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0", "1/2", "infinity"])
def test_an_epsilon_that_the_fields_do_not_give_is_refused(epsilon):
    data = HONEST.to_dict() | {"epsilon": epsilon}
    with pytest.raises(ReceiptError, match="epsilon"):
        Receipt.from_dict(data)


def test_a_void_receipt_that_states_its_spending_as_epsilon_is_refused():
    data = honest(void=["a seed"]).to_dict()
    with pytest.raises(ReceiptError, match="epsilon"):
        Receipt.from_dict(data | {"epsilon": data["spent"]})


@pytest.mark.parametrize("field", list(HONEST.to_dict()))
def test_a_missing_field_is_refused(field):
    data = HONEST.to_dict()
    del data[field]
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)


@pytest.mark.parametrize("field", list(HONEST.to_dict()["events"][0]))
def test_an_event_with_a_missing_field_is_refused(field):
    data = HONEST.to_dict()
    del data["events"][0][field]
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)


@pytest.mark.parametrize("field", ["charged", "sensitivity"])
@pytest.mark.parametrize(
    "value",
    [
        *("-1", "-1/2", "1/-2", "1/0", "1.5", "1e3", "nan", "inf", "-infinity", "", " 1", "1\n", "١", "1_0", "0x1"),
        *("9" * 9_000, "1/" + "9" * 20_000, 1, 1.0, True, None, [], {}),
    ],
    ids=lambda value: str(value)[:12],
)
def test_an_amount_that_is_no_fraction_is_refused(field, value):
    data = HONEST.to_dict()
    data["events"][0][field] = value
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "value", [-1.0, -0.5, math.nan, math.inf, -math.inf, "1.0", "infinity", True, None, [], 10**400, 2.0**53, 1e308]
)
def test_a_scale_that_is_no_number_of_a_noise_is_refused(value):
    data = HONEST.to_dict()
    data["events"][0]["scale"] = value
    text = json.dumps(data)
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)
    with pytest.raises(ReceiptError):
        Receipt.from_json(text)


@pytest.mark.parametrize("field", ["void", "events"])
@pytest.mark.parametrize("value", ["", "seed", {}, {"a": 1}, None, 3, [3], [None], [[]]])
def test_a_list_must_be_a_list(field, value):
    with pytest.raises(ReceiptError):
        Receipt.from_dict(HONEST.to_dict() | {field: value})


@pytest.mark.parametrize("data", [None, [], "receipt", 3, {}, {"format": "privet-receipt-2"}, {"format": []}])
def test_what_is_no_receipt_is_refused(data):
    with pytest.raises(ReceiptError):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "text", ["", "{", "nul", "[" * 100_000, '{"a":' * 100_000, "9" * 100_000, "\ud800", b"\xff\xfe\x00", None]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ReceiptError):
        Receipt.from_json(text)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["infinity", "1/2"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def read_and_verify(data):
    """What a stranger does; True if accepted."""
    try:
        return Receipt.from_json(json.dumps(data)).verify()
    except ReceiptError:
        return False


@settings(max_examples=200, deadline=None)
@given(anything)
def test_random_json_is_refused_with_a_receipt_error(data):
    assert not read_and_verify(data)


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_a_receipt_with_a_random_field_does_not_flatter_and_breaks_nothing(data):
    receipt = HONEST.to_dict()
    where = receipt["events"][data.draw(st.sampled_from(EVENTS))] if data.draw(st.booleans()) else receipt
    field = data.draw(st.sampled_from(sorted(where)))
    where[field] = data.draw(anything)
    if read_and_verify(receipt):
        assert Receipt.from_dict(receipt).epsilon >= HONEST.epsilon  # it may say less, but it does not flatter


# -- hostile receipts: work grows with the text, so these end at once ----------------------------------------------


def test_a_very_deep_path_is_added_up():
    event = Event.example(F(1, 2))
    deep = "/copy0:0" * 200_000
    assert add_up([replace(event, scope=deep), replace(event, scope=deep + "/split0:1"), event]) == F(3, 2)


def test_very_many_events_are_added_up():
    event = Event.example(F(1, 100_000))
    events = [replace(event, scope=f"/fit0:0/split0:{i % 50}/copy{i}:0") for i in range(100_000)]
    receipt = Receipt(F(1), F(1, 50), F(0), (), "", tuple(events))
    assert receipt.verify()


def test_many_large_and_different_denominators_are_refused_before_they_multiply():
    events = [replace(Event.example(F(1)), charged=1 + F(1, 10**4000 + i)) for i in range(2_000)]
    with pytest.raises(ReceiptError, match="denominators"):
        add_up(events)


def test_lemmas_with_huge_numbers_cost_nothing_to_check():
    for lemma in ("entropy(99999999999999999)", "root_gini(999999999999999999)", "squared_error(999999999999999999)"):
        event = replace(Event.example(F(1)), lemma=lemma, mechanism="exponential")
        with pytest.raises(ReceiptError):
            Receipt(F(1), F(1), F(0), (), "", (event,)).verify()


def test_extreme_but_honest_noise_scales_are_read():
    for scale in (5e-324, 2.0**52):
        event = Event("", "q", "geometric", F(1), scale, 1 / F(scale), "tally")
        receipt = Receipt(F(10) ** 400, event.charged, F(0), (), "", (event,))
        assert Receipt.from_json(receipt.to_json()).verify()


def test_more_spent_than_claimed_passes_only_with_the_reason():
    event = Event.example(F(2))
    silent = Receipt(F(1), F(2), F(0), (), "", (event,))
    with pytest.raises(ReceiptError, match="does not say why"):
        silent.verify()
    told = replace(silent, shortfall="published: the claim counts one feature, the price is that of two")
    assert told.verify()
    assert told.epsilon == 2
    assert Receipt.from_json(told.to_json()) == told
    assert "SHORT     published" in str(told)


# -- what was released --------------------------------------------------------------------------------------------


def test_a_receipt_names_what_was_released():
    receipt = replace(HONEST, released="0123456789abcdef" * 4)
    assert receipt.verify()
    assert Receipt.from_json(receipt.to_json()) == receipt


@pytest.mark.parametrize("digest", ["0" * 63, "0" * 65, "G" * 64, "0" * 64 + "\n", "A" * 64])
def test_a_digest_has_one_form(digest):
    with pytest.raises(ReceiptError, match="SHA-256"):
        replace(HONEST, released=digest).verify()


@pytest.mark.parametrize("key", ["spent", "void", "events", "scale"])
def test_a_key_that_is_there_twice_is_refused(key):
    text = HONEST.to_json().replace(f'"{key}":', f'"{key}": 0, "{key}":', 1)
    with pytest.raises(ReceiptError, match="JSON"):
        Receipt.from_json(text)


# -- what is read can be shown, and nothing is read over -----------------------------------------------------------


def test_more_noise_than_can_be_drawn_is_refused():
    """Of a scale of 1e308 nobody can tell the variance, which a page about the receipt needs."""
    with pytest.raises(ReceiptError, match="no sense"):
        tampered(0, scale=1e308).verify()


@pytest.mark.parametrize("lemma", ["", "Gini", "tally(00)", "tally(1", "quantile(1/2/3)", "tally(-1)"])
def test_a_lemma_of_another_form_is_refused_before_anybody_shows_it(lemma):
    data = HONEST.to_dict()
    data["events"][0]["lemma"] = lemma
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_dict(data)


@pytest.mark.parametrize("weight", [0, -1, 65, 10**400, 12.0, True, "12"])
def test_a_weight_that_no_person_has_is_refused(weight):
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_dict(of_persons(12).to_dict() | {"weight": weight})


@pytest.mark.parametrize("field", ["trust", "shortfall", "unit"])
def test_text_that_nobody_can_write_is_refused(field):
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_json(json.dumps(HONEST.to_dict() | {field: "a\ud800"}))
    data = HONEST.to_dict()
    data["events"][0]["question"] = "\udc00"
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_json(json.dumps(data))


def test_a_key_that_nothing_reads_is_refused_in_a_receipt_and_its_events():
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_dict(HONEST.to_dict() | {"guarantee": "epsilon 0"})
    data = HONEST.to_dict()
    data["events"][0]["waived"] = True
    with pytest.raises(ReceiptError, match="wrong form"):
        Receipt.from_dict(data)
