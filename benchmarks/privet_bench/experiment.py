"""What an experiment is: plain values, from which the runner makes tasks and tables make rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

Setting = dict[str, Any]
"""What varies between runs of one method on one set: ``{"epsilon": 0.1}``."""

Parts = Iterator[tuple[np.ndarray, np.ndarray]]


class Measured(NamedTuple):
    """What one run says with an error of its own: the mean of so many fits, or a bound that rests on them."""

    value: float
    error: float
    runs: int


Scores = Mapping[str, float | Measured]

BETTER = {"accuracy": 1, "auc": 1, "mse": -1, "log_loss": -1, "seconds": -1, "megabytes": -1, "ratio": -1}
"""Whether more or less of a measure is better."""

TITLES = {"accuracy": "Accuracy", "auc": "AUC", "mse": "Mean squared error x 1000", "log_loss": "Log loss"}


@dataclass(frozen=True)
class Holdout:
    """One fresh split for each seed: so many tenths at the end of a shuffle are the test."""

    tenths: int

    def parts(self, y: np.ndarray, seed: int) -> Parts:
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [len(order) * (10 - self.tenths) // 10])
        yield train, test


@dataclass(frozen=True)
class Folds:
    """Stratified folds, shuffled anew for each seed; what is predicted on all of them is scored together."""

    n: int = 5

    def parts(self, y: np.ndarray, seed: int) -> Parts:
        yield from StratifiedKFold(self.n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)


@dataclass(frozen=True)
class Fixed:
    """The same test records for every seed, which draws noise alone: so many tenths at the start of one shuffle."""

    tenths: int

    def parts(self, y: np.ndarray, seed: int) -> Parts:
        test, train = np.split(np.random.default_rng(0).permutation(len(y)), [len(y) * self.tenths // 10])
        yield train, test


@dataclass(frozen=True)
class Method:
    """A learner: a class of ours by name, or a peer's model, and what its number promises."""

    kind: str
    options: Setting = field(default_factory=dict)
    peer: str = ""
    """The environment that it runs in; empty: ours."""
    weaker: str = ""
    """Where the guarantee is weaker than its number says, unstated or broken: said beside the number."""
    by_set: Mapping[str, Setting] = field(default_factory=dict)
    """Options that a paper has for one set."""
    private: bool = True
    takes: Callable[[Any, Setting], bool] = lambda schema, setting: True
    """Whether it can learn from such a table at all."""


@dataclass(frozen=True)
class Task:
    """One run: a line of the store."""

    experiment: str
    set: str
    method: str
    setting: str
    """Canonical JSON, so that tasks compare."""
    seed: int

    def value(self, name: str) -> Any:
        return getattr(self, name) if name in ("experiment", "set", "method", "seed") else self.options.get(name)

    @property
    def options(self) -> Setting:
        return json.loads(self.setting)

    def __str__(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.options.items())
        return ", ".join(filter(None, (self.experiment, self.set, self.method, said, f"seed {self.seed}")))


def canonical(setting: Mapping[str, Any]) -> str:
    return json.dumps(dict(setting), sort_keys=True)


def grid(**values: Sequence[Any]) -> tuple[Setting, ...]:
    """All combinations: ``grid(epsilon=(0.1, 1), max_depth=(2, 4))``."""
    return tuple(dict(zip(values, point)) for point in product(*values.values()))


@dataclass(frozen=True)
class Figure:
    """A plot of an experiment's means: panels (one for each set), a line for each method and each setting but ``x``."""

    file: str
    x: str
    measure: str = "accuracy"
    where: Callable[[Task], bool] = lambda task: True
    scale: str = "log"
    bounds: Mapping[str, str] = field(default_factory=dict)
    """Measures that are drawn as thin lines in the method's colour, by how they begin: the style of the line."""
    panels: Callable[[Task], Sequence[str]] = lambda task: [task.set]
    """Where a task is drawn."""
    label: str = ""
    """What stands beside the vertical axis, if it is not the measure."""
    height: float = 3.0
    """Of a panel, in inches."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure, declared."""

    name: str
    title: str
    source: str
    """A paper with its table or figure, or ``Privet``."""
    sets: Sequence[str]
    methods: Mapping[str, Method]
    settings: Sequence[Setting]
    seeds: int
    split: Any = Holdout(2)
    measures: tuple[str, ...] = ("accuracy",)
    rows: int | None = None
    """At most so many records of a set, by a fixed draw."""
    first_seed: int = 0
    extra_seeds: Mapping[str, int] = field(default_factory=dict)
    """More runs for some sets: small ones, whose test sets are small too."""
    printed: Callable[[Task, str], tuple[float, float] | None] = lambda task, measure: None
    """The paper's number and its error."""
    run: Callable[[Experiment, Task], Scores] | None = None
    """Where it is not a fit and its scores; by default ``fits.scores``."""
    seconds: float = 2.0
    """What a run takes about, where none is known yet."""
    alone: bool = False
    """Whether nothing else may run beside it: times are measured."""
    quick: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """What ``run --quick`` keeps: ``{"set": ("vote",), "epsilon": (1.0,)}``; empty: nothing of it."""
    points: Callable[[Task], bool] = lambda task: True
    """Which combinations of sets, settings and methods are of interest."""
    columns: str = "method"
    """What stands across a table: ``method``, ``measure``, a setting, or the ``value`` alone; sets stand down it."""
    down: Sequence[str] = ()
    """Settings that stand down a table, beside the set, instead of in its title."""
    pooled: Sequence[str] = ()
    """Over what means are taken, beside seeds: settings, or ``set``."""
    against: str = ""
    """The method over which tables show the gains of the others, run by run."""
    digits: int = 3
    layout: Callable[[Experiment, Sequence[Any], str], Iterator[str]] | None = None
    """Its tables from its rows and from what was asked of it, where they are not means by set, method and setting."""
    figures: Sequence[Figure] = ()
    note: str = ""
    """What a reader of the table must know."""

    def tasks(self) -> Iterator[Task]:
        """Seed by seed, so that a run that is stopped has been fair to all."""
        most = max([self.seeds, *self.extra_seeds.values()])
        for seed in range(self.first_seed, self.first_seed + most):
            for name, setting, method in product(self.sets, self.settings, self.methods):
                task = Task(self.name, name, method, canonical(setting), seed)
                if seed - self.first_seed < self.extra_seeds.get(name, self.seeds) and self.points(task):
                    yield task
