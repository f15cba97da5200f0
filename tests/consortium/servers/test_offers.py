"""What owners are told before they share: the same by all three servers, and nobody pays if one of them refuses."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from privet.consortium.servers.offers import READY, REFUSALS, TrainingOffer, offered, same_offer
from privet.errors import MpcError

OFFER = TrainingOffer("0" * 32, "PrivateTreeClassifier", Fraction(1, 10), False, 1000)


class Line:
    def __init__(self, name, says):
        self.peer, self.says, self.sent = f"owner {name}", says, []

    def send(self, message):
        self.sent.append(message)

    def receive(self, most):
        return self.says[:most]


def test_an_offer_crosses_the_wire_and_says_its_price():
    assert TrainingOffer.from_bytes(OFFER.to_bytes()) == OFFER
    assert str(OFFER) == "PrivateTreeClassifier for at most epsilon 0.1"
    assert "the trainer knows: it protects nobody" in str(replace(OFFER, seeded=True))
    assert same_offer([OFFER.to_bytes()] * 3) == OFFER


def test_a_server_that_offers_something_else_is_found_out():
    other = TrainingOffer("0" * 32, "PrivateTreeClassifier", Fraction(1, 100), False, 1000)
    with pytest.raises(MpcError, match="do not offer the same"):
        same_offer([OFFER.to_bytes(), other.to_bytes(), OFFER.to_bytes()])


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "x"}, {"epsilon": "1/0"}, {"epsilon": "-1"}, {"epsilon": 1}, {"epsilon": "0"}, {"run": 7},
        {"hidden": 1}, {"most_records": True}, {"more": 1}, {"epsilon": "inf"}, {"seeded": 0},
    ],
)  # fmt: skip
def test_an_offer_that_is_none_is_refused(change):
    words = {**json.loads(OFFER.to_bytes())["offer"], **change}
    with pytest.raises(MpcError, match="makes no sense"):
        TrainingOffer.from_bytes(json.dumps({"offer": words}).encode())
    for nothing in (b"", b"{}", b"[]", b'{"offer": 1}', b'{"do": "start"}'):
        with pytest.raises(MpcError, match="makes no sense"):
            TrainingOffer.from_bytes(nothing)


def test_all_are_asked_and_the_one_that_refuses_is_named_in_the_servers_own_words():
    lines = [Line("a", READY.encode()), Line("b", READY.encode())]
    offered(lines, OFFER)
    assert [line.sent for line in lines] == [[OFFER.to_bytes()]] * 2
    for said, words in (*REFUSALS.items(), ("delete its ledger", "it does not say why")):
        with pytest.raises(MpcError) as error:
            offered([lines[0], Line("b", said.encode())], OFFER)
        assert str(error.value) == f"owner b takes no part: {words}. Nothing was spent."


def test_whatever_servers_say_is_an_offer_or_refused_in_words():
    rng, good = random.Random(7), OFFER.to_bytes()
    for _ in range(3000):
        said = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            said[rng.randrange(len(said))] = rng.randrange(256)
        try:
            offer = TrainingOffer.from_bytes(bytes(said[: rng.choice([len(said), rng.randrange(len(said))])]))
        except MpcError:
            continue
        assert offer.epsilon > 0
