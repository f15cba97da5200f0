"""What there is to see at a server of a joint training, and at those who ask it: limits, users, certificates."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.consortium.consortium_file import SERVER
from privet.consortium.federated.terms import VERSION
from privet.consortium.net.certificates import MOST_DRIFT, standing
from privet.consortium.net.channel import connect
from privet.consortium.net.links import server_name
from privet.consortium.servers.config import TRAINER, Config
from privet.consortium.servers.contacts import Contacts
from privet.consortium.servers.jobs import PROTOCOL
from privet.consortium.servers.standing import DryRun, Standing, asked_of, owners_checked
from privet.consortium.servers.users import users_of
from privet.errors import MpcError
from privet.privacy.amounts import as_written, show
from privet.privacy.ledger import Ledger
from privet.privacy.unit import Unit
from privet.questions.codec import schema_digest

TO_CHECK = 5.0
"""Seconds that a server has to answer a check."""
TO_COME, BETWEEN_CHECKS = 20.0, 1.0
"""Seconds that owners have to connect, and between two checks meanwhile."""

Status = dict[str, Any]


def status(config: Config) -> Status:
    """What a program's own files say, whichever program it is. No program is asked."""
    known = [(f"{config.name} (own)", config.identity.certificate.read_bytes())]
    known += [(server_name(i), peer.certificate) for i, peer in enumerate(config.servers) if i != config.party]
    known += [*config.owners.items(), ("trainer", config.trainer)]
    known += [(name, certificate) for name, (certificate, _) in config.users.items()]
    known = [each for i, each in enumerate(known) if i == 0 or each[1] != known[0][1]]
    own = {} if config.ledger is None else _spending(config, config.ledger)
    own |= _server(config) if config.role == SERVER else {}
    return {
        "name": config.name,
        "role": config.role,
        "version": f"{VERSION}, protocol {PROTOCOL}",
        "covers": Unit.of(config.schema).name,
        **own,
        "certificates": [standing(*each) for each in known],
    }


def checks(config: Config, needs: Fraction | None = None) -> list[Status]:
    """A dry run: whether each server, but for this one, can be reached, as what it knows this program, whether both
    would do the same, and whether it has left what a model needs. Nothing is counted and nothing is spent.

    A trainer also sees how the owners stand who wait for it: they say so by each server, and nothing about records.
    Those who are not there have some time to come."""
    end = time.monotonic() + TO_COME
    while True:
        found, away = _checks(config, needs)
        hopeless = any("version" in each and "server" in each and each["problems"] for each in found)
        if not away or hopeless or time.monotonic() > end:
            return found
        time.sleep(BETWEEN_CHECKS)


def _checks(config: Config, needs: Fraction | None) -> tuple[list[Status], bool]:
    """What is found now, and whether an owner is not there that may still come."""
    found, owners = [], dict[str, dict[str, Standing | None]]()
    for i, peer in enumerate(config.servers):
        if i == config.party:
            continue
        where: Status = {"server": f"{server_name(i)} ({peer.name})"}
        try:
            line = connect(peer.address, config.identity, peer.certificate, peer=server_name(i), timeout=TO_CHECK)
        except MpcError as error:
            found.append({**where, "problems": [str(error)]})
            continue
        told = line.greeting
        found_wrong = problems(told, config, needs)
        with line:
            if line.known_as == TRAINER and told.get("protocol") == PROTOCOL:
                try:
                    owners[line.peer] = asked_of(line, DryRun(needs))
                except MpcError as error:
                    found_wrong.append(str(error))
        seen: Status = {
            "knows this program as": line.known_as,
            "version": told.get("version"),
            "left": told.get("left"),
            **({"queries left": told["queries"]} if "queries" in told else {}),
        }
        found.append({**where, **seen, "owners waiting": told.get("owners", []), "problems": found_wrong})
    away = any(standing is None for told in owners.values() for standing in told.values())
    return found + owners_checked(owners, needs), away


def problems(told: Status, config: Config, needs: Fraction | None = None) -> list[str]:
    """What a server says when somebody connects that would keep a run with it from its end."""
    found = [] if told.get("protocol") == PROTOCOL else ["it has another version of Privet: install the same one"]
    if told.get("schema") != schema_digest(config.schema):
        found.append("it has another schema: accept the same consortium file")
    now = told.get("now")
    if isinstance(now, float) and abs(drift := now - time.time()) > MOST_DRIFT:
        found.append(f"its clock and this one differ by {abs(drift):,.0f} seconds")
    try:
        left = as_written(str(told.get("left")))
    except (OverflowError, ValueError, ZeroDivisionError):
        left = Fraction(0)
    if needs is not None and left < needs:
        found.append(f"it has epsilon {told.get('left')} left, and this model needs {show(needs)}")
    return found


def _spending(config: Config, path: Path) -> Status:
    spent, runs = Fraction(0), []
    if path.exists():
        ledger = Ledger.open(path)
        assert ledger.file is not None
        spent = Fraction(ledger.spent)
        for line in ledger.file.lines():
            state = "closed" if line.settled else "open"
            runs.append({"run": line.what, "state": state, "spent": show(line.amount), "began": line.began})
    left = max(config.epsilon - spent, Fraction(0))
    return {"limit": show(config.epsilon), "spent": show(spent), "left": show(left), "runs": runs}


def _server(config: Config) -> Status:
    counts = users_of(config) if config.users else None
    models = sorted(config.models.glob("*.shares")) if config.models is not None else []
    return {
        "members": [] if config.ledger is None else Contacts(config.ledger).listed(),
        "users": [{"user": name, "queries left": counts.left(name)} for name in config.users] if counts else [],
        "hidden models": [{"model": path.stem, "kept": _when(path.stat().st_mtime)} for path in models],
    }


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
