"""Sketches of a better single tree where records are few and epsilon is small: what was tried, and what it is worth.

    python benchmarks/single_tree.py                              the table of docs/defaults.md
    python benchmarks/single_tree.py --splits 2 --sketches "the rule" "cuts all even"

Every sketch is a private algorithm of its own, with all of its prices paid. It learns from 1,000 and from 5,000 records
of each of twenty sets, at epsilon 0.01, 0.1 and 1, several times from each of the splits that the rule learns from. The
rule is the default before this was measured: all cuts of a feature weigh alike. Printed are the mean gain in accuracy
over it and its standard error, over all sets, by n * epsilon. Noise is seeded; a seed changes no law. What was measured
is kept in ``results/single_tree.jsonl``, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from privet import Ledger, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.algorithms import private_tree, size
from privet.algorithms.size import Size
from privet.curators.memory import MemoryCurator
from privet.evaluate.scorers import reading_of
from privet.privacy.mechanisms import mechanisms
from privet.privacy.scores import CorrectCount
from privet.questions import grid as grids
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import public_grid
from privet.questions.splits import Splits
from privet.tables.table import read_table
from privet.tree import planning, public_splits
from privet.tree.frontier import Frontier
from privet.tree.planning import Plan, plan_levels
from privet.tree.tree import Tree
from shared_data import OTHER_SETS, PRIVATREE_SETS, available, load

RESULTS = Path(__file__).parent / "results" / "single_tree.jsonl"
SETS = (*PRIVATREE_SETS, *OTHER_SETS)
SIZES = (1_000, 5_000)
FITS = {0.01: 8, 0.1: 6, 1.0: 2}
"""How often a sketch learns from each split, by epsilon: less noise needs fewer."""

TEST = 1_000

DEEPER = 300.0
"""Below this n * epsilon every tree of the rule has one level: it has no inner ones."""


# -- sketches of trees -------------------------------------------------------------------------------------------------


class Weighed(PrivateTreeClassifier):
    """The rule, but not splitting has the prior weight of all splits together."""

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        splits = public_splits.public_splits(public_grid(curtain.schema))
        weight = np.exp(splits.log_prior).sum() * (len(curtain.schema.classes or ()) - 1)
        with patch.object(private_tree, "stop_log_prior", lambda _: math.log(weight)):
            return super()._grow(curtain, start, budget)


@dataclass(eq=False, repr=False, kw_only=True)
class Pruned(PrivateTreeClassifier):
    """Some levels more than the plan has, all chosen with labels; then ``share`` of the budget chooses among the trees
    that were there after each level, by how many records they label right."""

    more: int = 1
    share: Fraction = Fraction(1, 10)

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        grid = public_grid(curtain.schema)
        splits = public_splits.public_splits(grid)
        curtain.grid(grid)
        own = Size.of(curtain, start, budget, self.n_records)
        pruning = own.left * self.share
        plan = plan_levels(
            own.n, own.left - pruning, len(splits), len(curtain.schema.classes or ()), self.max_depth, own.margin
        )
        depth = min(len(plan.inner) + 1 + self.more, self.max_depth)
        frontier, trees = Frontier.sprout(curtain, [start], grid), []
        for amount in planning._growing(own.left - pruning, depth):
            options = frontier.candidates(splits, labelled=True, stop=True)
            choices = curtain.choose(options, CorrectCount(), frontier.with_saved(amount))
            stopped = {node: choice for node, choice in choices.items() if choice.split is None}
            for node, choice in stopped.items():
                frontier[node].leaf.label = choice.labels[0]
            chosen = {node: choice.split for node, choice in choices.items() if choice.split is not None}
            grown = frontier._split(chosen, True)
            for node, ends in grown.items():
                for end, label in zip(ends.values(), choices[node].labels):
                    end.leaf.label = label
            trees.append(frontier.trees[0].as_grown())
            growing = {child: end for ends in grown.values() for child, end in ends.items()}
            if not growing:
                break
            frontier = Frontier(curtain, grid, frontier.trees, growing)
        if len(trees) == 1:
            return trees[0]
        return trees[curtain.prefer(start, [reading_of(tree, 48, None).scorer for tree in trees], pruning)]


# -- grids and candidates ----------------------------------------------------------------------------------------------


def spaced(share: float) -> Callable[[Numeric, int], np.ndarray]:
    """Cuts of a number, of which so large a share is evenly spaced and the rest closes in on the ends and on zero."""

    def cuts(feature: Numeric, most: int) -> np.ndarray:
        low, high = float(feature.low), float(feature.high)
        if low == high or (feature.integer and high - low <= most):
            return np.arange(low, high)
        octaves = min(30.0, np.log2(high - low)) if feature.integer else grids.OCTAVES
        n_even = int(most * share)
        points = [low + (high - low) * np.arange(1, n_even + 1) / (n_even + 1)]
        towards = [(low, high - low), (high, low - high)] + ([(0.0, low), (0.0, high)] if low < 0 < high else [])
        n_each = (most - n_even) // len(towards)
        steps = 2.0 ** (-octaves * np.arange(1, n_each + 1) / max(n_each, 1))
        points += [end + span * steps for end, span in towards]
        found = np.concatenate(points)
        found = np.floor(found) if feature.integer else found
        return np.unique(found[(found >= low) & (found < high)])

    return cuts


def intervals(share: float, parts: int = 12) -> Callable[[Any], Splits]:
    """The splits of the rule, and of every number also what is between two of some cuts, with a share of its weight."""

    def splits(grid: Any) -> Splits:
        own = public_splits.public_splits.__wrapped__(grid)
        runs, priors = [], []
        log_prior = own.log_prior.copy()
        for f, cells in enumerate(grid.features):
            if cells.cuts is None or cells.n_cells - cells.special < 4:
                continue
            start, n = int(grid.offsets[f]), cells.n_cells - cells.special
            marks = np.unique(np.linspace(0, n, min(parts, n) + 1).astype(int))
            pairs = [(a, b) for i, a in enumerate(marks[1:-1]) for b in marks[1:-1][i + 1 :]]
            if not pairs:
                continue
            low, high = np.array(pairs).T
            runs.append(public_splits.runs_of(f, start + low, start + high - 1))
            priors.append(np.full(len(pairs), math.log(share / len(pairs))))
            log_prior[own.feature == f] += math.log(1 - share)
        table = np.concatenate([np.stack([own.feature[: own.n_runs], own.first, own.last, own.extra]), *runs], axis=1)
        weights = np.concatenate([log_prior[: own.n_runs], *priors, log_prior[own.n_runs :]])
        every = np.concatenate([table[0], own.feature[own.n_runs :]])
        return Splits(grid, every, *table[1:], own.subsets, weights)

    return splits


def central(power: float) -> Callable[[Any], Splits]:
    """The splits of the rule; of a number, those weigh more that leave many cells on both sides."""

    def splits(grid: Any) -> Splits:
        own = public_splits.public_splits.__wrapped__(grid)
        log_prior = own.log_prior.copy()
        for f, cells in enumerate(grid.features):
            if cells.cuts is not None:
                mine = np.flatnonzero(own.feature == f)
                share = (own.last[mine] - grid.offsets[f] + 1) / cells.n_cells
                weight = (share * (1 - share)) ** power
                log_prior[mine] = np.log(weight / weight.sum())
        return Splits(grid, own.feature, own.first, own.last, own.extra, own.subsets, log_prior)

    return splits


# -- several models ----------------------------------------------------------------------------------------------------


@dataclass
class Voted:
    """Several models that share the budget and vote by their probabilities."""

    models: Sequence[Any]

    def fit_curator(self, curator: Any) -> Voted:
        for model in self.models:
            model.fit_curator(curator)
        return self

    def right(self, X: Any, labels: np.ndarray) -> float:
        votes = sum(_chances(model, X) for model in self.models)
        return float(np.mean(self.models[0].classes_[votes.argmax(axis=1)] == labels))


def _chances(model: Any, X: Any) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return (model.predict(X)[:, None] == model.classes_).astype(float)


def with_boosting(schema: Schema, epsilon: float) -> Voted:
    tree = PrivateTreeClassifier(schema, epsilon=epsilon / 2, leaves="counts")
    return Voted([tree, PrivateForestClassifier(schema, epsilon=epsilon / 2, method="boosting", progress=False)])


def several(n: int) -> Callable[[Schema, float], Voted]:
    return lambda schema, epsilon: Voted([PrivateTreeClassifier(schema, epsilon=epsilon / n) for _ in range(n)])


# -- what is tried -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sketch:
    """An estimator, and constants of the library with other values: module, name, value.

    It is the same as the rule where n * epsilon is below ``least``.
    """

    make: Callable[[Schema, float], Any] = lambda schema, epsilon: PrivateTreeClassifier(schema, epsilon=epsilon)
    constants: tuple[tuple[Any, str, Any], ...] = ()
    least: float = 0.0


def changed(*constants: tuple[Any, str, Any], least: float = 0.0) -> Sketch:
    return Sketch(constants=constants, least=least)


def of(kind: Any, least: float = 0.0, **options: Any) -> Sketch:
    return Sketch(lambda schema, epsilon: kind(schema, epsilon=epsilon, **options), least=least)


def share_of_size(share: Fraction, scales: float) -> Sketch:
    """So much of the budget measures the number of records, and a depth must clear so many noise scales of it."""
    margin = planning.plan_levels.__wrapped__

    def plan(n: float, budget: Fraction, splits: int, classes: int, depth: int, own: float = 0.0) -> Plan:
        return margin(n, budget, splits, classes, depth, own * scales / 2)

    return changed((size, "SIZE_SHARE", share), (private_tree, "plan_levels", plan))


def pays_off(factor: float) -> Sketch:
    own = planning.worthwhile
    return changed((planning, "worthwhile", lambda *shape: own(*shape, pays_off=factor)))


def inner_gini(weight: int, most: int = planning.MOST_LEVELS) -> Sketch:
    """Another weight of Gini in trees of at most so many levels."""
    own = planning.gini_weights
    weights = lambda depth: (weight,) * (depth - 1) if depth <= most else own(depth)  # noqa: E731
    return changed((planning, "gini_weights", weights), least=DEEPER)


def cut(cuts: Callable[[Numeric, int], np.ndarray]) -> Sketch:
    return changed((grids, "numeric_cuts", cuts))


def offered(splits: Callable[[Any], Splits]) -> Sketch:
    return changed((private_tree, "public_splits", splits))


SKETCHES: dict[str, Sketch] = {
    "the rule": Sketch(),
    "one level more, then pruned (10% of the budget)": of(Pruned),
    "a level from half of the records on (PAYS_OFF 2.5)": pays_off(2.5),
    "a level from 0.7 of the records on (PAYS_OFF 3.5)": pays_off(3.5),
    "no margin for the measured size": share_of_size(Fraction(1, 50), 0),
    "4% measure the size, margin of one scale": share_of_size(Fraction(1, 25), 1),
    "not splitting weighs as much as all splits": of(Weighed),
    "cuts in the middle weigh more": offered(central(1.0)),
    "cuts in the middle weigh much more": offered(central(2.0)),
    "cuts all even": cut(spaced(1.0)),
    "three quarters of the cuts geometric": cut(spaced(0.25)),
    "intervals too, a fifth of a feature's weight": offered(intervals(0.2)),
    "intervals too, a twentieth of its weight": offered(intervals(0.05)),
    "subsets of up to 16 categories": changed((public_splits, "MOST_SUBSETS", 16)),
    "two levels, the first half by Gini": inner_gini(128, 2),
    "all inner levels half by Gini": inner_gini(128),
    "three trees that share the budget vote": Sketch(several(3)),
    "half for a tree, half for boosting, and both vote": Sketch(with_boosting, least=DEEPER),
}

BEFORE = (public_splits, "_run_log_prior", lambda grid, runs: public_splits.even_by_feature(runs[0]))
"""What the library did before: no sketch but the one that is now the default weighs cuts by where they are."""

CACHES = (public_grid, public_splits.public_splits, planning.plan_levels, public_splits._subsets)


# -- measuring ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Some records to learn from, and others to be right on."""

    curator: MemoryCurator
    X: Any
    labels: np.ndarray
    columns: dict[int, np.ndarray]
    codes: np.ndarray

    @classmethod
    def of(cls, name: str, n: int, seed: int) -> Split:
        data = load(name)
        order = np.random.default_rng([n, seed]).permutation(len(data.y))
        n = min(n, len(order) * 4 // 5)
        train, test = order[:n], order[n : n + TEST]
        noise = mechanisms(zlib.crc32(f"{name} {n} {seed}".encode()))
        curator = MemoryCurator(
            data.X.iloc[train], data.y.iloc[train], data.schema, ledger=Ledger(math.inf), mechanisms=noise
        )
        table = read_table(data.X.iloc[test], data.schema)
        columns = {
            f: table.numeric(name) if isinstance(feature, Numeric) else table.codes(name)
            for f, (name, feature) in enumerate(data.schema.features.items())
        }
        labels = data.y.iloc[test].to_numpy()
        codes = np.array([list(data.schema.classes).index(label) for label in labels])
        return cls(curator, data.X.iloc[test], labels, columns, codes)

    def accuracy(self, model: Any) -> float:
        model.fit_curator(self.curator)
        if isinstance(model, Voted):
            return model.right(self.X, self.labels)
        leaves = model.tree_.apply(self.columns, len(self.codes))
        return float(np.mean(model.tree_.labels[leaves] == self.codes))


def measure(sketch: Sketch, name: str, n: int, splits: int, first: int = 0) -> dict[float, np.ndarray]:
    """The mean accuracy on each split, by epsilon."""
    with ExitStack() as stack:
        for module, constant, value in (BEFORE, *sketch.constants):
            stack.enter_context(patch.object(module, constant, value))
        for cache in CACHES:
            cache.cache_clear()
        found: dict[float, list[float]] = {epsilon: [] for epsilon in FITS}
        schema = load(name).schema
        for seed in range(first, first + splits):
            split = Split.of(name, n, seed)
            for epsilon, fits in FITS.items():
                if n * epsilon < sketch.least:
                    continue
                runs = [split.accuracy(sketch.make(schema, epsilon)) for _ in range(fits)]
                found[epsilon].append(float(np.mean(runs)))
    for cache in CACHES:
        cache.cache_clear()
    return {epsilon: np.array(own) for epsilon, own in found.items()}


Key = tuple[str, str, int]


def read(results: Path) -> dict[Key, dict[float, np.ndarray]]:
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {
        (line["sketch"], line["set"], line["n"]): {float(e): np.array(a) for e, a in line["accuracy"].items()}
        for line in lines
    }


def show(found: dict[Key, dict[float, np.ndarray]], sets: Sequence[str]) -> None:
    """The mean of the rule, and of each sketch that was measured on all these sets the gain over it."""
    cells = sorted(((n, e) for n in SIZES for e in FITS), key=lambda cell: cell[0] * cell[1])
    print(f"| n * epsilon | {' | '.join(f'{n * e:,.0f}' for n, e in cells)} |\n|---|{'---|' * len(cells)}")
    for title, sketch in SKETCHES.items():
        if any((title, name, n) not in found for name in sets for n in SIZES):
            continue
        shown = []
        for n, e in cells:
            rule = np.array([found["the rule", name, n][e] for name in sets])
            if title == "the rule" or n * e < sketch.least:
                shown.append(f"{rule.mean():.4f}" if title == "the rule" else "")
                continue
            gains = np.array([found[title, name, n][e] for name in sets]) - rule
            error = math.sqrt((gains.var(axis=1, ddof=1) / gains.shape[1]).sum()) / len(sets)
            shown.append(f"{gains.mean():+.4f} ± {error:.4f}")
        print(f"| {title} | {' | '.join(shown)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first split's number: others check what was found")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--sketches", nargs="*", choices=SKETCHES, default=list(SKETCHES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="only the table of what has been measured")
    args = parser.parse_args()
    if not available():
        sys.exit("SKIPPED: the shared data sets are not here. Put them in ../shared or set PRIVET_SHARED.")
    found = read(args.results)
    wanted = [(title, name, n) for title in args.sketches for name in args.sets for n in SIZES]
    for title, name, n in [] if args.show else [key for key in wanted if key not in found]:
        own = measure(SKETCHES[title], name, n, args.splits, args.first)
        plain = {f"{e:g}": np.round(accuracy, 5).tolist() for e, accuracy in own.items()}
        with open(args.results, "a") as file:
            file.write(json.dumps({"sketch": title, "set": name, "n": n, "accuracy": plain}) + "\n")
    show(read(args.results), args.sets)


if __name__ == "__main__":
    main()
