"""Peers, each in an environment of its own with pinned versions: made when first needed, called as a subprocess.

An environment is the folder ``.venv-NAME`` in the repository (or in ``PRIVET_PEERS``), made from
``peers_env/NAME.txt`` and made anew when that file changes. ``PRIVET_PEER_PYTHON`` is the Python that makes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from privet.schema import Numeric, Schema
from privet.tables.table import read_table
from privet_bench.processes import die_with_parent

BENCHMARKS = Path(__file__).parents[1]
PINS = BENCHMARKS / "peers_env"
WORKER = BENCHMARKS / "peers_env" / "worker.py"


LIMIT = 900
"""A peer's fit is stopped after so many seconds."""

TOO_LONG = "too long"
"""The measure of a run that was stopped."""


class TooLong(Exception):
    """A fit that was stopped: its cell says so."""


class NoEnvironment(Exception):
    """A peer that does not install here; its runs are left out, loudly."""


@cache
def environment(name: str) -> Path:
    """The Python of a peer's environment, which is made if it is not there or if its pins have changed."""
    folder = Path(os.environ.get("PRIVET_PEERS", BENCHMARKS.parent)) / f".venv-{name}"
    python, stamp, pins = folder / "bin" / "python", folder / "pins", PINS / f"{name}.txt"
    with folder.with_suffix(".lock").open("w") as lock:  # one process makes it, and others wait
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == pins.read_text()):
            print(f"making {folder} from {pins.name}", file=sys.stderr, flush=True)
            _make(folder, python, pins)
            stamp.write_text(pins.read_text())
    return python


def _make(folder: Path, python: Path, pins: Path) -> None:
    lines = [line for line in pins.read_text().splitlines() if line and not line.startswith("#")]
    last = [line.removesuffix(" --no-build-isolation") for line in lines if line.endswith("--no-build-isolation")]
    install = [str(python), "-m", "pip", "install", "--quiet"]
    run = partial(subprocess.run, check=True, preexec_fn=partial(die_with_parent, os.getpid()))
    try:
        run([os.environ.get("PRIVET_PEER_PYTHON", sys.executable), "-m", "venv", folder])
        run([*install, *(line for line in lines if line.split(" ")[0] not in last)])
        if last:
            run([*install, "--no-build-isolation", *last])
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoEnvironment(f"{pins.stem} does not install here: {error}") from error


def packages(name: str) -> Path:
    """Where an environment's packages lie, for a process of ours that needs them too: both are of one Python."""
    (folder,) = environment(name).parents[1].glob("lib/python*/site-packages")
    return folder


class PeerProcess:
    """A peer's environment, kept running: it is handed files, and answers with files."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(environment(name)), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        start, watch = time.monotonic(), threading.Timer(LIMIT, self._process.kill)
        watch.start()
        line = self._process.stdout.readline()
        watch.cancel()
        if not line and time.monotonic() - start >= LIMIT:
            _process.cache_clear()
            raise TooLong(f"{self.name}: stopped after {LIMIT} seconds")
        said = json.loads(line or '{"ok": false, "error": "it ended"}')
        if not said["ok"]:
            raise RuntimeError(f"{self.name}: {said['error']}")
        with np.load(task["answer"]) as found:
            return {"seconds": said["seconds"], **found}

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@cache
def _process(name: str) -> PeerProcess:
    return PeerProcess(name)


@cache
def _cells(name: str, rows: int | None) -> np.ndarray:
    """All features as numbers: a number clamped to its range, or a category's code."""
    from privet_bench.data import table

    data = table(name, rows)
    read = read_table(data.X, data.schema)
    numeric = {name: isinstance(own, Numeric) for name, own in data.schema.features.items()}
    columns = [read.numeric(name) if own else read.codes(name) for name, own in numeric.items()]
    return np.stack(columns, axis=1).astype(np.float32 if len(columns) > 500 else float)


def answer(
    peer: str, model: str, name: str, rows: int | None, train: Any, test: Any, seed: int, public: dict[str, Any]
) -> dict[str, Any]:
    """What a peer's model predicts: labels or numbers, and the chances of two classes."""
    from privet_bench.data import table

    data = table(name, rows)
    schema: Schema = data.schema
    cells, classes = _cells(name, rows), list(schema.classes or ())
    y = np.array([classes.index(label) for label in data.y[train]]) if classes else data.y[train]
    features: list[Any] = list(schema.features.values())
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "data.npz"
        np.savez(arrays, X_train=cells[train], y_train=y, X_test=cells[test])
        task = {
            "model": model,
            "data": str(arrays),
            "answer": str(Path(folder) / "answer.npz"),
            "seed": seed,
            "ranges": [[float(f.low), float(f.high)] if isinstance(f, Numeric) else None for f in features],
            "categories": [None if isinstance(f, Numeric) else f.n_codes for f in features],
            "n_classes": len(classes),
            "target": None if schema.target is None else list(schema.target),
            **public,
        }
        found = _process(peer).ask(task)
    if classes:
        found["predicted"] = np.array(classes)[found["predicted"].astype(int)]
    return found
