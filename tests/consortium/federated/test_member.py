"""A member alone, with records that a test makes up: what leaves it, and what it does not go along with."""

from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privet.consortium.federated.identity import Identity
from privet.consortium.federated.masking import SHARE_BYTES, join_seeds, unmasked
from privet.consortium.federated.member import Member, signed_keys
from privet.consortium.federated.terms import Terms, join_statement
from privet.consortium.federated.wire import numbers_of, pack, unpack
from privet.errors import FederatedError

RUN = "0123456789abcdef" * 2
COUNTS = {"a": [1, 2, 3], "b": [10, 20, 30], "c": [100, 200, 300], "d": [1000, 2000, 3000]}


class Records:
    """Answers the same counts to every question, without noise, and remembers what it was told."""

    def __init__(self, counts):
        self.counts, self.told, self.contexts = np.array(counts), [], []
        self.ledger = SimpleNamespace(root=SimpleNamespace(spent=0, currency="epsilon"), unit="one row")

    def tell(self, what):
        self.told.append(what)

    def tie(self, context):
        self.contexts.append(context)

    def answer(self, question):
        return None, self.counts


class Run:
    """Members of one run, who know each other's certificates, and the first question to them."""

    def __init__(self, dropouts=0, noise="shared"):
        self.identities = {name: Identity.fresh(name) for name in COUNTS}
        known = {name: identity.public for name, identity in self.identities.items()}
        self.terms = Terms(RUN, tuple(COUNTS), 0, dropouts, noise, "schema")
        self.members = {
            name: Member(
                self.terms, X25519PrivateKey.generate().private_bytes_raw(), identity, known, Records(COUNTS[name])
            )
            for name, identity in self.identities.items()
        }
        self.keys = {name: self.key_of(name) for name in COUNTS}

    def key_of(self, name, key=None, signer=None):
        key = key or self.members[name].public_key
        signature = self.identities[signer or name].sign(join_statement(self.terms, key, []))
        return [key.hex(), signature.hex(), []]

    def question(self, number=0, **changes):
        words = {"do": "ask", "run": RUN, "number": number, "roster": list(COUNTS), "told": [], "keys": self.keys}
        words |= {"question": {"do": "tally"}, **changes}
        return words, pack(words)

    def answers(self, names=tuple(COUNTS), **changes):
        return {name: self.members[name].answer(*self.question(**changes)) for name in names}


def numbers(entry):
    return numbers_of(unpack(entry.reply)[1], 3)


# -- what leaves -----------------------------------------------------------------------------------------------------


def test_an_answer_is_unreadable_alone_and_masks_cancel_in_the_sum_of_all():
    entries = Run().answers()
    for name, entry in entries.items():
        assert (np.abs(numbers(entry).view(np.int64).astype(float)) > 2**32).all(), name  # by chance once in 10^9
    assert unmasked({name: numbers(entry) for name, entry in entries.items()}).tolist() == [1111, 2222, 3333]
    some = {name: numbers(entries[name]) for name in ("a", "b", "c")}
    assert (np.abs(unmasked(some).astype(float)) > 2**32).all()


def test_with_whole_noise_of_its_own_nothing_is_masked():
    assert numbers(Run(noise="own").answers()["b"]).tolist() == COUNTS["b"]


def test_masks_of_parties_that_were_told_different_things_do_not_cancel():
    run = Run()
    entries = run.answers(("a", "b", "c")) | run.answers(("d",), told=[{"do": "copies", "node": 0}])
    assert (np.abs(unmasked({n: numbers(e) for n, e in entries.items()}).astype(float)) > 2**32).all()


def test_the_noise_of_a_question_is_tied_to_its_bytes_and_to_all_before_it():
    run = Run()
    run.answers(("a",))
    run.members["a"].answer(*run.question(1))
    run.members["a"].answer(*run.question(2, told=[{"do": "copies", "node": 0}]))
    other = Run()
    other.answers(("a",), told=[{"do": "root", "node": 0}])
    contexts = run.members["a"].records.contexts + other.members["a"].records.contexts
    assert len(set(contexts)) == 4


