"""The one file that a consortium exchanges: who takes part as what, where, with which certificate, and on what terms.

It is public among its members. It starts with names alone; every member adds its certificate, and the file that has all
of them is what everybody accepts (``membership.py``). Its fingerprint covers every word in it, so comparing that one
number settles that all members hold the same certificates, schema and terms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w

from privet.consortium.config_file import ConfigFile, address_of
from privet.consortium.federated import terms as federated
from privet.consortium.net.certificates import fingerprint, is_one, standing
from privet.disk import write_whole
from privet.errors import PrivetError
from privet.schema import Schema

NAME = federated.NAME

COORDINATOR, PARTY, SERVER, OWNER, TRAINER, USER = "coordinator", "party", "server", "owner", "trainer", "user"
ROLES: Mapping[str, Mapping[str, tuple[int, float]]] = {
    "federated": {COORDINATOR: (1, 1), PARTY: (2, float("inf"))},
    "mpc": {SERVER: (3, 3), OWNER: (1, float("inf")), TRAINER: (1, 1), USER: (0, float("inf"))},
}
"""Of every kind of consortium the roles, each with how many members there must be and may be."""
LISTENING = frozenset({COORDINATOR, SERVER})
"""Those that others dial: they have an address."""

NOISE = {"federated": federated.NOISE, "mpc": ("cut", "dealt")}
TERMS: Mapping[str, Mapping[str, int | float | str]] = {
    "federated": {"epsilon": 1.0, "tolerated_colluders": 1, "tolerated_dropouts": 0, "noise": "shared"},
    "mpc": {"epsilon": 1.0, "most_records": 2**20, "rows": 2**15, "noise": "cut"},
}
"""What is agreed on, as it is where the file says nothing. ``epsilon`` is a proposal for every member's own limit."""

HEAD = """\
# Who takes part in a training with Privet, and on what terms. It holds no secret and no record. Whoever could change it
# on its way could sit in between: compare its fingerprint (privet {kind} fingerprint FILE) with all others before use.
"""


@dataclass(frozen=True)
class Participant:
    """A member: ``certificate`` is PEM, b"" until it has joined. ``queries`` are a user's; an owner of some columns
    of records that others hold the other columns of has ``features`` and maybe the ``label``.
    """

    name: str
    role: str
    address: str = ""
    certificate: bytes = b""
    queries: int = 0
    features: tuple[str, ...] = ()
    label: bool = False

    @property
    def words(self) -> dict[str, Any]:
        """As in the file."""
        said: dict[str, Any] = {"name": self.name, "role": self.role}
        if self.address:
            said["address"] = self.address
        if self.role == USER:
            said["queries"] = self.queries
        if self.features:
            said |= {"features": list(self.features), "label": self.label}
        if self.certificate:
            said |= {"fingerprint": fingerprint(self.certificate), "certificate": self.certificate.decode()}
        return said


