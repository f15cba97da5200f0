"""What there is to see at a server of a joint training, and at those who ask it: limits, users, certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from privet.consortium.net.certificates import standing
from privet.consortium.net.channel import connect
from privet.consortium.net.links import server_name
from privet.consortium.servers.config import Config
from privet.consortium.servers.users import users_of
from privet.errors import MpcError
from privet.privacy.amounts import show
from privet.privacy.ledger import Ledger

TO_CHECK = 5.0
"""Seconds that a server has to answer a check."""

Status = dict[str, Any]


def status(config: Config) -> Status:
    """What a program's own files say, whichever program it is. No program is asked."""
    known = [(f"{config.name} (own)", config.identity.certificate.read_bytes())]
    known += [(server_name(i), peer.certificate) for i, peer in enumerate(config.servers) if i != config.party]
    known += [*config.owners.items(), ("trainer", config.trainer)]
    known += [(name, certificate) for name, (certificate, _) in config.users.items()]
    known = [each for i, each in enumerate(known) if i == 0 or each[1] != known[0][1]]
    own = {} if config.party is None else _server(config, config.party)
    return {**own, "certificates": [standing(*each) for each in known]}


def checks(config: Config) -> list[Status]:
    """Whether each server, but for this one, can be reached, and as what it knows this program. Nothing is asked."""
    found = []
    for i, peer in enumerate(config.servers):
        if i == config.party:
            continue
        try:
            line = connect(peer.address, config.identity, peer.certificate, peer=server_name(i), timeout=TO_CHECK)
        except MpcError as error:
            found.append({"server": server_name(i), "problems": [str(error)]})
            continue
        with line:
            found.append({"server": server_name(i), "knows this program as": line.known_as, "problems": []})
    return found


def _server(config: Config, party: int) -> Status:
    spent, runs = Fraction(0), []
    if config.ledger is not None and config.ledger.exists():
        ledger = Ledger.open(config.ledger)
        assert ledger.file is not None
        spent = Fraction(ledger.spent)
        for line in ledger.file.lines():
            state = "closed" if line.settled else "open"
            runs.append({"run": line.what, "state": state, "spent": show(line.amount), "began": line.began})
    counts = users_of(config) if config.users else None
    models = sorted(config.models.glob("*.shares")) if config.models is not None else []
    return {
        "server": server_name(party),
        "limit": show(config.epsilon),
        "spent": show(spent),
        "left": show(max(config.epsilon - spent, Fraction(0))),
        "runs": runs,
        "users": [{"user": name, "queries left": counts.left(name)} for name in config.users] if counts else [],
        "hidden models": [{"model": path.stem, "kept": _when(path.stat().st_mtime)} for path in models],
    }


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
