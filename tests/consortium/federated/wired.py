"""Parties on real lines: gRPC and TLS on this machine, inside one process."""

import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from fractions import Fraction

import pytest

from held_ports import HERE, held_ports
from privet.consortium.federated.channel import InProcess
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.federated.line import PartyLine
from privet.consortium.federated.switchboard import Switchboard
from privet.consortium.net.certificates import make_certificate


class Stopped(BaseException):
    """Ends a line's thread, which otherwise goes on for good."""


class Town:
    """Keys of a coordinator and of parties, in a folder, and their configurations."""

    def __init__(self, folder, names, port, **changes):
        self.folder, self.port = folder, port
        for name in (*names, "coordinator"):
            if not (folder / f"{name}.key").exists():
                make_certificate(name, folder, hosts=[HERE] if name == "coordinator" else ())
        self.parties = {name: (folder / f"{name}.crt").read_bytes() for name in names}
        self.coordinator = CoordinatorConfig(
            **{
                "name": "coordinator",
                "key": folder / "coordinator.key",
                "certificate": folder / "coordinator.crt",
                "address": (HERE, port),
                "schema": None,
                "parties": self.parties,
                "tolerated_colluders": 1,
                "tolerated_dropouts": 0,
                "noise": "shared",
                "wait": 30.0,
                "timeout": 30.0,
                **changes,
            }
        )

    def party(self, name, **changes):
        own = {
            "name": name,
            "key": self.folder / f"{name}.key",
            "certificate": self.folder / f"{name}.crt",
            "schema": None,
            "data": self.folder,
            "state": self.folder,
            "epsilon": Fraction(1),
            "delta": None,
            "address": (HERE, self.port),
            "coordinator": (self.folder / "coordinator.crt").read_bytes(),
            "parties": self.parties,
            "questions": (),
            "tolerated_colluders": 1,
            "seed": None,
        }
        return PartyConfig(**{**own, **changes})


@contextmanager
def line(config, handle, said=None):
    """A party's line, held by a thread until the end."""
    over = threading.Event()

    def progress(words):
        if said is not None:
            said.append(words)
        if over.is_set():
            raise Stopped

    def run():
        with suppress(Stopped):
            PartyLine(config, handle).run(progress)

    threading.Thread(target=run, daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def switchboard(folder, handles, said=None, **changes):
    """A switchboard with a line to each of these: ``handles`` by name; with None nobody calls."""
    with held_ports(1) as (port,), ExitStack() as stack:
        town = Town(folder, list(handles), port, **changes)
        for name, handle in handles.items():
            if handle is not None:
                stack.enter_context(line(town.party(name), handle))
        progress = (lambda words: None) if said is None else said.append
        board = stack.enter_context(closing(Switchboard(town.coordinator, progress)))
        yield town, board


@pytest.fixture(scope="module", params=["in process", pytest.param("on the wire", marks=pytest.mark.slow)])
def both_ways(request, tmp_path_factory):
    """Every test of a module: with messages that are handed over, and with messages over TLS."""
    if request.param == "in process":
        yield
        return
    now = {}

    def to(name):
        return lambda message: now[name].handle(message)

    names = [*(f"party{i}" for i in range(8)), *"abcdefg"]
    with switchboard(tmp_path_factory.mktemp("wire"), {name: to(name) for name in names}) as (_, board):

        def ask(self, messages):
            now.update(self._parties)
            return board.ask(messages)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(InProcess, "ask", ask)
            yield
