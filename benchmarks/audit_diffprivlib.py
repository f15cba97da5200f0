"""IBM's diffprivlib, attacked: `make audit-diffprivlib`.

It cannot be imported beside a current scikit-learn, so it has an environment of its own, which is made if no Python is
the argument of this script. That Python is driven over a pipe, one line of JSON for each fit
(``diffprivlib_env/worker.py``), so that the statistical engine can audit it like anything else.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from privet.audit.claims import Claim
from privet.audit.claims.claim import joined
from privet.audit.pair import Pair
from privet.cli.audit import claims_table
from privet.errors import PrivetError
from privet_bench.peers import NoEnvironment, environment

WORKER = Path(__file__).with_name("diffprivlib_env") / "worker.py"


@dataclass(frozen=True)
class DiffprivlibTree:
    """``DecisionTreeClassifier`` with public bounds and classes; its prediction at 0 is what is seen."""

    python: Path
    epsilon: float = 1.0

    def __call__(self, X: np.ndarray, y: np.ndarray) -> int:
        return labels(self.python, "tree", X, y, self.epsilon)[0]


@dataclass(frozen=True)
class DiffprivlibForest:
    """``RandomForestClassifier`` as it comes: rows go to the trees in order, in equal chunks.

    What is seen is how many trees vote at 0 as they would after the chunks have moved: even ones 1, odd ones 0.
    """

    python: Path
    trees: int = 10
    epsilon: float = 1.0

    def __call__(self, X: np.ndarray, y: np.ndarray) -> int:
        votes = labels(self.python, "forest", X, y, self.epsilon, self.trees)
        return sum(vote == (j + 1) % 2 for j, vote in enumerate(votes))


def balanced(rows: int = 6) -> Pair:
    """As many records of one class as of the other; one more tips the scales."""
    return joined(np.zeros((rows, 1)), np.arange(rows) % 2, [0.0], 1)


def moving_chunks(trees: int = 10) -> Pair:
    """Chunks of five rows; a row inserted in front pushes each chunk's last row into the next.

    These last rows are 0 and 1 in turn, the others balanced, so every chunk's majority turns over.
    """
    y = np.concatenate([[0, 1, 0, 1, j % 2] for j in range(trees)])[:-1]
    return Pair((np.zeros((len(y), 1)), y), (np.zeros((len(y) + 1, 1)), np.insert(y, 0, 1)))


def labels(python: Path, model: str, X: np.ndarray, y: np.ndarray, epsilon: float, trees: int = 1) -> list[int]:
    """What each tree of a fit in the other environment says."""
    worker = _worker(python, os.getpid())
    request = {"model": model, "X": X.tolist(), "y": y.tolist(), "epsilon": epsilon, "trees": trees}
    try:
        print(json.dumps(request), file=worker.stdin, flush=True)
        return json.loads(worker.stdout.readline())["labels"]
    except (OSError, ValueError, KeyError):
        raise PrivetError(f"{python} did not answer; try: {python} -c 'import diffprivlib.models'") from None


@cache
def _worker(python: Path, process: int) -> subprocess.Popen[str]:
    """One for each of our own processes, which ends with it."""
    worker = subprocess.Popen(
        [python, "-I", "-W", "ignore", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    atexit.register(worker.kill)
    return worker


def claims(python: Path) -> tuple[Claim, ...]:
    claim = partial(Claim, "diffprivlib")
    return (
        claim(
            "diffprivlib-tree",
            "DecisionTreeClassifier",
            partial(DiffprivlibTree, python),
            balanced,
            "A random structure, then one permute-and-flip for each leaf.",
            runs=2_000,
        ),
        claim(
            "diffprivlib-forest",
            "RandomForestClassifier, 10 trees",
            partial(DiffprivlibForest, python),
            moving_chunks,
            "Rows go to the trees in order and in equal chunks: one row more moves a row of every chunk.",
            proven=19.0,
            runs=400,
        ),
    )


def main() -> None:
    try:
        given = Path(sys.argv[1]).absolute() if sys.argv[1:] else environment("diffprivlib")
    except NoEnvironment as error:
        sys.exit(f"skipped: {error}")
    outcomes = [claim.attack(progress=None) for claim in claims(given)]
    claims_table(outcomes)
    sys.exit(not all(outcome.expected for outcome in outcomes))


if __name__ == "__main__":
    import audit_diffprivlib  # by its name, under which worker processes find what they are to attack

    audit_diffprivlib.main()
