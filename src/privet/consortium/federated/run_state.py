"""A diary: what a party keeps of one run, so that a restart forgets nothing and nothing is said in two ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.consortium.federated.journal import Journal
from privet.consortium.federated.signed import SignedReceipt
from privet.consortium.federated.terms import PROTOCOL, Terms
from privet.consortium.federated.wire import pack, unpack
from privet.errors import FederatedError


@dataclass(frozen=True)
class Entry:
    """A question as it came, the reply, and what the party noted beside them for itself."""

    noted: dict[str, Any]
    asked: bytes
    reply: bytes

    @property
    def context(self) -> bytes:
        """What the masks and lists of this question are bound to."""
        return bytes.fromhex(self.noted["context"])


class Diary(Journal):
    """The terms and this party's key for the run, then one entry for each question, and the receipt that ends it.

    In the end the key is dropped, with all else that noise or masks follow from: whoever has that and the party's own
    key can tell a right guess of the exact counts from a wrong one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder)
        try:
            last = self.last
            _ = self.terms, self.place, last and Fraction(last.noted["spent"])
            if self.closed is not None or self.given_up:  # the machine may have stopped between the end and this
                self._drop_secrets()
        except (FederatedError, KeyError, TypeError, ValueError) as error:
            run = "a run" if folder is None else f"run {folder.name}"
            raise FederatedError(
                f"What is kept of {run} is damaged. It says what was spent, so nothing goes on without it: repair it."
            ) from error

    def begin(self, terms: Terms, key: bytes, place: int, needs: Any = None) -> None:
        """``place`` is that of this run among all that the party has joined, ``needs`` what it was to cost, if told."""
        self.put("run", pack({"terms": terms.words, "place": place, "protocol": PROTOCOL, "needs": needs}, key))

    @property
    def terms(self) -> Terms | None:
        """The terms of a run that was joined."""
        return None if (kept := self.get("run")) is None else Terms.of_words(unpack(kept)[0]["terms"])

    @property
    def needs(self) -> Any:
        """What the run was to cost, in the words that this party has agreed to; None if nobody said."""
        return None if (kept := self.get("run")) is None else unpack(kept)[0].get("needs")

    @property
    def key(self) -> bytes:
        """The private key for the run; none if it is closed."""
        return b"" if (kept := self.get("run")) is None else unpack(kept)[1]

    @property
    def readable(self) -> bool:
        """Whether it was begun with the protocol of this version; earlier ones did not say."""
        return (kept := self.get("run")) is not None and unpack(kept)[0].get("protocol") == PROTOCOL

    @property
    def place(self) -> int:
        """Before all others if it is not known: folders of earlier versions do not say."""
        return -1 if (kept := self.get("run")) is None else int(unpack(kept)[0].get("place", 0))

    def write(self, number: int, entry: Entry) -> None:
        self.put(f"{number:06}", pack({**entry.noted, "asked": len(entry.asked)}, entry.asked + entry.reply))

    def entry(self, number: int) -> Entry | None:
        if (kept := self.get(f"{number:06}")) is None:
            return None
        noted, both = unpack(kept)
        return Entry(noted, both[: noted["asked"]], both[noted["asked"] :])

    @property
    def next(self) -> int:
        """The number of the first question that there is no entry of."""
        number = 0
        while self.get(f"{number:06}") is not None:
            number += 1
        return number

    @property
    def idle(self) -> bool:
        """Whether nothing was asked in it so far, and it may still go on."""
        return self.get(f"{0:06}") is None and self.closed is None and not self.given_up

    def entries(self) -> Iterator[Entry]:
        return filter(None, map(self.entry, range(self.next)))

    @property
    def last(self) -> Entry | None:
        """The last entry, which says what the run has spent so far."""
        return self.entry(self.next - 1)

    def to_unmask(self, number: int) -> Entry:
        """A question whose sum this party can help to read."""
        if (entry := self.entry(number)) is None:
            raise FederatedError(f"Question {number} was not asked here.")
        if "own_share" not in entry.noted:
            raise FederatedError("There is nothing to unmask.")
        return entry

    def settle(self, number: int, listed: Sequence[str]) -> None:
        """Write down the list of those who answered; raises if there is another one."""
        self.put(f"{number:06}list", pack({"answered": list(listed)}))

    def has_settled(self, number: int, listed: Sequence[str]) -> bool:
        return self.get(f"{number:06}list") == pack({"answered": list(listed)})

    def check_answered(self, answered: Sequence[Sequence[str]], name: str) -> None:
        """Raise unless those who are said to be in each answer are those that this party, ``name``, knows of.

        It knows the lists that it has signed, and which questions it missed; an answer of its own may have come late.
        """
        assert self.terms is not None
        for number in range(self.next, len(answered)):
            if name in answered[number]:
                raise FederatedError(f"{name} was not asked question {number}, and this receipt says that it answered.")
        for number, (entry, named) in enumerate(zip(self.entries(), answered)):  # later ones were never read
            there = list(named)
            listed, missed = self.get(f"{number:06}list"), unpack(entry.asked)[0]["do"] == "missed"
            wrong = there != list(self.terms.parties) if not self.terms.dropouts else missed and name in there
            if wrong or (listed is not None and not self.has_settled(number, there)):
                raise FederatedError(f"Others are in the answer to question {number} than this receipt says.")

    def close(self, statement: bytes, reply: bytes) -> None:
        self.put("signed", pack({"statement": statement.hex()}, reply))
        self._drop_secrets()

    def give_up(self) -> None:
        """End a run that will never have a receipt: nothing more is answered in it. What it has spent stays spent."""
        if self.closed is None:
            self.put("given_up", pack({}))
            self._drop_secrets()

    @property
    def given_up(self) -> bool:
        return self.get("given_up") is not None

    def _drop_secrets(self) -> None:
        """What was spent, asked and said stays; what was left of writing that was broken off goes."""
        for part in self._folder.glob("*.part") if self._folder is not None else ():
            part.unlink()
        if self.key:
            self._replace("run", pack(unpack(self.get("run") or b"")[0]))
        for number in range(self.next):
            words, both = unpack(self.get(f"{number:06}") or b"")
            if words.pop("own_share", None) is not None:
                self._replace(f"{number:06}", pack(words, both))

    @property
    def closed(self) -> tuple[bytes, bytes] | None:
        """What was signed in the end, and the reply that says so."""
        if (kept := self.get("signed")) is None:
            return None
        words, reply = unpack(kept)
        return bytes.fromhex(words["statement"]), reply

    @property
    def receipt(self) -> SignedReceipt | None:
        """The receipt with all signatures, if the coordinator has handed it out."""
        return None if (kept := self.get("receipt")) is None else SignedReceipt.from_json(kept.decode())

    def met(self) -> dict[str, bool]:
        """The parties that have signed that they joined this run, and whether they have closed it."""
        if (terms := self.terms) is None or not self.next:
            return {}
        signers = () if (receipt := self.receipt) is None else receipt.signatures
        return {name: name in signers for name in terms.parties}
