"""What owners are told of a training before they share anything, and whether they take part.

All three servers make the same offer: whoever lies about its price needs all of them. An owner answers each, and only
when all owners are ready is anything charged: one owner's small limit costs the others nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Protocol

from privet.errors import BudgetError, MpcError
from privet.privacy.amounts import exact, show
from privet.strict_json import object_of

MOST_OFFER = 2**12
READY = "ready"
REFUSALS = {
    "limit": "its own limit has no room for this run",
    "records": "it has more records than the public bound (most_records, or rows for hidden trees)",
    "seeds": "it takes no part in runs whose noise the trainer knows (seeds = true in its own file would allow them)",
    "declined": "its operator has declined",
}
"""Why an owner takes no part, by the word that it sends: it cannot have a server say anything else."""


class OwnersLine(Protocol):
    """What a server talks to an owner over."""

    peer: str

    def send(self, message: bytes) -> None: ...
    def receive(self, most: int = ...) -> bytes: ...


@dataclass(frozen=True)
class TrainingOffer:
    """A training: the most that it may spend, of which estimator, whether hidden, and the bound on owners' records;
    ``seeded`` if the trainer knows its noise, so that it protects nobody."""

    run: str
    model: str
    epsilon: Fraction
    hidden: bool
    most_records: int
    seeded: bool = False

    def to_bytes(self) -> bytes:
        return json.dumps({"offer": {**asdict(self), "epsilon": str(self.epsilon)}}, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, said: bytes) -> TrainingOffer:
        nonsense = MpcError("The servers' offer makes no sense: nothing was shared.")
        words = object_of(said, nonsense).get("offer")
        kinds = {"run": str, "model": str, "epsilon": str, "hidden": bool, "most_records": int, "seeded": bool}
        if not isinstance(words, dict) or {name: type(word) for name, word in words.items()} != kinds:
            raise nonsense
        try:
            return cls(**{**words, "epsilon": exact(words["epsilon"])})
        except BudgetError as error:
            raise nonsense from error

    def __str__(self) -> str:
        kind = "a hidden " if self.hidden else ""
        known = ", with noise that the trainer knows: it protects nobody" if self.seeded else ""
        return f"{kind}{self.model} for at most epsilon {show(self.epsilon)}{known}"


def offered(lines: Sequence[OwnersLine], offer: TrainingOffer) -> None:
    """Make an offer to all owners; raise, naming one that takes no part."""
    for line in lines:
        line.send(offer.to_bytes())
    for line in lines:
        said = line.receive(MOST_OFFER).decode(errors="replace")
        if said != READY:
            why = REFUSALS.get(said, "it does not say why")
            raise MpcError(f"{line.peer} takes no part: {why}. Nothing was spent.")


def same_offer(said: Iterable[bytes]) -> TrainingOffer:
    """What three servers offer, if it is the same."""
    first, *others = said
    if any(other != first for other in others):
        raise MpcError("The servers do not offer the same training: nothing was shared.")
    return TrainingOffer.from_bytes(first)
