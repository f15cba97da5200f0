"""Random stopping: the best of a secret number of runs, for three times what one run costs.

A run draws an answer x and a score q, and is epsilon-DP as a whole. Draw K with P(K = k) = g (1 - g)^(k - 1), run K
times, and release the run with the largest score, the first among equals. With p(x, q) for a run's law, T(q) for the
chance that its score is larger than q and T'(q) that it is at least q, the chance that (x, q) is released is

    sum over k of g (1 - g)^(k-1) p(x, q) ((1 - T)^k - (1 - T')^k) / (T' - T)
        = g p(x, q) / ((g + (1 - g) T(q)) (g + (1 - g) T'(q))).

Each of the three factors changes by at most e^epsilon between neighbours, so the release is 3 epsilon-DP, however often
one runs on average (Liu and Talwar 2019; Papernot and Steinke 2022 have other laws of K). That holds while K and all
runs but the one that is released stay secret: in receipts, progress and logs. How long it took tells something about K.
"""

from __future__ import annotations

import numpy as np

from privet.privacy.samplers import draw_below

COST = 3
"""What is released costs so many times what a run may cost."""

MOST_EXPECTED = 10_000


def draw_runs(expected: int, generator: np.random.Generator | None = None) -> int:
    """How often to run: each time it ends with one chance in ``expected``, exactly."""
    limit, runs = np.array([expected]), 1
    while draw_below(limit, generator)[0]:
        runs += 1
    return runs
