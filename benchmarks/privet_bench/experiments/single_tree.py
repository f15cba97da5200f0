"""Sketches of a better single tree where records are few and epsilon is small: what was tried, and what it is worth.

Every sketch is a private algorithm of its own, with all of its prices paid. It learns from 1,000 and from 5,000 records
of each of twenty sets, several times from each of the splits that the rule learns from. The rule is the default before
this was measured: all cuts of a feature weigh alike.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
from privet.tree import planning, public_splits
from privet.tree.frontier import Frontier
from privet.tree.planning import Plan, plan_levels
from privet.tree.tree import Tree
from privet_bench.data import table
from privet_bench.experiment import Experiment, Method, Scores, Task, grid
from privet_bench.processes import apart, constant
from shared_data import OTHER_SETS, PRIVATREE_SETS

RULE = public_splits.public_splits.__wrapped__
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
        own = RULE(grid)
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
        own = RULE(grid)
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

    def predict(self, X: Any) -> np.ndarray:
        votes = sum(_chances(model, X) for model in self.models)
        return self.models[0].classes_[votes.argmax(axis=1)]


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


def sketched(experiment: Experiment, task: Task) -> Scores:
    """The mean accuracy of several fits on one split, with the sketch's constants, in a process that ends with it."""
    data, sketch = table(task.set), SKETCHES[task.method]
    n, epsilon = task.value("n"), task.value("epsilon")

    def run() -> Scores:
        for change in (BEFORE, *sketch.constants):
            constant(*change)()
        order = np.random.default_rng([n, task.seed]).permutation(len(data.y))
        train, test = np.split(order, [min(n, len(order) * 4 // 5)])
        noise = mechanisms(zlib.crc32(f"{task.set} {n} {task.seed}".encode()))
        ledger = Ledger(math.inf)
        curator = MemoryCurator(data.X.iloc[train], data.y[train], data.schema, ledger=ledger, mechanisms=noise)
        X, labels = data.X.iloc[test[:TEST]], data.y[test[:TEST]]
        fits = (sketch.make(data.schema, epsilon).fit_curator(curator) for _ in range(FITS[epsilon]))
        return {"accuracy": float(np.mean([np.mean(model.predict(X) == labels) for model in fits]))}

    return apart(run)


EXPERIMENTS = [
    Experiment(
        name="single-tree",
        title="Sketches of a better single tree: gains over the rule as it was",
        source="Privet",
        sets=(*PRIVATREE_SETS, *OTHER_SETS),
        methods={name: Method("sketch") for name in SKETCHES},
        settings=grid(n=(1_000, 5_000), epsilon=tuple(FITS)),
        seeds=4,
        run=sketched,
        points=lambda task: task.value("n") * task.value("epsilon") >= SKETCHES[task.method].least,
        columns="epsilon",
        pooled=("set",),
        against="the rule",
        digits=4,
        seconds=0.5,
    ),
]
