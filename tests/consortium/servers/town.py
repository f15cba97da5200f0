"""Three servers, two owners, a trainer and users, with keys and files as in real life; a road that can be closed."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

from held_ports import held_ports
from privet import Categorical, Numeric, Schema
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.membership import assembled
from privet.consortium.net.certificates import make_certificate
from privet.consortium.servers.client import share, train
from privet.consortium.servers.config import Config
from privet.consortium.servers.service import Server
from privet.errors import MpcError, PrivetError
from privet.privacy.ledger_file import LedgerFile

SCHEMA = Schema(
    {"age": Numeric(0, 7, integer=True), "colour": Categorical(["r", "g", "b"], other=False)},
    classes=["no", "yes"],
    label="bought",
)
OWNERS = ("hospital", "bank")
PARAMS = {"epsilon": 2.0, "max_depth": 2, "branches": "thresholds"}
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()", "mpc"]


def records(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(0, 8, n), "colour": rng.choice(["r", "g", "b"], n)})
    return X.assign(bought=np.where((X.age > 4) ^ (X.colour == "r"), "yes", "no"))


class Town:
    """Everybody's keys and files; servers as threads of this process or as processes."""

    def __init__(self, folder, timeout=20, columns=None, schema=SCHEMA):
        self.folder = folder
        self.programs = {}
        self.tables = [records(60, 1), records(90, 2)]
        for name, table in zip(OWNERS, self.tables):
            table.to_csv(folder / f"{name}.csv", index=False)
        self.held = contextlib.ExitStack()
        ports = self.held.enter_context(held_ports(3))
        self.addresses = [("127.0.0.1", port) for port in ports]
        members = [Participant(f"server{i}", "server", f"127.0.0.1:{port}") for i, port in enumerate(ports)]
        for name in OWNERS:
            features, label = (columns or {}).get(name, ((), False))
            members.append(Participant(name, "owner", features=tuple(features), label=label))
        members += [Participant("trainer", "trainer"), Participant("ann", "user", queries=100)]
        members.append(Participant("bob", "user", queries=5))
        consortium = Consortium("mpc", schema, tuple(members), {**TERMS["mpc"], "epsilon": 100.0, "rows": 100})
        settings = {name: {"timeout": timeout} for name in consortium.names()}
        for name in consortium.names():
            settings[name] |= {"seeds": True} if name.startswith("server") or name in OWNERS else {}
            settings[name] |= {"data": f"{name}.csv", "patience": 60} if name in OWNERS else {}
        assembled(consortium, dict.fromkeys(consortium.names(), folder), settings)
        self._stranger("eve", timeout)
        self.running, self.threads = [], []

    def _stranger(self, name, timeout):
        """Somebody who has everybody's certificates, and whose own nobody has."""
        _, certificate = make_certificate(name, self.folder)
        known = Consortium.read(self.folder / "trainer.consortium.toml")
        stranger = Participant(name, "user", certificate=certificate.read_bytes())
        known.with_member(stranger).write(self.folder / f"{name}.consortium.toml")
        own = f'consortium = "{name}.consortium.toml"\nname = "{name}"\ntimeout = {timeout}\n'
        (self.folder / f"{name}.toml").write_text(own)

    def config(self, name):
        return Config.read(self.folder / f"{name}.toml")

    def start(self, says=None):
        """Servers as threads; ``says`` are their progress by name."""
        quiet = dict.fromkeys((f"server{i}" for i in range(3)), lambda said: None)
        self.running = [Server(self.config(name), say) for name, say in (says or quiet).items()]
        self.threads = [threading.Thread(target=self._serve, args=(server,)) for server in self.running]
        for thread in self.threads:
            thread.start()

    def _serve(self, server):
        with contextlib.suppress(MpcError):
            server.serve()

    def stop(self):
        for server in self.running:
            server.close()
        for thread in self.threads:
            thread.join(timeout=300)

    def owners(self, pool, says=None):
        """Both owners, each on a thread, for one training; ``says`` are their progress by name."""
        options = {name: {} if says is None else {"progress": says[name]} for name in OWNERS}
        return [
            pool.submit(share, self.config(name), table.drop(columns="bought"), table.bought, **options[name])
            for name, table in zip(OWNERS, self.tables)
        ]

    def train(self, params=PARAMS, seed=None, model="HiddenTreeClassifier", **scored):
        return train(self.config("trainer"), model, params, hidden=True, seed=seed, **scored).signed

    def learn(self, params=PARAMS, seed=None, model="HiddenTreeClassifier", **scored):
        with ThreadPoolExecutor(2) as pool:
            owners = self.owners(pool)
            try:
                return self.train(params, seed, model, **scored)
            finally:
                for owner in owners:
                    with contextlib.suppress(PrivetError):
                        owner.result()

    # -- servers as processes ------------------------------------------------------------------------------------------

    def begin(self, *parties):
        """Start servers as processes, and wait until they listen."""
        for i in parties:
            with (self.folder / f"server{i}.log").open("a") as log:
                self.programs[i] = subprocess.Popen(
                    [*PRIVET, "server", str(self.folder / f"server{i}.toml")],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                )
        for i in parties:
            until_it_listens(self.addresses[i])

    def kill(self, party):
        self.programs[party].kill()
        self.programs[party].wait()

    def log(self, party):
        return (self.folder / f"server{party}.log").read_text()

    def spent(self):
        """What each server's ledger on the disk says."""
        return [LedgerFile(self.folder / f"server{i}.ledger").tightest().spent for i in range(3)]

    def wait_until_settled(self, parties, seconds):
        """A server that ends a run says so before it settles what the run has spent."""
        for i in parties:
            file = LedgerFile(self.folder / f"server{i}.ledger")
            for _ in range(10 * seconds):
                if all(line.settled for line in file.lines()):
                    break
                time.sleep(0.1)
            else:
                raise AssertionError(f"server {i} never settled")

    def asked(self, name):
        """How many queries of a user each server's file has counted."""
        return [json.loads((self.folder / f"server{i}.users.json").read_text()).get(name, 0) for i in range(3)]

    def through(self, gate):
        """What server 0 sends to server 2 goes through a gate."""
        path = self.folder / "server0.consortium.toml"
        road, around = (f"{host}:{port}" for host, port in (self.addresses[2], gate.address))
        assert path.read_text().count(road) == 1
        path.write_text(path.read_text().replace(road, around))


class Gate:
    """A road that passes bytes on and counts them, and that can be closed at a point in the middle of a run."""

    def __init__(self, target):
        self.passed = 0
        self.reached, self._open = threading.Event(), threading.Event()
        self._left = None
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = self._server.getsockname()
        threading.Thread(target=self._run, daemon=True).start()

    def close_after(self, n_bytes):
        """Let so many bytes more pass, then none until ``open``; ``reached`` says that they have."""
        self.reached.clear()
        self._open.clear()
        self._left = n_bytes

    def open(self):
        self._left = None
        self._open.set()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                target = socket.create_connection(self._target)
                for source, sink, counts in ((client, target, True), (target, client, False)):
                    threading.Thread(target=self._pump, args=(source, sink, counts), daemon=True).start()

    def _pump(self, source, sink, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(1024):
                if counts:
                    self._pass(len(data))
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _pass(self, n_bytes):
        self.passed += n_bytes
        if self._left is not None:
            self._left -= n_bytes
            if self._left <= 0:
                self.reached.set()
                self._open.wait()

    def shut(self):
        self.open()
        self._server.close()


QUERIES = records(40, 7)[["age", "colour"]]


def until_it_listens(address):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("a server has not started")
