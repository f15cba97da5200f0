"""What there is to see at a party and at a coordinator: limits and what is left, runs, last contact, certificates.

All of it is read from files; no program is asked, and nothing depends on records. ``checks`` asks the parties, before
anybody pays, whether they could take part.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.consortium.consortium_file import COORDINATOR, PARTY
from privet.consortium.federated.allowance import Allowance, Need
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.run_state import Diary
from privet.consortium.federated.terms import PROTOCOL, RUN, VERSION, Terms
from privet.consortium.federated.wire import pack, unpack, word
from privet.consortium.net.certificates import MOST_DRIFT, standing
from privet.disk import lock_file
from privet.errors import FederatedError
from privet.privacy.amounts import show
from privet.privacy.unit import Unit
from privet.questions.codec import schema_digest

if TYPE_CHECKING:
    from privet.consortium.federated.channel import Channel

LOG = "questions.log"

Status = dict[str, Any]


def party_status(config: PartyConfig) -> Status:
    """What a party's own files say: for its operator, who may see all of it."""
    folders = sorted(each for each in _folders(config.state) if RUN.fullmatch(each.name))
    diaries = {folder.name: Diary(folder) for folder in folders}
    unit = Unit.of(config.schema).name
    allowance = Allowance(config.name, config.epsilon, config.delta, unit)
    spent = allowance.spent(diaries.values())
    log = config.state / LOG
    return {
        "name": config.name,
        "role": PARTY,
        "running": _is_running(config.state),
        "version": f"{VERSION}, protocol {PROTOCOL}",
        "covers": unit,
        "limit": show(config.epsilon) + ("" if config.delta is None else f" (delta {show(config.delta)})"),
        "spent": show(allowance.in_epsilon(spent)),
        "left": show(allowance.left(spent)),
        "last contact": _last_contact(log) if log.is_file() else "none",
        "coordinator": f"{config.address[0]}:{config.address[1]}",
        "runs": [_run(allowance, run, diary) for run, diary in diaries.items() if diary.terms is not None],
        "certificates": [
            standing(f"{config.name} (own)", config.certificate.read_bytes()),
            standing("coordinator", config.coordinator),
            *(standing(name, own) for name, own in config.parties.items() if name != config.name),
        ],
    }


def coordinator_status(config: CoordinatorConfig, journals: Sequence[Path]) -> Status:
    """What the coordinator's own files say; ``journals`` are the folders of its runs."""
    return {
        "name": config.name,
        "role": COORDINATOR,
        "listens at": f"{config.address[0]}:{config.address[1]}",
        "version": f"{VERSION}, protocol {PROTOCOL}",
        "terms": f"{config.noise} noise, {config.tolerated_colluders} colluders, {config.tolerated_dropouts} drop-outs",
        "parties": ", ".join(config.parties),
        "runs": [_journalled(folder) for folder in journals],
        "certificates": [
            standing(f"{config.name} (own)", config.certificate.read_bytes()),
            *(standing(name, own) for name, own in config.parties.items()),
        ],
    }


def checks(config: CoordinatorConfig, channel: Channel, need: Need | None) -> list[Status]:
    """A dry run with the parties that are there: would they join, have they enough left, do clocks and versions fit?

    Nobody joins, nobody pays, and nobody says anything about records: what is wrong with them a party tells its own
    screen when it starts.
    """
    terms = Terms(
        "0" * 32, tuple(sorted(config.parties)), config.tolerated_colluders, config.tolerated_dropouts, config.noise,
        schema_digest(config.schema),
    )  # fmt: skip
    needs = {} if need is None else {"needs": need.words}
    message = pack({"do": "check", "protocol": PROTOCOL, "terms": terms.words, **needs})
    start = time.time()
    replies = channel.ask(dict.fromkeys(terms.parties, message))
    middle = (start + time.time()) / 2
    return [_checked(name, replies.get(name), middle) for name in terms.parties]