# -- the first question ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: {name: run.keys[name] for name in ("a", "b", "c")}, "not those of the parties"),
        (lambda run: {**run.keys, "e": run.keys["d"]}, "not those of the parties"),
        (lambda run: {**run.keys, "a": run.key_of("b")}, "another key in this party's name"),
        (lambda run: {**run.keys, "b": run.key_of("b", key=bytes(32))}, "is none"),
        (lambda run: {**run.keys, "b": run.key_of("b", signer="c")}, "in the name of b"),
        (lambda run: {**run.keys, "b": run.key_of("c", signer="c")}, "in the name of b"),
        (lambda run: {**run.keys, "b": [*run.keys["b"][:2], [[RUN, True, ["a"]]]]}, "in the name of b"),
        (lambda run: {**run.keys, "b": ["xyz", *run.keys["b"][1:]]}, "makes no sense"),
        (lambda run: {**run.keys, "b": run.keys["b"][:2]}, "makes no sense"),
        (lambda run: {**run.keys, "b": 5}, "makes no sense"),
        (lambda run: ["a", "b"], "makes no sense"),
        (lambda run: None, "makes no sense"),
    ],
)
def test_keys_that_are_not_each_partys_own_are_refused_before_anything_is_counted(change, message):
    run = Run()
    with pytest.raises(FederatedError, match=message):
        run.answers(("a",), keys=change(run))
    assert not run.members["a"].records.contexts


def test_where_others_were_met_is_a_list_of_runs():
    assert signed_keys({"keys": {"b": ["00", "00", [[RUN, False, ["a"]]]]}})
    for met in (5, [5], [[RUN, 1, ["a"]]], [[RUN, True]], [[7, True, ["a"]]]):
        with pytest.raises(FederatedError, match="makes no sense"):
            signed_keys({"keys": {"b": ["00", "00", met]}})


@pytest.mark.parametrize(
    ("roster", "message"),
    [
        (["b", "c", "d"], "makes no sense"),
        (["b", "a", "c", "d"], "makes no sense"),
        (["a", "b", "c", "d", "d"], "makes no sense"),
        (["a", "b", "c", "e"], "makes no sense"),
        (["a", "b", "c"], "Too few"),
        ("abcd", "makes no sense"),
        ([1, 2, 3, 4], "makes no sense"),
    ],
)
def test_who_is_asked_must_be_enough_of_the_parties_and_this_one(roster, message):
    run = Run()
    with pytest.raises(FederatedError, match=message):
        run.answers(("a",), roster=roster)
    assert run.members["a"].next == 0


# -- drop-outs: one list, one sum ------------------------------------------------------------------------------------


def settled(listed=("a", "b", "c")):
    """A run whose member d did not answer: members, entries, and everybody's signature of the list."""
    run = Run(dropouts=1)
    entries = run.answers(listed)
    signatures = {name: unpack(run.members[name].confirm(listed, entries[name]))[0]["signature"] for name in listed}
    boxes = {
        name: {other: unpack(entries[other].reply)[0]["shares"][name] for other in listed if other != name}
        for name in listed
    }
    return run, entries, signatures, boxes


def test_the_sum_of_those_who_answered_is_read_with_their_help():
    run, entries, signatures, boxes = settled()
    listed = sorted(entries)
    helps = {}
    for name in listed:
        run.members[name].check_confirmed(listed, entries[name].context, signatures)
        helps[name] = unpack(run.members[name].unmask(listed, entries[name], boxes[name]))[0]
    shares = {
        name: {own: bytes.fromhex(share) for own, share in said["shares"].items()} for name, said in helps.items()
    }
    own_seeds = join_seeds(shares, listed, run.terms.parties)
    pairs = {(name, "d"): bytes.fromhex(said["seeds"]["d"]) for name, said in helps.items()}
    total = unmasked({name: numbers(entry) for name, entry in entries.items()}, own_seeds, pairs)
    assert total.tolist() == [111, 222, 333]
    assert all(set(said["seeds"]) == {"d"} for said in helps.values())  # of nobody who answered


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (["b", "c"], "makes no sense"),
        (["a", "c", "b"], "makes no sense"),
        (["a", "b", "c", "e"], "makes no sense"),
        (["a", "b"], "Too few"),
    ],
)
def test_a_list_without_this_member_in_disorder_or_too_short_is_not_signed(listed, message):
    run, entries, _, _ = settled()
    with pytest.raises(FederatedError, match=message):
        run.members["a"].check_list(listed, entries["a"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: {"a": own["a"], "b": own["b"]}, "Too few"),
        (lambda own: {**own, "d": own["c"]}, "Too few"),  # who is not listed has nothing to sign
        (lambda own: {**own, "c": own["b"]}, "in the name of c"),
        (lambda own: {**own, "c": "00"}, "in the name of c"),
        (lambda own: {**own, "c": "xyz"}, "makes no sense"),
    ],
)
def test_without_enough_true_signatures_of_the_list_there_is_no_help(change, message):
    run, entries, signatures, _ = settled()
    with pytest.raises(FederatedError, match=message):
        run.members["a"].check_confirmed(["a", "b", "c"], entries["a"].context, change(signatures))


