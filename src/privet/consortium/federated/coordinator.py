"""The coordinator: asks all parties the same question, adds up what comes back, and can read nothing else.

A question is one round, or three where drop-outs are tolerated: answers, the parties' signatures of the list of those
who answered, and their help to read its sum. Whatever comes is looked at when it comes: who sends what was not asked
for is named, and counts as missing. What it asked and what came out is kept in a journal; a coordinator that starts
again with the same journal goes through the same questions, takes what it has from there, and asks again, with the
same bytes, what it had not finished. So nothing is paid for twice.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.consortium.federated.allowance import Need
from privet.consortium.federated.identity import Known, check_signature
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.masking import KEY_BYTES, SEED_BYTES, SHARE_BYTES, TAG_BYTES, join_seeds, unmasked
from privet.consortium.federated.signed import SignedReceipt
from privet.consortium.federated.terms import (
    OTHER_PROTOCOL,
    PROTOCOL,
    Terms,
    history_after,
    join_statement,
    list_statement,
    question_context,
    receipt_statement,
)
from privet.consortium.federated.wire import hex_bytes, nonsense, numbers_of, pack, texts, unpack, word
from privet.errors import FederatedError, PrivetError

if TYPE_CHECKING:
    from privet.consortium.federated.channel import Channel

_logger = logging.getLogger("privet.coordinator")

TRIES = 2
"""How often a party is asked that does not answer."""

MOST_REASON = 500
"""So many characters of a party's words are repeated here."""

Replies = dict[str, tuple[dict[str, Any], bytes]]
Check = Callable[[str, dict[str, Any], bytes], object]
"""Raises if what a party (its name, its words, its numbers) says is not what it was asked for."""


