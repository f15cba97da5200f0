"""Speed and memory, as ratios measured in one run on one machine: machines differ, ratios less.

Every time is the best of several after a warm-up (kernels compiled or loaded, libraries imported), competitors taking
turns, so that a busy machine slows all of them. Each part has a process of its own, with all cores.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privet_bench.experiment import Experiment, Method, Scores, Task
from privet_bench.store import Row
from privet_bench.tables import head, provenance, row
from privet_bench.tables import measured as by_measure

ROWS, FEATURES = 1_000_000, 28


def synthetic(n: int = ROWS, m: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Normal features, C-ordered float64, and a noisy linear label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    return X, (X @ rng.normal(size=m) + 2 * rng.normal(size=n) > 0).astype(np.int64)


def ours(m: int) -> Any:
    from privet import Numeric, PrivateTreeClassifier, Schema

    schema = Schema({f"x{i}": Numeric(-5, 5) for i in range(m)}, classes=[0, 1])
    return PrivateTreeClassifier(schema, epsilon=1.0, max_depth=4)


CPU = "PRIVET_CPU" in os.environ
"""Count the processor's time instead of the wall's, where others use the machine: with NUMBA_NUM_THREADS=1 alone."""


def _clock() -> float:
    return time.process_time() if CPU else time.perf_counter()


def best(*jobs: Callable[[], Any], repeats: int = 5) -> list[float]:
    """The best time of each job, in seconds; the jobs take turns."""
    times: list[list[float]] = [[] for _ in jobs]
    for _ in range(repeats):
        for job, own in zip(jobs, times):
            start = _clock()
            job()
            own.append(_clock() - start)
    return [min(own) for own in times]


FOUND: dict[str, float] = {}


def report(what: str, ratio: float, target: float | None = None, note: str = "") -> None:
    """Kept for the part that is being measured; seconds go to whoever looks on."""
    FOUND[what + ("" if target is None else f" (target {target:g})")] = float(ratio)
    print(f"{what:<66} {ratio:8.4f}{note}", file=sys.stderr, flush=True)


def peers() -> None:
    """One tree on 1,000,000 x 28 against LightGBM and scikit-learn."""
    from lightgbm import LGBMClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = synthetic()
    model = ours(FEATURES)
    lightgbm = LGBMClassifier(n_estimators=1, num_leaves=16, max_bin=63, verbose=-1)
    model.fit(X, y)
    lightgbm.fit(X, y)
    mine, light, read = best(lambda: model.fit(X, y), lambda: lightgbm.fit(X, y), X.sum)
    (learn,) = best(lambda: DecisionTreeClassifier(max_depth=4).fit(X, y), repeats=1)
    note = f"   [{mine:.3f} s against {{:.3f}} s]"
    report("fit 1,000,000 x 28, against LightGBM (16 leaves, max_bin=63)", mine / light, 0.08, note.format(light))
    report("fit 1,000,000 x 28, in reads of the matrix (X.sum())", mine / read, 6, note.format(read))
    report("fit 1,000,000 x 28, against scikit-learn (max_depth=4)", mine / learn, 0.02, note.format(learn))


def privatree() -> None:
    """PrivaTree, whose histograms are all noised and whose bins are private quantiles, against our tree."""
    from privet import Numeric, PrivaTreeClassifier, Schema

    X, y = synthetic()
    schema = Schema({f"x{i}": Numeric(-5, 5) for i in range(FEATURES)}, classes=[0, 1])
    model, theirs = ours(FEATURES), PrivaTreeClassifier(schema, epsilon=1.0, max_depth=4)
    model.fit(X, y)
    theirs.fit(X, y)
    mine, tree = best(lambda: model.fit(X, y), lambda: theirs.fit(X, y))
    note = f"   [{tree:.3f} s against {mine:.3f} s]"
    report("PrivaTree (sound) on 1,000,000 x 28, against PrivateTreeClassifier", tree / mine, 3, note)


def adult() -> None:
    """Adult from a data frame, against scikit-learn's tree with its encoder."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    from privet import PrivateTreeClassifier
    from privet.datasets import load_adult

    X, y, schema = load_adult()
    text = [name for name in X.columns if X[name].dtype.kind not in "iuf"]
    encoder = make_column_transformer((OrdinalEncoder(), text), remainder="passthrough")
    theirs = make_pipeline(encoder, DecisionTreeClassifier(max_depth=4))
    model = PrivateTreeClassifier(schema, epsilon=1.0, max_depth=4)
    model.fit(X, y)
    theirs.fit(X, y)
    mine, learn = best(lambda: model.fit(X, y), lambda: theirs.fit(X, y), repeats=15)
    report("fit Adult from pandas, against scikit-learn with encoder", mine / learn, 0.5, f"   [{mine:.3f} s]")


