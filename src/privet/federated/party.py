"""A party: answers a coordinator's questions about its own records, within its own limit, once each.

What a party promises, whatever the coordinator does:

- a question is checked and charged to the party's own ledger before anything is counted; one that its limit, its list
  of allowed questions or its least number of colluders does not allow is refused;
- what leaves is noised, and masked unless the noise is the party's own and whole (``masking.py``);
- an answer is stored before it is sent, and a repeated question gets the stored bytes: never fresh noise, never a mask
  twice. Another question under the same number is refused;
- masks cancel only between parties that were asked the same and were told the same before (``terms.question_context``);
- it signs one receipt, of at least what it has spent, and answers nothing more in that run;
- one process at a time has its state;
- for one question it helps to read one sum, of at least ``Terms.threshold`` parties: where drop-outs are tolerated, it
  signs one list of those who answered, and helps when it sees that as many parties have signed the same.
"""

from __future__ import annotations

import math
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privet.curators.own import schema_digest
from privet.curators.party import QUESTIONS, SUMS, PartyRecords
from privet.errors import BudgetError, CapabilityError, FederatedError, LeakError, PrivetError
from privet.federated.identity import Identity, Known, check_signature
from privet.federated.journal import Journal
from privet.federated.masking import (
    SEED_BYTES,
    SHARE_BYTES,
    Stream,
    deal_seed,
    masked,
    opened,
    pair_secret,
    pair_seed,
    sealed,
)
from privet.federated.terms import (
    Terms,
    history_after,
    join_statement,
    list_statement,
    question_context,
    receipt_statement,
)
from privet.federated.wire import pack, unpack
from privet.privacy.kept import lock
from privet.privacy.ledger import Amount, Ledger, show
from privet.privacy.receipt import Event, Receipt, spending
from privet.privacy.zcdp import rho_of
from privet.schema import Schema


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
        self.limit = limit
        self.delta = delta
        self._identity = identity
        self._known = known
        self._data = X, y
        self._allowed = frozenset(allowed)
        self._least_colluders = least_colluders
        self._state = state
        self._seed = seed
        self._log = log
        self._journals: dict[str, Journal] = {}
        self._run: _Run | None = None
        self._closed = False
        self._lock_file: int | None = None
        if state is not None:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock_file = lock(state / "party")

    def close(self) -> None:
        """Let another process have the state; nothing is answered any more."""
        self._closed = True
        self._run = None
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def handle(self, message: bytes) -> bytes:
        """Answer a message. A refusal says why, in words that depend on nothing private."""
        done = False
        try:
            if self._closed:
                raise FederatedError("This party has stopped.")
            words, _ = unpack(message)
            answers = {
                "join": self._join,
                "ask": self._ask,
                "missed": self._missed,
                "confirm": self._confirm,
                "unmask": self._unmask,
                "sign": self._sign,
            }
            reply = answers[words["do"]](words, message)
            done = True
            return reply
        except (BudgetError, CapabilityError, FederatedError, LeakError) as error:
            reason = str(error)
        except PrivetError as error:  # about the data: for its owner only
            self._log(f"cannot answer: {error}")
            reason = "this party cannot answer; its own log says why"
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError):
            reason = "the message makes no sense"
        except OSError as error:
            self._log(f"cannot keep what would be answered, so nothing is: {error}")
            reason = "this party cannot answer; its own log says why"
        finally:
            if not done:
                self._run = None  # what was half done is forgotten: the journal has what was answered
        self._log(f"refused: {reason}")
        return pack({"refused": reason})

    # -- joining a run ---------------------------------------------------------------------------------------------

    def _join(self, words: dict[str, Any], message: bytes) -> bytes:
        terms = Terms.of_words(words["terms"])
        self._accept(terms)
        journal = self._journal(terms.run, new=True)
        if journal.get("run") is None:
            key = X25519PrivateKey.generate()
            journal.put("run", pack({"terms": terms.words}, key.private_bytes_raw()))
            self._log(f"joined run {terms.run[:8]} of {', '.join(terms.parties)}")
        run = self._open(terms.run)
        if run.terms != terms:
            raise FederatedError("This run has other terms.")
        public = run.key.public_key().public_bytes_raw()
        if journal.get("join") is None:
            signature = self._identity.sign(join_statement(terms, public))
            reproducible = self._seed is not None
            journal.put("join", pack({"key": public.hex(), "signature": signature.hex(), "reproducible": reproducible}))
        return _kept(journal, "join")

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
        number = int(words["number"])
        journal = self._journal(words["run"])
        stored = journal.get(f"{number:06}")
        if stored is not None:
            _, asked, reply = _entry(stored)
            if asked != message:
                raise FederatedError(f"Question {number} was another one, and it is answered.")
            return reply
        run = self._unsigned(words["run"])
        if number != run.next:
            return pack({"behind": run.next})
        if run.records.records.ledger.root.limit <= 0:
            raise BudgetError(f"{self.name} has nothing left of its limit of epsilon {show(self.limit)}.")
        if words["question"]["do"] not in self._allowed:
            raise FederatedError(f"{self.name} does not answer {words['question']['do']!r}, only {self._allows()}.")
        if number == 0:
            run.meet(words["keys"], self._known, self.name)
        reply, kept = run.answer(words, message, self.name)
        journal.put(f"{number:06}", _kept_entry({**run.spent, **kept}, message, reply))
        run.next += 1
        self._log(
            f"run {run.terms.run[:8]}, question {number}: {_said(words['question'], run.records)}; spent epsilon "
            f"{show(run.records.records.ledger.spent)}{'' if self.limit == math.inf else f' of {show(self.limit)}'}"
        )
        return reply

    def _missed(self, words: dict[str, Any], message: bytes) -> bytes:
        """Do what came along with a question that others answered while this party was away. It is never answered."""
        number = int(words["number"])
        journal = self._journal(words["run"])
        run = self._unsigned(words["run"])
        if number != run.next:
            return pack({"behind": run.next})
        if number == 0:
            run.meet(words["keys"], self._known, self.name)
        run.do(words)
        journal.put(f"{number:06}", _kept_entry(run.spent, message, pack({"missed": number})))
        run.next += 1
        return pack({"behind": run.next})

    def _allows(self) -> str:
        return ", ".join(sorted(self._allowed))

    def _confirm(self, words: dict[str, Any], message: bytes) -> bytes:
        """Sign the list of those who answered a question: one for each question, for good."""
        number, listed = int(words["number"]), list(words["answered"])
        run = self._open(words["run"])
        kept, asked = self._answered(words)
        run.check_list(listed, asked, self.name)
        self._journal(words["run"]).put(f"{number:06}list", pack({"answered": listed}))
        return pack({"signature": self._identity.sign(list_statement(_context(kept), listed)).hex()})

    def _unmask(self, words: dict[str, Any], message: bytes) -> bytes:
        """Help to read the sum of the list that was signed here, if as many others as it takes have signed it too."""
        number, listed = int(words["number"]), list(words["answered"])
        run = self._open(words["run"])
        journal = self._journal(words["run"])
        stored = journal.get(f"{number:06}help")
        kept, asked = self._answered(words)
        if journal.get(f"{number:06}list") != pack({"answered": listed}):
            raise FederatedError(f"{self.name} has not signed this list of those who answered question {number}.")
        if stored is not None:
            return stored
        signatures = dict(words["signatures"])
        if len(signatures) < run.terms.threshold or not set(signatures) <= set(listed):
            raise FederatedError(f"Too few parties have signed this list: the terms need {run.terms.threshold}.")
        statement = list_statement(_context(kept), listed)
        for name, signature in signatures.items():
            known = {**self._known, self.name: self._identity.public}
            check_signature(known, name, statement, bytes.fromhex(signature))
        reply = run.unmask(listed, words["shares"], kept, asked, self.name)
        journal.put(f"{number:06}help", reply)
        return reply

    def _answered(self, words: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """What was kept of a question that was answered here, and the question."""
        entry = self._journal(words["run"]).get(f"{int(words['number']):06}")
        if entry is None:
            raise FederatedError(f"Question {words['number']} was not asked here.")
        kept, asked, _ = _entry(entry)
        if "own_share" not in kept:
            raise FederatedError("There is nothing to unmask.")
        return kept, asked

    # -- the receipt -------------------------------------------------------------------------------------------------

    def _sign(self, words: dict[str, Any], message: bytes) -> bytes:
        """Sign a receipt that lists all that was answered here; what others answered while this one was away, too.

        One receipt for a run, and its end: nothing is answered in it afterwards that the receipt would not list.
        """
        run = self._open(words["run"])
        journal = self._journal(words["run"])
        statement = receipt_statement(run.terms, self.name, words["receipt"])
        if (signed := journal.get("signed")) is not None:
            before, reply = unpack(signed)
            if before["statement"] != statement.hex():
                raise FederatedError(f"{self.name} has signed another receipt of this run, which is closed.")
            return reply
        receipt = Receipt.from_json(words["receipt"])
        receipt.verify()
        own = run.records.records.ledger.events
        if not lists_all(receipt.events, own) or receipt.spent < spending(own, receipt.at_delta):
            raise FederatedError("This receipt does not list all that was asked here.")
        if receipt.trust != run.terms.trust:
            raise FederatedError("This receipt says something else about trust than the terms.")
        if self._seed is not None and not receipt.void:
            raise FederatedError(f"The noise of {self.name} can be reproduced: a receipt of this run is void.")
        reply = pack({"signature": self._identity.sign(statement).hex()})
        journal.put("signed", pack({"statement": statement.hex()}, reply))
        self._log(f"run {run.terms.run[:8]}: signed the receipt, epsilon {show(receipt.spent)}; the run is closed")
        return reply

    # -- runs and what is kept of them -------------------------------------------------------------------------------

    def _journal(self, run: str, new: bool = False) -> Journal:
        """What is kept of a run; only one that is joined now gets a folder."""
        if not (isinstance(run, str) and len(run) == 32 and run.isalnum()):
            raise FederatedError("There is no such run.")
        if run not in self._journals:
            if not new and (self._state is None or not (self._state / run).is_dir()):
                raise FederatedError("This party has not joined this run, or has lost what it kept of it.")
            self._journals[run] = Journal(None if self._state is None else self._state / run)
        return self._journals[run]

    def _unsigned(self, name: str) -> _Run:
        """A run that goes on."""
        if self._journal(name).get("signed") is not None:
            raise FederatedError(f"{self.name} has signed the receipt of this run, which is closed.")
        return self._open(name)

    def _open(self, name: str) -> _Run:
        """The run as its journal says: after a restart everything is done again but what leaves."""
        if self._run is not None and self._run.terms.run == name:
            return self._run
        journal = self._journal(name)
        kept = journal.get("run")
        if kept is None:
            raise FederatedError("This party has not joined this run, or has lost what it kept of it.")
        words, key = unpack(kept)
        terms = Terms.of_words(words["terms"])
        self._accept(terms)  # again: the party's file may have changed since
        ledger = Ledger(self.limit, self.delta, whole_orders=True)
        limit, ledger.root.limit = ledger.root.limit, math.inf  # what was answered before was within it
        seed = None if self._seed is None else [self._seed, int.from_bytes(sha256(self.name.encode()).digest()[:4])]
        records = PartyRecords(*self._data, self.schema, ledger, terms.of, seed, Stream(key, b"privet parts"))
        run = _Run(terms, X25519PrivateKey.from_private_bytes(key), records)
        while (stored := journal.get(f"{run.next:06}")) is not None:
            _, asked, _ = _entry(stored)
            again, _ = unpack(asked)
            if run.next == 0:
                run.meet(again["keys"], self._known, self.name)
            if again["do"] == "ask":
                run.answered(again)  # charged again, and thrown away: what left is in the journal
            else:
                run.do(again)
            run.next += 1
        ledger.root.limit = limit
        if self.limit < math.inf:
            ledger.withhold(self._spent_elsewhere(name))
        self._run = run
        return run

    def _spent_elsewhere(self, but: str) -> Fraction:
        """What all other runs have spent, in the currency of this party's limit: of each, what its last entry says."""
        if self._state is not None and self._state.is_dir():
            for folder in self._state.iterdir():
                if folder.is_dir():
                    self._journal(folder.name)
        spent = Fraction(0)
        for name, journal in self._journals.items():
            number = 0
            while name != but and journal.get(f"{number + 1:06}") is not None:
                number += 1
            last = None if name == but else journal.get(f"{number:06}")
            if last is not None:
                spent += self._in_own_currency(_entry(last)[0])
        return spent

    def _in_own_currency(self, kept: dict[str, Any]) -> Fraction:
        spent = Fraction(kept["spent"])
        if kept["currency"] == "epsilon":
            return spent if self.delta is None else rho_of("geometric", spent)
        if self.delta is None:
            raise BudgetError(f"{self.name} has spent with a delta before: its limit needs one, too.")
        return spent


class _Run:
    """What a party holds of one run: the terms, its key, the others' secrets, its records with their nodes."""

    def __init__(self, terms: Terms, key: X25519PrivateKey, records: PartyRecords) -> None:
        self.terms = terms
        self.key = key
        self.records = records
        self.next = 0
        self.history = terms.digest
        self._secrets: dict[str, bytes] = {}

    @property
    def spent(self) -> dict[str, str]:
        """What it has spent, for the journal."""
        root = self.records.records.ledger.root
        return {"spent": str(root.spent), "currency": root.currency}

    def meet(self, keys: dict[str, list[str]], known: Known, me: str) -> None:
        """Take the others' keys for this run, each signed by its party under the same terms."""
        if sorted(keys) != list(self.terms.parties):
            raise FederatedError("The keys are not those of the parties.")
        for name, (key, signature) in keys.items():
            public = bytes.fromhex(key)
            if name == me:
                if public != self.key.public_key().public_bytes_raw():
                    raise FederatedError("Somebody gave another key in this party's name.")
                continue
            check_signature(known, name, join_statement(self.terms, public), bytes.fromhex(signature))
            self._secrets[name] = pair_secret(self.key, public, self.terms.digest)

    def do(self, words: dict[str, Any]) -> None:
        for told in words["told"]:
            self.records.tell(**told)
        self.history = history_after(self.history, self.next, words["told"])

    def answered(self, words: dict[str, Any]) -> tuple[Any, Any]:
        """The private answer, with its noise and without masks: it must not leave like this."""
        self.do(words)
        return self.records.answer(**words["question"])

    def answer(self, words: dict[str, Any], message: bytes, me: str) -> tuple[bytes, dict[str, Any]]:
        """The reply to a question, and what to keep of it beside the reply."""
        roster = list(words["roster"])
        if roster != [name for name in self.terms.parties if name in set(roster)] or me not in roster:
            raise FederatedError("The list of those who are asked makes no sense.")
        if len(roster) < self.terms.threshold:
            raise FederatedError(f"Too few parties are asked: the terms need {self.terms.threshold}.")
        context = question_context(self.history, message)
        said, numbers = self.answered(words)
        if self.terms.noise == "own" or words["question"]["do"] not in SUMS:
            return pack({"said": said}, numbers.astype("<i8").tobytes()), {}
        seeds = {name: pair_seed(self._secrets[name], context) for name in roster if name != me}
        if not self.terms.double:
            return pack({"said": None}, masked(numbers, me, seeds).astype("<u8").tobytes()), {}
        own_seed = secrets.token_bytes(SEED_BYTES)
        dealt = {me: own_seed, **(seeds if self.terms.deals_pairs else {})}
        shares = {name: deal_seed(seed, self.terms.threshold, self.terms.parties) for name, seed in dealt.items()}
        boxes = {
            name: sealed(self._secrets[name], context, me, b"".join(own[name] for own in shares.values())).hex()
            for name in roster
            if name != me
        }
        reply = pack({"said": None, "shares": boxes}, masked(numbers, me, seeds, own_seed).astype("<u8").tobytes())
        return reply, {"own_share": shares[me][me].hex(), "context": context.hex()}

    def check_list(self, listed: list[str], asked: bytes, me: str) -> None:
        roster = unpack(asked)[0]["roster"]
        if listed != [name for name in roster if name in set(listed)] or me not in listed:
            raise FederatedError("The list of those who answered makes no sense.")
        if len(listed) < self.terms.threshold:
            raise FederatedError(f"Too few parties have answered: the terms need {self.terms.threshold}.")

    def unmask(self, listed: list[str], boxes: dict[str, str], kept: dict[str, Any], asked: bytes, me: str) -> bytes:
        """This party's part in reading one sum: shares of the listed parties' own seeds, seeds with the others.

        Of its own seed, too, it gives its one share and not the seed: who would get that from a party alone, while the
        others took it for missing, could read its answer. Where several may drop out it also gives its shares of the
        seeds that the listed have with the missing: those of one who has left meanwhile are needed, the others' the
        coordinator hears from themselves.
        """
        roster = unpack(asked)[0]["roster"]
        context = _context(kept)
        missing = [name for name in roster if name not in listed]
        shares, pairs = {me: kept["own_share"]}, {}
        for name in listed:
            if name == me:
                continue
            box = opened(self._secrets[name], context, name, bytes.fromhex(boxes[name]))
            own, of_pairs = self._shares_of(name, box, roster)
            shares[name] = own.hex()
            pairs[name] = {gone: of_pairs[gone].hex() for gone in missing if gone in of_pairs}
        seeds = {name: pair_seed(self._secrets[name], context).hex() for name in missing}
        return pack({"shares": shares, "seeds": seeds, "pairs": pairs})

    def _shares_of(self, dealer: str, box: bytes, roster: list[str]) -> tuple[bytes, dict[str, bytes]]:
        """What a dealer's box holds: a share of its own seed, and of its seeds with the others on the roster."""
        names = [dealer, *((name for name in roster if name != dealer) if self.terms.deals_pairs else ())]
        if len(box) != SHARE_BYTES * len(names):
            raise FederatedError(f"The shares from {dealer} make no sense.")
        own, *others = (box[i : i + SHARE_BYTES] for i in range(0, len(box), SHARE_BYTES))
        return own, dict(zip(names[1:], others))


def _kept_entry(kept: dict[str, Any], asked: bytes, reply: bytes) -> bytes:
    return pack({**kept, "asked": len(asked)}, asked + reply)


def _entry(entry: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    kept, both = unpack(entry)
    return kept, both[: kept["asked"]], both[kept["asked"] :]


def _context(kept: dict[str, Any]) -> bytes:
    return bytes.fromhex(kept["context"])


def _kept(journal: Journal, name: str) -> bytes:
    entry = journal.get(name)
    assert entry is not None
    return entry


def _said(question: dict[str, Any], records: PartyRecords) -> str:
    asked = question["asked"]["asked"] if isinstance(question["asked"], dict) else question["asked"]
    currency = records.nodes[asked[0][0]].scope.currency
    budgets = sorted({float(Fraction(amount)) for amount in question["budgets"]})
    return f"{question['do']} of {len(asked)} node(s) for {currency} {', '.join(f'{each:.4g}' for each in budgets)}"


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
