"""Whatever goes wrong between parties and coordinator: a run finishes, or stops with a clear message, and pays once."""

import math
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consortium.federated.owners import GRID, NO_NOISE, SCHEMA, TABLES, asking, tables, together
from consortium.federated.wired import every_way  # noqa: F401
from privet import Ledger
from privet.consortium.federated.channel import InProcess, in_process
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.masking import join_seeds, mask, pair_seed, unmasked
from privet.consortium.federated.party import Party
from privet.consortium.federated.wire import numbers_of, pack, unpack
from privet.errors import FederatedError
from privet.questions.tally import Tally

pytestmark = pytest.mark.usefixtures("every_way")

NAMES = tuple(f"party{i}" for i in range(5))
TENTH = Fraction(1, 10)


class Meddling:
    """A channel on which ``meddle(name, words, send)`` stands between: it returns an answer, or None for no answer."""

    def __init__(self, channel, meddle):
        self._channel, self.meddle = channel, meddle
        self.parties = channel.parties
        self.asked = 0

    def ask(self, messages):
        replies = {}
        for name, message in messages.items():
            self.asked += 1

            def send(message=message, name=name):
                return self._channel.ask({name: message})[name]

            reply = self.meddle(name, unpack(message)[0], send)
            if reply is not None:
                replies[name] = reply
        return replies


def honest(name, words, send):
    return send()


def dead(who, do="ask", since=0):
    """``who`` answers nothing of this kind from question ``since`` on."""

    def meddle(name, words, send):
        gone = name == who and words["do"] == do and words.get("number", 0) >= since
        return None if gone else send()

    return meddle


def curator_of(channel, journal=None, **terms):
    curator = asking(SCHEMA, channel, ledger=Ledger(math.inf), journal=journal, **terms)
    curator.grid(GRID)
    return curator


def counts_of(numbers, n_owners=5):
    """The exact class counts of the table TABLES of these owners together."""
    curator = together([tables(n_owners)[i] for i in numbers])
    curator.grid(GRID)
    return curator.tally({curator.root(): Tally(TABLES)}, NO_NOISE).popitem()[1]


def ask(curator, root, budget=NO_NOISE):
    return curator.tally({root: Tally(TABLES)}, budget)[root]


def spent(channel):
    return {name: party._member.ledger.spent for name, party in channel._parties.items() if party._member}


# -- a party that is killed ------------------------------------------------------------------------------------------


def test_a_party_killed_before_it_answers_is_left_out_of_the_sum_and_of_the_run():
    channel = Meddling(in_process(tables(), SCHEMA), dead("party2", since=1))
    said = []
    curator = curator_of(channel, tolerated_colluders=1, tolerated_dropouts=1, progress=said.append)
    root = curator.root()
    np.testing.assert_array_equal(ask(curator, root), counts_of(range(5)))
    for _ in range(2):
        np.testing.assert_array_equal(ask(curator, root), counts_of([0, 1, 3, 4]))
    assert "going on without party2" in said
    assert len(curator.choose_each({root: _splits()}, _gini(), NO_NOISE)[root]) == 4


def test_a_party_killed_after_its_answer_is_in_the_sum():
    channel = Meddling(in_process(tables(), SCHEMA), dead("party2", do="unmask"))
    curator = curator_of(channel, tolerated_dropouts=1)
    np.testing.assert_array_equal(ask(curator, curator.root()), counts_of(range(5)))


def test_one_killed_before_and_one_after_its_answer_stop_the_run_until_it_is_back():
    def meddle(name, words, send):
        gone = (name, words["do"]) in {("party1", "ask"), ("party2", "unmask")}
        return None if gone else send()

    journal = Journal()
    inner = in_process(tables(), SCHEMA)
    curator = curator_of(Meddling(inner, meddle), journal, tolerated_dropouts=1)
    with pytest.raises(FederatedError, match=r"party1, party2 did not answer, .* tolerate 1 missing. Nothing is lost"):
        ask(curator, curator.root(Fraction(10**9)))
    again = curator_of(inner, journal, tolerated_dropouts=1)
    np.testing.assert_array_equal(ask(again, again.root(Fraction(10**9))), counts_of([0, 2, 3, 4]))
    assert spent(inner) == {**dict.fromkeys(NAMES, NO_NOISE), "party1": 0}