@dataclass(frozen=True)
class Consortium:
    """A consortium file's content, checked."""

    kind: str
    schema: Schema
    members: tuple[Participant, ...]
    terms: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Consortium:
        """Whatever is missing or wrong is named."""
        file = ConfigFile(path)
        file.allow({"kind", "terms", "members", "schema"})
        if (kind := str(file.data.get("kind"))) not in ROLES:
            raise file.wrong(f"it is no consortium file: kind is one of {', '.join(ROLES)}")
        terms = ConfigFile(path, file.need({"terms": {}, **file.data}, "terms", dict))
        terms.allow({*TERMS[kind], "delta"} if kind == "federated" else TERMS[kind])
        entries = file.need(file.data, "members", list)
        members = tuple(_participant(ConfigFile(path, entry)) for entry in entries)
        consortium = cls(kind, Schema.from_dict(file.need(file.data, "schema", dict)), members, _terms(terms, kind))
        consortium.check(file)
        return consortium

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        members = [f"\n[[members]]\n{_toml(member.words)}" for member in self.members]
        first = _toml({"kind": self.kind, "terms": dict(self.terms)})
        text = "".join([HEAD.format(kind=self.kind), first, *members, "\n", _toml({"schema": self.schema.to_dict()})])
        write_whole(path, text.encode(), mode=0o644)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that the file says, however it is laid out."""
        said = [self.kind, dict(self.terms), [member.words for member in self.members], self.schema.to_dict()]
        return sha256(b"privet consortium|" + json.dumps(said).encode()).hexdigest()

    def member(self, name: str) -> Participant:
        for member in self.members:
            if member.name == name:
                return member
        raise PrivetError(f"Nobody in the consortium is called {name!r}; there are {', '.join(self.names())}.")

    def names(self, *roles: str) -> list[str]:
        """Names of all members, or of those with one of these roles, in the file's order."""
        return [member.name for member in self.members if not roles or member.role in roles]

    def of(self, role: str) -> list[Participant]:
        return [member for member in self.members if member.role == role]

    @property
    def missing(self) -> list[str]:
        """Those who have not joined yet."""
        return [member.name for member in self.members if not member.certificate]

    def with_member(self, member: Participant) -> Consortium:
        """With a new member at the end, or this one in the place of the one of its name."""
        if member.name not in self.names():
            return replace(self, members=(*self.members, member))
        return replace(self, members=tuple(member if old.name == member.name else old for old in self.members))

    def without(self, name: str) -> Consortium:
        self.member(name)
        return replace(self, members=tuple(old for old in self.members if old.name != name))

    def differences(self, other: Consortium) -> list[str]:
        """What ``other`` says otherwise, in words; certificates that were missing here are none."""
        found = [] if self.kind == other.kind else [f"it is a {other.kind} consortium, not {self.kind}"]
        found += [] if self.schema.to_dict() == other.schema.to_dict() else ["the schema is another one"]
        for name in sorted({*self.terms, *other.terms}):
            if (before := self.terms.get(name)) != (after := other.terms.get(name)):
                found.append(f"{name} is {after}, it was {before}")
        found += [f"{name} is new" for name in other.names() if name not in self.names()]
        for own in self.members:
            if own.name not in other.names():
                found.append(f"{own.name} has left")
            elif (new := other.member(own.name)) != replace(own, certificate=new.certificate):
                found.append(f"what is said of {own.name} (role, address, queries or columns) has changed")
            elif own.certificate and _same(own.certificate) != _same(new.certificate):
                found.append(f"{own.name} has another certificate")
        if not found and self.names(SERVER) != other.names(SERVER):
            found.append("the servers are in another order")
        return found

    def check(self, file: ConfigFile) -> None:
        """Raise unless names and certificates are all different and every role has as many members as it needs."""
        for what, each in (("name", self.names()), ("certificate", [_same(m.certificate) for m in self.members])):
            if doubled := [one for one in filter(None, each) if each.count(one) > 1]:
                raise file.wrong(f"two members have the same {what}: {doubled[0]}; each needs one of its own")
        known = ROLES[self.kind]
        for member in self.members:
            if member.role not in known:
                raise file.wrong(f"{member.name} has the role {member.role!r}; it is one of {', '.join(known)}")
        for role, (least, most) in known.items():
            if not least <= (n := len(self.of(role))) <= most:
                many = f"{least}" if least == most else f"at least {least}"
                raise file.wrong(f"it needs {many} with the role {role}, and has {n}")
        held = [bool(owner.features) for owner in self.of(OWNER)]
        if any(held) and not all(held):
            raise file.wrong("if one owner has features of its own, all have")


def shown(digest: str) -> str:
    """A fingerprint in groups of four, to be read to each other.

    >>> shown("0123456789abcdef")
    '0123 4567 89ab cdef'
    """
    return " ".join(digest[i : i + 4] for i in range(0, len(digest), 4))


def check_names(names: Iterable[str]) -> None:
    for name in names:
        if not NAME.fullmatch(name):
            raise PrivetError(f"{name!r} is no name: a member's has small letters, digits and - _ . alone.")


def _participant(entry: ConfigFile) -> Participant:
    data = entry.data
    if not NAME.fullmatch(name := entry.need(data, "name", str)):
        raise entry.wrong(f"{name!r} is no name: a member's has small letters, digits and - _ . alone")
    entry.allow({"name", "role", "address", "fingerprint", "certificate", "queries", "features", "label"})
    role = entry.need(data, "role", str)
    if role in LISTENING and address_of(str(data.get("address"))) is None:
        raise entry.wrong(f'{name} needs an address, "host:port", which others reach it by')
    if role not in LISTENING and "address" in data:
        raise entry.wrong(f"{name} has an address, and nobody dials its role, {role}")
    certificate = data.get("certificate", "")
    if not isinstance(certificate, str) or (certificate and not is_one(certificate.encode())):
        raise entry.wrong(f"the certificate of {name} is none, or has something else beside it")
    printed = standing(name, certificate.encode())["fingerprint"] if certificate else None
    if data.get("fingerprint", printed) != printed:
        raise entry.wrong(f"the certificate of {name} has not the fingerprint that is written beside it")
    queries = entry.number("queries", 0, least=0, whole=True)
    names, label = data.get("features", []), data.get("label", False)
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names) or not isinstance(label, bool):
        raise entry.wrong(f"features of {name} is a list of names, and label is true or false")
    return Participant(
        name, role, data.get("address", ""), certificate.encode(), queries, tuple(names), label and bool(names)
    )


def _terms(file: ConfigFile, kind: str) -> dict[str, Any]:
    known, found = TERMS[kind], {}
    for name, default in known.items():
        if name == "noise":
            found[name] = file.choice(name, NOISE[kind])
        elif isinstance(default, float):
            found[name] = file.number(name, default)
        else:
            found[name] = file.number(name, default, least=None if kind == "mpc" else 0, whole=True)
    return found | ({"delta": file.number("delta", None)} if "delta" in file.data else {})


def _toml(content: Mapping[str, Any]) -> str:
    return tomli_w.dumps(content, multiline_strings=True)


def _same(certificate: bytes) -> str:
    return fingerprint(certificate) if certificate else ""
