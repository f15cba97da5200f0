"""A party answers within its own limits, whoever asks, and remembers what it has spent."""

import math
from fractions import Fraction

import pytest

from consortium.federated.owners import GRID, SCHEMA, TABLES, asking, begun, closed, fit, receipt_of, table, tables
from privet import Ledger, Numeric, Schema
from privet.consortium.federated.channel import InProcess, in_process
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.party import Party
from privet.consortium.federated.run_state import Diary
from privet.consortium.federated.terms import PROTOCOL, Terms
from privet.consortium.federated.wire import pack, unpack
from privet.errors import BudgetError, FederatedError
from privet.privacy.zcdp import rho_of, rho_within
from privet.questions.codec import schema_digest
from privet.questions.tally import Tally

HALF = Fraction(1, 2)


def test_the_limit_holds_over_all_runs_and_restarts(tmp_path):
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}

    def run(budget):
        parties = [
            Party(own, *table(30), SCHEMA, known, limit=Fraction(1), state=tmp_path / own.name) for own in identities
        ]
        with closed(parties):
            fit(InProcess(parties), budget)

    run(HALF)
    run(HALF)
    with pytest.raises(FederatedError, match=r"a refuses: a has nothing left of its limit of epsilon 1"):
        run(Fraction(1, 100))


def test_what_earlier_versions_have_spent_still_counts(tmp_path):
    """Their diaries do not say which run came when."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    run = tmp_path / "a" / ("0" * 32)
    run.mkdir(parents=True)
    terms = Terms(run.name, ("a", "x", "y"), 1, 0, "shared", "schema")
    (run / "run.entry").write_bytes(pack({"terms": terms.words}, b"key"))
    (run / "000000.entry").write_bytes(pack({"spent": "3/4", "currency": "epsilon", "asked": 0}))
    parties = [Party(own, *table(30), SCHEMA, known, limit=1, state=tmp_path / own.name) for own in identities]
    with closed(parties):
        fit(InProcess(parties), Fraction(1, 4))
        with pytest.raises(FederatedError, match="a refuses: a has nothing left"):
            fit(InProcess(parties), Fraction(1, 4))


def test_a_stray_folder_in_a_state_folder_stops_nothing(tmp_path):
    """A disk of its own has one."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    for stray in ("lost+found", "copy", "Z" * 32):
        (tmp_path / "a" / stray).mkdir(parents=True)
        (tmp_path / "a" / stray / "run.entry").write_bytes(b"of something else")
    parties = [Party(own, *table(30), SCHEMA, known, limit=1, state=tmp_path / own.name) for own in identities]
    with closed(parties):
        fit(InProcess(parties), HALF)


@pytest.mark.parametrize("damaged", ["run", "000000", "signed"])
@pytest.mark.parametrize("left", [b"", b"1234", pack({})])
def test_a_damaged_run_is_named_and_not_passed_over(tmp_path, damaged, left):
    """What it has spent would be forgotten."""
    run = tmp_path / ("0" * 32)
    run.mkdir()
    terms = Terms(run.name, ("a", "x", "y"), 1, 0, "shared", "schema")
    (run / "run.entry").write_bytes(pack({"terms": terms.words}, b"key"))
    (run / "000000.entry").write_bytes(pack({"spent": "3/4", "currency": "epsilon", "asked": 0}))
    (run / f"{damaged}.entry").write_bytes(left)
    with pytest.raises(FederatedError, match=f"{run.name} is damaged"):
        Party(Identity.fresh("a"), *table(9), SCHEMA, {}, state=tmp_path)
    (run / f"{damaged}.entry").unlink()
    Party(Identity.fresh("a"), *table(9), SCHEMA, {}, state=tmp_path).close()