@given(
    st.integers(3, 7).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.integers(1, (n - 1) // 2),
            st.lists(st.tuples(st.integers(0, n - 1), st.sampled_from(["ask", "confirm", "unmask"])), max_size=n),
        )
    )
)
@settings(max_examples=25, deadline=None)
@example((6, 2, [(1, "ask"), (2, "unmask")]))
@example((7, 3, [(1, "ask"), (2, "confirm"), (4, "unmask")]))
@example((5, 2, [(0, "unmask"), (4, "unmask")]))
def test_whoever_is_lost_and_when_the_sum_is_read_if_no_more_are_lost_than_tolerated(case):
    """Those who answered are in it, also those who left afterwards; one more, and the run stops and names them."""
    n, dropouts, lost = case
    when = {f"party{i}": do for i, do in lost}

    def meddle(name, words, send):
        phases = ["join", "meet", "ask", "confirm", "unmask"]
        dead = name in when and phases.index(words["do"]) >= phases.index(when[name])
        return None if dead else send()

    colluders = min(1, n - 2 * dropouts - 1)
    channel = Meddling(in_process(tables(n), SCHEMA), meddle)
    curator = curator_of(channel, tolerated_dropouts=dropouts, tolerated_colluders=colluders)
    if len(when) > dropouts:
        with pytest.raises(FederatedError, match=f"tolerate {dropouts} missing. Nothing is lost"):
            ask(curator, curator.root())
    else:
        there = [i for i in range(n) if when.get(f"party{i}") != "ask"]
        np.testing.assert_array_equal(ask(curator, curator.root()), counts_of(there, n))


def test_shares_of_pairs_are_told_of_the_missing_alone():
    """Seeds between two who are listed would open their answers: no honest party says its shares of those."""
    helped = {}

    def meddle(name, words, send):
        if (name, words["do"]) == ("party1", "ask"):
            return None
        reply = send()
        if words["do"] == "unmask":
            helped[name] = unpack(reply)[0]
        return reply

    curator = curator_of(Meddling(in_process(tables(6), SCHEMA), meddle), tolerated_dropouts=2)
    ask(curator, curator.root())
    assert len(helped) == 5
    for name, said in helped.items():
        assert set(said["seeds"]) == {"party1"}
        assert set(said["pairs"]) == set(helped) - {name}
        assert all(set(own) == {"party1"} for own in said["pairs"].values())


def test_more_missing_than_tolerated_stop_the_run_with_their_names():
    for dropouts, gone in ((0, ["party3"]), (1, ["party0", "party3"])):
        inner = in_process(tables(), SCHEMA)
        channel = Meddling(inner, lambda name, words, send, gone=gone: None if name in gone else send())
        with pytest.raises(FederatedError, match=", ".join(gone)):
            curator_of(channel, tolerated_dropouts=dropouts)
    channel = Meddling(in_process(tables(), SCHEMA), dead("party3"))
    curator = curator_of(channel)
    with pytest.raises(FederatedError, match=r"party3 did not answer, .* tolerate 0 missing. Nothing is lost"):
        ask(curator, curator.root())


