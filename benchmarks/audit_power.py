"""How much of the truth counted bounds show: the figures of docs/audit.md.

python benchmarks/audit_power.py
"""

import numpy as np

from privet.audit import bound_of_samples, runs_needed

RUNS = (20_000, 100_000, 200_000)
REPEATS = 5


def main() -> None:
    rng = np.random.default_rng()
    print(f"| runs on each table | bound on Laplace noise of epsilon 1, the middle one of {REPEATS} |\n|---|---|")
    for runs in RUNS:
        found = [bound_of_samples(rng.laplace(0, 1, runs), rng.laplace(1, 1, runs)).epsilon for _ in range(REPEATS)]
        print(f"| {runs:,} | {np.median(found):.2f} |")
    print("\n| epsilon | runs to show more, at confidence 1 - 1e-6 | and at 0.95 |\n|---|---|---|")
    for epsilon in (0, 1, 2, 3, 5, 8):
        print(f"| {epsilon} | {runs_needed(epsilon):,} | {runs_needed(epsilon, 0.05):,} |")


if __name__ == "__main__":
    main()
