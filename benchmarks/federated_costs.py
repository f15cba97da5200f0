"""What federated training costs: rounds, bytes for each party, and time, by the number of parties: `make federated`.

`HistogramTreeClassifier` of depth 4 at epsilon 1 on the census data, dealt to K parties in one process, so that the
time is that of counting, noise, keys and masks alone; the bytes are those that would go over the wire both ways, in the
messages themselves. Secure noise, a colluder tolerated; with drop-outs tolerated every question takes three rounds. The
time is processor time, of all parties and the coordinator together: the mean of the runs with its standard error.

With ``--processes`` five parties and a coordinator are real processes over TLS on this machine, with drop-outs
tolerated, and the time is that on the clock, from when all parties are there to the signed receipt; with a delay, every
byte is so many milliseconds later at the other end.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from delayed import Delayed
from privet import FederatedCurator, HistogramTreeClassifier, Ledger
from privet.consortium.federated.channel import InProcess, in_process
from privet.datasets import load_adult


class Rounds:
    """A channel that notes the bytes of every round, for the party with most."""

    def __init__(self, channel: InProcess) -> None:
        self._channel = channel
        self.parties = channel.parties
        self.to: list[int] = []
        self.back: list[int] = []

    def ask(self, messages: dict[str, bytes]) -> dict[str, bytes]:
        replies = self._channel.ask(messages)
        self.to.append(max(map(len, messages.values())))
        self.back.append(max(map(len, replies.values())))
        return replies


def fit(parties: int, dropouts: int, rows: int) -> tuple[Rounds, float]:
    X, y, schema = load_adult()
    order = np.random.default_rng(0).permutation(len(X))[:rows]
    tables = [(X.iloc[part], y.iloc[part]) for part in np.array_split(order, parties)]
    channel = Rounds(in_process(tables, schema))
    start = time.process_time()
    curator = FederatedCurator(schema, channel, ledger=Ledger(math.inf), tolerated_dropouts=dropouts)
    HistogramTreeClassifier(epsilon=1.0, max_depth=4, min_samples=0).fit_curator(curator)
    return channel, time.process_time() - start


def seconds_of_processes(delay: float) -> float:
    """A run of 19 rounds on lines with this delay: to join, to meet, 5 questions of 3 rounds, to sign and to keep."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import federated_loopback as loopback

    port = loopback.free_port()
    with tempfile.TemporaryDirectory() as temporary, Delayed(port, delay) as wire:
        folder = Path(temporary)
        loopback.lay_out(folder, rows=6000, dropouts=1, port=port, dialled=wire.port)
        parties = [loopback.start_party(folder, name) for name in loopback.HOSPITALS]
        command = [*loopback.PRIVET, "federated", "coordinator", str(folder / "coordinator" / "coordinator.toml")]
        command += [
            "--epsilon",
            "1",
            "-o",
            str(folder / "model.json"),
            "--set",
            "max_depth=4",
            "--set",
            "min_samples=0",
        ]
        start = math.nan
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as coordinator:
                for line in coordinator.stdout or ():
                    if line.startswith("asking 5 parties to join"):
                        start = time.monotonic()
                    elif line.startswith("Receipt"):
                        return time.monotonic() - start
        finally:
            loopback.stop(parties)
    raise RuntimeError("the coordinator has written no receipt")


def processes(runs: int) -> None:
    print("| delay of the line | rounds | seconds |\n|---|---|---|")
    for delay in (0.0, 0.02):
        print(f"| {1000 * delay:g} ms | 19 | {mean([seconds_of_processes(delay) for _ in range(runs)])} |", flush=True)


def mean(seconds: list[float]) -> str:
    error = np.std(seconds, ddof=1) / math.sqrt(len(seconds)) if len(seconds) > 1 else math.nan
    return f"{np.mean(seconds):.2f} ± {error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", action="store_true", help="real processes over TLS, timed by the clock")
    arguments = parser.parse_args()
    if arguments.processes:
        processes(arguments.runs)
        return
    fit(4, 0, 1000)  # loads what has to be loaded
    print("| parties | drop-outs | records | rounds | most bytes to a party in a round | and back | in all | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for parties, dropouts in ((3, 0), (10, 0), (10, 1), (50, 0), (50, 5)):
        for rows in (5_000, 45_222):
            runs = [fit(parties, dropouts, rows) for _ in range(arguments.runs)]
            channel = runs[0][0]
            sizes = f"{max(channel.to):,} | {max(channel.back):,} | {sum(channel.to) + sum(channel.back):,}"
            took = mean([seconds for _, seconds in runs])
            print(f"| {parties} | {dropouts} | {rows:,} | {len(channel.to)} | {sizes} | {took} |", flush=True)


if __name__ == "__main__":
    main()
