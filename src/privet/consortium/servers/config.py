"""Who is who in a joint computation: one TOML file for each program, the same form for servers, owners and trainers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.consortium.config_file import ConfigFile, address_of
from privet.consortium.net.channel import TlsIdentity
from privet.shares.mesh import PARTIES

ENGINES = ("replicated", "mpyc")
TRAINER = "trainer"
HIDDEN = {"users", "models", "storage_key", "features", "label"}
"""What files say about hidden models."""

Columns = tuple[tuple[str, ...], bool]
"""The features that an owner holds, and whether it holds the labels."""


@dataclass(frozen=True)
class Peer:
    """A server that others connect to. MPyC, where it is used, listens at an address of its own."""

    address: tuple[str, int]
    certificate: bytes
    mpyc_address: tuple[str, int] | None = None


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
    engine: str = "replicated"
    noise: str = "cut"
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
    known = {"key", "certificate", "servers", "schema", "party", "owners", "trainer", "patience"}
    file.allow(known | {"epsilon", "most_records", "engine", "noise", "timeout", "seeds", "ledger", "rows"} | HIDDEN)
    servers = tuple(_peer(file, entry) for entry in file.need(data, "servers", list))
    if len(servers) != PARTIES:
        raise file.wrong(f"it needs {PARTIES} [[servers]], in the same order in all files")
    owners = file.certificates("owners")
    trainer = file.file(data["trainer"], "certificate").read_bytes() if "trainer" in data else b""
    party = data.get("party")
    if party is not None and (not isinstance(party, int) or party not in range(PARTIES)):
        raise file.wrong(f"party is the place of this server among [[servers]], 0 to {PARTIES - 1}")
    if party is not None and not (owners and trainer and "schema" in data):
        raise file.wrong("a server needs a schema, [[owners]] and a [trainer]")
    config = Config(
        TlsIdentity(file.file(data, "key"), file.file(data, "certificate")),
        servers,
        file.file(data, "schema") if "schema" in data else None,
        party,
        owners,
        trainer,
        epsilon=file.number("epsilon", Config.epsilon),
        most_records=file.number("most_records", Config.most_records, whole=True),
        engine=data.get("engine", Config.engine),
        noise=data.get("noise", Config.noise),
        timeout=file.number("timeout", Config.timeout),
        patience=file.number("patience", Config.patience),
        seeds=data.get("seeds", Config.seeds),
        ledger=None if party is None else _kept(file, "ledger", "ledger.json"),
        rows=file.number("rows", Config.rows, whole=True),
        users={} if party is None else {name: _user(file, entry) for name, entry in file.entries("users").items()},
        models=None if party is None else _kept(file, "models", "models"),
        storage_key=None if party is None else _kept(file, "storage_key", "storage.key"),
        columns={
            name: _columns(file, entry)
            for name, entry in file.entries("owners").items()
            if "features" in entry or "label" in entry
        },
        holds=_columns(file, data) if "features" in data or "label" in data else None,
    )
    if config.columns and len(config.columns) < len(owners):
        raise file.wrong("if one of [[owners]] has features of its own, all have")
    if config.engine not in ENGINES:
        raise file.wrong(f"engine is one of {', '.join(ENGINES)}")
    if config.engine == "mpyc" and any(peer.mpyc_address is None for peer in config.servers):
        raise file.wrong('with engine = "mpyc" each of [[servers]] needs an mpyc_address')
    if config.noise not in ("cut", "dealt"):
        raise file.wrong("noise is cut or dealt")
    if not isinstance(config.seeds, bool):
        raise file.wrong("seeds is true or false")
    everybody = [*(peer.certificate for peer in config.servers), *config.owners.values(), config.trainer]
    everybody += [certificate for certificate, _ in config.users.values()]
    if len(set(everybody)) < len(everybody):
        raise file.wrong("two programs have the same certificate; each needs one of its own")
    return config


def _kept(file: ConfigFile, name: str, ending: str) -> Path:
    """Where a server keeps something: as the file says, or beside it under its own name."""
    kept = file.need(file.data, name, str) if name in file.data else f"{file.path.stem}.{ending}"
    return file.path.parent / kept


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


def _peer(file: ConfigFile, entry: Any) -> Peer:
    address = file.address(entry)
    mpyc = address_of(entry["mpyc_address"]) if "mpyc_address" in entry else None
    return Peer(address, file.file(entry, "certificate").read_bytes(), mpyc)
