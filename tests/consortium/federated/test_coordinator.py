"""The coordinator alone, before parties that say whatever a test wants: what it asks, believes and gives up."""

import logging

import numpy as np
import pytest

from privet.consortium.federated.coordinator import MOST_REASON, TRIES, Coordinator
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.terms import Terms, join_statement
from privet.consortium.federated.wire import pack, unpack
from privet.errors import FederatedError

NAMES = ("a", "b", "c", "d")
QUESTION = {"do": "tally"}
IDENTITIES = {name: Identity.fresh(name) for name in NAMES}
KNOWN = {name: identity.public for name, identity in IDENTITIES.items()}


class Parties:
    """A channel whose parties draw their own noise: each answers 1, 2 and 3 unless ``instead`` says otherwise.

    ``instead(name, words)`` returns bytes, None for silence, or ``...`` for the honest answer.
    """

    parties = NAMES

    def __init__(self, instead=lambda name, words: ...):
        self.instead = instead
        self.asked = []

    def ask(self, messages):
        replies = {}
        for name, message in messages.items():
            words, _ = unpack(message)
            self.asked.append((name, words["do"], message))
            reply = self.instead(name, words)
            if reply is not None:
                replies[name] = honest(name, words) if reply is ... else reply
        return replies

    def asked_of(self, name, do="ask"):
        return [message for who, what, message in self.asked if (who, what) == (name, do)]


def honest(name, words):
    if words["do"] == "join":
        key = bytes(31) + name.encode()
        signature = IDENTITIES[name].sign(join_statement(Terms.of_words(words["terms"]), key, []))
        return pack({"key": key.hex(), "heard": [], "signature": signature.hex(), "reproducible": False})
    if words["do"] == "meet":
        return pack({"met": True})
    if words["do"] == "missed":
        return pack({"behind": words["number"] + 1})
    if words["do"] == "ask" and words["question"]["do"] == "choose_each":
        return pack({"said": [name]})
    return pack({"said": None}, np.array([1, 2, 3], dtype="<i8").tobytes())


def coordinator(channel, dropouts=1, **options):
    return Coordinator(channel, "schema", colluders=0, dropouts=dropouts, noise="own", **options)


def to(do, name, reply):
    """One party answers messages of one kind otherwise."""
    return lambda who, words: reply if (who, words["do"]) == (name, do) else ...


# -- what is asked and believed --------------------------------------------------------------------------------------


def test_a_sum_is_that_of_all_answers():
    assert coordinator(Parties()).sum(QUESTION, 3, 100).tolist() == [4, 8, 12]


def test_what_is_told_goes_along_with_the_next_question_and_with_no_other():
    channel = Parties()
    asking = coordinator(channel)
    asking.tell(do="root", node=0)
    for _ in range(2):
        asking.sum(QUESTION, 3, 100)
    first, second = (unpack(message)[0] for message in channel.asked_of("a"))
    assert (first["told"], second["told"]) == ([{"do": "root", "node": 0}], [])
    assert ("keys" in first, "keys" in second) == (True, False)


def test_every_party_is_asked_with_the_very_same_bytes():
    channel = Parties()
    coordinator(channel).sum(QUESTION, 3, 100)
    assert len({message for name in NAMES for message in channel.asked_of(name)}) == 1


def test_a_sum_beyond_what_records_can_make_ends_the_run():
    least = np.array([-(2**63)] * 3, dtype="<i8").tobytes()
    for numbers in (np.array([10**6] * 3, dtype="<i8").tobytes(), least):
        with pytest.raises(FederatedError, match="larger than all parties' records"):
            coordinator(Parties(to("ask", "b", pack({"said": None}, numbers)))).sum(QUESTION, 3, 100)


# -- who is silent, who refuses --------------------------------------------------------------------------------------


def test_who_is_silent_is_asked_again_and_then_left_out_for_the_rest_of_the_run():
    channel = Parties(to("ask", "b", None))
    asking = coordinator(channel)
    for _ in range(3):
        assert asking.sum(QUESTION, 3, 100).tolist() == [3, 6, 9]
    assert len(channel.asked_of("b")) == TRIES
    assert unpack(channel.asked_of("a")[-1])[0]["roster"] == ["a", "c", "d"]


def test_who_answers_late_in_the_same_round_is_counted():
    tries = []

    def instead(name, words):
        if (name, words["do"]) != ("b", "ask"):
            return ...
        tries.append(name)
        return None if len(tries) == 1 else ...

    assert coordinator(Parties(instead)).sum(QUESTION, 3, 100).tolist() == [4, 8, 12]


def test_more_silent_than_tolerated_end_the_run_by_name_and_a_second_start_asks_the_same_bytes(tmp_path):
    gone = Parties(lambda name, words: None if name in "bc" and words["do"] == "ask" else ...)
    with pytest.raises(FederatedError, match=r"b, c did not answer.*tolerate 1 missing"):
        coordinator(gone, journal=Journal(tmp_path)).sum(QUESTION, 3, 100)
    back = Parties()
    again = coordinator(back, journal=Journal(tmp_path))
    assert again.sum(QUESTION, 3, 100).tolist() == [4, 8, 12]
    assert back.asked_of("a") == gone.asked_of("a")[:1]
    assert not back.asked_of("a", "join")


def test_a_refusal_ends_the_run_with_words_that_are_short_and_printable():
    said = "\x1b[2J" + "x" * 10_000
    with pytest.raises(FederatedError, match="b refuses") as error:
        coordinator(Parties(to("ask", "b", pack({"refused": said})))).sum(QUESTION, 3, 100)
    assert str(error.value).isprintable()
    assert len(str(error.value)) <= MOST_REASON + len("b refuses: ")


