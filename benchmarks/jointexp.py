"""Joint quantiles on the cells of a public grid, against the recurrence over all records that papers cite.

    make jointexp

PrivaTree bins its features by "jointexp" (Gillenwater, Joseph and Kulesza, 2021), whose dynamic program runs over the
gaps between the sorted records: m quantiles of n records take O(m n log n) by fast Fourier transforms. ``recurrence``
is that program, written plainly in NumPy. Ours runs over public cells, so only counting depends on n; and it is exact,
where sums of transforms lose whatever is 10^-16 of the largest. Both are timed in one run, taking turns, from raw
values to answers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet import MemoryCurator, Numeric, Schema
from privet.questions.grid import public_grid
from privet_bench.experiments.speed import best, report

RECORDS = 1_000_000
PROBABILITIES = [Fraction(k, 10) for k in range(1, 10)]
LOW, HIGH = 0.0, 50.0


def recurrence(values: np.ndarray, probs: list[Fraction], epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Quantiles by the joint exponential mechanism over the gaps between records.

    ``ways[j][i]`` is the weight of all choices of the first j + 1 gaps that end in gap i, and ``again[j][k][i]`` that
    of those whose last k + 1 choices are all gap i. Weights of one j are scaled by their largest.
    """
    edges = np.concatenate([[LOW], np.sort(np.clip(values, LOW, HIGH)), [HIGH]])
    widths, n = np.diff(edges), len(values)
    spacings = np.diff([0.0, *map(float, probs), 1.0])
    rate = epsilon / (4 * (1 - spacings.min()))
    size = 1 << (2 * n + 2).bit_length()

    def kernel(j: int) -> np.ndarray:
        """The weight of so many records between two choices."""
        return np.exp(-rate * np.abs(np.arange(n + 1) - spacings[j] * n))

    first = widths * kernel(0)
    again = [[first / first.max()]]
    ways = [again[0][0]]
    for j in range(1, len(probs)):
        between = kernel(j)
        alone = between[0]
        between[0] = 0  # a gap that is chosen again is counted by its repeats
        moved = np.fft.irfft(np.fft.rfft(between, size) * np.fft.rfft(ways[-1], size), size)[: n + 1]
        runs = [widths * np.maximum(moved, 0), *(widths * alone * run / (k + 2) for k, run in enumerate(again[-1]))]
        top = max(run.max() for run in runs)
        again.append([run / top for run in runs])
        ways.append(np.sum(again[-1], axis=0))
    chosen: list[int] = []
    j, weights = len(probs) - 1, ways[-1] * kernel(len(probs))[::-1]
    while j >= 0:
        gap = int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))
        runs = np.array([run[gap] for run in again[j]])
        k = int(np.searchsorted(np.cumsum(runs), rng.random() * runs.sum(), side="right"))
        chosen += [gap] * (k + 1)
        j -= k + 1
        if j >= 0:
            weights = np.zeros(n + 1)
            weights[:gap] = ways[j][:gap] * kernel(j + 1)[gap:0:-1]
    gaps = np.array(chosen[::-1])
    return np.sort(edges[gaps] + widths[gaps] * rng.random(len(gaps)))


def on_cells(values: np.ndarray, probs: list[Fraction], epsilon: float) -> list[float]:
    """The same question, asked of a curator."""
    schema = Schema({"x": Numeric(LOW, HIGH)}, classes=[0, 1])
    desk = MemoryCurator(values[:, None], np.zeros(len(values), dtype=np.int64), schema).open()
    desk.grid(public_grid(schema))
    return desk.quantiles(desk.root(), [0], probs, Fraction(epsilon))[0]


def main() -> None:
    rng = np.random.default_rng(0)
    values = rng.gamma(2, 4, RECORDS)
    truth = np.quantile(values, [float(p) for p in PROBABILITIES])
    theirs = recurrence(values, PROBABILITIES, 0.1, rng)
    ours = np.array(on_cells(values, PROBABILITIES, 0.1))
    print(
        f"largest error of a rank: recurrence {_rank_error(values, theirs):.4f}, cells {_rank_error(values, ours):.4f}"
    )
    print("truth     ", truth.round(2))
    print("recurrence", theirs.round(2))
    print("cells     ", ours.round(2))
    slow, fast = best(
        lambda: recurrence(values, PROBABILITIES, 0.1, rng),
        lambda: on_cells(values, PROBABILITIES, 0.1),
        repeats=3,
    )
    note = f"   [{fast:.3f} s against {slow:.3f} s]"
    report(f"9 joint quantiles of {RECORDS:,} values, against the recurrence", fast / slow, 0.1, note)


def _rank_error(values: np.ndarray, answers: np.ndarray) -> float:
    ranks = np.searchsorted(np.sort(values), answers) / len(values)
    return float(np.abs(ranks - [float(p) for p in PROBABILITIES]).max())


if __name__ == "__main__":
    main()