def _checked(name: str, reply: bytes | None, now: float) -> Status:
    if reply is None:
        return {"party": name, "problems": ["it does not answer: is it running, and does it reach this coordinator?"]}
    try:
        words, _ = unpack(reply)
        if "refused" in words:
            return {"party": name, "problems": [str(words["refused"])]}
        problems = [str(each) for each in word(words, "problems", list)]
        drift = word(words, "now", float) - now
        if abs(drift) > MOST_DRIFT:
            problems.append(f"its clock and this one differ by {abs(drift):,.0f} seconds")
        said = {each: word(words, each, str) for each in ("version", "left", "limit")}
    except FederatedError as error:
        return {"party": name, "problems": [f"its answer makes no sense: {error}"]}
    return {"party": name, **said, "problems": problems}


def _run(allowance: Allowance, run: str, diary: Diary) -> Status:
    assert diary.terms is not None
    closed = "open" if diary.closed is None else "signed" if diary.receipt is None else "closed"
    closed = "given up" if diary.given_up else closed
    spent = show(allowance.in_epsilon(allowance.spent([diary])))
    return {"run": run[:8], "state": closed, "questions": diary.next, "spent": spent, "with": list(diary.terms.parties)}


def give_up(config: PartyConfig, run: str) -> str:
    """Give up an open run whose name begins like this, while no process serves the party; its whole name."""
    found = [folder for folder in _folders(config.state) if RUN.fullmatch(folder.name) and folder.name.startswith(run)]
    diaries = {folder.name: diary for folder in found if (diary := Diary(folder)).closed is None}
    if len(diaries) != 1 or not run:
        raise FederatedError(f"{len(diaries) if run else 'No'} open runs of {config.name} begin with {run!r}, not one.")
    if _is_running(config.state):
        raise FederatedError(f"{config.name} is running. Stop it, give the run up, and start it again.")
    ((name, diary),) = diaries.items()
    diary.give_up()
    return name


def refuse_open_runs(state: Path) -> None:
    """Raise if a party that has its state here is running or has a run that is neither closed nor given up."""
    if _is_running(state):
        raise FederatedError("This party is running. Stop it first.")
    folders = [folder for folder in _folders(state) if RUN.fullmatch(folder.name)]
    for run, diary in ((folder.name, Diary(folder)) for folder in folders):
        if diary.terms is not None and diary.closed is None and not diary.given_up:
            raise FederatedError(
                f"Run {run[:8]} is open, and what was answered in it hangs on the key. Finish it, or give it up: "
                "privet federated give-up."
            )


def _journalled(folder: Path) -> Status:
    journal = Journal(folder)
    terms = journal.get("terms")
    if terms is None:
        return {"journal": str(folder), "state": "empty"}
    number, last = 0, pack({"answered": []})
    while (out := journal.get(f"{number:06}out")) is not None:
        number, last = number + 1, out
    touched = max(file.stat().st_mtime for file in folder.iterdir())
    return {
        "journal": str(folder),
        "run": unpack(terms)[0]["run"][:8],
        "state": "closed" if journal.get("closed") else "open",
        "joined": journal.get("keys") is not None,
        "questions": number,
        "in the last answer": unpack(last)[0]["answered"],
        "last contact": datetime.fromtimestamp(touched, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _folders(state: Path) -> list[Path]:
    return [each for each in state.iterdir() if each.is_dir()] if state.is_dir() else []


def _is_running(state: Path) -> bool:
    """Whether a process serves this folder, as far as locks tell."""
    if not (state / "party.lock").exists():
        return False
    try:
        held = lock_file(state / "party.lock")
    except BlockingIOError:
        return True
    if held is not None:
        os.close(held)
    return False


def _last_contact(log: Path) -> str:
    """The last line of a party's log that is not about a coordinator who is not there."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if not any(word in line for word in _ALONE)), "none")


_ALONE = "waiting for a coordinator", "no entry at", "the coordinator has gone"
