"""What a program of a joint computation knows: the consortium's file and its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.consortium import consortium_file as roles
from privet.consortium.net.channel import TlsIdentity
from privet.consortium.own_file import OwnFile
from privet.schema import Schema

TRAINER, OWNER, USER = "trainer", "owner ", "user "
"""What servers call the others, owners and users with their names behind."""
Columns = tuple[tuple[str, ...], bool]
"""The features that an owner holds, and whether it holds the labels."""


@dataclass(frozen=True)
class Peer:
    """A server that others connect to."""

    name: str
    address: tuple[str, int]
    certificate: bytes


@dataclass(frozen=True)
class Config:
    """What a program knows. ``party``, its place among the servers, ``listen`` and what concerns hidden
    models are a server's; ``data``, ``holds`` and ``patience`` an owner's.

    ``epsilon`` is the most that all runs of this server, or with this owner, may spend together, whoever asks; what was
    spent is kept in the file ``ledger``, by default beside the TOML file, so that a restart does not forget it.
    ``most_records`` is a public bound on the number of records of each owner, from which the width of all comparisons
    follows. Only with ``seeds`` does a server, or an owner, take part in runs whose noise the trainer knows: they
    protect nobody.
    ``timeout`` is how many seconds another program may take to answer, ``patience`` how many an owner waits for a
    trainer.

    For hidden trees: ``rows`` is the public number of rows that each owner shares, filled up with empty ones; ``users``
    are those who may ask hidden models, each with a certificate and the number of queries it may ask in all; shares
    are kept in the folder ``models``, encrypted with the key in ``storage_key``. Where owners hold different features
    of the same records, ``columns`` says what each of them holds, and ``holds`` what this one does: the features, and
    whether the labels.
    """

    name: str
    role: str
    identity: TlsIdentity
    servers: tuple[Peer, ...]
    schema: Schema
    owners: Mapping[str, bytes]
    trainer: bytes
    most_records: int
    rows: int
    noise: str
    users: Mapping[str, tuple[bytes, int]]
    columns: Mapping[str, Columns]
    timeout: float
    epsilon: Fraction = Fraction(0)
    ledger: Path | None = None
    party: int | None = None
    listen: tuple[str, int] | None = None
    seeds: bool = False
    models: Path | None = None
    storage_key: Path | None = None
    data: Path | None = None
    patience: float = 3600.0
    holds: Columns | None = None

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read a file; names of other files are relative to it. Whatever is missing or wrong is named."""
        file = OwnFile(path)
        file.be(SETTINGS, ("timeout", *SETTINGS.get(file.me.role, ())))
        known, terms, name = file.consortium, file.consortium.terms, file.me.name
        own: dict[str, Any] = {}
        if file.me.role in (roles.SERVER, roles.OWNER):
            own |= {"epsilon": file.limit(), "ledger": file.beside("ledger", f"{name}.ledger"), "seeds": _seeds(file)}
        if file.me.role == roles.SERVER:
            own |= _of_server(file)
        elif file.me.role == roles.OWNER:
            own |= {"data": file.file(file.data, "data"), "patience": file.number("patience", cls.patience)}
            own["holds"] = (file.me.features, file.me.label) if file.me.features else None
        return cls(
            name,
            file.me.role,
            TlsIdentity(file.own_key, file.certificate),
            tuple(Peer(each.name, file.dialled(each.name), each.certificate) for each in known.of(roles.SERVER)),
            known.schema,
            {each.name: each.certificate for each in known.of(roles.OWNER)},
            known.of(roles.TRAINER)[0].certificate,
            **{each: terms[each] for each in ("most_records", "rows", "noise")},
            users={each.name: (each.certificate, each.queries) for each in known.of(roles.USER)},
            columns={each.name: (each.features, each.label) for each in known.of(roles.OWNER) if each.features},
            timeout=file.number("timeout", 60.0),
            **own,
        )


SETTINGS: Mapping[str, tuple[str, ...]] = {
    roles.SERVER: ("listen", "epsilon", "ledger", "seeds", "models", "storage_key"),
    roles.OWNER: ("epsilon", "ledger", "data", "patience", "seeds"),
    roles.TRAINER: (),
    roles.USER: (),
}
"""What each role's own file may say, beside who it is and its ``timeout``."""


def _seeds(file: OwnFile) -> bool:
    if not isinstance(seeds := file.data.get("seeds", Config.seeds), bool):
        raise file.wrong("seeds is true or false")
    return seeds


def _of_server(file: OwnFile) -> dict[str, Any]:
    name = file.me.name
    return {
        "party": file.consortium.names(roles.SERVER).index(name),
        "listen": file.listening(),
        "models": file.beside("models", f"{name}.models"),
        "storage_key": file.beside("storage_key", f"{name}.storage.key"),
    }