def test_a_party_that_comes_back_from_its_disk_answers_as_if_it_had_never_been_away(tmp_path):
    """Killed after it stored an answer and before it sent it: the same bytes come later, and nothing is paid twice."""
    identities = [Identity.fresh(name) for name in NAMES]
    known = {identity.name: identity.public for identity in identities}

    def start(i):
        state, limit = tmp_path / NAMES[i], Fraction(1)
        return Party(identities[i], *tables()[i], SCHEMA, known, state=state, limit=limit)

    parties = [start(i) for i in range(5)]
    journal = Journal()
    seen = []

    def killed_while_sending(name, words, send):
        reply = send()
        if name == "party4" and words["do"] == "ask" and words["number"] == 1:
            seen.append(reply)
            return None
        return reply

    curator = curator_of(Meddling(InProcess(parties), killed_while_sending), journal)
    root = curator.root(Fraction(1))
    first = ask(curator, root, TENTH)
    with pytest.raises(FederatedError, match="party4"):
        ask(curator, root, TENTH)
    parties[4].close()
    parties[4] = start(4)
    again = Meddling(InProcess(parties), lambda name, words, send: (seen.append(r := send()), r)[1])
    curator = curator_of(again, journal)
    root = curator.root(Fraction(1))
    np.testing.assert_array_equal(ask(curator, root, TENTH), first)
    ask(curator, root, TENTH)
    assert seen[0] in seen[1:]
    ask(curator, root, TENTH)
    assert set(spent(again._channel).values()) == {3 * TENTH}


def test_a_party_that_comes_back_deals_its_records_to_the_same_parts(tmp_path):
    """Otherwise a record could be in two of them, and pay in both."""
    identities = [Identity.fresh(name) for name in NAMES]
    known = {identity.name: identity.public for identity in identities}

    def channel():
        return InProcess(
            [Party(own, *t, SCHEMA, known, state=tmp_path / own.name) for own, t in zip(identities, tables())]
        )

    wire = Meddling(channel(), honest)
    curator = curator_of(wire)
    asked = dict.fromkeys(curator.parts(curator.root(), 3), Tally(TABLES))
    before = curator.tally(asked, NO_NOISE)
    for party in wire._channel._parties.values():
        party.close()
    wire._channel = channel()  # all parties anew, from their disks
    after = curator.tally(asked, NO_NOISE)
    for node in asked:
        np.testing.assert_array_equal(before[node], after[node])


# -- a slow party ----------------------------------------------------------------------------------------------------


def test_a_late_answer_stays_unreadable_though_all_seeds_with_its_sender_are_known():
    late, helped, question = {}, {}, []

    def meddle(name, words, send):
        reply = send()
        if words["do"] == "ask" and name == "party2":
            late["answer"] = reply
            return None
        if words["do"] == "unmask":
            helped[name] = unpack(reply)[0]
        return reply

    inner = in_process(tables(), SCHEMA)
    channel = Meddling(inner, meddle)
    curator = curator_of(channel, tolerated_dropouts=1)
    ask(curator, curator.root())
    assert set(helped) == {"party0", "party1", "party3", "party4"}
    assert all("party2" not in said["shares"] for said in helped.values())
    exact = counts_of([2]).ravel()
    numbers = numbers_of(unpack(late["answer"])[1], len(exact))
    seeds = {("party2", name): bytes.fromhex(said["seeds"]["party2"]) for name, said in helped.items()}
    assert not (unmasked({"party2": numbers}, (), seeds) == exact).any()
    assert not question