def test_signatures_of_another_list_do_not_count():
    run, entries, signatures, _ = settled()
    other = ["a", "b", "d"]
    with pytest.raises(FederatedError, match=r"Too few|in the name of"):
        run.members["a"].check_confirmed(other, entries["a"].context, {**signatures, "d": signatures["c"]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda boxes: {**boxes, "b": boxes["c"]}, "said to be from b is not"),
        (lambda boxes: {**boxes, "b": boxes["b"][:-2]}, "said to be from b is not"),
        (lambda boxes: {**boxes, "b": "zz"}, "makes no sense"),
        (lambda boxes: {"c": boxes["c"]}, "makes no sense"),
    ],
)
def test_shares_that_their_dealer_did_not_seal_for_this_member_are_refused(change, message):
    run, entries, _, boxes = settled()
    with pytest.raises(FederatedError, match=message):
        run.members["a"].unmask(["a", "b", "c"], entries["a"], change(boxes["a"]))


def test_a_box_of_another_size_makes_no_sense():
    run = Run(dropouts=1)
    with pytest.raises(FederatedError, match="shares from b make no sense"):
        run.members["a"]._shares_of("b", bytes(SHARE_BYTES + 1), list(COUNTS))


# -- questions that were missed --------------------------------------------------------------------------------------


def missed(members, /, listed=("a", "b", "c"), signatures=None, number=0, **changes):
    _, asked = members.question(number, **changes)
    words = {"do": "missed", "run": RUN, "number": number, "answered": list(listed), "signatures": signatures or {}}
    return words, pack(words, asked)


def test_a_missed_question_is_noted_and_not_answered_if_others_have_signed_that_this_one_is_not_in_it():
    run, _, signatures, _ = settled()
    entry = run.members["d"].miss(*missed(run, signatures=signatures))
    assert unpack(entry.reply)[0] == {"missed": 0}
    assert run.members["d"].history == run.members["a"].history
    assert not run.members["d"].records.contexts


def test_a_sum_that_may_hold_this_members_answer_is_not_taken_for_missed():
    run, _, signatures, _ = settled()
    with pytest.raises(FederatedError, match="d has answered this question"):
        run.members["d"].miss(*missed(run, listed=("a", "b", "c", "d"), signatures=signatures))
    with pytest.raises(FederatedError, match="Too few"):
        run.members["d"].miss(*missed(run))
    with pytest.raises(FederatedError, match="in the name of"):  # signed of other bytes
        run.members["d"].miss(*missed(run, signatures=signatures, told=[{"do": "copies"}]))
    assert run.members["d"].next == 0


@pytest.mark.parametrize("change", [{"number": 1}, {"run": "f" * 32}, {"do": "sign"}])
def test_what_was_missed_is_the_next_question_of_this_run(change):
    run, _, signatures, _ = settled()
    with pytest.raises(FederatedError, match="not the next question"):
        run.members["d"].miss(*missed(run, signatures=signatures, **change))


def test_where_nobody_may_drop_out_nothing_can_have_been_missed():
    run = Run()
    with pytest.raises(FederatedError, match="tolerate no drop-outs"):
        run.members["d"].miss(*missed(run))
