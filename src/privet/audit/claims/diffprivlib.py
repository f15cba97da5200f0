"""IBM's diffprivlib, in an environment of its own: it cannot be imported beside a current scikit-learn.

``make audit-diffprivlib`` builds that environment. Its Python is then driven over a pipe, one line of JSON for each fit
(``diffprivlib_worker``), so that the statistical engine can audit it like anything else.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from privet.audit.claims.claim import Claim
from privet.audit.claims.law import joined
from privet.audit.pair import Pair
from privet.errors import PrivetError

VARIABLE = "PRIVET_DIFFPRIVLIB"
WORKER = Path(__file__).with_name("diffprivlib_worker.py")


def interpreter() -> Path | None:
    """The Python of the environment that the variable names; no folder is searched, so that nothing there is run."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named and Path(named).is_absolute() and Path(named).is_file() else None


@cache
def unavailable() -> str | None:
    """Why diffprivlib cannot be audited here; None if it can."""
    python = interpreter()
    if python is None:
        return f"no environment for it: run `make audit-diffprivlib`, or let {VARIABLE} be the full path of its Python"
    try:
        _ask(python, {"model": "tree", "X": [[0.0]], "y": [0], "epsilon": 1.0})
    except PrivetError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class DiffprivlibTree:
    """``DecisionTreeClassifier`` with public bounds and classes; its prediction at 0 is what is seen."""

    epsilon: float = 1.0

    def __call__(self, X: np.ndarray, y: np.ndarray) -> int:
        return _labels("tree", X, y, self.epsilon)[0]


@dataclass(frozen=True)
class DiffprivlibForest:
    """``RandomForestClassifier`` as it comes: rows go to the trees in order, in equal chunks.

    What is seen is how many trees vote at 0 as they would after the chunks have moved: even ones 1, odd ones 0.
    """

    trees: int = 10
    epsilon: float = 1.0

    def __call__(self, X: np.ndarray, y: np.ndarray) -> int:
        votes = _labels("forest", X, y, self.epsilon, self.trees)
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


def _labels(model: str, X: np.ndarray, y: np.ndarray, epsilon: float, trees: int = 1) -> list[int]:
    python = interpreter()
    if python is None:
        raise PrivetError(f"diffprivlib has {unavailable()}.")
    request = {"model": model, "X": X.tolist(), "y": y.tolist(), "epsilon": epsilon, "trees": trees}
    return _ask(python, request)


def _ask(python: Path, request: dict) -> list[int]:
    worker = _worker(python, os.getpid())
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        print(json.dumps(request), file=worker.stdin, flush=True)
        return json.loads(worker.stdout.readline())["labels"]
    except (OSError, ValueError, KeyError):
        raise PrivetError(f"{python} did not answer; try: {python} -c 'import diffprivlib.models'") from None


@cache
def _worker(python: Path, process: int) -> subprocess.Popen[str]:
    """One for each of our own processes, which ends with it."""
    worker = subprocess.Popen(
        [python, "-I", "-W", "ignore", WORKER],  # -I: our own diffprivlib.py lies beside the worker
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    atexit.register(worker.kill)
    return worker


_claim = partial(Claim, "diffprivlib")

CLAIMS = (
    _claim(
        "diffprivlib-tree",
        "DecisionTreeClassifier",
        DiffprivlibTree,
        balanced,
        "A random structure, then one permute-and-flip for each leaf.",
        runs=2_000,
    ),
    _claim(
        "diffprivlib-forest",
        "RandomForestClassifier, 10 trees",
        DiffprivlibForest,
        moving_chunks,
        "Rows go to the trees in order and in equal chunks: one row more moves a row of every chunk.",
        proven=19.0,
        runs=400,
    ),
)