def test_a_limit_with_a_delta_holds_over_all_runs_and_restarts(tmp_path):
    """In rho, so several runs cost less than the sum of their epsilons; a run without delta counts, too."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    delta = Fraction(1, 10**6)

    def run(amount, currency="rho", delta=delta):
        options = {"limit": Fraction(1), "delta": delta}
        parties = [Party(own, *table(30), SCHEMA, known, state=tmp_path / own.name, **options) for own in identities]
        with closed(parties):
            curator = asking(SCHEMA, InProcess(parties), ledger=Ledger(math.inf, delta, whole_orders=True))
            curator.grid(GRID)
            curator.tally({curator.root(amount, currency): Tally(TABLES)}, amount)

    whole = rho_within(Fraction(1), delta, True)
    pure = Fraction(1, 10)
    run(pure, "epsilon")
    for _ in range(2):
        run((whole - rho_of("geometric", pure)) / 2)
    with pytest.raises(FederatedError, match=r"a refuses: a has nothing left of its limit of epsilon 1"):
        run(whole / 100)
    with pytest.raises(FederatedError, match=r"a refuses: a has spent with a delta before"):
        run(pure, "epsilon", None)


def test_a_party_whose_limit_has_no_delta_refuses_runs_with_one():
    curator = asking(SCHEMA, in_process(tables(3), SCHEMA, limit=1), delta=1e-6)
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
    curator = asking(SCHEMA, channel, ledger=Ledger(math.inf))
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
        asking(other, in_process(tables(3), SCHEMA), ledger=Ledger(1))


@pytest.mark.parametrize("protocol", [{}, {"protocol": PROTOCOL + 1}])
def test_another_version_is_named_before_it_leads_to_nonsense(protocol):
    channel = in_process(tables(3), SCHEMA)
    terms = fit(channel, HALF).coordinator.terms
    words, _ = unpack(channel._parties["party0"].handle(pack({"do": "join", "terms": terms.words, **protocol})))
    assert "another version of Privet" in words["refused"]


@pytest.mark.parametrize("protocol", [{}, {"protocol": PROTOCOL - 1}])
def test_a_run_that_another_version_began_is_left_to_it(tmp_path, protocol):
    """Whatever is asked, and at the coordinator, too. What was signed in it stays signed."""
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}

    def of_another_version(file, *entries):
        words, rest = unpack(file.read_bytes())
        file.write_bytes(pack({**{name: words[name] for name in entries}, **protocol}, rest))

    def start():
        return [Party(own, *table(30), SCHEMA, known, state=tmp_path / own.name) for own in identities]

    parties = start()
    with closed(parties):
        curator, root = begun(InProcess(parties), HALF, limit=Fraction(9), journal=Journal(tmp_path / "journal"))
    of_another_version(tmp_path / "a" / curator.coordinator.terms.run / "run.entry", "terms", "place")
    parties = start()
    with closed(parties):
        curator.coordinator._channel = InProcess(parties)
        message = "a refuses: This run was begun with another version of Privet: finish it with that one"
        with pytest.raises(FederatedError, match=message):
            curator.tally({root: Tally(TABLES)}, HALF)
        with pytest.raises(FederatedError, match=message):
            curator.coordinator.sign(receipt_of(curator))
        words = {"run": curator.coordinator.terms.run, "number": 0, "answered": [], "receipt": "", "signatures": {}}
        words |= {"protocol": PROTOCOL, "terms": curator.coordinator.terms.words}
        for do in ("join", "missed", "confirm", "keep"):
            assert "another version" in unpack(parties[0].handle(pack({"do": do, **words})))[0]["refused"]
        parties[0]._diary(words["run"]).close(b"statement", b"signature")
        assert "another receipt" in unpack(parties[0].handle(pack({"do": "sign", **words})))[0]["refused"]
        of_another_version(tmp_path / "journal" / "keys.entry", "keys", "reproducible")
        with pytest.raises(FederatedError, match="begun with another version of Privet"):
            begun(InProcess(parties), HALF, limit=Fraction(9), journal=Journal(tmp_path / "journal"))


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
        pack({"do": "join", "protocol": PROTOCOL}),
        pack({"do": "join", "protocol": PROTOCOL, "terms": {"run": 7}}),
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


class Twisted(InProcess):
    """A coordinator that first sends each party a question that is twisted, and notes what it says to that."""

    def __init__(self, parties, twist):
        super().__init__(parties)
        self.twist, self.said = twist, []

    def ask(self, messages):
        for name, message in messages.items():
            words, numbers = unpack(message)
            if words["do"] == "ask":
                self.twist(words)
                self.said.append(unpack(self._parties[name].handle(pack(words, numbers)))[0])
        return super().ask(messages)


@pytest.mark.parametrize(
    ("twist", "reason"),
    [
        (lambda words: words["keys"].popitem(), "not those of the parties"),
        (lambda words: words["question"].update(budgets=["9" * 600]), "would cost more than 1e308"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_words(twist, reason):
    channel = Twisted(in_process(tables(3), SCHEMA, limit=Fraction(1))._parties.values(), twist)
    fit(channel, HALF)
    assert len(channel.said) == 3
    assert all(reason in said["refused"] for said in channel.said)


def test_every_question_is_logged_with_its_price():
    logs = []
    fit(in_process(tables(3), SCHEMA, limit=Fraction(1), log=logs.append), HALF)
    assert (
        sum(
            "question 0: tally of 1 node(s) for epsilon 0.5; spent epsilon 0.5 in this run, 0.5 of 1 in all, 0.5 left"
            in said
            for said in logs
        )
        == 3
    )


def test_one_process_at_a_time_has_a_party_s_state(tmp_path):
    """Two would each spend the whole limit."""
    identity = Identity.fresh("a")
    first = Party(identity, *table(9), SCHEMA, {}, limit=1, state=tmp_path)
    with pytest.raises(BudgetError, match="Another process"):
        Party(identity, *table(9), SCHEMA, {}, limit=1, state=tmp_path)
    first.close()
    assert "has stopped" in unpack(first.handle(pack({"do": "join"})))[0]["refused"]
    Party(identity, *table(9), SCHEMA, {}, limit=1, state=tmp_path).close()


def test_a_party_whose_lock_was_removed_stops(tmp_path):
    """Or a second process would have its state, and both its whole limit: neither sees what the other spends."""
    own, known = Identity.fresh("a"), {name: Identity.fresh(name).public for name in ("b", "c")}
    message = pack({"do": "join", "protocol": PROTOCOL, "terms": terms_of("0" * 32).words})
    with closed([Party(own, *table(30), SCHEMA, known, state=tmp_path)]) as (first,):
        assert "key" in unpack(first.handle(message))[0]
        (tmp_path / "party.lock").unlink()
        with closed([Party(own, *table(30), SCHEMA, known, state=tmp_path)]) as (second,):
            assert "was removed, so it has stopped" in unpack(first.handle(message))[0]["refused"]
            assert "has stopped" in unpack(first.handle(message))[0]["refused"]
            assert "key" in unpack(second.handle(message))[0]


def test_runs_that_never_go_on_are_joined_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("privet.consortium.federated.party.MOST_IDLE", 3)
    own, known = Identity.fresh("a"), {name: Identity.fresh(name).public for name in ("b", "c")}

    def join(party, number):
        words = {"do": "join", "protocol": PROTOCOL, "terms": terms_of(f"{number:032x}").words}
        return unpack(party.handle(pack(words)))[0]

    with closed([Party(own, *table(30), SCHEMA, known, state=tmp_path)]) as (party,):
        assert all("key" in join(party, number) for number in (1, 2, 3, 1))
        for number in range(4, 20):
            assert "joined 3 runs in which nothing was asked" in join(party, number)["refused"]
        assert len(list(tmp_path.iterdir())) == 4  # and the lock
    Diary(tmp_path / f"{2:032x}").give_up()
    with closed([Party(own, *table(30), SCHEMA, known, state=tmp_path)]) as (party,):
        assert "key" in join(party, 4)


def terms_of(run):
    return Terms(run, ("a", "b", "c"), 1, 0, "shared", schema_digest(SCHEMA))


def test_a_party_that_starts_again_with_other_wishes_does_not_go_on_in_a_run_that_it_would_not_join(tmp_path):
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}
    parties = [Party(own, *table(30), SCHEMA, known, state=tmp_path / own.name) for own in identities]
    curator, root = begun(InProcess(parties), HALF, limit=Fraction(9))
    others = Schema(SCHEMA.features, classes=["yes", "no", "perhaps"])
    for schema, wishes, message in (
        (others, {}, "schema is not this party's"),
        (SCHEMA, {"least_colluders": 2}, "holds against 2 colluders"),
    ):
        parties[0].close()
        parties[0] = Party(identities[0], *table(30), schema, known, state=tmp_path / "a", **wishes)
        curator.coordinator._channel = InProcess(parties)
        with pytest.raises(FederatedError, match=message):
            curator.tally({root: Tally(TABLES)}, HALF)
    for party in parties:
        party.close()


def test_runs_that_take_turns_do_not_break_each_other():
    """Each may spend what no other has spent; what was accepted before is not weighed again."""
    channel = in_process(tables(3), SCHEMA, limit=1)
    first, root = begun(channel, Fraction(1, 10), limit=Fraction(1))
    fit(channel, Fraction(1, 10))
    first.tally({root: Tally(TABLES)}, Fraction(8, 10))
    with pytest.raises(FederatedError, match="party0 refuses"):
        first.tally({root: Tally(TABLES)}, Fraction(1, 100))
    party = channel._parties["party0"]
    asked = unpack(first.coordinator._journal.get("000000ask"))[1]
    assert "said" in unpack(party.handle(asked))[0]  # though nothing is left


def test_messages_about_unknown_runs_leave_no_trace(tmp_path):
    party = Party(Identity.fresh("a"), *table(9), SCHEMA, {}, state=tmp_path)
    before = sorted(tmp_path.iterdir())
    for do in ("ask", "missed", "confirm", "unmask", "sign"):
        words = {"do": do, "run": "0" * 32, "number": 0, "answered": [], "receipt": "", "question": {}}
        assert "has not joined" in unpack(party.handle(pack(words)))[0]["refused"]
    assert sorted(tmp_path.iterdir()) == before
    party.close()


@pytest.mark.parametrize(
    "change",
    [
        {"keys": ["party0", "party1", "party2"]},
        {"keys": dict.fromkeys(["party0", "party1", "party2"], 5)},
        {"told": [{"do": "root", "node": 0, "limit": "1e9999999"}]},
        {"told": [{"do": "root", "node": 0, "limit": 5.5}]},
        {"told": 5},
        {"question": "tally"},
    ],
)
def test_nonsense_in_a_question_is_refused_and_nothing_of_it_stays(change):
    channel = in_process(tables(3), SCHEMA, limit=1)
    curator = asking(SCHEMA, channel, ledger=Ledger(math.inf))
    curator.grid(GRID)
    root = curator.root(HALF)
    party = channel._parties["party0"]
    words = {"do": "ask", "run": curator.coordinator.terms.run, "number": 0, "roster": list(channel.parties)}
    words |= {"told": curator.coordinator._told, "keys": curator.coordinator._keys, "question": {"do": "tally"}}
    refused = unpack(party.handle(pack({**words, **change})))[0]["refused"]
    assert "makes no sense" in refused or "no amount" in refused
    assert party._member is None
    curator.tally({root: Tally(TABLES)}, HALF)


def test_budgets_so_small_that_their_noise_takes_long_to_draw_are_refused():
    with pytest.raises(FederatedError, match="so small that its noise hides"):
        fit(in_process(tables(3), SCHEMA, limit=1), Fraction(1, 2**33))
    fit(in_process(tables(3), SCHEMA, limit=1), Fraction(1, 2**30))


def test_a_limit_that_was_lowered_below_what_was_spent_ends_the_questions_and_not_the_receipt(tmp_path):
    identities = [Identity.fresh(name) for name in ("a", "b", "c")]
    known = {identity.name: identity.public for identity in identities}

    def start(own, limit):
        return Party(own, *table(30), SCHEMA, known, limit=limit, state=tmp_path / own.name)

    parties = [start(own, Fraction(1)) for own in identities]
    curator, root = begun(InProcess(parties), HALF, limit=Fraction(1))
    parties[0].close()
    parties[0] = start(identities[0], Fraction(1, 10))
    with closed(parties):
        curator.coordinator._channel = InProcess(parties)
        with pytest.raises(FederatedError, match="a refuses: "):
            curator.tally({root: Tally(TABLES)}, Fraction(1, 10))
        assert len(curator.coordinator.sign(receipt_of(curator)).signatures) == 3