def test_all_have_to_join():
    with pytest.raises(FederatedError, match="d did not join"):
        coordinator(Parties(to("join", "d", None)))


# -- garbage and forgery ---------------------------------------------------------------------------------------------

GARBAGE = {
    "no message": b"garbage",
    "nothing": b"",
    "too few numbers": pack({"said": None}, bytes(16)),
    "too many numbers": pack({"said": None}, bytes(32)),
    "behind nobody knows what": pack({"behind": "x"}),
    "behind in the future": pack({"behind": 99}),
    "behind before the beginning": pack({"behind": -1}),
    "behind where it was not": pack({"behind": 0}),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_is_no_answer_and_the_others_go_on(case):
    said = []
    channel = Parties(to("ask", "b", GARBAGE[case]))
    assert coordinator(channel, progress=said.append).sum(QUESTION, 3, 100).tolist() == [3, 6, 9]
    assert "going on without b" in said


@pytest.mark.parametrize(
    "change",
    [
        {"key": "00"},
        {"key": 7},
        {"key": "x" * 64},
        {"signature": "xyz"},
        {"signature": None},
        {"heard": 5},
        {"reproducible": 1},
    ],
)
def test_who_joins_with_a_wrong_word_is_named(change):
    def instead(name, words):
        return pack({**unpack(honest(name, words))[0], **change}) if name == "b" else ...

    with pytest.raises(FederatedError, match=r"b did not join.*b sent garbage"):
        coordinator(Parties(instead))


def test_a_key_that_another_has_signed_is_not_taken_where_keys_are_known():
    def instead(name, words):
        return honest("a", words) if name == "b" else ...

    coordinator(Parties(instead))  # the parties check each other; here nobody is known
    with pytest.raises(FederatedError, match="in the name of b was not signed"):
        coordinator(Parties(instead), known=KNOWN)


def test_signatures_of_the_receipt_are_checked_and_who_sends_none_is_missing():
    def instead(name, words):
        wrong = {"a": {"signature": "00"}, "b": {}, "c": {"signature": 5}}.get(name, {"signature": "xy"})
        return pack(wrong) if words["do"] == "sign" else ...

    assert coordinator(Parties(instead), known=KNOWN).sign("receipt").signatures == {}


def test_a_mistake_of_ours_in_reading_an_answer_is_logged_with_its_traceback(caplog):
    def read(said):
        return {}["not there"]

    with pytest.raises(FederatedError, match="did not answer"):
        coordinator(Parties()).each({"do": "choose_each"}, read)
    assert any(record.name == "privet.coordinator" and record.levelno == logging.ERROR for record in caplog.records)
    assert "KeyError: 'not there'" in caplog.text


def test_what_each_says_comes_in_the_order_of_names_without_those_that_cannot_be_read():
    def read(said):
        if said == ["c"]:
            raise FederatedError("no")
        return said[0]

    assert coordinator(Parties()).each({"do": "choose_each"}, read) == ["a", "b", "d"]


# -- who was away ----------------------------------------------------------------------------------------------------


def test_who_is_behind_is_told_what_it_missed_in_order_and_asked_again():
    def instead(name, words):
        if name != "b" or words["do"] != "ask":
            return ...
        return None if words["number"] < 2 else pack({"behind": 0}) if len(channel.asked_of("b", "missed")) < 2 else ...

    channel = Parties(instead)
    first = coordinator(channel, journal=(journal := Journal()))
    for _ in range(2):
        first.sum(QUESTION, 3, 100)
    second = coordinator(channel, journal=journal)  # who was gone in the first process is asked again by the second
    for _ in range(3):
        total = second.sum(QUESTION, 3, 100)
    assert total.tolist() == [4, 8, 12]
    assert [unpack(message)[0]["number"] for message in channel.asked_of("b", "missed")] == [0, 1]


def test_who_has_answered_a_question_and_has_forgotten_it_does_not_go_on():
    channel = Parties()
    asking = coordinator(channel)
    asking.sum(QUESTION, 3, 100)
    channel.instead = to("ask", "b", pack({"behind": 0}))
    with pytest.raises(FederatedError, match="b has answered question 0 and does not know it any more"):
        asking.sum(QUESTION, 3, 100)


# -- the journal -----------------------------------------------------------------------------------------------------


def test_what_was_answered_is_not_asked_again_after_a_restart(tmp_path):
    coordinator(Parties(), journal=Journal(tmp_path)).sum(QUESTION, 3, 100)
    silent = Parties(lambda name, words: None)
    assert coordinator(silent, journal=Journal(tmp_path)).sum(QUESTION, 3, 100).tolist() == [4, 8, 12]
    assert not silent.asked


def test_a_journal_is_of_one_model_and_one_set_of_terms(tmp_path):
    coordinator(Parties(), journal=Journal(tmp_path)).sum(QUESTION, 3, 100)
    with pytest.raises(FederatedError, match="another question here"):
        coordinator(Parties(), journal=Journal(tmp_path)).sum({"do": "owner_sum"}, 3, 100)
    with pytest.raises(FederatedError, match="other terms"):
        coordinator(Parties(), dropouts=0, journal=Journal(tmp_path))


def test_one_seeded_party_is_enough_to_say_so():
    def instead(name, words):
        return pack({**unpack(honest(name, words))[0], "reproducible": True}) if name == "c" else ...

    assert coordinator(Parties(instead)).reproducible
    assert not coordinator(Parties()).reproducible
