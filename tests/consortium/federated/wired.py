"""Parties on real lines: gRPC and TLS on this machine, inside one process."""

import multiprocessing
import threading
import time
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
    """A switchboard with a line to each of these: ``handles`` by name; with None nobody calls.

    Who calls is there at the end, however busy the machine is: ``wait`` is for those who do not.
    """
    with held_ports(1) as (port,), ExitStack() as stack:
        town = Town(folder, list(handles), port, **changes)
        for name, handle in handles.items():
            if handle is not None:
                stack.enter_context(line(town.party(name), handle))
        progress = (lambda words: None) if said is None else said.append
        board = stack.enter_context(closing(Switchboard(town.coordinator, progress)))
        callers, end = {name for name, handle in handles.items() if handle is not None}, time.monotonic() + 60
        while not callers <= {own["name"] for own in board.status()["members"] if own["connected"]}:
            assert time.monotonic() < end, board.status()
            time.sleep(0.01)
        yield town, board


def hold(folder, names, port, name, pipe):
    """What a process of its own does: it holds a party's line, and answers as it is told through the pipe."""

    def handle(message):
        pipe.send_bytes(message)
        return pipe.recv_bytes()

    PartyLine(Town(folder, names, port).party(name), handle).run(lambda said: None)


@contextmanager
def processes(folder, handles):
    """A switchboard whose parties' lines are held by processes, one for each; what they answer, ``handles`` say."""
    spawn = multiprocessing.get_context("spawn")
    with held_ports(1) as (port,), ExitStack() as stack:
        town = Town(folder, list(handles), port, wait=300.0)
        for name, handle in handles.items():
            here, there = spawn.Pipe()
            own = spawn.Process(target=hold, args=(folder, list(handles), port, name, there), daemon=True)
            own.start()
            there.close()
            stack.callback(own.join)
            stack.callback(own.kill)
            threading.Thread(target=_answer, args=(here, handle), daemon=True).start()
        yield town, stack.enter_context(closing(Switchboard(town.coordinator)))


def _answer(pipe, handle):
    with suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(handle(pipe.recv_bytes()))


@pytest.fixture(
    scope="module",
    params=["in process", *(pytest.param(way, marks=pytest.mark.slow) for way in ("on the wire", "processes"))],
)
def every_way(request, tmp_path_factory):
    """Every test of a module: with messages that are handed over, with messages over TLS, and between processes."""
    if request.param == "in process":
        yield
        return
    now = {}

    def to(name):
        return lambda message: now[name].handle(message)

    names = [*(f"party{i}" for i in range(8)), *"abcdefg"]
    way = switchboard if request.param == "on the wire" else processes
    with way(tmp_path_factory.mktemp("wire"), {name: to(name) for name in names}) as (_, board):

        def ask(self, messages):
            now.update(self._parties)
            return board.ask(messages)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(InProcess, "ask", ask)
            yield
