"""Five hospitals and a coordinator on this machine, as real processes over TLS.

Run it: `python examples/federated_loopback.py`.

The census data that ships with Privet is dealt to five owners. In real life each folder is on a machine of its own and
belongs to somebody else; only the consortium's file travels (docs/consortium.md).
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privet.algorithms.model_file import load
from privet.consortium.consortium_file import Consortium, Participant
from privet.consortium.membership import assembled
from privet.datasets import load_adult

HOSPITALS = ("general", "mercy", "north", "saint-anne", "university")
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()"]


def dealt(names: Sequence[str] = HOSPITALS, rows: int | None = None) -> dict[str, pa.Table]:
    """The census data, shuffled and dealt out in as many parts as there are names."""
    X, y, schema = load_adult()
    table = pa.Table.from_pandas(X.assign(**{schema.label: y}), preserve_index=False)
    order = np.random.default_rng(0).permutation(len(X))[:rows]
    return {name: table.take(np.sort(part)) for name, part in zip(names, np.array_split(order, len(names)))}


def lay_out(
    folder: Path,
    names: Sequence[str] = HOSPITALS,
    *,
    rows: int | None = None,
    epsilon: float = 1.0,
    colluders: int = 1,
    dropouts: int = 0,
    seed: int | None = None,
    wait: float = 600.0,
    timeout: float = 120.0,
    port: int | None = None,
    dialled: int | None = None,
) -> None:
    """A folder for each hospital and for the coordinator, with keys, the consortium's file, data and settings.

    The coordinator has ``port``; hospitals dial ``dialled``, where something stands between.
    """
    _, _, schema = load_adult()
    port = port or free_port()
    folders = {name: folder / name for name in ("coordinator", *names)}
    for each in folders.values():
        each.mkdir()
    for name, table in dealt(names, rows).items():
        pq.write_table(table, folder / name / "records.parquet")
    terms = {"epsilon": epsilon, "tolerated_colluders": colluders, "tolerated_dropouts": dropouts, "noise": "shared"}
    members = [Participant("coordinator", "coordinator", f"127.0.0.1:{dialled or port}")]
    members += [Participant(name, "party") for name in names]
    settings: dict[str, dict[str, Any]] = {
        name: {"data": "records.parquet", "state": "state", "seed": seed} for name in names
    }
    settings["coordinator"] = {"listen": f"127.0.0.1:{port}", "wait": wait, "timeout": timeout}
    assembled(Consortium("federated", schema, tuple(members), terms), folders, settings)


def start_party(folder: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PRIVET, "federated", "party", str(folder / name / f"{name}.toml")],
        stdout=open(folder / name / "party.log", "ab"),
        stderr=subprocess.STDOUT,
    )


def coordinate(folder: Path, epsilon: float, options: Sequence[str] = ()) -> Path:
    """Run the coordinator to its end: where the model is."""
    model = folder / "coordinator" / "model.json"
    command = [*PRIVET, "federated", "coordinator", str(folder / "coordinator" / "coordinator.toml")]
    subprocess.run([*command, "--epsilon", str(epsilon), "-o", str(model), *options], check=True)
    return model


def stop(parties: Sequence[subprocess.Popen[bytes]]) -> None:
    for party in parties:
        party.terminate()
    for party in parties:
        party.wait(timeout=60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rows", type=int, help="use so many people instead of all 45,222")
    parser.add_argument("--seed", type=int, help="noise that can be had again: no guarantee")
    parser.add_argument("--keep", type=Path, help="a new folder for all files, instead of one that is deleted")
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        lay_out(folder, rows=arguments.rows, epsilon=arguments.epsilon, seed=arguments.seed)
        parties = [start_party(folder, name) for name in HOSPITALS]
        try:
            model = load(coordinate(folder, arguments.epsilon, options))
        finally:
            stop(parties)
        X, y, _ = load_adult()
        print(
            f"\n{model.export_text()}\nRight about {(model.predict(X) == y).mean():.1%} of the people it was made from."
        )


if __name__ == "__main__":
    main()
