"""Parties that were told different things before a question are never summed up in it."""

from fractions import Fraction

import numpy as np
import pytest

from federated.owners import GRID, NO_NOISE, SCHEMA, TABLES, tables
from privet.curators.base import Tally
from privet.curators.own import grid_words, schema_digest
from privet.curators.words import tally_words
from privet.federated.channel import in_process
from privet.federated.coordinator import Coordinator
from privet.federated.masking import unmasked
from privet.federated.terms import history_after
from privet.federated.wire import pack, unpack

N_CELLS = GRID.features[0].n_cells
ALMOST_ALL = bytes(N_CELLS - 1) + b"\1"
QUESTION = {"do": "tally", "asked": tally_words({1: Tally(TABLES)}), "budgets": [str(NO_NOISE)]}


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


@pytest.mark.parametrize("by", ["missed", "ask"])
@pytest.mark.parametrize("victim", [None, "party0"])
def test_a_node_that_holds_nearly_all_of_one_party_and_nearly_nobody_of_the_others_cannot_be_read(by, victim):
    liar = Liar()
    for name in liar.channel.parties:
        about = {"told": splits([1, 2] if name in (victim, "party1") and victim else [2, 1])}
        if by == "ask":
            about |= {"roster": list(liar.channel.parties), "question": words(QUESTION)}
        assert "refused" not in liar.send(name, by, 0, **about)[0]
    numbers, _ = liar.ask(1, words(QUESTION))
    assert looks_random(unmasked(numbers)) == (victim is not None)


@pytest.mark.parametrize("victim", [None, "party0"])
def test_nodes_of_another_currency_at_one_party_cannot_be_read(victim):
    """Its noise would be geometric and the others' Skellam: shares of no noise that anybody has proven anything of."""
    liar = Liar(limit=Fraction(5), delta=1e-6)
    told = {"do": "root", "node": 1, "limit": "1/5"}
    for name in liar.channel.parties:
        currency = "epsilon" if name == victim else "rho"
        grid = {"do": "grid", "features": grid_words(GRID)}
        liar.send(name, "missed", 0, told=[{**told, "currency": currency}, grid])
    question = words({**QUESTION, "budgets": ["1/10"]}, "rho")
    about = {"roster": list(liar.channel.parties), "told": [], "question": question}
    replies = {name: liar.send(name, "ask", 1, **about)[0] for name in liar.channel.parties}
    assert [name for name, said in replies.items() if "refused" in said] == ([victim] if victim else [])
    if victim:
        assert "another currency" in replies[victim]["refused"]


def test_where_drop_outs_are_tolerated_parties_with_different_histories_do_not_help_each_other():
    liar = Liar(dropouts=1)
    for name in liar.channel.parties:
        liar.send(name, "missed", 0, told=splits([1, 2] if name == "party0" else [2, 1]))
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


def test_who_missed_a_question_has_the_same_history_as_who_answered_it():
    liar = Liar()
    about = {"told": splits([1, 2]), "roster": list(liar.channel.parties), "question": words(QUESTION)}
    liar.send("party0", "ask", 0, **about)
    liar.send("party1", "missed", 0, told=about["told"])
    parties = liar.channel._parties
    assert parties["party0"]._member.history == parties["party1"]._member.history != liar.coordinator.terms.digest
    assert history_after(b"", 0, [1]) != history_after(b"", 1, [1]) != history_after(b"", 1, [2])