def test_a_late_answer_stays_unreadable_with_all_that_an_attacker_has():
    """The coordinator and a party that colludes have all that was said, the colluder's secrets, all own seeds that were
    ever put together, and ask the others for their shares of the late one's seed, whose boxes they hand over.
    """
    late, helped, answers, unmasks = {}, {}, {}, {}

    def meddle(name, words, send):
        reply = send()
        if words["do"] == "ask":
            answers[name, words["number"]] = unpack(reply)
            if name == "party2" and words["number"] == 1:
                late["reply"] = reply
                return None
        if words["do"] == "unmask":
            if words["number"] == 1:
                unmasks[name] = words
            helped[name, words["number"]] = unpack(reply)[0]
        return reply

    def handing_over(name, words, send):
        if words["do"] == "unmask" and words["number"] == 1:
            box = answers["party2", 1][0]["shares"][name]
            message = pack({**words, "shares": {**words["shares"], "party2": box}})
            return meddle(name, words, lambda: inner._parties[name].handle(message))
        return meddle(name, words, send)

    inner = in_process(tables(), SCHEMA)
    curator = curator_of(Meddling(inner, handing_over), tolerated_dropouts=1)
    root = curator.root()
    for _ in range(2):
        ask(curator, root)
    # Nobody has said a share of the late one's seed, though everybody had it.
    for name in ("party0", "party1", "party3", "party4"):
        said = helped[name, 1]
        assert set(said["shares"]) == {"party0", "party1", "party3", "party4"}
        assert set(said["seeds"]) == {"party2"}
    seeds = []
    for number in (0, 1):
        own = {name: said for (name, n), said in helped.items() if n == number}
        owners = list(next(iter(own.values()))["shares"])
        few = dict(list(own.items())[:4])
        shares = {
            name: {each: bytes.fromhex(share) for each, share in said["shares"].items()} for name, said in few.items()
        }
        seeds += join_seeds(shares, owners, NAMES)
    assert len(set(seeds)) == len(seeds) == 9  # every party has another own seed for every question
    exact = counts_of([2]).ravel()
    numbers = numbers_of(unpack(late["reply"])[1], len(exact))
    pairs = {("party2", name): bytes.fromhex(helped[name, 1]["seeds"]["party2"]) for name in NAMES if name != "party2"}
    for guess in (*seeds, bytes(32), *pairs.values(), *(sha256(seed).digest() for seed in seeds)):
        assert not (unmasked({"party2": numbers}, [guess], pairs) == exact).any()
    assert not (unmasked({"party2": numbers}, (), pairs) == exact).any()
    # Afterwards, too, nobody says a share of it: not for another list, and not for the same once more.
    for name, words in unmasks.items():
        again = {**words, "answered": list(NAMES), "shares": {**words["shares"], "party2": "00"}}
        assert "refused" in unpack(inner._parties[name].handle(pack(again)))[0]
        assert unpack(inner._parties[name].handle(pack(words)))[0] == helped[name, 1]


def test_a_slow_party_that_missed_questions_catches_up_and_is_counted_again_in_a_new_run():
    """It is not asked any more in this run; a coordinator that starts again asks it what it missed, in order."""
    inner = in_process(tables(), SCHEMA)
    journal = Journal()
    channel = Meddling(inner, dead("party2"))
    curator = curator_of(channel, journal, tolerated_dropouts=1)
    root = curator.root()
    for _ in range(2):
        ask(curator, root)
    again = curator_of(inner, journal, tolerated_dropouts=1)
    root = again.root()
    for _ in range(2):
        np.testing.assert_array_equal(ask(again, root), counts_of([0, 1, 3, 4]))
    np.testing.assert_array_equal(ask(again, root), counts_of(range(5)))


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_who_missed_choices_too_catches_up(noise):
    """Nobody signs who has made a choice, nor who is in a sum that is not masked."""
    inner, journal = in_process(tables(), SCHEMA), Journal()
    terms = {"tolerated_dropouts": 1, "noise": noise}
    curator = curator_of(Meddling(inner, dead("party2")), journal, **terms)
    root = curator.root()
    ask(curator, root)
    assert len(curator.choose_each({root: _splits()}, _gini(), NO_NOISE)[root]) == 4
    again = curator_of(inner, journal, **terms)
    root = again.root()
    ask(again, root)
    assert len(again.choose_each({root: _splits()}, _gini(), NO_NOISE)[root]) == 4
    np.testing.assert_array_equal(ask(again, root), counts_of(range(5)))


# -- messages that come twice, or again ------------------------------------------------------------------------------


@pytest.mark.parametrize("dropouts", [0, 1])
def test_messages_that_arrive_twice_are_answered_with_the_same_bytes_and_paid_once(dropouts):
    def twice(name, words, send):
        first = send()
        again = send()
        assert again == first or words["do"] == "confirm"  # a signature of the same
        return first

    inner = in_process(tables(), SCHEMA, limit=Fraction(1))
    curator = curator_of(Meddling(inner, twice), tolerated_dropouts=dropouts)
    root = curator.root(Fraction(1))
    for _ in range(3):
        ask(curator, root, TENTH)
    assert set(spent(inner).values()) == {3 * TENTH}


