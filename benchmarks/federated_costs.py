"""What federated training costs: rounds, bytes for each party, and time, by the number of parties: `make federated`.

`HistogramTreeClassifier` of depth 4 at epsilon 1 on the census data, dealt to K parties in one process, so that the
time is that of counting, noise, keys and masks alone; the bytes are those that would go over the wire both ways, in the
messages themselves. Secure noise, a colluder tolerated; with drop-outs tolerated every question takes three rounds. The
time is processor time, of all parties and the coordinator together: the mean of the runs with its standard error.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    fit(4, 0, 1000)  # loads what has to be loaded
    print("| parties | drop-outs | records | rounds | most bytes to a party in a round | and back | in all | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for parties, dropouts in ((3, 0), (10, 0), (10, 1), (50, 0), (50, 5)):
        for rows in (5_000, 45_222):
            runs = [fit(parties, dropouts, rows) for _ in range(arguments.runs)]
            channel = runs[0][0]
            seconds = np.array([run[1] for run in runs])
            error = seconds.std(ddof=1) / math.sqrt(len(seconds)) if len(seconds) > 1 else math.nan
            sizes = f"{max(channel.to):,} | {max(channel.back):,} | {sum(channel.to) + sum(channel.back):,}"
            took = f"{seconds.mean():.2f} ± {error:.2f}"
            print(f"| {parties} | {dropouts} | {rows:,} | {len(channel.to)} | {sizes} | {took} |", flush=True)


if __name__ == "__main__":
    main()
