"""A receipt that all parties sign has all that each of them was asked."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from consortium.federated.owners import (
    DIGEST,
    GRID,
    SCHEMA,
    TABLES,
    Asking,
    asking,
    begun,
    closed,
    fit,
    receipt_of,
    table,
    tables,
)
from privet import Ledger
from privet.consortium.federated.allowance import Need
from privet.consortium.federated.channel import InProcess, in_process
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.party import Party
from privet.consortium.federated.signed import SignedReceipt, lists_all
from privet.consortium.federated.wire import pack, unpack
from privet.curators.federated import FederatedCurator
from privet.errors import FederatedError
from privet.privacy.event import Event, add_up
from privet.privacy.receipt import Receipt
from privet.questions.codec import schema_digest
from privet.questions.tally import Tally

HALF = Fraction(1, 2)


def signed(change=lambda receipt: receipt, **terms):
    channel = in_process(tables(3), SCHEMA)
    curator = fit(channel, HALF, **terms)
    events = tuple(curator.ledger.events)
    receipt = change(Receipt(HALF, HALF, Fraction(0), (), curator.trust, events, released=DIGEST)).to_json()
    known = {name: party._identity.public for name, party in channel._parties.items()}
    return curator.coordinator.sign(receipt), known


def test_all_parties_sign_the_receipt_and_a_stranger_can_check_them():
    own, known = signed()
    again = SignedReceipt.from_json(own.to_json())
    assert again.verify(known).spent == HALF
    assert "any 1 colluding owners" in again.verify(known).trust
    for name in known:
        with pytest.raises(FederatedError, match=f"in the name of {name}"):
            again.verify({**known, name: Identity.fresh(name).public})
    without = SignedReceipt(own.terms, own.receipt, dict(list(own.signatures.items())[:2]), own.answered)
    with pytest.raises(Exception, match="party2 has not signed"):
        without.verify(known)
    changed = SignedReceipt(
        own.terms, own.receipt.replace('"claimed": "1/2"', '"claimed": "3/4"'), own.signatures, own.answered
    )
    with pytest.raises(FederatedError, match="was not signed"):
        changed.verify(known)


def test_a_party_does_not_sign_what_it_was_not_asked():
    def without_events(receipt):
        return replace(receipt, events=(), spent=Fraction(0))

    def more_trusting(receipt):
        return replace(receipt, trust="Nobody had to be trusted with anything.")

    def of_another_question(receipt):
        return replace(receipt, events=tuple(replace(event, question="another") for event in receipt.events))

    for change, message in (
        (without_events, "does not list"),
        (of_another_question, "does not list"),
        (more_trusting, "trust"),
    ):
        with pytest.raises(FederatedError, match=message):
            signed(change)


def test_a_party_signs_no_other_limit_than_the_one_that_it_has_agreed_to():
    """Nor one that says the limit and spent more."""
    for change, said in (
        ({"claimed": Fraction(1)}, "of epsilon 1 and delta 0, of which 0.5 was spent"),
        ({"claimed": HALF, "delta": Fraction(1, 10**6)}, "and delta 1e-06"),
        ({}, None),
    ):
        channel = in_process(tables(3), SCHEMA)
        curator = offered(channel, Need(HALF, None))
        receipt = receipt_of(curator, **change)
        if said is None:
            assert len(curator.coordinator.sign(receipt).signatures) == 3
            continue
        with pytest.raises(FederatedError, match=said):
            curator.coordinator.sign(receipt)
        assert not any(party._diary(curator.coordinator.terms.run).closed for party in channel._parties.values())
    more = offered(in_process(tables(3), SCHEMA), Need(HALF / 2, None))
    with pytest.raises(FederatedError, match=r"0\.5 was spent\. This run was joined for epsilon 0\.25\."):
        more.coordinator.sign(receipt_of(more, claimed=HALF / 2, shortfall="histograms were counted once"))


def test_a_run_that_is_joined_again_has_the_limit_that_it_had(tmp_path):
    """Else the receipt would be compared with what a coordinator said last."""
    channel = in_process(tables(3), SCHEMA)

    def join(epsilon):
        terms = {"colluders": 1, "dropouts": 0, "noise": "shared", "journal": Journal(tmp_path)}
        Coordinator(channel, schema_digest(SCHEMA), need=Need(epsilon, None), **terms)

    join(HALF)
    (tmp_path / "keys.entry").unlink()  # as if not all had joined
    with pytest.raises(FederatedError, match="joined with other terms"):
        join(Fraction(1))
    join(HALF)


def offered(channel, need):
    """One root and one tally of a run that the parties have joined for what it needs."""
    coordinator = Coordinator(channel, schema_digest(SCHEMA), colluders=1, dropouts=0, noise="shared", need=need)
    curator = Asking(FederatedCurator(SCHEMA, coordinator, ledger=Ledger(math.inf)))
    curator.grid(GRID)
    curator.tally({curator.root(HALF): Tally(TABLES)}, HALF)
    return curator


def test_two_roots_that_were_paid_one_after_the_other_are_not_signed_as_one():
    """Written as halves of one root's records they would add up to half of what was spent."""
    curator = asking(SCHEMA, in_process(tables(3), SCHEMA, limit=1), ledger=Ledger(math.inf))
    curator.grid(GRID)
    for side in (0, 1):
        root = curator.root(HALF)
        curator.tally({curator.split({root: TABLES[1]})[root][side]: Tally(TABLES)}, HALF)
    events = curator.ledger.events
    merged = [replace(event, scope=event.scope.replace("fit1", "fit0")) for event in events]
    assert [add_up(events), add_up(merged)] == [1, HALF]
    with pytest.raises(FederatedError, match="does not list all"):
        curator.coordinator.sign(receipt_of(curator, merged))
    assert len(curator.coordinator.sign(receipt_of(curator)).signatures) == 3


