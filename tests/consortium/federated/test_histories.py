"""Parties that were told different things before a question are never summed up in it."""

from fractions import Fraction

import numpy as np
import pytest

from consortium.federated.owners import GRID, NO_NOISE, SCHEMA, TABLES, tables
from privet.consortium.federated.channel import in_process
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.masking import unmasked
from privet.consortium.federated.terms import history_after
from privet.consortium.federated.wire import pack, unpack
from privet.questions.codec import grid_words, schema_digest, tally_words
from privet.questions.tally import Tally

N_CELLS = GRID.features[0].n_cells
ALMOST_ALL = bytes(N_CELLS - 1) + b"\1"
QUESTION = {"do": "tally", "asked": tally_words([(1, Tally(TABLES))]), "budgets": [str(NO_NOISE)]}


class Liar:
    """A coordinator that tells the party ``victim`` something else than the others, and then asks all the same."""

    def __init__(self, dropouts=0, **options):
        self.channel = in_process(tables(), SCHEMA, **options)
        self.coordinator = Coordinator(
            self.channel, schema_digest(SCHEMA), colluders=1, dropouts=dropouts, noise="shared"
        )
        self.run = self.coordinator.terms.run

    def send(self, name, do, number, **words):
        keys = {"keys": self.coordinator._keys} if number == 0 else {}
        message = pack({"do": do, "run": self.run, "number": number, **words, **keys})
        return unpack(self.channel._parties[name].handle(message))

    def ask(self, number, question, told=()):
        """Everybody's numbers."""
        about = {"roster": list(self.channel.parties), "told": list(told), "question": question}
        replies = {name: self.send(name, "ask", number, **about) for name in self.channel.parties}
        return {name: np.frombuffer(numbers, "<u8") for name, (_, numbers) in replies.items()}, replies


def splits(children, currency="epsilon"):
    """A root, and a split of it that sends nearly all records to the first of its children."""
    root = {"do": "root", "node": 0, "limit": None, "currency": currency}
    split = {"do": "split", "splits": [[0, 0, ALMOST_ALL.hex(), children]]}
    return [root, {"do": "grid", "features": grid_words(GRID)}, split]


def looks_random(numbers):
    """Noise and counts are far below 2^32; of a mask's numbers one of a billion is."""
    return (np.abs(numbers.astype(float)) > 2**32).all()


def words(question, currency="epsilon"):
    return {**question, "currencies": [currency]}


@pytest.mark.parametrize("victim", [None, "party0"])
def test_a_node_that_holds_nearly_all_of_one_party_and_nearly_nobody_of_the_others_cannot_be_read(victim):
    liar = Liar()
    for name in liar.channel.parties:
        told = splits([1, 2] if name in (victim, "party1") and victim else [2, 1])
        about = {"told": told, "roster": list(liar.channel.parties), "question": words(QUESTION)}
        assert "refused" not in liar.send(name, "ask", 0, **about)[0]
    numbers, _ = liar.ask(1, words(QUESTION))
    assert looks_random(unmasked(numbers)) == (victim is not None)


@pytest.mark.parametrize("victim", [None, "party0"])
def test_nodes_of_another_currency_at_one_party_cannot_be_read(victim):
    """Its noise would be geometric and the others' Skellam: shares of no noise that anybody has proven anything of."""
    liar = Liar(limit=Fraction(5), delta=1e-6)
    roots = [{"do": "root", "node": node, "limit": "1/5", "currency": "rho"} for node in (0, 1)]
    question = words({**QUESTION, "budgets": ["1/10"]}, "rho")
    about = {"roster": list(liar.channel.parties), "question": {**question, "asked": tally_words([(0, Tally(TABLES))])}}
    for name in liar.channel.parties:
        other = {"currency": "epsilon"} if name == victim else {}
        told = [roots[0], {**roots[1], **other}, {"do": "grid", "features": grid_words(GRID)}]
        assert "refused" not in liar.send(name, "ask", 0, told=told, **about)[0]
    about |= {"told": [], "question": question}
    replies = {name: liar.send(name, "ask", 1, **about)[0] for name in liar.channel.parties}
    assert [name for name, said in replies.items() if "refused" in said] == ([victim] if victim else [])
    if victim:
        assert "another currency" in replies[victim]["refused"]


