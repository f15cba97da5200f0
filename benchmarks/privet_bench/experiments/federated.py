"""Trees between owners: the simulation of the report on federated histograms, its Figure 2, and Adult split five ways.

Gaussian mixtures of five components for each of two classes, five owners (section 4.1.1 of the report). The public
range of every feature is -4 to 4, for all methods; the report's program takes it from the data. Every run is fresh
data, noise and split. Owners are simulated without messages (``owners.py``), trees from histograms in the simulation by
a compiled copy of the algorithm (``compiled_histogram_tree.py``).

"saving, bounds 0" is Algorithm 6 with the printed noise on bounds that are all 0. The report's program computes them
so: it takes the least over thresholds of a function that is 0 at the smallest value. "Twice the records" is what that
program trains private trees on: it draws n for each class and set, where the report says n / 2.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np

import compiled_histogram_tree
from owners import Owners
from privet import HistogramTreeClassifier, Numeric, PrivateTreeClassifier, Schema, SplittingClass, TopDownClassifier
from privet.questions.grid import even_cuts, public_grid
from privet_bench.experiment import Experiment, Figure, Method, Scores, Setting, Task, grid

OWNERS = 5
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
MIXTURES = {f"correlation {rho}, {p} features": (rho, p) for rho, p in product((0.3, 0.9), (10, 25, 50))}
HISTOGRAMS: dict[str, dict[str, bool]] = {
    "plain, published": {"saving": False, "sound": False},
    "saving, published": {"saving": True, "sound": False},
    "plain, sound": {"saving": False, "sound": True},
    "saving, sound": {"saving": True, "sound": True},
    "saving, stops on asked": {"saving": True, "sound": False, "stops_on_asked": True},
    "saving, bounds 0": {"saving": True, "sound": False, "stops_on_asked": True, "real_bounds": False},
    "plain, twice the records": {"saving": False, "sound": False},
    "saving, twice the records": {"saving": True, "sound": False},
}
READINGS = tuple(HISTOGRAMS)[4:]
"""Readings of the report's Algorithm 6 that are not ours: at depth 5 alone."""

WITHOUT_PRIVACY = ("local", "central")
VOID = "not private: the claimed epsilon, by its own accounting"


