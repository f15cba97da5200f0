"""A receipt that all parties have signed: that they answered what it says, under these terms, and nothing else.

What they sign is its text, with the digest of the released model: so it cannot be shown beside another model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privet.consortium.federated.identity import Known, check_signature
from privet.consortium.federated.terms import Terms, receipt_statement
from privet.consortium.federated.wire import hex_bytes, names, texts, word
from privet.curators.base import trust_of_owners
from privet.errors import FederatedError, ReceiptError
from privet.privacy.event import Event, spending
from privet.privacy.receipt import Receipt
from privet.privacy.unit import Unit
from privet.strict_json import object_of

FORMAT = "privet-signed-receipt-2"


@dataclass(frozen=True)
class SignedReceipt:
    """``receipt`` is the text that was signed; ``signatures`` are by party, in hexadecimal digits.

    ``answered`` says, for every question in its order, whose answers are in what was released.
    """

    terms: Terms
    receipt: str
    signatures: Mapping[str, str]
    answered: Sequence[Sequence[str]]

    def verify(self, known: Known) -> Receipt:
        """The receipt, if it adds up and all parties have signed it but those who may drop out; raises otherwise."""
        receipt = Receipt.from_json(self.receipt)
        receipt.verify()
        if receipt.trust != trust_of_owners(self.terms.trust, receipt.unit):
            raise ReceiptError("The receipt says something else about trust than the terms.")
        check_answered(self.answered, self.terms)
        if len(self.missing) > self.terms.dropouts:
            raise ReceiptError(f"{', '.join(self.missing)} has not signed this receipt.")
        for name in self.terms.parties:
            if name in self.missing:
                continue
            signature = hex_bytes(self.signatures[name])
            check_signature(known, name, receipt_statement(self.terms, name, self.receipt, self.answered), signature)
        return receipt

    @property
    def missing(self) -> list[str]:
        """Parties that have not signed: they dropped out."""
        return [name for name in self.terms.parties if name not in self.signatures]

    def left_out(self) -> dict[str, list[int]]:
        """The numbers of the questions, by party, whose released answers do not have that party in them."""
        gone = {
            name: [number for number, there in enumerate(self.answered) if name not in there]
            for name in self.terms.parties
        }
        return {name: numbers for name, numbers in gone.items() if numbers}

    def to_json(self) -> str:
        words = {"format": FORMAT, "terms": self.terms.words, "receipt": self.receipt, "answered": self.answered}
        return json.dumps({**words, "signatures": dict(self.signatures)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> SignedReceipt:
        words = object_of(text, ReceiptError("This is not a signed receipt."))
        if words.get("format") != FORMAT:
            raise ReceiptError(f"This is not a {FORMAT}.")
        terms = Terms.of_words(words.get("terms"))
        return cls(terms, word(words, "receipt", str), texts(words, "signatures"), answered_of(words))


def answered_of(words: dict[str, Any]) -> list[list[str]]:
    """Who answered each question, as a message or a file says it."""
    return [names({"answered": each}, "answered") for each in word(words, "answered", list)]


def check_answered(answered: Sequence[Sequence[str]], terms: Terms) -> None:
    """Raise unless every question was answered by enough of the parties, each named once and in order."""
    for there in answered:
        if list(there) != [name for name in terms.parties if name in there] or len(there) < terms.threshold:
            raise FederatedError("This receipt lists too few of the parties, or others, for one of its questions.")


def checked_receipt(text: str, terms: Terms, own: list[Event], unit: Unit) -> Receipt:
    """A receipt that a party may sign whose ``own`` ledger has these events; raises for one that says less."""
    receipt = Receipt.from_json(text)
    receipt.verify()
    if not lists_all(receipt.events, own) or receipt.spent < spending(own, receipt.at_delta):
        raise FederatedError("This receipt does not list all that was asked here.")
    if not receipt.released:
        raise FederatedError("This receipt does not say, by a digest, which model it is of.")
    if receipt.unit != str(unit):
        raise FederatedError("This receipt covers others than this party's schema names: rows, or persons.")
    if receipt.trust != trust_of_owners(terms.trust, receipt.unit):
        raise FederatedError("This receipt says something else about trust than the terms.")
    return receipt


def lists_all(events: Sequence[Event], own: Sequence[Event]) -> bool:
    """Whether ``events`` has all of a party's ``own``, each of its roots under a root of its own.

    A root has another number in another ledger, but roots come in the same order. So each is sought, in order, behind
    the one that the last was found under: two that were paid for one after the other are never taken for one.
    """
    listed = iter(_by_root(events))
    return all(any(mine <= theirs for theirs in listed) for mine in _by_root(own))


def _by_root(events: Sequence[Event]) -> list[Counter[Event]]:
    """The events of each root, roots in the order of their numbers and left out of the events' paths."""
    roots: dict[int, Counter[Event]] = {}
    for event in events:
        top, _, rest = event.scope.removeprefix("/").partition("/")
        number = int("".join(filter(str.isdecimal, top.partition(":")[0])) or -1)
        roots.setdefault(number, Counter())[replace(event, scope=rest)] += 1
    return [roots[number] for number in sorted(roots)]
