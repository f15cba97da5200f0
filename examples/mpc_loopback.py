"""Three servers and two owners on this machine, as real processes over mutual TLS: `python examples/mpc_loopback.py`.

The census data that ships with Privet is dealt to two owners, who share nothing but shares of counts. In real life each
folder is on a machine of its own and belongs to somebody else; only the consortium's file travels (docs/consortium.md).
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privet.algorithms.model_file import load
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.membership import assembled
from privet.datasets import load_adult

OWNERS = ("hospital", "bank")
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()"]


def lay_out(folder: Path, rows: int | None = None, epsilon: float = 1.0) -> None:
    """Keys, the consortium's file, everybody's settings, and the owners' records."""
    X, y, schema = load_adult()
    members = [Participant(f"server{i}", "server", f"127.0.0.1:{port}") for i, port in enumerate(free_ports(3))]
    members += [*(Participant(name, "owner") for name in OWNERS), Participant("trainer", "trainer")]
    consortium = Consortium("mpc", schema, tuple(members), {**TERMS["mpc"], "epsilon": epsilon})
    settings = {name: {"data": f"{name}.parquet"} for name in OWNERS}
    assembled(consortium, dict.fromkeys(consortium.names(), folder), settings)
    assert schema.label is not None
    table = pa.Table.from_pandas(X.assign(**{schema.label: y}), preserve_index=False)
    rng = np.random.default_rng(0)  # more rows than there are: drawn with replacement
    chosen = rng.integers(len(X), size=rows) if (rows or 0) > len(X) else rng.permutation(len(X))[:rows]
    for name, part in zip(OWNERS, np.array_split(chosen, len(OWNERS))):
        pq.write_table(table.take(np.sort(part)), folder / f"{name}.parquet")


def run(folder: Path, epsilon: float, options: list[str]) -> tuple[Path, str]:
    """Start the servers and the owners, train, and see everybody end: the model, and what the trainer was told."""
    model = folder / "model.json"
    programs = [
        subprocess.Popen([*PRIVET, "mpc", "server", str(folder / f"server{i}.toml"), "--once"]) for i in range(3)
    ]
    programs += [subprocess.Popen([*PRIVET, "mpc", "share", str(folder / f"{name}.toml")]) for name in OWNERS]
    trainer = [*PRIVET, "mpc", "train", str(folder / "trainer.toml"), "--epsilon", str(epsilon), "-o", str(model)]
    try:
        with subprocess.Popen([*trainer, *options], stdout=subprocess.PIPE, text=True) as asked:
            assert asked.stdout is not None
            said = []
            for line in asked.stdout:
                print(line, end="", flush=True)
                said.append(line)
        if asked.returncode != 0:
            raise SystemExit("There is no model.")
        for program in programs:
            if program.wait(timeout=60) != 0:
                raise SystemExit("A server or an owner has not ended well.")
    finally:
        for program in programs:
            program.terminate()
    return model, "".join(said)


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [own.getsockname()[1] for own in sockets]
    for own in sockets:
        own.close()
    return ports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=0.5)
    parser.add_argument("--rows", type=int, help="So many records in all; by default all of them.")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="A parameter of the model.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder, options.rows, epsilon=max(1.0, options.epsilon))
        path, _ = run(folder, options.epsilon, [word for each in options.set for word in ("--set", each)])
        model = load(path)
        X, y, _ = load_adult()
        print(f"\nAccuracy on all records, for this demonstration only: {model.score(X, y):.3f}")


if __name__ == "__main__":
    main()
