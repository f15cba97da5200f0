"""How a consortium's file goes round: who makes it, joins, gathers, accepts, renews a key, comes later or leaves.

Whoever makes the file sends it to all members. Each joins: its key is made on its own machine and stays there, and its
copy of the file, now with its certificate, goes back. The maker gathers the copies into its own, and sends that to all,
who compare its fingerprint and accept it. Nobody starts with a file in which somebody has no certificate yet.

Every member has two files of its own: ``NAME.toml``, settings for nobody else, and ``NAME.consortium.toml``, its copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from privet.consortium.config_file import ConfigFile, address_of
from privet.consortium.consortium_file import (
    COORDINATOR,
    LISTENING,
    OWNER,
    PARTY,
    SERVER,
    Consortium,
    Participant,
)
from privet.consortium.net.certificates import fingerprint, make_certificate
from privet.consortium.own_file import OwnFile
from privet.disk import write_whole
from privet.errors import PrivetError
from privet.privacy.amounts import exact

HOLDS_RECORDS, HAS_LIMIT = (PARTY, OWNER), (PARTY, OWNER, SERVER)

WHY = {
    "consortium": "who takes part: changed by privet {kind} accept alone",
    "data": "its records, CSV or Parquet: they are never sent",
    "epsilon": "the most that all runs together may ever spend",
    "delta": "for models with a delta",
    "state": "what was answered and spent: never delete it, never bring back an old copy",
    "ledger": "what was spent: never delete it, never bring back an old copy",
    "listen": "where this program listens; the others dial the address in the consortium's file",
}


def found(path: Path, consortium: Consortium) -> None:
    """Write a new consortium file, if its names, roles and terms are right; never over another file."""
    if path.exists():
        raise PrivetError(f"{path} exists. Choose another name, or delete it.")
    consortium.check(ConfigFile(path, {}))
    consortium.write(path)
    try:
        Consortium.read(path)
    except PrivetError:
        path.unlink()
        raise


def join(path: Path, name: str, folder: Path, days: int, settings: Mapping[str, Any]) -> tuple[OwnFile, Path]:
    """Make a member's key, certificate and own file; the latter, and the copy that goes back to whoever sent the file.

    ``settings`` go into its own file; None is left out.
    """
    consortium = Consortium.read(path)
    me = consortium.member(name)
    if me.certificate:
        raise PrivetError(
            f"{name} has joined already, as {path} says. If its key was lost, or runs out: privet {consortium.kind} "
            f"renew {name}.toml. If it was not you who joined, ask who sent the file."
        )
    own, copy = folder / f"{name}.toml", folder / f"{name}.consortium.toml"
    for each in (own, copy):
        if each.exists():
            raise PrivetError(f"{each} exists: {name} has joined before, from here. Move it away to begin anew.")
    text = _own_text(consortium, me, copy.name, settings)
    _, certificate = make_certificate(name, folder, hosts=_hosts(me), days=days)
    consortium.with_member(replace(me, certificate=certificate.read_bytes())).write(copy)
    write_whole(own, text.encode())
    return OwnFile(own), copy


def _own_text(consortium: Consortium, me: Participant, copy: str, settings: Mapping[str, Any]) -> str:
    known = {"consortium": copy, "name": me.name}
    if me.role in HAS_LIMIT:
        known |= {name: consortium.terms[name] for name in ("epsilon", "delta") if name in consortium.terms}
    known |= {"state": f"{me.name}.state"} if me.role == PARTY else {}
    known |= {"ledger": f"{me.name}.ledger"} if me.role in (OWNER, SERVER) else {}
    given = {name: value for name, value in settings.items() if value is not None}
    if me.role in HOLDS_RECORDS and "data" not in given:
        raise PrivetError(f"{me.name} has the role {me.role}: say where its records are, --data FILE.")
    for name, roles in (("data", HOLDS_RECORDS), ("epsilon", HAS_LIMIT), ("listen", LISTENING)):
        if name in given and me.role not in roles:
            raise PrivetError(f"{me.name} has the role {me.role}, which has no {name}.")
    if "epsilon" in given:
        exact(given["epsilon"], "your limit")
    if "listen" in given and address_of(given["listen"]) is None:
        raise PrivetError(f"{given['listen']!r} is no place to listen: HOST:PORT, such as 0.0.0.0:7100.")
    lines = [f"# The settings of {me.name}, {me.role}. Nobody else needs this file."]
    for name, value in (known | given).items():
        why = WHY.get(name, "").format(kind=consortium.kind)
        lines.append(f"{tomli_w.dumps({name: value}).strip()}{f'  # {why}' if why else ''}")
    return "\n".join(lines) + "\n"


def gather(own: OwnFile, copies: Sequence[Path], renewed: Sequence[str] = ()) -> list[str]:
    """Take the certificates of those who have joined from their copies into one's own; names of those who were new.

    A copy may say nothing else otherwise of them, of the schema or of the terms. Another certificate of somebody who
    has one is taken only if it is ``renewed``.
    """
    mine, new = own.consortium, list[str]()
    for path in copies:
        theirs = Consortium.read(path)
        if (theirs.kind, dict(theirs.terms), theirs.schema) != (mine.kind, dict(mine.terms), mine.schema):
            raise PrivetError(
                f"{path} is a copy of another consortium file than {own.copy}: {mine.differences(theirs)[0]}. Send "
                f"{own.copy} to that member, who joins again."
            )
        for member in theirs.members:
            if member.name not in mine.names() or not member.certificate:
                continue
            known = mine.member(member.name)
            if known.certificate and fingerprint(known.certificate) == fingerprint(member.certificate):
                continue
            if replace(member, certificate=b"") != replace(known, certificate=b""):
                raise PrivetError(
                    f"{path} says something else of {member.name} than {own.copy}, beside its certificate."
                )
            if known.certificate and member.name not in renewed:
                raise PrivetError(
                    f"{path} has another certificate of {member.name} than {own.copy}. If they say that it is theirs "
                    f"and read you its fingerprint: --renewed {member.name}."
                )
            mine, new = mine.with_member(replace(known, certificate=member.certificate)), [*new, member.name]
    mine.check(own)
    own.adopt(mine)
    return new


def changes(own: OwnFile, path: Path) -> tuple[Consortium, list[str]]:
    """The consortium file that a member is asked to accept, and how it differs from its copy, but for new certificates.

    Raises if it cannot be accepted at all: somebody is missing, or this member is, or its certificate was swapped.
    """
    new = Consortium.read(path)
    if new.missing:
        raise PrivetError(
            f"In {path} {', '.join(new.missing)} has not joined yet. Wait for the file that has everybody."
        )
    if own.me.name not in new.names():
        raise PrivetError(f"{own.me.name} is not in {path}: it has left this consortium. Stop its program.")
    if fingerprint(new.member(own.me.name).certificate) != fingerprint(own.certificate.read_bytes()):
        raise PrivetError(
            f"The certificate of {own.me.name} in {path} is not {own.certificate}. If it was renewed, its copy has not "
            "been gathered yet; otherwise somebody has swapped it: do not accept this file, and say so to all others."
        )
    return new, own.consortium.differences(new)


def renew(own: OwnFile, days: int) -> Path:
    """A new key and certificate in the place of a member's own, which are kept as ``NAME.key.old``; the copy to send.

    Nothing of an open run could be answered any more, so its programs must have none.
    """
    name, key = own.me.name, own.own_key
    certificate = key.with_suffix(".crt")
    folder = key.parent / f".{name}.renewed"
    fresh = make_certificate(key.stem, folder, hosts=_hosts(own.me), days=days)
    for old, new in zip((key, certificate), fresh):
        if old.exists():
            os.replace(old, old.with_name(f"{old.name}.old"))
        os.replace(new, old)
    folder.rmdir()
    own.adopt(own.consortium.with_member(replace(own.me, certificate=certificate.read_bytes())))
    return own.copy


def invite(own: OwnFile, member: Participant) -> None:
    """Add a member who has yet to join."""
    if member.name in own.consortium.names():
        raise PrivetError(f"There is a {member.name} already.")
    changed = own.consortium.with_member(member)
    changed.check(own)
    own.adopt(changed)


def remove(own: OwnFile, name: str) -> None:
    """Take a member out; the others have to accept the file without it."""
    changed = own.consortium.without(name)
    changed.check(own)
    own.adopt(changed)


def _hosts(me: Participant) -> list[str]:
    address = address_of(me.address)
    return [] if address is None or me.role != COORDINATOR else [address[0].strip("[]")]


def assembled(
    consortium: Consortium, folders: Mapping[str, Path], settings: Mapping[str, Mapping[str, Any]]
) -> dict[str, Path]:
    """Every member's own file, by its name, where one person plays all members: to try a consortium on one machine.

    ``folders`` and ``settings`` are each member's; whoever has none has no settings.
    """
    first, *others = consortium.names()
    path = folders[first] / "consortium.toml"
    found(path, consortium)
    files = {name: join(path, name, folders[name], 365, settings.get(name, {})) for name in consortium.names()}
    gather(files[first][0], [files[name][1] for name in others])
    whole = Consortium.read(files[first][1])
    for _, copy in files.values():
        whole.write(copy)
    return {name: own.path for name, (own, _) in files.items()}