class Coordinator:
    """One run with the parties of a channel.

    With ``known``, their public keys, signatures are checked here, too, and not by the parties alone. With ``need``, no
    party joins that has less left.
    """

    def __init__(
        self,
        channel: Channel,
        schema: str,
        *,
        colluders: int,
        dropouts: int,
        noise: str,
        known: Known | None = None,
        journal: Journal | None = None,
        need: Need | None = None,
        progress: Callable[[str], None] = lambda said: None,
    ) -> None:
        self._channel = channel
        self._known = known
        self._journal = journal or Journal()
        self._progress = progress
        parties = tuple(sorted(channel.parties))
        kept = self._journal.get("terms")
        run = secrets.token_hex(16) if kept is None else unpack(kept)[0]["run"]
        self.terms = Terms(run, parties, colluders, dropouts, noise, schema)
        if kept is not None and unpack(kept)[0] != self.terms.words:
            raise FederatedError("The journal is of a run with other terms. Use another folder, or the same terms.")
        self._journal.put("terms", pack(self.terms.words))
        self._number = 0
        self._told: list[dict[str, Any]] = []
        self._gone: set[str] = set()
        self._garbled: dict[str, str] = {}
        self._heard: list[str] = []
        self._answered: list[list[str]] = []
        self._history = self.terms.digest
        self._need = need
        self._keys = self._join()
        self._journal.once("met", self._ask_to_meet)

    def _join(self) -> dict[str, list[Any]]:
        """Everybody's signed key for this run; each party checks the others' by itself."""
        words, _ = unpack(self._journal.once("keys", self._ask_to_join))
        if words.get("protocol") != PROTOCOL:
            raise FederatedError(OTHER_PROTOCOL)
        self.reproducible: bool = words["reproducible"]
        return words["keys"]

    def _ask_to_join(self) -> bytes:
        self._progress(f"asking {len(self.terms.parties)} parties to join")
        message = pack({"do": "join", "protocol": PROTOCOL, "terms": self.terms.words, **self._needs})

        def check(name: str, said: dict[str, Any], _: bytes) -> None:
            key = hex_bytes(said.get("key"), KEY_BYTES)
            self._signed(name, said, join_statement(self.terms, key, word(said, "heard", list)))
            word(said, "reproducible", bool)

        replies = self._exchange(dict.fromkeys(self.terms.parties, message), check)
        self._all_there(replies)
        keys = {name: [said["key"], said["signature"], said["heard"]] for name, (said, _) in replies.items()}
        reproducible = any(said["reproducible"] for said, _ in replies.values())
        return pack({"keys": keys, "reproducible": reproducible, "protocol": PROTOCOL})

    def _ask_to_meet(self) -> bytes:
        """Everybody sees where the others have met it before, and can leave while nobody has paid."""
        message = pack({"do": "meet", "run": self.terms.run, "keys": self._keys})
        met = self._exchange(dict.fromkeys(self.terms.parties, message), lambda name, said, _: word(said, "met", bool))
        self._all_there(met)
        return pack({"met": sorted(met)})

    def _all_there(self, replies: Iterable[str]) -> None:
        if missing := self._missing(replies, self.terms.parties):
            raise FederatedError(
                f"{_names(missing)} did not join. Start again when all parties are there, or without."
                f"{self._garbage(missing)}"
            )

    @property
    def _needs(self) -> dict[str, Any]:
        return {} if self._need is None else {"needs": self._need.words}

    def tell(self, **what: Any) -> None:
        """Something to do that has no answer: it goes along with the next question."""
        self._told.append(what)

    def sum(self, question: dict[str, Any], n: int, largest: int) -> np.ndarray:
        """The sum over parties of ``n`` integers. Beyond ``largest``, some party has not kept to the rules."""
        result = self._answer(question, lambda asked, roster: self._summed(asked, roster, n))
        total = numbers_of(result, n).view(np.int64)
        if n and int(np.abs(np.maximum(total, -(2**63) + 1)).max()) > largest:
            raise FederatedError(
                "A sum is larger than all parties' records could make it: a party has sent wrong numbers, or parties "
                "were not asked the same. The run has ended; which party it is cannot be seen in a masked sum."
            )
        return total

    def each(self, question: dict[str, Any], read: Callable[[Any], Any]) -> list[Any]:
        """What each party says, in the order of their names; of those who answered what ``read`` does not refuse."""
        result = self._answer(question, lambda asked, roster: self._all_said(asked, roster, read))
        return [read(said) for said in unpack(result)[0]["said"]]

    def sign(self, receipt: str) -> SignedReceipt:
        """The receipt with the parties' signatures, by name; those who dropped out may be missing.

        Each party gets them all, to keep, if it is still there.
        """
        message = pack({"do": "sign", "run": self.terms.run, "receipt": receipt, "answered": self._answered})

        def check(name: str, said: dict[str, Any], _: bytes) -> None:
            self._signed(name, said, receipt_statement(self.terms, name, receipt, self._answered))

        replies = self._exchange(dict.fromkeys(self.terms.parties, message), check)
        signatures = {name: said["signature"] for name, (said, _) in replies.items()}
        self._journal.put("closed", b"signed")
        self._hand_out(receipt, signatures)
        return SignedReceipt(self.terms, receipt, signatures, self._answered)

    def _hand_out(self, receipt: str, signatures: dict[str, str]) -> None:
        """Once, and without waiting for who has left: the run is over, and nothing depends on it here."""
        words = {"do": "keep", "run": self.terms.run, "receipt": receipt, "signatures": signatures}
        try:
            self._channel.ask(dict.fromkeys(signatures, pack({**words, "answered": self._answered})))
        except FederatedError as error:
            self._progress(f"the parties have not got the signed receipt: {error}")

    # -- one question ------------------------------------------------------------------------------------------------

    def _answer(self, question: dict[str, Any], settle: Callable[[bytes, Sequence[str]], bytes]) -> bytes:
        """Ask, or take from the journal what was answered before the coordinator was started again."""
        number, told = self._number, self._told
        asked = {"told": told, "question": question}
        digest = sha256(pack(asked)).hexdigest()

        def ask() -> bytes:
            roster = self._missing(self._gone, self.terms.parties)
            if len(roster) < self.terms.threshold:
                raise FederatedError(self._too_few(sorted(self._gone)))
            keys = {"keys": self._keys} if number == 0 else {}
            words = {"do": "ask", "run": self.terms.run, "number": number, "roster": roster, **asked, **keys}
            return pack({"digest": digest}, pack(words))

        before, message = unpack(self._journal.once(f"{number:06}ask", ask))
        if before["digest"] != digest:
            raise FederatedError(
                "The journal has another question here: the run was begun with another model or other parameters. "
                "Use the same ones to go on, or another folder to begin anew."
            )
        if self._journal.get(f"{number:06}out") is None:
            self._progress(f"question {number}: {question['do']}")
            result = settle(message, unpack(message)[0]["roster"])
            self._journal.put(f"{number:06}out", pack({"answered": self._heard}, result))
        answered, result = self._settled(number)
        self._answered.append(answered)
        self._history = history_after(self._history, message)
        self._number, self._told = number + 1, []
        return result

    def _settled(self, number: int) -> tuple[list[str], bytes]:
        """Who is in the answer to a question, and the answer; nobody, if it was not answered."""
        kept = self._journal.get(f"{number:06}out")
        words, result = ({"answered": []}, b"") if kept is None else unpack(kept)
        return words["answered"], result

    def _summed(self, asked: bytes, roster: Sequence[str], n: int) -> bytes:
        box = SHARE_BYTES * (len(roster) if self.terms.deals_pairs else 1) + TAG_BYTES

        def answers(name: str, said: dict[str, Any], own: bytes) -> None:
            numbers_of(own, n)
            if self.terms.double:
                shares = texts(said, "shares")
                if set(shares) != set(roster) - {name}:
                    raise nonsense("shares")
                for share in shares.values():
                    hex_bytes(share, box)

        if not self.terms.double:
            replies = self._replies(asked, roster, answers)
            return unmasked({name: numbers_of(own, n) for name, (_, own) in replies.items()}).astype("<i8").tobytes()
        # Which answers are summed up is settled, and they are kept, before the parties are asked to help: they help
        # once, and whoever has answered need not be there again.
        entry, proof = f"{self._number:06}list", f"{self._number:06}proof"
        replies = _unbundle(self._journal.once(entry, lambda: _bundle(self._replies(asked, roster, answers))))
        listed = self._heard = sorted(replies)
        numbers = {name: numbers_of(own, n) for name, (_, own) in replies.items()}
        missing = self._missing(listed, roster)
        about = {"run": self.terms.run, "number": self._number, "answered": listed}
        statement = list_statement(question_context(self._history, asked), listed)

        def confirms(name: str, said: dict[str, Any], _: bytes) -> None:
            self._signed(name, said, statement)

        def helps(name: str, said: dict[str, Any], _: bytes) -> None:
            shares, pairs, seeds = texts(said, "shares"), word(said, "pairs", dict), texts(said, "seeds")
            for owner in listed:
                hex_bytes(shares.get(owner), SHARE_BYTES)
                for gone in missing if self.terms.deals_pairs and owner != name else ():
                    hex_bytes(texts(pairs, owner).get(gone), SHARE_BYTES)
            for gone in missing:
                hex_bytes(seeds.get(gone), SEED_BYTES)

        signed = self._exchange(dict.fromkeys(listed, pack({"do": "confirm", **about})), confirms)
        self._enough(signed, missing, listed)
        signatures = {name: said["signature"] for name, (said, _) in signed.items()}
        self._journal.once(proof, lambda: pack({"answered": listed, "signatures": signatures}))
        messages = {}
        for name in signed:
            shares = {other: replies[other][0]["shares"][name] for other in listed if other != name}
            messages[name] = pack({"do": "unmask", **about, "shares": shares, "signatures": signatures})
        help = self._exchange(messages, helps)
        self._enough(help, missing, listed)
        return self._read(numbers, missing, help)

    def _enough(self, replies: Iterable[str], missing: Sequence[str], listed: Sequence[str]) -> None:
        """Raise if so many have left, before or after they answered, that the sum cannot be read."""
        left = self._missing(replies, listed)
        if len(listed) - len(left) < self.terms.threshold:
            raise FederatedError(self._too_few([*missing, *left]))

    def _read(self, numbers: dict[str, np.ndarray], missing: Sequence[str], help: Replies) -> bytes:
        """The sum: own seeds come from enough shares, seeds of pairs from those who are in them or from shares, too."""
        helpers = {name: said for name, (said, _) in list(help.items())[: self.terms.threshold]}
        shares = {name: _opened(said["shares"], numbers) for name, said in helpers.items()}
        own_seeds = join_seeds(shares, list(numbers), self.terms.parties)
        pairs = {(name, gone): bytes.fromhex(help[name][0]["seeds"][gone]) for name in help for gone in missing}
        for left in self._missing(help, numbers):  # it answered, and left before it could tell its seeds
            shares = {name: _opened(said["pairs"][left], missing) for name, said in helpers.items()}
            seeds = join_seeds(shares, missing, self.terms.parties)
            pairs |= {(left, gone): seed for gone, seed in zip(missing, seeds)}
        return unmasked(numbers, own_seeds, pairs).astype("<i8").tobytes()

    def _all_said(self, asked: bytes, roster: Sequence[str], read: Callable[[Any], Any]) -> bytes:
        replies = self._replies(asked, roster, lambda name, said, _: read(said.get("said")))
        return pack({"said": [replies[name][0]["said"] for name in sorted(replies)]})

    def _replies(self, asked: bytes, roster: Sequence[str], check: Check) -> Replies:
        """The answers of all who are asked, or of enough of them; who has none is not asked any more in this run."""
        replies = self._exchange(dict.fromkeys(roster, asked), check)
        missing = self._missing(replies, roster)
        if len(replies) < self.terms.threshold:
            raise FederatedError(self._too_few([*sorted(self._gone), *missing]))
        if missing:
            self._gone.update(missing)
            self._progress(f"going on without {_names(missing)}")
        self._heard = sorted(replies)
        return replies

    def _too_few(self, missing: Sequence[str]) -> str:
        return (
            f"{_names(missing)} did not answer, and the terms tolerate {self.terms.dropouts} missing. Nothing is lost: "
            f"start the coordinator again, with the same journal, when they are back.{self._garbage(missing)}"
        )

    def _garbage(self, names: Sequence[str]) -> str:
        """Who of these did say something, and what was wrong with it."""
        return "".join(f" {name} sent garbage: {self._garbled[name]}" for name in names if name in self._garbled)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def _exchange(self, messages: dict[str, bytes], check: Check) -> Replies:
        """One round, repeated for those who did not answer, or not what was asked; who refuses ends the run, with its
        reason.
        """
        replies: Replies = {}
        for _ in range(TRIES):
            waiting = {name: message for name, message in messages.items() if name not in replies}
            if not waiting:
                break
            for name, reply in self._channel.ask(waiting).items():
                said = self._understood(name, reply)
                if said is not None and "behind" in said[0]:
                    said = self._catch_up(name, said[0]["behind"], messages[name])
                if said is not None and self._makes_sense(name, said, check):
                    replies[name] = said
        return replies

    def _understood(self, name: str, reply: bytes) -> tuple[dict[str, Any], bytes] | None:
        try:
            words, numbers = unpack(reply)
        except FederatedError as error:
            self._is_garbage(name, str(error))
            return None
        if "refused" in words:
            raise FederatedError(f"{name} refuses: {_printable(words['refused'])}")
        return words, numbers

    def _makes_sense(self, name: str, said: tuple[dict[str, Any], bytes], check: Check) -> bool:
        try:
            check(name, *said)
            return True
        except PrivetError as error:
            _logger.info("%s sent garbage", name, exc_info=True)
            self._is_garbage(name, str(error))
        except Exception:  # what a party says must not end the run of the others, whatever it is
            _logger.exception("what %s says cannot be read", name)
            self._is_garbage(name, "It is not what was asked for.")
        return False

    def _is_garbage(self, name: str, reason: str) -> None:
        self._garbled[name] = _printable(reason)
        self._progress(f"{name} sent garbage, which counts as no answer: {self._garbled[name]}")

    def _signed(self, name: str, said: dict[str, Any], statement: bytes) -> None:
        signature = hex_bytes(said.get("signature"))
        if self._known is not None:
            check_signature(self._known, name, statement, signature)

    def _catch_up(self, name: str, number: Any, message: bytes) -> tuple[dict[str, Any], bytes] | None:
        """Tell a party that was away what it missed, in order, and show who has signed that others answered it. It does
        not answer that any more.
        """
        while isinstance(number, int) and 0 <= number < self._number:
            if name in self._settled(number)[0]:
                raise FederatedError(
                    f"{name} has answered question {number} and does not know it any more: what it keeps was lost, or "
                    "is an older copy. It has forgotten what it spent, so it must not go on."
                )
            _, asked = unpack(self._journal.get(f"{number:06}ask") or b"")
            proof, _ = unpack(self._journal.get(f"{number:06}proof") or pack({}))
            missed = {"do": "missed", "run": self.terms.run, "number": number, **proof}
            said = self._ask_one(name, pack(missed, asked))
            if said is None or said[0].get("behind") != number + 1:
                return None
            number += 1
        said = self._ask_one(name, message)
        return None if said is None or "behind" in said[0] else said

    def _ask_one(self, name: str, message: bytes) -> tuple[dict[str, Any], bytes] | None:
        """What one party answers, if it does."""
        reply = self._channel.ask({name: message}).get(name)
        return None if reply is None else self._understood(name, reply)

    @staticmethod
    def _missing(replies: Iterable[str], names: Iterable[str]) -> list[str]:
        there = set(replies)
        return [name for name in names if name not in there]


def _printable(text: Any) -> str:
    """A party's words without what could move a terminal's cursor or change its colours."""
    return "".join(character if character.isprintable() else "?" for character in str(text)[:MOST_REASON])


def _opened(shares: dict[str, str], owners: Iterable[str]) -> dict[str, bytes]:
    return {owner: bytes.fromhex(shares[owner]) for owner in owners}


def _bundle(replies: Replies) -> bytes:
    """Several answers in one entry of the journal."""
    return pack({name: pack(*reply).hex() for name, reply in replies.items()})


def _unbundle(entry: bytes) -> Replies:
    return {name: unpack(bytes.fromhex(reply)) for name, reply in sorted(unpack(entry)[0].items())}


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "Nobody"
