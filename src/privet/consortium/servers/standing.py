"""What an owner says of its budget in a dry run, before anybody pays: never anything that depends on its records."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from privet.consortium.federated.terms import VERSION
from privet.consortium.net.certificates import MOST_DRIFT
from privet.consortium.net.channel import TlsChannel, wait_any
from privet.consortium.servers.jobs import PROTOCOL
from privet.errors import BudgetError, MpcError
from privet.privacy.amounts import Amount, as_written, exact, show
from privet.strict_json import object_of

MOST_STANDING, MOST_STANDINGS = 2**12, 2**20
TO_STAND = 10.0
"""Seconds that an owner has to say how it stands."""

LARGEST = 10**300
"""Above it an amount would be shown in words."""

_VERSION = re.compile(r"[0-9A-Za-z.+]{1,40}")


@dataclass(frozen=True)
class DryRun:
    """Asked by a trainer of each server, and by each server of the owners who wait there: could you take part in a
    training for ``needs``, if there is one in mind?"""

    needs: Fraction | None = None

    def to_bytes(self) -> bytes:
        return json.dumps({"check": None if self.needs is None else str(self.needs)}).encode()

    @classmethod
    def from_bytes(cls, said: bytes) -> DryRun | None:
        """None if it is something else that is said."""
        nonsense = MpcError("The request makes no sense.")
        words = object_of(said, nonsense)
        if words.keys() != {"check"}:
            return None
        needs = words["check"]
        try:
            return cls(None if needs is None else exact(str(needs)))
        except BudgetError as error:
            raise nonsense from error


@dataclass(frozen=True)
class Standing:
    """What is left of an owner's limit, whether what a training needs is, and whose clock and version it has."""

    limit: str
    left: str
    enough: bool
    now: float
    version: str = VERSION
    protocol: int = PROTOCOL

    @classmethod
    def of(cls, limit: Amount, left: Amount, enough: bool) -> Standing:
        return cls(show(limit), show(left), enough, time.time())

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, said: bytes) -> Standing:
        """Only numbers and a version come through: an owner cannot have a server say anything else."""
        nonsense = MpcError("An owner says what is no standing.")
        words = object_of(said, nonsense)
        kinds = {"limit": str, "left": str, "enough": bool, "now": float, "version": str, "protocol": int}
        if {name: type(word) for name, word in words.items()} != kinds or not _VERSION.fullmatch(words["version"]):
            raise nonsense
        try:
            amounts = {name: as_written(words[name]) for name in ("limit", "left")}
        except (OverflowError, ValueError, ZeroDivisionError) as error:
            raise nonsense from error
        if not all(0 <= amount < LARGEST for amount in amounts.values()):  # else a trainer could not read it again
            raise nonsense
        return cls(**{**words, **{name: show(amount) for name, amount in amounts.items()}})

    def problems(self, needs: Fraction | None) -> list[str]:
        """What would keep a training with this owner from its end."""
        found = [] if self.protocol == PROTOCOL else ["it has another version of Privet: install the same one"]
        if abs(drift := self.now - time.time()) > MOST_DRIFT:
            found.append(f"its clock and a server's differ by {abs(drift):,.0f} seconds")
        if needs is not None and not self.enough:
            short = as_written(self.left) < needs
            why = f"it has epsilon {self.left} of {self.limit} left" if short else "it takes part for less (--at-most)"
            found.append(f"{why}, and this model needs {show(needs)}")
        return found


def stands(line: TlsChannel, dry: DryRun) -> dict[str, Any] | None:
    """What an owner says when a server asks how it stands; None if it says nothing sensible, and then its line ends."""
    try:
        line.send(dry.to_bytes())
        if wait_any([line], TO_STAND):
            return asdict(Standing.from_bytes(line.receive(MOST_STANDING, within=TO_STAND)))
    except MpcError:
        pass
    line.close()
    return None


def asked_of(line: TlsChannel, dry: DryRun) -> dict[str, Standing | None]:
    """How a server's owners stand, as it says to a trainer; None of those who do not wait there."""
    nonsense = MpcError(f"{line.peer} says what is no standing of owners.")
    line.send(dry.to_bytes())
    if not wait_any([line], 2 * TO_STAND):
        raise MpcError("it is busy with another request, so that it does not say how owners stand: try again later")
    told = object_of(line.receive(MOST_STANDINGS), nonsense).get("owners")
    if not isinstance(told, dict):
        raise nonsense
    return {
        name: None if said is None else Standing.from_bytes(json.dumps(said).encode()) for name, said in told.items()
    }


def owners_checked(told: Mapping[str, Mapping[str, Standing | None]], needs: Fraction | None) -> list[dict[str, Any]]:
    """One entry for each owner, from what each server, by its name, says of it."""
    found = []
    for name in dict.fromkeys(name for owners in told.values() for name in owners):
        seen = [standing for owners in told.values() if (standing := owners.get(name)) is not None]
        away = [server for server, owners in told.items() if owners.get(name) is None]
        problems = [f"it does not wait at {', '.join(away)}: is it running (privet mpc share)?"] if away else []
        problems += dict.fromkeys(each for standing in seen for each in standing.problems(needs))
        own = {"version": seen[0].version, "left": seen[0].left, "limit": seen[0].limit} if seen else {}
        found.append({"owner": name, **own, "problems": problems})
    return found