def linear() -> None:
    """Time per row and per feature when their number doubles."""
    X, y = synthetic()
    half = X[: ROWS // 2], y[: ROWS // 2]
    narrow = np.ascontiguousarray(X[:, : FEATURES // 2])
    whole, fewer = ours(FEATURES), ours(FEATURES // 2)
    whole.fit(X, y)
    all_rows, half_rows, half_features = best(
        lambda: whole.fit(X, y), lambda: whole.fit(*half), lambda: fewer.fit(narrow, y)
    )
    report("time for twice the rows, over twice the time", all_rows / half_rows / 2, 1.25)
    report("time for twice the features, over twice the time", all_rows / half_features / 2, 1.25)


def forests() -> None:
    """100 trees on disjoint parts against one tree, in time and memory."""
    X, y = synthetic()
    one, many = _forest(1), _forest(100)
    one.fit(X, y)
    a, b = best(lambda: one.fit(X, y), lambda: many.fit(X, y), repeats=3)
    report("100 trees on disjoint parts of 1,000,000 x 28, against one", b / a, 10, f"   [{b:.2f} s against {a:.2f} s]")
    report("peak extra memory of 100 trees, in float64 copies of X", _peak("forest"), 0.5)


def boosting() -> None:
    """200 rounds over single features, and the whole recipe, against LightGBM's 200 trees of 8 leaves."""
    from dataclasses import replace
    from fractions import Fraction
    from unittest.mock import patch

    from lightgbm import LGBMClassifier

    from privet.tree import rounds

    X, y = synthetic()
    model = _forest(1, method="boosting", delta=1e-6)
    lightgbm = LGBMClassifier(n_estimators=200, num_leaves=8, verbose=-1, n_jobs=1 if CPU else None)
    single = {"rho": replace(rounds.RECIPES["rho"], alone=Fraction(2))}
    with patch.object(rounds, "MOST_ROUNDS", 4):
        model.fit(X, y)  # so many records that the kernels are loaded
    (light,) = best(lambda: lightgbm.fit(X, y), repeats=1)
    with patch.object(rounds, "RECIPES", single), patch.object(rounds, "MOST_ROUNDS", 200):
        (alone,) = best(lambda: model.fit(X, y), repeats=1)
    (whole,) = best(lambda: model.fit(X, y), repeats=1)
    against = f"against {light:.1f} s]"
    report(
        "200 rounds over single features, against LightGBM's 200 trees", alone / light, 0.7, f" [{alone:.1f} {against}"
    )
    n = len(model.forest_.rounds)
    report(f"the whole recipe, {n} rounds, against LightGBM's 200 trees", whole / light, 2, f" [{whole:.1f} {against}")


def prediction() -> None:
    """Predictions of 1,000,000 rows by a tree and by 200 rounds of boosting, against scikit-learn's tree."""
    from unittest.mock import patch

    from sklearn.tree import DecisionTreeClassifier

    from privet.tree import rounds

    X, y = synthetic()
    theirs = DecisionTreeClassifier(max_depth=4).fit(X[:50_000], y[:50_000])
    tree = ours(FEATURES).fit(X, y)
    with patch.object(rounds, "MOST_ROUNDS", 200):
        boosted = _forest(1, method="boosting", delta=1e-6).fit(X[:300_000], y[:300_000])
    tree.predict(X)
    learn, one, many = best(lambda: theirs.predict(X), lambda: tree.predict(X), lambda: boosted.predict(X))
    report(
        "prediction by a tree, against scikit-learn's tree", one / learn, 0.5, f"   [{one:.3f} s against {learn:.3f} s]"
    )
    report("prediction by 200 rounds, against scikit-learn's tree", many / learn, 2, f"   [{many:.3f} s]")


def _forest(n_trees: int, **options: Any) -> Any:
    from privet import Numeric, PrivateForestClassifier, Schema

    schema = Schema({f"x{i}": Numeric(-5, 5) for i in range(FEATURES)}, classes=[0, 1])
    options = {"method": "trees"} | options
    return PrivateForestClassifier(schema, epsilon=1.0, n_trees=n_trees, progress=False, **options)


def memory() -> None:
    """Peak extra memory of a fit, in units of a float64 copy of X."""
    report("peak extra memory of a tree, in float64 copies of X", _peak("tree"), 0.5)
    report("peak extra memory of boosting, in float64 copies of X", _peak("boosting"), 0.5)


def _peak(model: str) -> float:
    """Measured in a process of its own."""
    code = f"from privet_bench.experiments import speed; speed.memory_of({model!r})"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def memory_of(name: str) -> None:
    from unittest.mock import patch

    from privet.tree import rounds

    X, y = synthetic()
    model = {"tree": ours(FEATURES), "forest": _forest(100), "boosting": _forest(1, method="boosting", delta=1e-6)}[
        name
    ]
    with patch.object(rounds, "MOST_ROUNDS", 10):
        model.fit(X, y)  # loads the libraries and the compiled kernels, which do not count
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # restart the kernel's record of the peak, so that making X does not count
        before = _status("VmRSS")
        model.fit(X, y)
    print((_status("VmHWM") - before) / X.nbytes)


def _status(name: str) -> int:
    """A line of the process's status, in bytes: VmRSS is what it holds, VmHWM the most that it has held."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


def imports() -> None:
    """``import privet`` and the estimator, against ``import sklearn.base``; each in a new process."""

    def start(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    base, alone, estimator = best(
        start("import sklearn.base"),
        start("import privet"),
        start("from privet import PrivateTreeClassifier"),
        repeats=7,
    )
    report("import privet, against import sklearn.base", alone / base, 1.3)
    report("from privet import PrivateTreeClassifier, against import sklearn.base", estimator / base, 1.3)


PARTS = {
    "import": imports,
    "adult": adult,
    "peers": peers,
    "privatree": privatree,
    "linear": linear,
    "memory": memory,
    "forests": forests,
    "boosting": boosting,
    "prediction": prediction,
}


def measured(experiment: Experiment, task: Task) -> Scores:
    """One part, in a process that may use all cores."""
    code = f"from privet_bench.experiments import speed; speed.say({task.method!r})"
    free = {k: v for k, v in os.environ.items() if k not in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**free, "PYTHONPATH": path})
    return json.loads(done.stdout.splitlines()[-1])


def say(part: str) -> None:
    PARTS[part]()
    print(json.dumps(FOUND))


def with_targets(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    yield from head("what", ["ratio", "target", "met"])
    means = {method: own for (_, method, _), own in by_measure(rows).items()}
    for measure, own in (item for part in PARTS if part in means for item in means[part].items()):
        what, _, target = measure.rstrip(")").partition(" (target ")
        met = "" if not target else "yes" if own.value <= float(target) else "**no**"
        error = "" if math.isnan(own.error) else f" ± {own.error:.3f}"
        yield row(what, [f"{own.value:.3f}{error}", target, met])
    yield "\n" + provenance(experiment, rows, only)


EXPERIMENTS = [
    Experiment(
        name="speed",
        title="Time and memory, as ratios",
        source="Privet",
        sets=("1,000,000 x 28",),
        methods={name: Method(name) for name in PARTS},
        settings=({},),
        seeds=3,
        run=measured,
        layout=with_targets,
        alone=True,
        seconds=40,
        note="A ratio is of our time to that of what is named; memory is in copies of the records.",
    ),
]
