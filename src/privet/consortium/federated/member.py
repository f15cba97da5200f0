"""A member: a party within one run, from what it was told so far to masked answers and help to read their sum.

What it has answered before, and what it may answer at all, is its party's to know (``party.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privet.consortium.federated.identity import Identity, Known, check_signature
from privet.consortium.federated.masking import (
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
from privet.consortium.federated.run_state import Entry
from privet.consortium.federated.terms import Terms, history_after, join_statement, list_statement, question_context
from privet.consortium.federated.wire import hex_bytes, names, nonsense, pack, texts, unpack, word
from privet.curators.owners.party_records import SUMS, PartyRecords
from privet.errors import FederatedError
from privet.privacy.amounts import show
from privet.privacy.ledger import Ledger


class Member:
    """``next`` is the number of the question that it expects, ``history`` all it was told before that, in short."""

    def __init__(self, terms: Terms, key: bytes, identity: Identity, known: Known, records: PartyRecords) -> None:
        self.terms = terms
        self.records = records
        self.next = 0
        self.history = terms.digest
        self._me = identity.name
        self._identity = identity
        self._known = {**known, identity.name: identity.public}
        self._key = X25519PrivateKey.from_private_bytes(key)
        self._secrets: dict[str, bytes] = {}

    @property
    def public_key(self) -> bytes:
        """Its key for this run, as the others get it."""
        return self._key.public_key().public_bytes_raw()

    @property
    def ledger(self) -> Ledger:
        return self.records.ledger

    # -- what is told and asked --------------------------------------------------------------------------------------

    def do(self, words: dict[str, Any], message: bytes) -> None:
        """Do what came along with a question, this message; with the first one come the others' keys."""
        if self.next == 0:
            self.meet(signed_keys(words))
        for told in word(words, "told", list):
            self.records.tell(told)
        self.history = history_after(self.history, message)
        self.next += 1

    def meet(self, keys: dict[str, list[Any]]) -> None:
        """Take the others' keys for this run, each signed by its party under the same terms."""
        if sorted(keys) != list(self.terms.parties):
            raise FederatedError("The keys are not those of the parties.")
        for name, (key, signature, heard) in keys.items():
            public = hex_bytes(key)
            if name == self._me:
                if public != self.public_key:
                    raise FederatedError("Somebody gave another key in this party's name.")
                continue
            check_signature(self._known, name, join_statement(self.terms, public, heard), hex_bytes(signature))
            self._secrets[name] = pair_secret(self._key, public, self.terms.digest)

    def count(self, words: dict[str, Any], message: bytes) -> tuple[Any, Any]:
        """The private answer, paid for, with its noise and without masks: it must not leave like this.

        The same for the same question, where it is one of the sums that masks hide.
        """
        context = self.context(message)
        self.do(words, message)
        self.records.tie(context)
        return self.records.answer(words["question"])

    def context(self, message: bytes) -> bytes:
        """What the noise and the masks of the answer to this message are bound to, if it is the next question."""
        return question_context(self.history, message)

    def answer(self, words: dict[str, Any], message: bytes) -> Entry:
        """Answer a question. The answer leaves masked, unless it has all of its noise."""
        roster = names(words, "roster")
        self._check_among(roster, self.terms.parties, "are asked")
        context = self.context(message)
        said, numbers = self.count(words, message)
        if self.terms.noise == "own" or words["question"]["do"] not in SUMS:
            return Entry(self._spent, message, pack({"said": said}, numbers.astype("<i8").tobytes()))
        reply, noted = self._masked(numbers, context, roster)
        return Entry({**self._spent, **noted}, message, reply)

    def miss(self, words: dict[str, Any], message: bytes) -> Entry:
        """Do what came along with a question that others answered while this party was away, and no more.

        Where these are sums, the others' signatures have to show that this party is in none. It may have answered, and
        have forgotten that and what it cost: but then either it is on the one list that was signed, or its answer can
        never be read.
        """
        _, asked = unpack(message)
        question, _ = unpack(asked)
        if (question.get("do"), question.get("run"), question.get("number")) != ("ask", self.terms.run, self.next):
            raise FederatedError("What was missed is not the next question.")
        if not self.terms.dropouts:
            raise FederatedError("Nobody can have missed a question: these terms tolerate no drop-outs.")
        if self.terms.double and word(word(question, "question", dict), "do", str) in SUMS:
            listed = names(words, "answered")
            if self._me in listed:
                raise FederatedError(f"{self._me} has answered this question, others have signed.")
            self.check_confirmed(listed, self.context(asked), texts(words, "signatures"))
        missed = pack({"missed": self.next})
        self.do(question, asked)
        return Entry(self._spent, message, missed)

    def again(self, entry: Entry) -> None:
        """Do again what an entry of the diary says, after a restart: charged, and thrown away, for that has left."""
        words, asked = unpack(entry.asked)
        if words["do"] == "ask":
            self.count(words, entry.asked)
        else:
            self.do(unpack(asked)[0], asked)

    @property
    def _spent(self) -> dict[str, Any]:
        root = self.ledger.root
        return {"spent": str(root.spent), "currency": root.currency, "unit": self.ledger.unit}

    def said(self, question: dict[str, Any]) -> str:
        """A question that was answered, and its price, for the party's log."""
        asked = question["asked"]["asked"] if isinstance(question["asked"], dict) else question["asked"]
        currency = self.records.currency(asked)
        budgets = sorted({Fraction(amount) for amount in question["budgets"]})
        return f"{question['do']} of {len(asked)} node(s) for {currency} {', '.join(map(show, budgets))}"

    def _masked(self, numbers: Any, context: bytes, roster: Sequence[str]) -> tuple[bytes, dict[str, Any]]:
        """The reply, and what to note of it: where parties may drop out, a share of each seed goes along to each."""
        me = self._me
        seeds = {name: pair_seed(self._secrets[name], context) for name in roster if name != me}
        if not self.terms.double:
            return pack({"said": None}, masked(numbers, me, seeds).astype("<u8").tobytes()), {}
        own = Stream(self._identity.secret(b"own masks|" + self._key.private_bytes_raw()), context)
        own_seed = own(SEED_BYTES)
        dealt = {me: own_seed, **(seeds if self.terms.deals_pairs else {})}
        shares = {name: deal_seed(seed, self.terms.threshold, self.terms.parties, own) for name, seed in dealt.items()}
        boxes = {
            name: sealed(self._secrets[name], context, me, b"".join(each[name] for each in shares.values())).hex()
            for name in roster
            if name != me
        }
        reply = pack({"said": None, "shares": boxes}, masked(numbers, me, seeds, own_seed).astype("<u8").tobytes())
        return reply, {"own_share": shares[me][me].hex(), "context": context.hex()}

    # -- one sum of those who answered -------------------------------------------------------------------------------

    def check_list(self, listed: Sequence[str], entry: Entry) -> None:
        """Raise unless these may be those who answered."""
        self._check_among(listed, unpack(entry.asked)[0]["roster"], "have answered")

    def _check_among(self, some: Sequence[str], everybody: Sequence[str], did: str) -> None:
        """Raise unless these are enough of everybody, in order, this party among them."""
        if some != [name for name in everybody if name in set(some)] or self._me not in some:
            raise FederatedError(f"The list of those who {did} makes no sense.")
        if len(some) < self.terms.threshold:
            raise FederatedError(f"Too few parties {did}: the terms need {self.terms.threshold}.")

    def confirm(self, listed: Sequence[str], entry: Entry) -> bytes:
        return pack({"signature": self._identity.sign(list_statement(entry.context, listed)).hex()})

    def check_confirmed(self, listed: Sequence[str], context: bytes, signatures: dict[str, str]) -> None:
        """Raise unless as many as it takes, all of them listed, have signed this list."""
        if len(signatures) < self.terms.threshold or not set(signatures) <= set(listed):
            raise FederatedError(f"Too few parties have signed this list: the terms need {self.terms.threshold}.")
        statement = list_statement(context, listed)
        for name, signature in signatures.items():
            check_signature(self._known, name, statement, hex_bytes(signature))

    def unmask(self, listed: Sequence[str], entry: Entry, boxes: dict[str, str]) -> bytes:
        """This party's part in reading one sum: shares of the listed parties' own seeds, seeds with the others.

        Of its own seed, too, it gives its one share and not the seed: who would get that from a party alone, while the
        others took it for missing, could read its answer. Where several may drop out it also gives its shares of the
        seeds that the listed have with the missing: those of one who has left meanwhile are needed, the others' the
        coordinator hears from themselves.
        """
        roster = unpack(entry.asked)[0]["roster"]
        missing = [name for name in roster if name not in listed]
        shares, pairs = {self._me: entry.noted["own_share"]}, {}
        for name in listed:
            if name == self._me:
                continue
            box = opened(self._secrets[name], entry.context, name, hex_bytes(boxes.get(name)))
            own, of_pairs = self._shares_of(name, box, roster)
            shares[name] = own.hex()
            pairs[name] = {gone: of_pairs[gone].hex() for gone in missing if gone in of_pairs}
        seeds = {name: pair_seed(self._secrets[name], entry.context).hex() for name in missing}
        return pack({"shares": shares, "seeds": seeds, "pairs": pairs})

    def _shares_of(self, dealer: str, box: bytes, roster: Sequence[str]) -> tuple[bytes, dict[str, bytes]]:
        """What a dealer's box holds: a share of its own seed, and of its seeds with the others on the roster."""
        names = [dealer, *((name for name in roster if name != dealer) if self.terms.deals_pairs else ())]
        if len(box) != SHARE_BYTES * len(names):
            raise FederatedError(f"The shares from {dealer} make no sense.")
        own, *others = (box[i : i + SHARE_BYTES] for i in range(0, len(box), SHARE_BYTES))
        return own, dict(zip(names[1:], others))


def signed_keys(words: dict[str, Any]) -> dict[str, list[Any]]:
    """The parties' keys for a run, as the first question brings them: [key, signature, where others were met].

    The last is a list of [run, whether it is closed, names].
    """
    keys = word(words, "keys", dict)
    for said in keys.values():
        if type(said) is not list or [type(part) for part in said] != [str, str, list]:
            raise nonsense("keys")
        for met in said[2]:
            if type(met) is not list or [type(part) for part in met] != [str, bool, list]:
                raise nonsense("keys")
    return keys