def test_roots_are_matched_one_to_one_and_in_order():
    def event(root, below, charged=HALF):
        return replace(Event.example(charged), scope=f"/fit{root}:0{below}")

    own = [event(0, ""), event(1, "/split0:0")]
    assert lists_all([event(3, ""), event(7, "/split0:0"), event(8, "")], own)
    assert lists_all([event(2, ""), event(3, ""), event(10, "/split0:0")], own)  # 10 comes after 3
    assert not lists_all([event(0, ""), event(0, "/split0:0")], own)
    assert not lists_all([event(0, "/split0:0"), event(1, "")], own)
    assert not lists_all([event(0, ""), event(1, "/split0:1")], own)
    assert not lists_all([event(0, ""), event(1, "/split0:0")], [*own, event(1, "/split0:0")])


def test_a_receipt_is_signed_once_and_closes_the_run(tmp_path):
    """Otherwise one that was signed in the middle of a run would go on to say less than what was spent."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    parties = [Party(own, *table(30), SCHEMA, known, limit=1, state=tmp_path / own.name) for own in identities]
    with closed(parties):
        curator = asking(SCHEMA, InProcess(parties), ledger=Ledger(math.inf))
        curator.grid(GRID)
        root = curator.root(Fraction(1))
        curator.tally({root: Tally(TABLES)}, HALF)
        receipt = receipt_of(curator)
        signatures = curator.coordinator.sign(receipt)
    parties = [Party(own, *table(30), SCHEMA, known, limit=1, state=tmp_path / own.name) for own in identities]
    with closed(parties):
        curator.coordinator._channel = InProcess(parties)  # a restart does not open it again
        assert curator.coordinator.sign(receipt) == signatures
        with pytest.raises(FederatedError, match="a refuses: a has signed another receipt"):
            curator.coordinator.sign(receipt_of(curator, claimed=Fraction(2)))
        with pytest.raises(FederatedError, match="a refuses: a has signed the receipt of this run, which is closed"):
            curator.tally({root: Tally(TABLES)}, HALF)
        fit(InProcess(parties), HALF)


def test_a_party_whose_noise_can_be_reproduced_signs_void_receipts_only():
    curator = fit(in_process(tables(3), SCHEMA, seed=1), HALF)
    with pytest.raises(FederatedError, match="can be reproduced"):
        curator.coordinator.sign(receipt_of(curator))
    assert len(curator.coordinator.sign(receipt_of(curator, void=curator.void)).signatures) == 3


def test_a_receipt_that_names_no_model_is_not_signed():
    curator = fit(in_process(tables(3), SCHEMA), HALF)
    with pytest.raises(FederatedError, match="which model"):
        curator.coordinator.sign(receipt_of(curator, released=""))
    assert len(curator.coordinator.sign(receipt_of(curator)).signatures) == 3


def test_signatures_of_one_receipt_are_not_those_of_another():
    """Not even of one that says the same and names another model."""
    channel = in_process(tables(3), SCHEMA)
    known = {name: party._identity.public for name, party in channel._parties.items()}
    curator = fit(channel, HALF)
    text = receipt_of(curator)
    signed = curator.coordinator.sign(text)
    assert signed.verify(known) == Receipt.from_json(text)
    other = receipt_of(curator, released="1" * 64)
    with pytest.raises(FederatedError, match="not signed"):
        replace(signed, receipt=other).verify(known)


class Away(InProcess):
    """``party2`` does not hear the second question."""

    def ask(self, messages):
        heard = {
            name: message
            for name, message in messages.items()
            if name != "party2" or unpack(message)[0].get("number", 0) != 1
        }
        return super().ask(heard)


def with_one_away(noise):
    """A run of three questions with one party away at the second."""
    channel = in_process(tables(5), SCHEMA)
    away = Away(channel._parties.values())
    known = {name: party._identity.public for name, party in channel._parties.items()}
    curator, root = begun(away, Fraction(1, 4), Fraction(1), tolerated_dropouts=1, noise=noise)
    for _ in range(2):
        curator.tally({root: Tally(TABLES)}, Fraction(1, 4))
    return curator, known


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_a_receipt_says_who_is_in_which_answer_and_parties_sign_that(noise):
    curator, known = with_one_away(noise)
    signed = curator.coordinator.sign(receipt_of(curator))
    everybody = list(curator.coordinator.terms.parties)
    without = [name for name in everybody if name != "party2"]
    assert signed.answered == [everybody, without, without]
    assert signed.left_out() == {"party2": [1, 2]}
    again = SignedReceipt.from_json(signed.to_json())
    again.verify(known)
    for other in ([everybody] * 3, [everybody, without], [without] * 3):
        with pytest.raises(FederatedError, match="was not signed"):
            replace(again, answered=other).verify(known)
    for other in ([["party0"]] * 3, [[*everybody, "eve"]] * 3, [everybody[::-1]] * 3, [["party0"] * 5] * 3):
        with pytest.raises(FederatedError, match="too few of the parties, or others"):
            replace(again, answered=other).verify(known)


def test_a_party_signs_no_other_list_than_those_it_knows():
    curator, _ = with_one_away("shared")
    coordinator = curator.coordinator
    true = list(coordinator._answered)
    everybody, without = true[0], true[1]
    for wrong in ([everybody, everybody, without], [without, without, without]):
        coordinator._answered = wrong
        with pytest.raises(FederatedError, match="Others are in the answer to question"):
            coordinator.sign(receipt_of(curator))
    said = {"do": "sign", "run": coordinator.terms.run, "receipt": receipt_of(curator)}
    party2 = coordinator._channel._parties["party2"]
    claimed = unpack(party2.handle(pack({**said, "answered": [everybody, everybody, without]})))[0]
    assert "party2 was not asked question 1" in claimed["refused"]
    coordinator._answered = true
    assert len(coordinator.sign(receipt_of(curator)).signatures) >= 4


def test_where_nobody_may_be_missing_all_are_in_every_answer():
    curator, _ = begun(in_process(tables(3), SCHEMA), Fraction(1, 4), Fraction(1))
    curator.coordinator._answered = [["party0", "party1"]]
    with pytest.raises(FederatedError, match="too few of the parties"):
        curator.coordinator.sign(receipt_of(curator))


@pytest.mark.parametrize("text", ["", "no JSON", "{}", '{"events": 7}'])
def test_what_is_no_receipt_is_refused_in_words_and_the_run_stays_open(text):
    curator, _ = begun(in_process(tables(3), SCHEMA), Fraction(1, 4), Fraction(1))
    coordinator = curator.coordinator
    said = {"do": "sign", "run": coordinator.terms.run, "answered": coordinator._answered}
    party = coordinator._channel._parties["party0"]
    assert "receipt" in unpack(party.handle(pack({**said, "receipt": text})))[0]["refused"]
    assert len(coordinator.sign(receipt_of(curator)).signatures) == 3