def test_where_drop_outs_are_tolerated_parties_with_different_histories_do_not_help_each_other():
    liar = Liar(dropouts=1)
    about = {"roster": list(liar.channel.parties), "question": words(QUESTION)}
    for name in liar.channel.parties:
        liar.send(name, "ask", 0, told=splits([1, 2] if name == "party0" else [2, 1]), **about)
    _, replies = liar.ask(1, words(QUESTION))
    names = list(liar.channel.parties)
    signatures = {name: liar.send(name, "confirm", 1, answered=names)[0]["signature"] for name in names}
    for name in names:
        shares = {other: replies[other][0]["shares"][name] for other in names if other != name}
        said, _ = liar.send(name, "unmask", 1, answered=names, shares=shares, signatures=signatures)
        assert "was not signed" in said["refused"]
    # With the signatures of those alone who were told the same, the box of the one who was not stays shut.
    signatures.pop("party0")
    shares = {other: replies[other][0]["shares"]["party1"] for other in names if other != "party1"}
    said, _ = liar.send("party1", "unmask", 1, answered=names, shares=shares, signatures=signatures)
    assert "from party0 is not" in said["refused"]


class Missed(Liar):
    """All but party1 have answered a first question, and signed that."""

    def __init__(self):
        super().__init__(dropouts=1)
        self.others = [name for name in self.channel.parties if name != "party1"]
        about = {"told": splits([1, 2]), "roster": list(self.channel.parties), "question": words(QUESTION)}
        asked = {"do": "ask", "run": self.run, "number": 0, "keys": self.coordinator._keys, **about}
        self.asked = pack(asked)
        for name in self.others:
            self.channel._parties[name].handle(self.asked)
        self.signatures = self.confirm(self.others)

    def confirm(self, listed):
        said = {name: self.send(name, "confirm", 0, answered=listed)[0] for name in self.others}
        return {name: each.get("signature") for name, each in said.items()}

    def missed(self, asked=None, **proof):
        about = {"do": "missed", "run": self.run, "number": 0, **proof}
        return unpack(self.channel._parties["party1"].handle(pack(about, asked or self.asked)))[0]


def test_who_missed_a_question_has_the_same_history_as_who_answered_it():
    liar = Missed()
    assert liar.missed(answered=liar.others, signatures=liar.signatures) == {"behind": 1}
    parties = liar.channel._parties
    history = parties["party0"]._member.history
    assert parties["party1"]._member.history == history != liar.coordinator.terms.digest
    parties["party1"]._member = None  # it starts again
    assert parties["party1"]._open(liar.run).history == history
    assert history_after(b"", b"one") != history_after(b"", b"two") != history_after(b"one", b"two")


def test_that_a_sum_was_missed_is_believed_if_as_many_as_it_takes_have_signed_who_is_in_it():
    """Who says so may want a party to forget what it has answered, and spent."""
    liar = Missed()
    few = dict(list(liar.signatures.items())[1:])
    other = pack({**unpack(liar.asked)[0], "told": splits([2, 1])})
    for proof, reason in (
        ({}, "makes no sense"),
        ({"answered": liar.others, "signatures": few}, "Too few parties have signed"),
        ({"answered": list(liar.channel.parties), "signatures": liar.signatures}, "has answered this question"),
        ({"answered": liar.others[:3], "signatures": liar.signatures}, "Too few"),
        ({"asked": other, "answered": liar.others, "signatures": liar.signatures}, "was not signed"),
        ({"asked": pack({**unpack(liar.asked)[0], "number": 1})}, "not the next question"),
    ):
        assert reason in liar.missed(**proof)["refused"]
    assert liar.missed(answered=liar.others, signatures=liar.signatures) == {"behind": 1}


def test_a_choice_that_was_missed_needs_no_list():
    """It has none; nor is it added up with others."""
    liar = Missed()
    choice = pack({**unpack(liar.asked)[0], "question": {"do": "choose_each"}})
    assert liar.missed(choice) == {"behind": 1}
