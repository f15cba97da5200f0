"""A party: answers a coordinator's questions about its own records, within its own limit, once each.

What a party promises, whatever the coordinator does:

- a question is checked and charged to the party's own ledger before anything is counted; one that its limit, its list
  of allowed questions or its least number of colluders does not allow is refused;
- what leaves is noised, and masked unless the noise is the party's own and whole (``member.py``);
- an answer is stored before it is sent, and a repeated question gets the stored bytes: never fresh noise, never a mask
  twice. Another question under the same number is refused;
- masks cancel only between parties that were asked the same and were told the same before (``terms.question_context``);
- it signs one receipt, of at least what it has spent, and answers nothing more in that run, whose key it drops;
- if what it keeps is an older copy (a backup was restored), a masked answer that it gives again has the same bytes
  (``privacy/repeatable_noise.py``), and it joins no run with a party that has met it in one that it has forgotten;
- one process at a time has its state;
- for one question it helps to read one sum, of at least ``Terms.threshold`` parties: where drop-outs are tolerated, it
  signs one list of those who answered, and helps when it sees that as many parties have signed the same.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privet.consortium.federated.allowance import Allowance, Need
from privet.consortium.federated.identity import Identity, Known
from privet.consortium.federated.masking import Stream
from privet.consortium.federated.member import Member, signed_keys
from privet.consortium.federated.run_state import Diary, Entry
from privet.consortium.federated.signed import SignedReceipt, answered_of, check_answered, checked_receipt
from privet.consortium.federated.terms import (
    OTHER_PROTOCOL,
    PROTOCOL,
    RUN,
    VERSION,
    Terms,
    join_statement,
    receipt_statement,
)
from privet.consortium.federated.wire import count, names, nonsense, pack, texts, unpack, word
from privet.curators.owners.party_records import QUESTIONS, PartyRecords
from privet.disk import lock_file, still_named
from privet.errors import BudgetError, CapabilityError, FederatedError, LeakError, PrivetError, ReceiptError
from privet.privacy.amounts import Amount, show
from privet.privacy.ledger import Ledger
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.unit import Unit
from privet.questions.codec import schema_digest
from privet.schema import Schema

_logger = logging.getLogger("privet.party")

MOST_IDLE = 100
"""Runs that were joined and never went on: more would let a coordinator fill the disk. ``give-up`` ends them."""

CANNOT_ANSWER = "this party cannot answer; its own log says why"


class Party:
    """One owner. ``limit`` is the most that all runs together may spend, with ``delta`` if the noise may be Skellam's;
    ``state`` is the folder that remembers them, which is this party's alone until it is closed.

    ``known`` are the other parties' public keys. ``allowed`` are the questions that it answers, ``least_colluders`` is
    the smallest number of colluders that terms must tolerate. ``log`` is told, in words, of every question.
    """

    def __init__(
        self,
        identity: Identity,
        X: Any,
        y: Any,
        schema: Schema,
        known: Known,
        *,
        limit: Amount = math.inf,
        delta: Fraction | float | None = None,
        allowed: Iterable[str] = QUESTIONS,
        least_colluders: int = 0,
        state: Path | None = None,
        seed: Any = None,
        log: Callable[[str], None] = lambda said: None,
    ) -> None:
        self.name = identity.name
        self.schema = schema
        self.allowance = Allowance(identity.name, limit, delta, Unit.of(schema).name)
        self._identity = identity
        self._known = known
        self._data = X, y
        self._allowed = frozenset(allowed)
        self._least_colluders = least_colluders
        self._state = state
        self._seed = seed
        self._log = log
        self._diaries: dict[str, Diary] = {}
        self._member: Member | None = None  # of the run that was asked about last
        self._closed = False
        self._lock_file: int | None = None
        if state is not None:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock_file = _lock(state)
            try:
                self._all()  # so that no closed run has its key any more, even if this was stopped at the end of one
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Let another process have the state; nothing is answered any more."""
        self._closed = True
        self._member = None
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def handle(self, message: bytes) -> bytes:
        """Answer a message. A refusal says why, in words that depend on nothing private.

        Whatever else fails is for this party's owner alone: the log ``privet.party`` has it, with its traceback.
        """
        try:
            return self._answer(message)
        except (BudgetError, CapabilityError, FederatedError, LeakError, ReceiptError) as error:
            reason = str(error)
            _logger.info("refused", exc_info=True)
        except Exception as error:  # about the data, a full disk, or a mistake of ours
            reason = CANNOT_ANSWER
            _logger.exception("cannot answer a message")
            self._log(f"cannot answer: {error if isinstance(error, PrivetError | OSError) else type(error).__name__}")
        self._member = None  # what was half done is forgotten: the diary has what was answered
        self._log(f"refused: {reason}")
        return pack({"refused": reason})

    def _answer(self, message: bytes) -> bytes:
        if (
            self._lock_file is not None
            and self._state is not None
            and not still_named(self._lock_file, _of(self._state))
        ):
            self.close()  # another process may have this party's state now, and neither would see what the other spends
            raise FederatedError(f"The lock of {self.name} was removed, so it has stopped: its owner has to start it.")
        if self._closed:
            raise FederatedError("This party has stopped.")
        words, _ = unpack(message)
        answers = {
            "check": self._check,
            "join": self._join,
            "meet": self._meet,
            "ask": self._ask,
            "missed": self._missed,
            "confirm": self._confirm,
            "unmask": self._unmask,
            "sign": self._sign,
            "keep": self._keep,
        }
        if (do := word(words, "do", str)) not in answers:
            raise nonsense("do")
        return answers[do](words, message)

    def _check(self, words: dict[str, Any], message: bytes) -> bytes:
        """A dry run: what this party would say to such terms. Nothing is joined, charged or counted."""
        problems = []
        spent = self._spent_elsewhere(but="")
        try:
            if words.get("protocol") != PROTOCOL:
                raise FederatedError(_OTHER_VERSION)
            self._accept(Terms.of_words(words.get("terms")))
            if (need := Need.of_words(words)) is not None:
                self.allowance.check(need, spent)
        except (BudgetError, FederatedError) as error:
            problems.append(str(error))
        left, limit = show(self.allowance.left(spent)), show(self.allowance.limit)
        said = {"version": VERSION, "left": left, "limit": limit, "now": time.time(), "problems": problems}
        return pack(said)

    # -- joining a run ---------------------------------------------------------------------------------------------

    def _join(self, words: dict[str, Any], message: bytes) -> bytes:
        if words.get("protocol") != PROTOCOL:
            raise FederatedError(_OTHER_VERSION)
        terms = Terms.of_words(words.get("terms"))
        self._accept(terms)
        if (need := Need.of_words(words)) is not None:
            self.allowance.check(need, self._spent_elsewhere(terms.run))
        if terms.run not in (known := self._all()) and sum(each.idle for each in known.values()) >= MOST_IDLE:
            raise FederatedError(f"{self.name} has joined {MOST_IDLE} runs in which nothing was asked: go on there.")
        diary = self._diary(terms.run, new=True)
        if diary.terms is None:
            place = 1 + max(each.place for each in self._all().values())
            diary.begin(terms, X25519PrivateKey.generate().private_bytes_raw(), place, words.get("needs"))
            self._log(f"joined run {terms.run[:8]} of {', '.join(terms.parties)}")
        if self._terms(terms.run) != terms or diary.needs not in (None, words.get("needs")):
            raise FederatedError("This run was joined with other terms. A coordinator that changes them begins anew.")
        return diary.once("join", lambda: self._joined(self._open(terms.run)))

    def _joined(self, member: Member) -> bytes:
        heard = self._heard(member.terms)
        signature = self._identity.sign(join_statement(member.terms, member.public_key, heard)).hex()
        said = {"key": member.public_key.hex(), "heard": heard, "signature": signature}
        return pack({**said, "reproducible": self._seed is not None})

    def _meet(self, words: dict[str, Any], message: bytes) -> bytes:
        """Look at the others' keys, and at where they were met, before the first question: so nobody pays in vain."""
        run, keys = word(words, "run", str), signed_keys(words)
        self._remember(self._terms(run), keys)
        self._open(run).meet(keys)
        return pack({"met": True})

    def _heard(self, terms: Terms) -> list[list[Any]]:
        """The last run in which each of the others was met, and whether it has closed it: [run, closed, names].

        Each has signed that. Who does not know such a run any more keeps an older copy of its state.
        """
        last: dict[str, tuple[str, bool]] = {}
        for run, diary in sorted(self._all().items(), key=lambda item: item[1].place):
            last |= {name: (run, closed) for name, closed in diary.met().items() if run != terms.run}
        groups: dict[tuple[str, bool], list[str]] = {}
        for name in terms.parties:
            if name != self.name and name in last:
                groups.setdefault(last[name], []).append(name)
        return [[run, closed, names] for (run, closed), names in groups.items()]

    def _remember(self, terms: Terms, keys: dict[str, list[Any]]) -> None:
        """Raise if another party has met this one in a run that is not known, or not known to be closed, here."""
        known = self._all()
        if sorted(keys) != list(terms.parties):
            raise FederatedError("The keys are not those of the parties.")
        for other in terms.parties:
            for run, closed, met in keys[other][2]:
                if self.name not in met or other == self.name:
                    continue
                if run not in known or known[run].terms is None or (closed and known[run].closed is None):
                    raise FederatedError(
                        f"{other} has met {self.name} in a run that {self.name} {'closed' if closed else 'joined'} and "
                        f"does not know any more ({run[:8]!r}): what it keeps was lost, or is an older copy. It has "
                        "forgotten what it spent, so it must not go on: bring its newest state folder back."
                    )

    def _accept(self, terms: Terms) -> None:
        if self.name not in terms.parties:
            raise FederatedError(f"{self.name} is not a party of these terms.")
        if missing := [name for name in terms.parties if name != self.name and name not in self._known]:
            raise FederatedError(f"{self.name} does not know {missing[0]}: it needs their certificate.")
        if terms.schema != schema_digest(self.schema):
            raise FederatedError("The coordinator's schema is not this party's. Give all of them the same file.")
        if terms.noise == "shared" and terms.colluders < self._least_colluders:
            raise FederatedError(
                f"{self.name} takes part only if the noise holds against {self._least_colluders} colluders."
            )

    # -- questions ---------------------------------------------------------------------------------------------------

    def _ask(self, words: dict[str, Any], message: bytes) -> bytes:
        number, run = count(words, "number"), word(words, "run", str)
        question = word(words, "question", dict)
        diary = self._diary(run)
        if not diary.given_up and (before := diary.entry(number)) is not None:
            if before.asked != message:
                raise FederatedError(f"Question {number} was another one, and it is answered.")
            return before.reply
        member = self._open(run)
        if number != member.next:
            return pack({"behind": member.next})
        self._allow(word(question, "do", str), member)
        if number == 0:
            self._remember(member.terms, signed_keys(words))
        entry = member.answer(words, message)
        diary.write(number, entry)
        self._log(
            f"run {run[:8]}, question {number}: {member.said(question)}; spent epsilon {show(member.ledger.spent)} in "
            f"this run, {self.allowance.state(self._spent_elsewhere(but=''))}"
        )
        return entry.reply

    def _allow(self, question: str, member: Member) -> None:
        if member.ledger.root.limit <= 0:
            raise BudgetError(f"{self.name} has nothing left of its limit of epsilon {show(self.allowance.limit)}.")
        if question not in self._allowed:
            allowed = ", ".join(sorted(self._allowed))
            raise FederatedError(f"{self.name} does not answer {question!r}, only {allowed}.")

    def _missed(self, words: dict[str, Any], message: bytes) -> bytes:
        """Take note of a question that others answered while this party was away. It is never answered."""
        number, run = count(words, "number"), word(words, "run", str)
        member = self._open(run)
        if number == member.next:
            entry = member.miss(words, message)
            if number == 0:
                self._remember(member.terms, signed_keys(unpack(unpack(message)[1])[0]))
            self._diary(run).write(number, entry)
        return pack({"behind": member.next})

    # -- one sum of those who answered -------------------------------------------------------------------------------

    def _confirm(self, words: dict[str, Any], message: bytes) -> bytes:
        """Sign the list of those who answered a question: one for each question, for good."""
        number, listed, member, diary, entry = self._listed(words)
        member.check_list(listed, entry)
        diary.settle(number, listed)
        return member.confirm(listed, entry)

    def _unmask(self, words: dict[str, Any], message: bytes) -> bytes:
        """Help to read the sum of the list that was signed here, if as many others as it takes have signed it too."""
        number, listed, member, diary, entry = self._listed(words)
        if not diary.has_settled(number, listed):
            raise FederatedError(f"{self.name} has not signed this list of those who answered question {number}.")

        def help() -> bytes:
            member.check_confirmed(listed, entry.context, texts(words, "signatures"))
            return member.unmask(listed, entry, texts(words, "shares"))

        return diary.once(f"{number:06}help", help)

    def _listed(self, words: dict[str, Any]) -> tuple[int, list[str], Member, Diary, Entry]:
        """What a message about those who answered is about: the question, their list, and what is kept of it here."""
        number, listed, run = count(words, "number"), names(words, "answered"), word(words, "run", str)
        diary = self._diary(run)
        return number, listed, self._open(run), diary, diary.to_unmask(number)

    # -- the receipt -------------------------------------------------------------------------------------------------

    def _sign(self, words: dict[str, Any], message: bytes) -> bytes:
        """Sign a receipt that lists all that was answered here; what others answered while this one was away, too.

        One receipt for a run, and its end: nothing is answered in it afterwards that the receipt would not list.
        """
        run, text = word(words, "run", str), word(words, "receipt", str)
        terms, diary, answered = self._terms(run), self._diary(run), answered_of(words)
        statement = receipt_statement(terms, self.name, text, answered)
        if (closed := diary.closed) is not None:
            before, reply = closed
            if before != statement:
                raise FederatedError(f"{self.name} has signed another receipt of this run, which is closed.")
            return reply
        check_answered(answered, terms)
        diary.check_answered(answered, self.name)
        receipt = checked_receipt(text, terms, self._open(terms.run).ledger.events, Unit.of(self.schema))
        if (need := Need.of_words({"needs": diary.needs})) is not None:
            need.check_receipt(receipt)
        if self._seed is not None and not receipt.void:
            raise FederatedError(f"The noise of {self.name} can be reproduced: a receipt of this run is void.")
        reply = pack({"signature": self._identity.sign(statement).hex()})
        self._member = None  # it has the key
        diary.close(statement, reply)
        self._log(f"run {terms.run[:8]}: signed the receipt, epsilon {show(receipt.spent)}; the run is closed")
        return reply

    def _keep(self, words: dict[str, Any], message: bytes) -> bytes:
        """Keep the receipt with everybody's signatures."""
        run = word(words, "run", str)
        terms, diary = self._terms(run), self._diary(run)
        signed = SignedReceipt(terms, word(words, "receipt", str), texts(words, "signatures"), answered_of(words))
        signed.verify({**self._known, self.name: self._identity.public})
        if diary.closed is None or diary.closed[0] != receipt_statement(
            terms, self.name, signed.receipt, signed.answered
        ):
            raise FederatedError(f"{self.name} has not signed this receipt.")
        diary.once("receipt", lambda: signed.to_json().encode())
        return pack({"kept": True})

    # -- runs and what is kept of them -------------------------------------------------------------------------------

    def _diary(self, run: str, new: bool = False) -> Diary:
        """What is kept of a run; only one that is joined now gets a folder."""
        if not RUN.fullmatch(run):
            raise FederatedError("There is no such run.")
        if run not in self._diaries:
            if not new and (self._state is None or not (self._state / run).is_dir()):
                raise FederatedError(_NOT_JOINED)
            self._diaries[run] = Diary(None if self._state is None else self._state / run)
        return self._diaries[run]

    def _all(self) -> dict[str, Diary]:
        """What is kept of all runs; other folders, such as a disk's lost+found, are none of this party's."""
        for folder in self._state.iterdir() if self._state is not None else ():
            if RUN.fullmatch(folder.name) and folder.is_dir():
                self._diary(folder.name)
        return self._diaries

    def _terms(self, run: str) -> Terms:
        """The terms of a run that was joined with this version, or is closed."""
        diary = self._diary(run)
        if (terms := diary.terms) is None:
            raise FederatedError(_NOT_JOINED)
        if not diary.readable and diary.closed is None:
            raise FederatedError(OTHER_PROTOCOL)
        return terms

    def _open(self, run: str) -> Member:
        """A run that goes on, as its diary says: after a restart everything is done again but what leaves."""
        if self._member is not None and self._member.terms.run == run:
            return self._member
        terms, diary = self._terms(run), self._diary(run)
        if diary.closed is not None:
            raise FederatedError(f"{self.name} has signed the receipt of this run, which is closed.")
        if diary.given_up:
            raise FederatedError(f"{self.name} has given this run up: begin another one.")
        key = diary.key
        self._accept(terms)  # again: the party's file may have changed since
        # What was answered before was within the limit.
        ledger = Ledger(math.inf, self.allowance.delta, whole_orders=True)
        seed = None if self._seed is None else [self._seed, int.from_bytes(sha256(self.name.encode()).digest()[:4])]
        tied = TiedBytes(self._identity.secret(b"noise|" + key))
        records = PartyRecords(*self._data, self.schema, ledger, terms.of, seed, Stream(key, b"privet parts"), tied)
        member = Member(terms, key, self._identity, self._known, records)
        for entry in diary.entries():
            member.again(entry)
        ledger.lower(self.allowance.limit)
        if self.allowance.limit < math.inf:
            ledger.withhold(self._spent_elsewhere(run))
        self._member = member
        return member

    def _spent_elsewhere(self, but: str) -> Fraction:
        """What all other runs have spent, in the currency of this party's limit."""
        return self.allowance.spent(diary for run, diary in self._all().items() if run != but)


def _of(state: Path) -> Path:
    return state / "party.lock"


def _lock(state: Path) -> int | None:
    """Keep other processes from this party's folder until the file that is returned is closed."""
    try:
        return lock_file(_of(state))
    except BlockingIOError:
        raise BudgetError(f"Another process charges {state}. Stop it, or give this one its own place.") from None
    except OSError as error:
        raise BudgetError(f"What is spent cannot be kept in {state} ({error.strerror}).") from None


_OTHER_VERSION = "The coordinator has another version of Privet than this party. Install the same one."
_NOT_JOINED = "This party has not joined this run, or has lost what it kept of it."