def test_an_old_question_replayed_gets_its_old_bytes_and_another_under_its_number_is_refused():
    kept = []

    def meddle(name, words, send):
        if name == "party0" and words["do"] == "ask":
            reply = send()
            kept.append((words, reply))
            return reply
        return send()

    inner = in_process(tables(), SCHEMA, limit=Fraction(1))
    curator = curator_of(Meddling(inner, meddle))
    root = curator.root(Fraction(1))
    for _ in range(3):
        ask(curator, root, TENTH)
    party = inner._parties["party0"]
    words, reply = kept[0]
    assert party.handle(pack(words)) == reply
    for change in ({"roster": ["party0", "party1", "party2", "party3"]}, {"told": []}):
        assert "is answered" in unpack(party.handle(pack({**words, **change})))[0]["refused"]
    assert party.handle(pack(words)) == reply
    assert party._open(words["run"]).ledger.spent == 3 * TENTH


def test_no_mask_is_ever_used_twice():
    """The same question again has other masks: the difference of two answers tells nothing."""
    blobs = []

    def meddle(name, words, send):
        reply = send()
        if name == "party1" and words["do"] == "ask":
            blobs.append(np.frombuffer(unpack(reply)[1], "<u8"))
        return reply

    curator = curator_of(Meddling(in_process(tables(), SCHEMA), meddle))
    root = curator.root()
    for _ in range(4):
        ask(curator, root)
    for i in range(4):
        for j in range(i):
            difference = (blobs[i] - blobs[j]).view(np.int64)
            assert (np.abs(difference.astype(float)) > 2**40).mean() > 0.9


# -- who is not who they say -----------------------------------------------------------------------------------------


def test_a_party_with_another_key_than_its_certificates_is_found_out_by_the_others():
    identities = [Identity.fresh(name) for name in NAMES]
    known = {identity.name: identity.public for identity in identities}
    identities[3] = Identity.fresh("party3")
    logs = []
    parties = [Party(own, *t, SCHEMA, known, log=logs.append) for own, t in zip(identities, tables())]
    with pytest.raises(FederatedError, match=r"party0 refuses: What came in the name of party3 was not signed"):
        curator_of(InProcess(parties))
    assert "party0" not in spent(InProcess(parties))  # nothing was opened, let alone counted


