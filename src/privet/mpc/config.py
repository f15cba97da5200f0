"""Who is who in a joint computation: one TOML file for each program, the same form for servers, owners and trainers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.errors import PrivetError
from privet.mpc.channel import Identity
from privet.mpc.mesh import PARTIES

ENGINES = ("replicated", "mpyc")
TRAINER = "trainer"
OPTIONS = ("epsilon", "most_records", "engine", "noise", "timeout", "seeds")


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
    does a server take part in runs whose noise the trainer knows: they protect nobody.
    """

    identity: Identity
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
    seeds: bool = False
    ledger: Path | None = None

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read a file; names of other files are relative to it. Whatever is missing or wrong is named."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PrivetError(f"{path} is not TOML: {error}") from None
        return _Reader(path, data).config()


class _Reader:
    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self._path, self._data = path, data

    def config(self) -> Config:
        data = self._data
        known = {"key", "certificate", "servers", "schema", "party", "owners", "trainer"}
        known |= {*OPTIONS, "ledger"}
        if unknown := sorted(set(data) - known):
            raise self._wrong(f"it has {unknown[0]!r}, which nothing reads; known are {', '.join(sorted(known))}")
        servers = tuple(self._peer(entry) for entry in self._need(data, "servers", list))
        if len(servers) != PARTIES:
            raise self._wrong(f"it needs {PARTIES} [[servers]], in the same order in all files")
        owners = {
            self._need(entry, "name", str): self._file(entry, "certificate").read_bytes()
            for entry in data.get("owners", [])
        }
        trainer = self._file(data["trainer"], "certificate").read_bytes() if "trainer" in data else b""
        party = data.get("party")
        if party is not None and (not isinstance(party, int) or party not in range(PARTIES)):
            raise self._wrong(f"party is the place of this server among [[servers]], 0 to {PARTIES - 1}")
        if party is not None and not (owners and trainer and "schema" in data):
            raise self._wrong("a server needs a schema, [[owners]] and a [trainer]")
        options = {name: data[name] for name in OPTIONS if name in data}
        if party is not None:
            kept = self._need(data, "ledger", str) if "ledger" in data else f"{self._path.stem}.ledger.json"
            options["ledger"] = self._path.parent / kept
        config = Config(
            Identity(self._file(data, "key"), self._file(data, "certificate")),
            servers,
            self._file(data, "schema") if "schema" in data else None,
            party,
            owners,
            trainer,
            **options,
        )
        self._check(config)
        return config

    def _check(self, config: Config) -> None:
        if config.engine not in ENGINES:
            raise self._wrong(f"engine is one of {', '.join(ENGINES)}")
        if config.engine == "mpyc" and any(peer.mpyc_address is None for peer in config.servers):
            raise self._wrong('with engine = "mpyc" each of [[servers]] needs an mpyc_address')
        if config.noise not in ("cut", "dealt"):
            raise self._wrong("noise is cut or dealt")
        if not isinstance(config.seeds, bool):
            raise self._wrong("seeds is true or false")
        everybody = [*(peer.certificate for peer in config.servers), *config.owners.values(), config.trainer]
        if len(set(everybody)) < len(everybody):
            raise self._wrong("two programs have the same certificate; each needs one of its own")
        for name, kind in (("epsilon", int | float), ("timeout", int | float), ("most_records", int)):
            value = getattr(config, name)
            if not isinstance(value, kind) or isinstance(value, bool) or not value > 0:
                raise self._wrong(f"{name} must be a positive {'whole ' if kind is int else ''}number")

    def _peer(self, entry: Any) -> Peer:
        mpyc = _address(entry["mpyc_address"]) if "mpyc_address" in entry else None
        address = _address(self._need(entry, "address", str))
        if address is None:
            raise self._wrong('an address is "host:port"')
        return Peer(address, self._file(entry, "certificate").read_bytes(), mpyc)

    def _file(self, entry: Any, name: str) -> Path:
        path = self._path.parent / self._need(entry, name, str)
        if not path.is_file():
            raise self._wrong(f"there is no file {path} ({name})")
        return path

    def _need(self, entry: Any, name: str, kind: type) -> Any:
        if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
            raise self._wrong(f"it needs {name}")
        return entry[name]

    def _wrong(self, what: str) -> PrivetError:
        return PrivetError(f"{self._path}: {what}.")


def _address(text: str) -> tuple[str, int] | None:
    host, colon, port = str(text).rpartition(":")
    return (host, int(port)) if colon and host and port.isdecimal() and int(port) < 65536 else None
