"""A party answers within its own limits, whoever asks, and remembers what it has spent."""

import math
from fractions import Fraction

import pytest

from federated.owners import GRID, SCHEMA, TABLES, table, tables
from privet import FederatedCurator, Ledger, Numeric, Schema
from privet.curators.base import Tally
from privet.errors import FederatedError
from privet.federated.channel import InProcess, in_process
from privet.federated.identity import Identity
from privet.federated.party import Party
from privet.federated.signed import SignedReceipt
from privet.federated.wire import pack, unpack
from privet.privacy.receipt import Receipt
from privet.privacy.zcdp import rho_of, rho_within

HALF = Fraction(1, 2)


def fit(channel, budget, limit=None, **terms):
    """One root and one tally; what was asked of all parties."""
    curator = FederatedCurator(SCHEMA, channel, ledger=Ledger(math.inf), **terms)
    curator.grid(GRID)
    curator.tally({curator.root(limit or budget): Tally(TABLES)}, budget)
    return curator


def test_the_limit_holds_over_all_runs_and_restarts(tmp_path):
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}

    def channel():
        parties = [
            Party(own, *table(30), SCHEMA, known, limit=Fraction(1), state=tmp_path / own.name) for own in identities
        ]
        return InProcess(parties)

    fit(channel(), HALF)
    fit(channel(), HALF)
    with pytest.raises(FederatedError, match=r"a refuses: a has nothing left of its limit of epsilon 1"):
        fit(channel(), Fraction(1, 100))


def test_a_limit_with_a_delta_holds_over_all_runs_and_restarts(tmp_path):
    """In rho, so several runs cost less than the sum of their epsilons; a run without delta counts, too."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    delta = Fraction(1, 10**6)

    def channel(delta=delta):
        options = {"limit": Fraction(1), "delta": delta}
        return InProcess(
            [Party(own, *table(30), SCHEMA, known, state=tmp_path / own.name, **options) for own in identities]
        )

    def run(channel, rho):
        curator = FederatedCurator(SCHEMA, channel, delta=delta)
        curator.grid(GRID)
        curator.tally({curator.root(rho, "rho"): Tally(TABLES)}, rho)

    whole = rho_within(Fraction(1), delta, True)
    pure = Fraction(1, 10)
    fit(channel(), pure)
    for _ in range(2):
        run(channel(), (whole - rho_of("geometric", pure)) / 2)
    with pytest.raises(FederatedError, match=r"a refuses: a has nothing left of its limit of epsilon 1"):
        run(channel(), whole / 100)
    with pytest.raises(FederatedError, match=r"a refuses: a has spent with a delta before"):
        fit(channel(None), pure)


def test_a_party_whose_limit_has_no_delta_refuses_runs_with_one():
    curator = FederatedCurator(SCHEMA, in_process(tables(3), SCHEMA, limit=1), delta=1e-6)
    curator.grid(GRID)
    with pytest.raises(FederatedError, match="party0 refuses: This party's limit has no delta"):
        curator.tally({curator.root(Fraction(1, 100), "rho"): Tally(TABLES)}, Fraction(1, 100))


def test_a_run_that_may_spend_more_than_a_party_has_left_is_refused_before_anything_is_counted():
    channel = in_process(tables(3), SCHEMA, limit=HALF)
    with pytest.raises(FederatedError, match=r"party0 refuses: This fit may spend epsilon 1, but the ledger has 0.5"):
        fit(channel, HALF, limit=Fraction(1))
    with pytest.raises(FederatedError, match="infinity"):
        fit(channel, HALF, limit=math.inf)
    fit(channel, HALF)


def test_a_coordinator_that_does_not_count_is_counted_by_every_party():
    """Its own ledger has no limit, and every root may spend a half: the parties' ledgers have the last word."""
    channel = in_process(tables(3), SCHEMA, limit=Fraction(1))
    curator = FederatedCurator(SCHEMA, channel, ledger=Ledger(math.inf))
    curator.grid(GRID)
    for _ in range(2):
        curator.tally({curator.root(HALF): Tally(TABLES)}, HALF)
    with pytest.raises(FederatedError, match="party0 refuses"):
        curator.tally({curator.root(HALF): Tally(TABLES)}, HALF)