def mixture(n: int, p: int, rho: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """n/2 records of each class; class 0 has its components' means at i/5, class 1 at -i/5, i from 1 to 5."""
    covariance = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    y = np.repeat([0, 1], n // 2)
    means = rng.integers(1, 6, n) / 5 * np.where(y == 0, 1, -1)
    X = rng.multivariate_normal(np.zeros(p), covariance, n, method="cholesky") + means[:, None]
    order = rng.permutation(n)
    return X[order], y[order]


def schema_of(p: int) -> Schema:
    return Schema({f"x{j}": Numeric(-4, 4) for j in range(p)}, classes=[0, 1])


def owners_of(X: Any, y: Any) -> list[tuple[Any, Any]]:
    return [(X[part], y[part]) for part in np.array_split(np.arange(len(y)), OWNERS)]


@lru_cache(maxsize=2)
def drawn(rho: float, p: int, n: int, depth: int, run: int) -> Any:
    """Training and test records of one run, the same for all methods."""
    rng = np.random.default_rng([run, int(10 * rho), p, n, depth])
    return mixture(n, p, rho, rng), mixture(n, p, rho, rng)


def simulate(experiment: Experiment, task: Task) -> Scores:
    """One method on one data set."""
    from sklearn.tree import DecisionTreeClassifier

    (rho, p), name, own = MIXTURES[task.set], task.method, task.options
    n, depth, run = own["n"], own["depth"], task.seed
    train, test = drawn(rho, p, n, depth, run)
    if name in WITHOUT_PRIVACY:
        records = train if name == "central" else owners_of(*train)[0]
        model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=10, random_state=run).fit(*records)
        return {"accuracy": float(model.score(*test))}
    seed = [run, int(10 * rho), p, n, depth]
    noise = np.random.SeedSequence([*seed, zlib.crc32(name.encode()), int(10 * own["epsilon"])])
    if name in HISTOGRAMS:
        if "twice" in name:
            train = mixture(2 * n, p, rho, np.random.default_rng([*seed, 2]))
        return {"accuracy": histogram_tree(train, test, own["epsilon"], depth, noise, **HISTOGRAMS[name])}
    tree = PrivateTreeClassifier(epsilon=own["epsilon"], max_depth=depth)
    return {"accuracy": float(tree.fit_curator(Owners(owners_of(*train), schema_of(p), noise)).score(*test))}


def histogram_tree(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    epsilon: float,
    max_depth: int,
    noise: np.random.SeedSequence,
    *,
    saving: bool,
    sound: bool,
    stops_on_asked: bool = False,
    real_bounds: bool = True,
    leaf_share: float = 0.5,
    bounds_share: float = 0.25,
) -> float:
    """The accuracy of a tree from histograms with the report's parameters, between five owners."""
    cuts = even_cuts(Numeric(-4, 4), 10)
    bins, test_bins = (np.searchsorted(cuts, X, side="left").astype(np.uint8) for X, _ in (train, test))
    owner = np.repeat(np.arange(OWNERS), [len(y) for _, y in owners_of(*train)])
    return compiled_histogram_tree.accuracy(
        bins, train[1], owner, OWNERS, test_bins, test[1], 10, epsilon, max_depth, saving, sound, stops_on_asked,
        real_bounds, 10.0, leaf_share, bounds_share, np.random.default_rng(noise),
    )  # fmt: skip


def shares(experiment: Experiment, task: Task) -> Scores:
    """Figure 2: 300 records, 10 features, depth 7, epsilon 5, by the shares of the budget."""
    rng = np.random.default_rng([task.seed, 2])
    train, test = mixture(300, 10, 0.3, rng), mixture(300, 10, 0.3, rng)
    saving, sound = "bounds_share" in task.options, task.method == "sound"
    noise = np.random.SeedSequence([task.seed, 2, zlib.crc32(task.setting.encode()), sound])
    return {"accuracy": histogram_tree(train, test, 5.0, 7, noise, sound=sound, saving=saving, **task.options)}


def wide_class(schema: Schema) -> SplittingClass:
    """More public questions: closer thresholds toward the ends of long ranges, and subsets of few values."""
    cuts = {cells.name: cells.cuts for cells in public_grid(schema).features}
    of: dict[str, Any] = {}
    for name, feature in schema.features.items():
        if isinstance(feature, Numeric):
            of[name] = [float(cut) for cut in cuts[name]] if feature.high - feature.low > 1000 else 32
        elif len(feature.values) <= 9:
            _, *others = feature.values
            of[name] = [list(group) for k in range(1, len(others) + 1) for group in combinations(others, k)]
    return SplittingClass(32, of=of)


BEST_FIRST: Setting = {"leaf_share": 0.1, "max_nodes": 31}
ADULT: dict[str, Any] = {
    "PrivateTree, LocalRNM on masked sums (proposals)": lambda schema: PrivateTreeClassifier(),
    "TopDown, LocalRNM": lambda schema: TopDownClassifier(split="local_rnm", splitting_class=32, **BEST_FIRST),
    "TopDown, LocalRNM, wider class, slower decay": lambda schema: TopDownClassifier(
        split="local_rnm", budget=lambda depth: 0.3 * 0.7 ** (depth - 1), splitting_class=wide_class(schema),
        **BEST_FIRST,
    ),
    "TopDown, NoisyCounts": lambda schema: TopDownClassifier(split="noisy_counts", **BEST_FIRST),
    "histograms": lambda schema: HistogramTreeClassifier(),
    "histograms, saving": lambda schema: HistogramTreeClassifier(save_budget=True),
    "histograms, 3 levels, 20 bins, a tenth for leaves": lambda schema: HistogramTreeClassifier(
        max_depth=3, n_bins=20, leaf_share=0.1
    ),
}  # fmt: skip
OWN_NOISE = ", own noise"


def adult(experiment: Experiment, task: Task) -> Scores:
    """Adult split five ways, one fifth of it for the test; one owner may collude. The same test for all methods."""
    from privet.datasets import load_adult

    X, y, schema = load_adult()
    order = np.random.default_rng([task.seed, 3]).permutation(len(X))
    train, test = order[: -len(X) // 5], order[-len(X) // 5 :]
    tables = [(X.iloc[part], y.iloc[part]) for part in np.array_split(train, OWNERS)]
    epsilon, name = task.options["epsilon"], task.method
    if name in WITHOUT_PRIVACY:
        records = (X.iloc[train], y.iloc[train]) if name == "central" else tables[0]
        model = PrivateTreeClassifier(schema, epsilon=epsilon).fit(*records)
    else:
        base, own = name.removesuffix(OWN_NOISE), name.endswith(OWN_NOISE)
        seed = [task.seed, int(10 * epsilon), zlib.crc32(base.encode()), own]
        owners = Owners(tables, schema, seed, colluders=1, noise="own" if own else "shared")
        model = ADULT[base](schema).set_params(epsilon=epsilon).fit_curator(owners)
    return {"accuracy": float(model.score(X.iloc[test], y.iloc[test]))}


def noise_of_a_count(experiment: Experiment, task: Task) -> Scores:
    """Shares of geometric or of Skellam noise between five owners, one of whom may collude: the deviation of the noise
    of one count at the root, as its receipt has it (four shares make up what is paid for), and the accuracy."""
    delta, run = (1e-6 if task.method == "Skellam" else None), task.seed
    if task.set in FEATURES:
        p = FEATURES[task.set]
        rng = np.random.default_rng([run, p])
        train, test = mixture(5000, p, 0.3, rng), mixture(5000, p, 0.3, rng)
        tables, schema, seed = owners_of(*train), schema_of(p), [run, p]
    else:
        from privet.datasets import load_adult

        X, y, schema = load_adult()
        order = np.random.default_rng(run).permutation(len(X))
        tested, trained = np.split(order, [len(X) // 5])
        tables = [(X.iloc[part], y.iloc[part]) for part in np.array_split(trained, OWNERS)]
        test, seed = (X.iloc[tested], y.iloc[tested]), [run]
    model = HistogramTreeClassifier(delta=delta, **task.options)
    model.fit_curator(Owners(tables, schema, seed, colluders=1, delta=delta))
    model.privacy_.verify()
    scale = model.privacy_.events[0].scale
    whole = scale if delta else math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)
    return {"noise of a count": whole * math.sqrt(OWNERS / (OWNERS - 1)), "accuracy": float(model.score(*test))}


FEATURES = {f"mixture, {p} features": p for p in (2, 5, 10, 25, 50, 100)}


def of_interest(task: Task) -> bool:
    if task.method in WITHOUT_PRIVACY:
        return task.value("epsilon") is None
    return task.value("epsilon") is not None and (task.method not in READINGS or task.value("depth") == 5)


METHODS = [*HISTOGRAMS, "proposals", *WITHOUT_PRIVACY]
SIZES = grid(n=(100, 250, 1000), depth=(5, 10))
EXPERIMENTS = [
    Experiment(
        name="federated-simulation",
        title="Trees from federated histograms: the report's simulation",
        source="Federated histograms, simulation",
        sets=tuple(MIXTURES),
        methods={
            name: Method(name, weaker=VOID if name in HISTOGRAMS and "sound" not in name else "") for name in METHODS
        },
        settings=[*SIZES, *(own | {"epsilon": epsilon} for own in SIZES for epsilon in EPSILONS)],
        seeds=50,
        run=simulate,
        points=of_interest,
        pooled=("set",),
        down=("n", "depth", "epsilon"),
        seconds=0.1,
        figures=[
            Figure(f"federated_accuracy_{n}.png", "epsilon",
                   where=lambda task, n=n: (task.value("n"), task.value("depth")) == (n, 5)
                   and task.method not in READINGS)
            for n in (100, 250, 1000)
        ],
        note="Means over two correlations and three numbers of features. local and central are trees without privacy.",
    ),
    Experiment(
        name="federated-shares",
        title="The shares of the budget: 300 records, 10 features, depth 7, epsilon 5",
        source="Federated histograms, Figure 2",
        sets=("mixture",),
        methods={"published": Method("histograms", weaker=VOID), "sound": Method("histograms")},
        settings=[*grid(leaf_share=SHARES), *grid(leaf_share=SHARES, bounds_share=SHARES)],
        seeds=50,
        run=shares,
        columns="leaf_share",
        down=("bounds_share",),
        figures=[Figure("federated_shares.png", "leaf_share", scale="linear")],
        seconds=0.05,
    ),
    Experiment(
        name="federated-adult",
        title="Adult between five owners, one of whom may collude",
        source="Privet",
        sets=("adult of the package",),
        methods={name: Method(name) for name in ("central", "local", *(a + b for a in ADULT for b in ("", OWN_NOISE)))},
        settings=grid(epsilon=(1.0, 0.3, 0.1, 3.0)),
        seeds=10,
        run=adult,
        columns="epsilon",
        figures=[Figure("federated_adult.png", "epsilon", where=lambda task: OWN_NOISE not in task.method)],
    ),
    Experiment(
        name="federated-delta",
        title="Where a delta pays off between owners: shares of geometric against shares of Skellam noise",
        source="Privet",
        sets=(*FEATURES, "adult of the package"),
        methods={name: Method(name) for name in ("geometric", "Skellam")},
        settings=grid(epsilon=(1.0,), max_depth=(3,)),
        seeds=10,
        measures=("noise of a count", "accuracy"),
        run=noise_of_a_count,
    ),
]  # fmt: skip
