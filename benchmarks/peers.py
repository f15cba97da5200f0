"""Our forests beside peers: DP-EBM of ``interpret``, and diffprivlib, each in an environment of its own.

    make peers                                            all of it, after the environments were made
    python benchmarks/peers.py --seeds 2 adult            one set, fewer splits
    python benchmarks/peers.py --show --page              the tables of what has been run, into docs/peers.md

All shared sets of 5,000 rows or more, 40,000 rows of each at most; every run is a fresh 80/20 split. Everybody is told
the schema's ranges, categories and classes. Ours measure the number of records privately, and are fitted twice where
one tree has the labels and boosting the probabilities: accuracy is of the first, AUC of the second. Runs are kept in
``--results``, a line of JSON each, so that a run can be stopped and taken up again. Noise is seeded for that; a seed
changes no law.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import regression
import shared_data
from privet.schema import Numeric, Schema
from privet.tables.table import read_table
from privet.tree.forest import Forest

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "peers.jsonl"
PAGE, BEGIN, END = HERE.parent / "docs" / "peers.md", "<!-- tables -->", "<!-- end -->"
ROWS, LEAST = 40_000, 5_000
DELTA = 1e-6
EPSILONS = (0.1, 1.0, 4.0)
SEEDS = 3
FIRST_SEED = 500
"""Splits of smaller seeds were used while defaults were chosen."""

PYTHONS = {
    "dp-ebm": HERE.parent / ".venv-interpret" / "bin" / "python",
    "diffprivlib": HERE.parent / ".venv-diffprivlib" / "bin" / "python",
}
OURS, OURS_PURE = "Privet", "Privet, pure"
PEERS = {
    "DP-EBM": ("dp-ebm", None),
    "diffprivlib forest": ("diffprivlib", "forest"),
    "diffprivlib logistic": ("diffprivlib", "logistic"),
    "diffprivlib linear": ("diffprivlib", "linear"),
}
MEASURES = {"accuracy": ("Accuracy", 1), "auc": ("AUC", 1), "mse": ("Mean squared error x 1000", -1)}
"""The title of each, and whether more or less of it is better."""

CLASSES = ("DP-EBM", "diffprivlib forest", "diffprivlib logistic")
TARGETS = ("DP-EBM", "diffprivlib linear")


def sets() -> list[str]:
    """Sets of classes and of targets, and the held-out targets among the columns of the former."""
    large = [name for name, entry in shared_data.manifest().items() if entry.get("rows", 0) >= LEAST]
    known = (*shared_data.PRIVATREE_SETS, *shared_data.OTHER_SETS, *shared_data.REGRESSION_SETS)
    plain = [name for name in large if name in known]
    return plain + [f"{name}:{column}" for name, column in regression.HELD_OUT.items() if name in plain]


@lru_cache(maxsize=2)
def load(name: str) -> tuple[Any, np.ndarray, Schema]:
    """Features, labels or targets, and the schema: at most ``ROWS``, by a fixed draw."""
    if ":" in name or name in shared_data.REGRESSION_SETS:
        X, y, schema = regression.load(name.split(":")[0])
    else:
        data = shared_data.load(name)
        X, y, schema = data.X, data.y.to_numpy(), data.schema
    if len(y) > ROWS:
        kept = np.random.default_rng(0).permutation(len(y))[:ROWS]
        X, y = X.iloc[kept], y[kept]
    return X, y, schema


def methods(schema: Schema) -> list[str]:
    if schema.target is not None:
        return [OURS, OURS_PURE, *TARGETS]
    return [OURS, OURS_PURE, *(name for name in CLASSES if name != "DP-EBM" or len(schema.classes or ()) == 2)]


class Worker:
    """A peer's environment, kept running: it is handed files, and answers with files."""

    def __init__(self, library: str) -> None:
        self.library = library
        self._process = subprocess.Popen(
            [str(PYTHONS[library]), str(HERE / "peers_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, task: dict[str, Any]) -> dict[str, np.ndarray]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline() or '{"ok": false, "error": "it ended"}')
        if not said["ok"]:
            raise RuntimeError(f"{self.library}: {said['error']}")
        with np.load(task["answer"]) as found:
            return dict(found)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def run(name: str, method: str, epsilon: float, seed: int, workers: dict[str, Worker]) -> dict[str, Any]:
    X, y, schema = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [len(order) * 4 // 5])
    found = {"set": name, "method": method, "epsilon": epsilon, "seed": seed, "rows": len(y)}
    if method in (OURS, OURS_PURE):
        answer = ours(X, y, schema, train, test, epsilon, None if method == OURS_PURE else DELTA, seed)
    else:
        answer = theirs(X, y, schema, train, test, epsilon, seed, *PEERS[method], workers)
    return found | scored(answer, y[test], schema)


def ours(
    X: Any, y: np.ndarray, schema: Schema, train: Any, test: Any, epsilon: float, delta: float | None, seed: int
) -> dict[str, np.ndarray]:
    from privet import PrivateForestClassifier, PrivateForestRegressor

    kind = PrivateForestClassifier if schema.target is None else PrivateForestRegressor
    model = kind(schema, epsilon=epsilon, delta=delta, random_state=seed, progress=False)
    answer = {"predicted": model.fit(X.iloc[train], y[train]).predict(X.iloc[test])}
    if len(schema.classes or ()) == 2:
        if isinstance(
            model.forest_, Forest
        ):  # a tree is for labels: where probabilities are the aim, it may be boosted
            model.set_params(aim="probabilities").fit(X.iloc[train], y[train])
        second = list(model.classes_).index((schema.classes or ())[1])
        answer["chances"] = model.predict_proba(X.iloc[test])[:, second]
    return answer


def theirs(
    X: Any,
    y: np.ndarray,
    schema: Schema,
    train: Any,
    test: Any,
    epsilon: float,
    seed: int,
    library: str,
    model: str | None,
    workers: dict[str, Worker],
) -> dict[str, np.ndarray]:
    table = read_table(X, schema)
    columns = [
        table.numeric(name) if isinstance(own, Numeric) else table.codes(name) for name, own in schema.features.items()
    ]
    cells = np.stack(columns, axis=1).astype(float)
    classes = list(schema.classes or ())
    labels = np.array([classes.index(label) for label in y]) if classes else y
    numeric = [isinstance(own, Numeric) for own in schema.features.values()]
    if library not in workers:
        workers[library] = Worker(library)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        np.savez(data, X_train=cells[train], y_train=labels[train], X_test=cells[test])
        task = {
            "library": library,
            "model": model,
            "data": str(data),
            "answer": str(Path(folder) / "answer.npz"),
            "epsilon": epsilon,
            "delta": DELTA,
            "seed": seed,
            "ranges": [
                [float(f.low), float(f.high)] if own else None for f, own in zip(schema.features.values(), numeric)
            ],
            "categories": [None if own else f.n_codes for f, own in zip(schema.features.values(), numeric)],
            "n_classes": len(classes),
            "target": None if schema.target is None else list(schema.target),
        }
        answer = workers[library].ask(task)
    if classes:
        answer["predicted"] = np.array(classes)[answer["predicted"].astype(int)]
    return answer


def scored(answer: dict[str, np.ndarray], truth: np.ndarray, schema: Schema) -> dict[str, float]:
    if schema.target is not None:
        low, high = schema.target
        return {"mse": float(((np.clip(answer["predicted"], low, high) - truth) ** 2).mean() / (high - low) ** 2)}
    scores = {"accuracy": float((answer["predicted"] == truth).mean())}
    if "chances" in answer:
        scores["auc"] = float(roc_auc_score(truth == (schema.classes or ())[1], answer["chances"]))
    return scores


# -- the tables --------------------------------------------------------------------------------------------------------


def tables(runs: list[dict[str, Any]]) -> list[str]:
    """Wins and losses; then for each measure and epsilon the means with standard errors, and who is first or level."""
    lines, places = [], []
    for measure, (title, better) in MEASURES.items():
        for epsilon in EPSILONS:
            own = [r for r in runs if r["epsilon"] == epsilon and measure in r]
            if own:
                found, said = _table(own, measure, better)
                lines += ["", f"## {title}, epsilon {epsilon:g}", "", *found]
                places.append((f"{title}, epsilon {epsilon:g}", said))
    return [*_wins(places), *lines]


def _wins(places: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> list[str]:
    """How often ours is first, level or behind; and on how many of these sets it has fewer runs than all."""
    heads = ["first", "level", "behind", "first or level", "with fewer runs of ours"]
    lines = [_row("", heads), _row("---", ["---"] * len(heads))]
    for title, found in [*places, ("**all**", [place for _, own in places for place in own])]:
        said = [word for word, _ in found]
        counts = [said.count(word) for word in ("first", "level", "behind")]
        share = f"{counts[0] + counts[1]} of {len(said)} ({(counts[0] + counts[1]) / max(len(said), 1):.0%})"
        lines.append(_row(title, [*map(str, counts), share, str(sum(n < SEEDS for _, n in found))]))
    return lines


def _table(runs: list[dict[str, Any]], measure: str, better: int) -> tuple[list[str], list[tuple[str, int]]]:
    """The table of one measure at one epsilon, and our place on each set with the number of our runs."""
    names = [m for m in (OURS, OURS_PURE, *PEERS) if any(r["method"] == m for r in runs)]
    factor = 1000 if measure == "mse" else 1
    lines, places = [_row("set", [*names, "ours"]), _row("---", ["---"] * (len(names) + 1))], []
    for name in sorted({r["set"] for r in runs}):
        means = {m: mean_of([r[measure] * factor for r in runs if (r["set"], r["method"]) == (name, m)]) for m in names}
        said = place(means, better)
        mine = means.get(OURS)
        places += [(said, mine[2])] if said and mine else []
        lines.append(_row(name, [*(_cell(means[m], 2 if factor > 1 else 3) for m in names), said]))
    return lines, places


def write_page(lines: Sequence[str]) -> None:
    """Into docs/peers.md, between the two comments that stand there for it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n".join(["", *lines, ""]) + END + rest.split(END)[1], encoding="utf-8")


def _cell(found: tuple[float, float, int] | None, digits: int) -> str:
    """The mean with its error, and the number of runs if not all of them are there."""
    if found is None:
        return ""
    mean, error, n = found
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if n > 1 else "") + ("" if n == SEEDS else f" ({n})")


def mean_of(values: Sequence[float]) -> tuple[float, float, int] | None:
    """The mean, its standard error (0 of a single run) and the number of runs."""
    if not values:
        return None
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else 0.0, n


def place(means: dict[str, tuple[float, float, int] | None], better: int) -> str:
    """Whether ours, with the delta that DP-EBM has, is first, level within one standard error of both, or behind."""
    mine = means.get(OURS)
    others = [own for method, own in means.items() if own and method not in (OURS, OURS_PURE)]
    if mine is None or not others:
        return ""
    best = max(others, key=lambda own: better * own[0])
    lead = better * (mine[0] - best[0])
    return "first" if lead >= 0 else "level" if -lead <= math.hypot(mine[1], best[1]) else "behind"


def _row(head: str, cells: list[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epsilons", type=float, nargs="*", default=list(EPSILONS))
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/peers.md, too")
    asked = parser.parse_args()
    if not shared_data.available():
        raise SystemExit(f"skipped: there are no shared data in {shared_data.SHARED}")
    absent = {library for library, python in PYTHONS.items() if not python.exists()}
    for library in absent:
        print(f"skipped: {library} has no environment here; `make peers` makes it", flush=True)
    asked.results.parent.mkdir(exist_ok=True)
    workers: dict[str, Worker] = {}
    done = {(r["set"], r["method"], r["epsilon"], r["seed"]) for r in regression.read(asked.results)}
    for seed in range(FIRST_SEED, FIRST_SEED + (0 if asked.show else asked.seeds)):
        for name in asked.sets or sets():
            for method in methods(load(name)[2]):
                wanted = not asked.methods or method in asked.methods
                library = PEERS[method][0] if method in PEERS else None
                if not wanted or library in absent:
                    continue
                for epsilon in asked.epsilons:
                    if (name, method, epsilon, seed) in done:
                        continue
                    try:
                        line = json.dumps(run(name, method, epsilon, seed, workers))
                    except RuntimeError as error:
                        print(f"{name}, {method}, epsilon {epsilon:g}: {error}", flush=True)
                        continue
                    with asked.results.open("a") as file:
                        file.write(line + "\n")
    for worker in workers.values():
        worker.close()
    found = tables(regression.read(asked.results))
    print("\n".join(found))
    if asked.page:
        write_page(found)


if __name__ == "__main__":
    main()