def test_questions_that_are_not_allowed_are_refused():
    channel = in_process(tables(3), SCHEMA, allowed=["choose_each"])
    with pytest.raises(FederatedError, match="does not answer 'tally', only choose_each"):
        fit(channel, HALF)


def test_terms_with_fewer_colluders_than_a_party_asks_for_are_refused():
    channel = in_process(tables(4), SCHEMA, least_colluders=2)
    with pytest.raises(FederatedError, match="holds against 2 colluders"):
        fit(channel, HALF, tolerated_colluders=1)
    fit(channel, HALF, tolerated_colluders=2)


def test_another_schema_is_refused():
    other = Schema({"age": Numeric(0, 21)}, classes=["no", "yes", "perhaps"])
    with pytest.raises(FederatedError, match="schema is not this party's"):
        FederatedCurator(other, in_process(tables(3), SCHEMA), ledger=Ledger(1))


def test_strangers_are_refused():
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities[:2]}
    channel = InProcess([Party(own, *table(9), SCHEMA, known) for own in identities])
    with pytest.raises(FederatedError, match="does not know c"):
        fit(channel, HALF)


def test_what_is_wrong_with_the_data_is_told_to_its_owner_alone():
    logs = []
    X, y = table(9)
    X[3, 2] = math.nan
    owners = [table(9), (X, y), table(9)]
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    parties = [Party(own, *t, SCHEMA, known, log=logs.append) for own, t in zip(identities, owners)]
    with pytest.raises(FederatedError, match="its own log says why") as error:
        fit(InProcess(parties), HALF)
    assert "size" not in str(error.value)
    assert any("size" in said for said in logs)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"nonsense",
        pack({}),
        pack({"do": "dance"}),
        pack({"do": "join"}),
        pack({"do": "join", "terms": {"run": 7}}),
        pack({"do": "ask", "run": "../../etc"}),
        pack({"do": "ask", "run": "0" * 32, "number": 0}),
    ],
)
def test_nonsense_is_refused_and_does_no_harm(message):
    channel = in_process(tables(3), SCHEMA)
    party = channel._parties["party0"]
    assert "refused" in unpack(party.handle(message))[0]
    fit(channel, HALF)
    assert "refused" in unpack(party.handle(message))[0]


def test_every_question_is_logged_with_its_price():
    logs = []
    fit(in_process(tables(3), SCHEMA, limit=Fraction(1), log=logs.append), HALF)
    assert sum("question 0: tally of 1 node(s) for epsilon 0.5; spent epsilon 0.5 of 1" in said for said in logs) == 3


def signed(change=lambda receipt: receipt, **terms):
    channel = in_process(tables(3), SCHEMA)
    curator = fit(channel, HALF, **terms)
    events = tuple(curator.ledger.events)
    receipt = change(Receipt(HALF, HALF, Fraction(0), (), curator.trust, events)).to_json()
    known = {name: party._identity.public for name, party in channel._parties.items()}
    return SignedReceipt(curator.coordinator.terms, receipt, curator.coordinator.sign(receipt)), known


def test_all_parties_sign_the_receipt_and_a_stranger_can_check_them():
    own, known = signed()
    again = SignedReceipt.from_json(own.to_json())
    assert again.verify(known).spent == HALF
    assert "any 1 colluding owners" in again.verify(known).trust
    for name in known:
        with pytest.raises(FederatedError, match=f"in the name of {name}"):
            again.verify({**known, name: Identity.fresh(name).public})
    without = SignedReceipt(own.terms, own.receipt, dict(list(own.signatures.items())[:2]))
    with pytest.raises(Exception, match="party2 has not signed"):
        without.verify(known)
    changed = SignedReceipt(own.terms, own.receipt.replace('"claimed": "1/2"', '"claimed": "3/4"'), own.signatures)
    with pytest.raises(FederatedError, match="was not signed"):
        changed.verify(known)


def test_a_party_does_not_sign_what_it_was_not_asked():
    from dataclasses import replace

    def without_events(receipt):
        return replace(receipt, events=(), spent=Fraction(0))

    def more_trusting(receipt):
        return replace(receipt, trust="Nobody had to be trusted with anything.")

    for change, message in ((without_events, "does not list"), (more_trusting, "trust")):
        with pytest.raises(FederatedError, match=message):
            signed(change)
