"""The terms of a run: what all parties agree to, and sign, before anything is asked.

With K parties, c of whom may collude with the coordinator and with each other, and D of whom may be missing from an
answer, every released sum has at least K - D - c shares of noise that no colluder knows. So ``of`` = K - D - c shares
make up the whole noise, and whoever is honest and there adds one: the sum has at least the noise that was paid for,
against c colluders who subtract theirs, and with D parties missing.

Where parties may be missing, those who answered a question first sign the list of their names, each party one list for
each question, and then help to read the sum of the list that ``threshold`` = K - D parties have signed. Two such lists
would need 2 (K - D) signatures, of which only the colluders give two; K + c < 2 (K - D), which is K > 2 D + c, is too
few. So all honest parties help with the same list, and one question has one released sum.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from privet.consortium.federated.wire import count, names, pack, word
from privet.errors import FederatedError

PROTOCOL = 6
"""Of the messages between coordinator and parties, and of what they keep: who speaks another one does not join, and a
run stays with the one that it was begun with.
"""

try:
    VERSION = version("privet")
except PackageNotFoundError:  # run from its source alone
    VERSION = "unknown"

OTHER_PROTOCOL = "This run was begun with another version of Privet: finish it with that one, or begin anew."

NOISE = ("shared", "own")
LEAST_PARTIES = 3
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
RUN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Terms:
    """``noise``: "shared", a share from each party, in masked sums; or "own", the whole from each, for all to see."""

    run: str
    parties: tuple[str, ...]
    colluders: int
    dropouts: int
    noise: str
    schema: str

    def __post_init__(self) -> None:
        n = len(self.parties)
        if not RUN.fullmatch(self.run):
            raise FederatedError("A run is named by 16 bytes in hexadecimal digits.")
        if not all(NAME.fullmatch(name) for name in self.parties) or list(self.parties) != sorted(set(self.parties)):
            raise FederatedError(
                "Parties have different names of small letters, digits and - _ . in alphabetical order."
            )
        if self.noise not in NOISE:
            raise FederatedError(f"noise is one of {', '.join(NOISE)}, not {self.noise!r}.")
        if self.colluders < 0 or self.dropouts < 0:
            raise FederatedError("Colluders and drop-outs are counted from 0.")
        if self.noise == "own":
            if n < 1 or self.dropouts >= n:
                raise FederatedError("At least one party has to answer.")
            return
        if n < LEAST_PARTIES:
            raise FederatedError(
                f"A masked sum needs at least {LEAST_PARTIES} parties: of two, each knows the other's."
            )
        if n <= 2 * self.dropouts + self.colluders:
            raise FederatedError(
                f"{n} parties cannot tolerate {self.colluders} colluders and {self.dropouts} drop-outs: there must be "
                "more parties than colluders and twice the drop-outs. Lower one of them."
            )

    @property
    def of(self) -> int | None:
        """How many shares of noise make up the whole; None where each party draws the whole."""
        return None if self.noise == "own" else len(self.parties) - self.dropouts - self.colluders

    @property
    def threshold(self) -> int:
        """How many parties have to be in every answer."""
        return len(self.parties) - self.dropouts

    @property
    def double(self) -> bool:
        """Whether parties add masks of their own, so that a sum can be read without those who are missing."""
        return self.noise == "shared" and self.dropouts > 0

    @property
    def deals_pairs(self) -> bool:
        """Whether parties deal shares of their pairs' seeds, too: one may be missing, and another leave after it."""
        return self.double and self.dropouts > 1

    @cached_property
    def digest(self) -> bytes:
        return sha256(b"privet terms|" + pack(self.words)).digest()

    @property
    def words(self) -> dict[str, Any]:
        return {**asdict(self), "parties": list(self.parties)}

    @classmethod
    def of_words(cls, words: Any) -> Terms:
        if not isinstance(words, dict):
            raise FederatedError("These are no terms.")
        return cls(
            run=word(words, "run", str),
            parties=tuple(names(words, "parties")),
            colluders=count(words, "colluders"),
            dropouts=count(words, "dropouts"),
            noise=word(words, "noise", str),
            schema=word(words, "schema", str),
        )

    @property
    def trust(self) -> str:
        """Who had to be trusted with what, for receipts."""
        n = len(self.parties)
        if self.noise == "own":
            return (
                f"{n} owners kept their records, and each drew the whole noise of its answers: no owner had to trust "
                "the coordinator or another owner with anything."
            )
        missing = f", with up to {self.dropouts} of them missing" if self.dropouts else ""
        return (
            f"{n} owners kept their records. What left an owner was masked: the coordinator saw sums over owners, with "
            f"noise that is enough against the coordinator and any {self.colluders} colluding owners{missing}. Every "
            f"owner had to trust that no more than {self.colluders} of the others collude and that the others add "
            "their noise. Not independently reviewed."
        )


def history_after(history: bytes, message: bytes) -> bytes:
    """What a party was asked and told so far, in short: the very bytes of all questions, in order.

    It begins with the digest of the terms. Who missed a question and heard of it later has the same history as who
    answered it; who was asked or told something else has not. So who has forgotten a question cannot come after it by
    another one in its place, which may cost less.
    """
    return sha256(b"privet history|" + history + sha256(message).digest()).digest()


def question_context(history: bytes, message: bytes) -> bytes:
    """What masks, sealed shares and lists of a question are bound to: its very bytes, and all that was told before.

    A question names nodes by their numbers; what these stand for, and which noise they are paid for with, was told with
    earlier ones. Parties that were told different things, whenever it was, have masks that do not cancel.
    """
    return sha256(b"privet question|" + history + sha256(message).digest()).digest()


def join_statement(terms: Terms, key: bytes, heard: Any) -> bytes:
    """What a party signs when it joins: the terms, its key for this run, and where it met the others before."""
    return b"privet join|" + terms.digest + key + pack({"heard": heard})


def list_statement(context: bytes, listed: Sequence[str]) -> bytes:
    """What a party signs of a question, by its context: that these have answered it, and no other list."""
    return b"privet list|" + context + pack({"answered": list(listed)})


def receipt_statement(terms: Terms, name: str, receipt: str, answered: Sequence[Sequence[str]]) -> bytes:
    """What a party signs in the end: that it answered what this receipt says under these terms, and nothing else.

    ``answered`` are, for every question, those whose answers are in what was released.
    """
    who = sha256(pack({"answered": [list(names) for names in answered]})).digest()
    return b"privet receipt|" + terms.digest + name.encode() + b"|" + sha256(receipt.encode()).digest() + who
