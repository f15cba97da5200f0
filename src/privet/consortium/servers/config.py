"""Who is who in a joint computation: one TOML file for each program, the same form for servers, owners and trainers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.consortium.config_file import ConfigFile
from privet.consortium.net.channel import TlsIdentity
from privet.shares.mesh import PARTIES

LAWS = ("cut", "dealt")
TRAINER, OWNER, USER = "trainer", "owner ", "user "
"""What servers call the others, owners and users with their names behind."""
Columns = tuple[tuple[str, ...], bool]
"""The features that an owner holds, and whether it holds the labels."""


@dataclass(frozen=True)
class Peer:
    """A server that others connect to."""

    address: tuple[str, int]
    certificate: bytes


@dataclass(frozen=True)
class Config:
    """What a program knows. ``party``, ``owners``, ``trainer`` and the limits are a server's.

    ``epsilon`` is the most that all runs of this server may spend together, whoever asks; what was spent is kept in the
    file ``ledger``, by default beside the TOML file, so that a restart does not forget it. ``most_records`` is a public
    bound on the number of records of each owner, from which the width of all comparisons follows. Only with ``seeds``
    does a server take part in runs whose noise the trainer knows: they protect nobody. ``timeout`` is how many seconds
    another program may take to answer, ``patience`` how many an owner waits for a trainer.

    For hidden trees: ``rows`` is the public number of rows that each owner shares, filled up with empty ones; ``users``
    are those who may ask hidden models, each with a certificate and the number of queries it may ask in all; shares
    are kept in the folder ``models``, encrypted with the key in ``storage_key``. Where owners hold different features
    of the same records, ``columns`` says on a server what each of them holds, and ``holds`` on an owner's machine what
    it does: the features, and whether the labels.
    """

    identity: TlsIdentity
    servers: tuple[Peer, ...]
    schema: Path | None = None
    party: int | None = None
    owners: Mapping[str, bytes] = field(default_factory=dict)
    trainer: bytes = b""
    epsilon: float = 1.0
    most_records: int = 2**20
    noise: str = LAWS[0]
    timeout: float = 60.0
    patience: float = 3600.0
    seeds: bool = False
    ledger: Path | None = None
    rows: int = 2**15
    users: Mapping[str, tuple[bytes, int]] = field(default_factory=dict)
    models: Path | None = None
    storage_key: Path | None = None
    columns: Mapping[str, Columns] = field(default_factory=dict)
    holds: Columns | None = None

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read a file; names of other files are relative to it. Whatever is missing or wrong is named."""
        return _config(ConfigFile(path))


def _config(file: ConfigFile) -> Config:
    data = file.data
    made_of_others = {"identity", "columns", "holds"}
    file.allow({*Config.__annotations__} - made_of_others | {"key", "certificate", "features", "label"})
    servers = tuple(
        Peer(file.address(entry), file.file(entry, "certificate").read_bytes())
        for entry in file.need(data, "servers", list)
    )
    if len(servers) != PARTIES:
        raise file.wrong(f"it needs {PARTIES} [[servers]], in the same order in all files")
    owners = file.certificates("owners")
    trainer = file.file(data["trainer"], "certificate").read_bytes() if "trainer" in data else b""
    party = data.get("party")
    if party is not None and (not isinstance(party, int) or party not in range(PARTIES)):
        raise file.wrong(f"party is the place of this server among [[servers]], 0 to {PARTIES - 1}")
    if party is not None and not (owners and trainer and "schema" in data):
        raise file.wrong("a server needs a schema, [[owners]] and a [trainer]")
    if not isinstance(seeds := data.get("seeds", Config.seeds), bool):
        raise file.wrong("seeds is true or false")
    own: dict[str, Any] = {} if party is None else {
        "ledger": file.beside("ledger", f"{file.path.stem}.ledger"),
        "models": file.beside("models", f"{file.path.stem}.models"),
        "storage_key": file.beside("storage_key", f"{file.path.stem}.storage.key"),
        "users": {name: _user(file, entry) for name, entry in file.entries("users").items()},
    }  # fmt: skip
    config = Config(
        TlsIdentity(file.key(data), file.file(data, "certificate")),
        servers,
        file.file(data, "schema") if "schema" in data else None,
        party,
        owners,
        trainer,
        noise=file.choice("noise", LAWS),
        seeds=seeds,
        **{name: file.number(name, getattr(Config, name)) for name in ("epsilon", "timeout", "patience")},
        **{name: file.number(name, getattr(Config, name), whole=True) for name in ("most_records", "rows")},
        **own,
        columns={
            name: _columns(file, entry)
            for name, entry in file.entries("owners").items()
            if "features" in entry or "label" in entry
        },
        holds=_columns(file, data) if "features" in data or "label" in data else None,
    )
    if config.columns and len(config.columns) < len(owners):
        raise file.wrong("if one of [[owners]] has features of its own, all have")
    everybody = [*(peer.certificate for peer in config.servers), *config.owners.values(), config.trainer]
    everybody += [certificate for certificate, _ in config.users.values()]
    if len(set(everybody)) < len(everybody):
        raise file.wrong("two programs have the same certificate; each needs one of its own")
    return config


def _user(file: ConfigFile, entry: Any) -> tuple[bytes, int]:
    queries = file.need(entry, "queries", int)
    if isinstance(queries, bool) or queries < 0:
        raise file.wrong("queries is how many a user may ask in all, a whole number")
    return file.file(entry, "certificate").read_bytes(), queries


def _columns(file: ConfigFile, entry: Any) -> Columns:
    names, label = file.need(entry, "features", list), entry.get("label", False)
    if not names or not all(isinstance(name, str) for name in names) or not isinstance(label, bool):
        raise file.wrong("features is a list of names, at least one, and label is true or false")
    return tuple(names), label
