"""The life of a hidden tree on this machine, as real processes over mutual TLS: `python examples/hidden_loopback.py`.

Two owners share rows of the census data that ships with Privet among three servers, a trainer asks for a tree that
nobody sees, the servers stop and start again, and a user asks the tree until its limit is reached. In real life each
folder is on a machine of its own and belongs to somebody else; only the consortium's file travels, and hidden.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from mpc_loopback import OWNERS, PRIVET, free_ports

from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.membership import assembled
from privet.datasets import load_adult

USER = "analyst"


def lay_out(folder: Path, rows: int, queries: int, epsilon: float, timeout: float = 60) -> np.ndarray:
    """Keys, the consortium's file, everybody's settings, the owners' records and a user's queries; their classes."""
    X, y, schema = load_adult()
    members = [Participant(f"server{i}", "server", f"127.0.0.1:{port}") for i, port in enumerate(free_ports(3))]
    members += [*(Participant(name, "owner") for name in OWNERS), Participant("trainer", "trainer")]
    members.append(Participant(USER, "user", queries=queries))
    terms = {**TERMS["mpc"], "epsilon": epsilon, "rows": rows}
    settings: dict[str, dict[str, Any]] = {member.name: {"timeout": timeout} for member in members}
    for name in OWNERS:
        settings[name]["data"] = f"{name}.parquet"
    assembled(Consortium("mpc", schema, tuple(members), terms), dict.fromkeys(settings, folder), settings)
    assert schema.label is not None
    table = pa.Table.from_pandas(X.assign(**{schema.label: y}), preserve_index=False)
    chosen = np.random.default_rng(0).permutation(len(X))
    for k, name in enumerate(OWNERS):
        pq.write_table(table.take(np.sort(chosen[k * rows : (k + 1) * rows])), folder / f"{name}.parquet")
    asked = np.sort(chosen[len(OWNERS) * rows :][:queries])
    pc.write_csv(table.take(asked).drop_columns([schema.label]), folder / "queries.csv")
    return np.asarray(y)[asked]


def start(folder: Path) -> list[subprocess.Popen[bytes]]:
    """Three servers."""
    return [subprocess.Popen([*PRIVET, "mpc", "server", str(folder / f"server{i}.toml")]) for i in range(3)]


def stop(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        program.terminate()
    for program in programs:
        program.wait()


def train(folder: Path, epsilon: float, options: list[str]) -> None:
    """Two owners share their rows and a trainer asks for a tree; the servers run already."""
    owners = [subprocess.Popen([*PRIVET, "mpc", "share", str(folder / f"{name}.toml")]) for name in OWNERS]
    asked = [*PRIVET, "mpc", "train", str(folder / "trainer.toml"), "--epsilon", str(epsilon), "--hidden"]
    try:
        subprocess.run([*asked, "-o", str(folder / "hidden.json"), *options], check=True)
    finally:
        stop(owners)


def ask(folder: Path) -> subprocess.CompletedProcess[str]:
    """The user's queries."""
    files = [str(folder / name) for name in (f"{USER}.toml", "hidden.json", "queries.csv")]
    output = ["-o", str(folder / "answers.csv"), "--force"]
    return subprocess.run([*PRIVET, "mpc", "predict", *files, *output], stderr=subprocess.PIPE, text=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=4_000, help="Records of each owner.")
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="A parameter of the model.")
    options = parser.parse_args()
    settings = [word for each in options.set or ["max_depth=4"] for word in ("--set", each)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = lay_out(folder, options.rows, options.queries, options.epsilon)
        servers = start(folder)
        try:
            train(folder, options.epsilon, settings)
            print("\nThe servers stop, and start again from the shares that they have kept.", flush=True)
            stop(servers)
            servers = start(folder)
            if (first := ask(folder)).returncode != 0:
                raise SystemExit(f"There is no answer. {first.stderr}")
            answers = np.array(pc.read_csv(folder / "answers.csv")["prediction"].to_pylist())
            print(f"\nOf the user's {len(answers):,} queries {np.mean(answers == truth):.1%} were answered right.")
            refused = ask(folder)
            print(f"The same once more is refused: {refused.stderr.strip()}")
        finally:
            stop(servers)
        if refused.returncode == 0:
            sys.exit("A limit was not kept.")


if __name__ == "__main__":
    main()