def test_a_key_that_the_coordinator_puts_in_between_is_found_out():
    """A coordinator that gives each party a key of its own in another's name could read what the two mask."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    def meddle(name, words, send):
        reply = send()
        if name == "party1" and words["do"] == "join":
            said = unpack(reply)[0]
            mine = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
            return pack({**said, "key": mine})
        return reply

    with pytest.raises(FederatedError, match="in the name of party1"):
        curator_of(Meddling(in_process(tables(), SCHEMA), meddle))


# -- wrong numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "garbage", [b"", b"garbage", bytes(3), pack({"said": None}, b"12345"), pack({"said": None}), pack({"behind": "x"})]
)
def test_garbage_stops_the_run(garbage):
    def meddle(name, words, send):
        return garbage if name == "party2" and words["do"] == "ask" else send()

    curator = curator_of(Meddling(in_process(tables(), SCHEMA), meddle))
    with pytest.raises(FederatedError, match="party2 did not answer"):
        ask(curator, curator.root())


def changed(do, change, who="party2"):
    """``who`` changes what it says (words, numbers) to messages of this kind."""

    def meddle(name, words, send):
        return change(*unpack(send())) if (name, words["do"]) == (who, do) else send()

    return meddle


def without(name):
    return lambda words, numbers: pack({key: value for key, value in words.items() if key != name}, numbers)


def with_shares(change):
    def answer(words, numbers):
        return pack({**words, "shares": {name: change(share) for name, share in words["shares"].items()}}, numbers)

    return answer


MALFORMED = {
    "no shares": ("ask", without("shares")),
    "short shares": ("ask", with_shares(lambda share: share[2:])),
    "shares of none": ("ask", with_shares(lambda share: 7)),
    "cut": ("ask", lambda words, numbers: pack(words, numbers[8:])),
    "no words": ("ask", lambda words, numbers: b"garbage"),
    "no signature": ("confirm", without("signature")),
    "another's signature": ("confirm", lambda words, numbers: pack({"signature": "00"})),
    "no help": ("unmask", without("shares")),
    "short help": ("unmask", with_shares(lambda share: share[2:])),
    "no seeds": ("unmask", without("seeds")),
    "no pairs": ("unmask", without("pairs")),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_who_sends_what_was_not_asked_for_is_named_and_counts_as_missing(case):
    """The run goes on without it; nobody has paid in vain."""
    do, change = MALFORMED[case]
    inner = in_process(tables(6), SCHEMA)
    known = {name: party._identity.public for name, party in inner._parties.items()}
    journal, said = Journal(), []

    def meddle(name, words, send):  # party1 is away, so that there are seeds of pairs to tell
        return None if name == "party1" and words["do"] == "ask" else changed(do, change)(name, words, send)

    curator = curator_of(Meddling(inner, meddle), journal, tolerated_dropouts=2, known=known, progress=said.append)
    there = [0, 3, 4, 5] if do == "ask" else [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(ask(curator, curator.root()), counts_of(there, 6))
    assert any(each.startswith("party2 sent garbage") for each in said)
    again = curator_of(inner, journal, tolerated_dropouts=2)
    np.testing.assert_array_equal(ask(again, again.root()), counts_of(there, 6))


@pytest.mark.parametrize(
    "change", [without("key"), without("signature"), lambda words, _: pack({**words, "key": "00"})]
)
def test_who_joins_with_nonsense_is_named_and_may_join_again(change):
    inner, journal = in_process(tables(), SCHEMA), Journal()
    with pytest.raises(FederatedError, match=r"party2 did not join.*party2 sent garbage"):
        curator_of(Meddling(inner, changed("join", change)), journal)
    curator = curator_of(inner, journal)
    np.testing.assert_array_equal(ask(curator, curator.root()), counts_of(range(5)))


def test_a_coordinator_that_knows_the_parties_keys_lets_nobody_join_in_another_s_name():
    inner, journal = in_process(tables(), SCHEMA), Journal()
    known = {name: party._identity.public for name, party in inner._parties.items()}
    other = changed("join", lambda words, _: pack({**words, "key": "00" * 32}))
    with pytest.raises(FederatedError, match=r"party2 did not join.*in the name of party2 was not signed"):
        curator_of(Meddling(inner, other), journal, known=known)
    curator_of(inner, journal, known=known)


@pytest.mark.parametrize("said", [None, [], [[1]], "x", [{"split": 5}]])
def test_choices_that_make_no_sense_count_as_none(said):
    channel = Meddling(in_process(tables(), SCHEMA), changed("ask", lambda words, _: pack({"said": said})))
    curator = curator_of(channel, tolerated_dropouts=1)
    root = curator.root()
    assert len(curator.choose_each({root: _splits()}, _gini(), NO_NOISE)[root]) == 4


def test_a_refusal_cannot_write_on_the_terminal():
    refusal = changed("ask", lambda *_: pack({"refused": "\x1b[31mno\r\n" + "x" * 10_000}))
    curator = curator_of(Meddling(in_process(tables(), SCHEMA), refusal))
    with pytest.raises(FederatedError) as error:
        ask(curator, curator.root())
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1_000


def test_a_party_that_has_forgotten_its_answer_does_not_go_on(tmp_path):
    """Its state was restored from an older copy: it has forgotten what it spent, too."""
    identities = [Identity.fresh(name) for name in NAMES]
    known = {identity.name: identity.public for identity in identities}
    parties = [Party(own, *t, SCHEMA, known, state=tmp_path / own.name) for own, t in zip(identities, tables())]
    channel = InProcess(parties)
    curator = curator_of(channel)
    root = curator.root()
    ask(curator, root)
    ask(curator, root)
    parties[3].close()
    (entry,) = tmp_path.glob("party3/*/000001.entry")
    entry.unlink()
    channel._parties["party3"] = Party(identities[3], *tables()[3], SCHEMA, known, state=tmp_path / "party3")
    with pytest.raises(FederatedError, match="party3 has answered question 1 and does not know it any more"):
        ask(curator, root)
    for party in channel._parties.values():
        party.close()


def test_huge_values_stop_the_run():
    def meddle(name, words, send):
        reply = send()
        if name == "party2" and words["do"] == "ask":
            said, blob = unpack(reply)
            return pack(said, (np.frombuffer(blob, "<u8") + np.uint64(2**62)).tobytes())
        return reply

    curator = curator_of(Meddling(in_process(tables(), SCHEMA), meddle))
    with pytest.raises(FederatedError, match="larger than all parties' records"):
        ask(curator, curator.root())


# -- the coordinator -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_coordinator_that_starts_again_asks_only_what_it_has_not_heard(dropouts, tmp_path):
    inner = in_process(tables(), SCHEMA, limit=Fraction(1))
    channel = Meddling(inner, honest)
    curator = curator_of(channel, Journal(tmp_path), tolerated_dropouts=dropouts)
    root = curator.root(Fraction(1))
    first = [ask(curator, root, TENTH) for _ in range(3)]
    asked = channel.asked
    again = curator_of(channel, Journal(tmp_path), tolerated_dropouts=dropouts)
    root = again.root(Fraction(1))
    np.testing.assert_array_equal([ask(again, root, TENTH) for _ in range(3)], first)
    assert channel.asked == asked
    ask(again, root, TENTH)
    assert channel.asked == asked + 5 * (3 if dropouts else 1)
    assert set(spent(inner).values()) == {4 * TENTH} == {again.ledger.spent}


def test_a_coordinator_killed_between_question_and_answer_gets_the_same_answer(tmp_path):
    """Every party has answered, the coordinator has not heard: it asks again with the same bytes."""
    inner = in_process(tables(), SCHEMA, limit=Fraction(1))

    class Killed(Exception):
        pass

    sums = []

    def meddle(name, words, send):
        reply = send()
        if words["do"] == "ask" and words["number"] == 1:
            sums.append(np.frombuffer(unpack(reply)[1], "<u8"))
            if name == "party4":
                raise Killed
        return reply

    curator = curator_of(Meddling(inner, meddle), Journal(tmp_path))
    root = curator.root(Fraction(1))
    ask(curator, root, TENTH)
    with pytest.raises(Killed):
        ask(curator, root, TENTH)
    again = curator_of(inner, Journal(tmp_path))
    root = again.root(Fraction(1))
    ask(again, root, TENTH)
    expected = np.sum(sums, axis=0, dtype=np.uint64).view(np.int64)
    np.testing.assert_array_equal(ask(again, root, TENTH).ravel(), expected)
    assert set(spent(inner).values()) == {2 * TENTH}


def test_a_journal_of_another_run_is_refused():
    inner = in_process(tables(), SCHEMA)
    journal = Journal()
    curator = curator_of(inner, journal)
    ask(curator, curator.root())
    with pytest.raises(FederatedError, match="other terms"):
        curator_of(inner, journal, tolerated_colluders=2)
    other = curator_of(inner, journal)
    with pytest.raises(FederatedError, match="another question"):
        other.tally({other.root(): Tally()}, NO_NOISE)


# -- a coordinator that wants more than it may have ------------------------------------------------------------------


def test_a_party_helps_to_read_one_sum_of_enough_parties_and_no_other():
    seen = {}

    def meddle(name, words, send):
        if words["do"] in ("ask", "confirm", "unmask"):
            seen[name, words["do"]] = words
        return send()

    inner = in_process(tables(), SCHEMA)
    curator = curator_of(Meddling(inner, meddle), tolerated_dropouts=1)
    party = inner._parties["party0"]
    ask(curator, curator.root())
    confirm, unmask = seen["party0", "confirm"], seen["party0", "unmask"]
    fewer = ["party0", "party1", "party2", "party3"]
    assert "is not changed" in unpack(party.handle(pack({**confirm, "answered": fewer})))[0]["refused"]
    assert "has not signed" in unpack(party.handle(pack({**unmask, "answered": fewer})))[0]["refused"]
    assert "shares" in unpack(party.handle(pack(unmask)))[0]
    # Of a question whose sum nobody has read yet, too few parties are no list.
    asked = {**seen["party0", "ask"], "number": 1, "told": []}
    party.handle(pack(asked))
    for answered in (["party0", "party1", "party2"], ["party1", "party2", "party3", "party4"], [*NAMES, "party9"]):
        said = unpack(party.handle(pack({**confirm, "number": 1, "answered": answered})))[0]
        assert "refused" in said


def test_a_coordinator_that_tells_parties_different_lists_reads_nothing():
    """With lists that are not compared, three honest parties, a colluder and one to drop out: whoever tells party0 that
    party1 is missing, and party2 that party0 is, could read party0 alone, with half of the noise.
    """
    told = {
        "party0": ["party0", "party2", "party3"],
        "party1": list(NAMES[:4]),
        "party2": ["party1", "party2", "party3"],
    }
    replies, helps = {}, []

    def meddle(name, words, send):
        party = inner._parties[name]
        if words["do"] == "ask":
            replies[name] = unpack(send())[0]
            return inner._parties[name].handle(pack(words))
        if words["do"] == "confirm" and name in told:
            return party.handle(pack({**words, "answered": told[name]}))
        if words["do"] == "unmask" and name in told:
            listed = told[name]
            shares = {other: replies[other]["shares"][name] for other in listed if other != name}
            signatures = {other: words["signatures"][other] for other in listed if other in words["signatures"]}
            said = party.handle(pack({**words, "answered": listed, "shares": shares, "signatures": signatures}))
            helps.append(unpack(said)[0])
            return said
        return send()

    inner = in_process(tables(4), SCHEMA)
    curator = curator_of(Meddling(inner, meddle), tolerated_colluders=1, tolerated_dropouts=1)
    with pytest.raises(FederatedError, match="refuses"):
        ask(curator, curator.root())
    assert helps
    assert all("refused" in said for said in helps)


def test_a_party_is_asked_with_enough_others_or_not_at_all():
    seen = []

    def meddle(name, words, send):
        seen.append(words)
        return send()

    inner = in_process(tables(), SCHEMA)
    curator = curator_of(Meddling(inner, meddle))
    ask(curator, curator.root())
    question = next(words for words in seen if words["do"] == "ask")
    for roster in (["party0"], ["party0", "party1", "party2", "party3"], ["party1", "party2", "party3"], ["x"] * 5):
        asked = {**question, "number": 1, "roster": roster, "told": []}
        assert "refused" in unpack(inner._parties["party0"].handle(pack(asked)))[0]
    assert spent(inner).get("party0", NO_NOISE) == NO_NOISE


def test_masks_bind_the_very_bytes_of_a_question():
    """Parties that were asked different things cannot be summed up: what comes out is noise."""

    def meddle(name, words, send):
        if name == "party0" and words["do"] == "ask":
            return inner._parties[name].handle(pack({**words, "told": [words["told"][0], *words["told"]]}))
        return send()

    inner = in_process(tables(), SCHEMA)
    curator = curator_of(Meddling(inner, meddle))
    with pytest.raises(FederatedError, match="not asked the same"):
        ask(curator, curator.root())
    assert (mask(pair_seed(bytes(32), b"one"), 4) != mask(pair_seed(bytes(32), b"two"), 4)).all()


def _splits():
    from privet.questions.candidates import Candidates
    from privet.tree.public_splits import public_splits

    return Candidates(public_splits(GRID), 3)


def _gini():
    from privet.privacy.scores import Gini

    return Gini()
