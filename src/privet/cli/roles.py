"""What is behind one member's own file, whichever its role: its configuration, its status and a dry run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.screen import warn
from privet.consortium.consortium_file import COORDINATOR, PARTY, TRAINER, USER
from privet.consortium.own_file import OwnFile

if TYPE_CHECKING:
    from privet.consortium.federated.config import CoordinatorConfig, PartyConfig

Status = dict[str, Any]


def status_of(path: Path) -> Status:
    """What the files of the member whose own file this is say."""
    own = OwnFile(path)
    if own.me.role == PARTY:
        from privet.consortium.federated.config import PartyConfig
        from privet.consortium.federated.status import party_status

        found = party_status(PartyConfig.read(path))
    elif own.me.role == COORDINATOR:
        from privet.consortium.federated.config import CoordinatorConfig
        from privet.consortium.federated.status import coordinator_status

        found = coordinator_status(CoordinatorConfig.read(path), sorted(path.parent.glob("*.run")))
    else:
        from privet.consortium.servers.config import Config
        from privet.consortium.servers.requests import Requests
        from privet.consortium.servers.status import status

        found = status(Config.read(path))
        if own.me.role in (TRAINER, USER):
            found["runs"] = Requests(path).listed()
    return {**found, "consortium": own.consortium.fingerprint}


def checked(path: Path, epsilon: float | None, delta: float | None) -> list[Status]:
    """A dry run with the others: for each of them what it says, and the problems there are."""
    role = OwnFile(path).me.role
    if role == PARTY:
        from privet.consortium.federated.config import PartyConfig

        return _check_party(PartyConfig.read(path))
    if role == COORDINATOR:
        from privet.consortium.federated.config import CoordinatorConfig

        return _check_parties(CoordinatorConfig.read(path), epsilon, delta)
    from privet.consortium.servers.config import Config
    from privet.consortium.servers.status import checks
    from privet.privacy.amounts import exact

    return checks(Config.read(path), None if epsilon is None else exact(epsilon))


def _check_party(config: PartyConfig) -> list[Status]:
    from privet.consortium.federated.line import PartyLine

    why = PartyLine(config, bytes).check()
    where = f"{config.address[0]}:{config.address[1]}"
    return [
        {"coordinator": f"{where} {'cannot be reached' if why else 'is reached'}", "problems": [why] if why else []}
    ]


def _check_parties(config: CoordinatorConfig, epsilon: float | None, delta: float | None) -> list[Status]:
    from privet.consortium.federated.allowance import Need
    from privet.consortium.federated.status import checks
    from privet.consortium.federated.switchboard import Switchboard
    from privet.privacy.amounts import checked_delta, exact

    needs = None if epsilon is None else Need(exact(epsilon), None if delta is None else checked_delta(delta))
    with closing(Switchboard(config, lambda said: warn(said))) as channel:
        return checks(config, channel, needs)
