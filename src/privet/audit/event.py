"""Finding the most telling event: what to look at, decided on runs that are not counted afterwards.

What is released may be looked at in several ways (*views*): the whole output, its root, its predictions. Whatever is
computed from an output can only show less, but it can be counted with fewer runs. For each view the outputs are put in
order of how much more often they came up on one table than on the other; the candidates for an event are the single
outputs and the unions of the most tilted ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from privet.audit.bound import log_odds
from privet.errors import PrivetError

MOST_CELLS = 256
"""Numbers with more different values than this are put into as many intervals."""

_RUNS_EACH = 8
"""About so many runs an interval has, if there are fewer runs than that takes."""

_ATOM = 8
"""A number that comes up so often, and so many times as often as others do on average, has a cell of its own."""

_MOST_ATOMS = 64


@dataclass(frozen=True, eq=False)
class Seen:
    """The different values of one view over many runs, ``comparable``, and how often each came up."""

    values: Sequence[Any]
    counts: np.ndarray

    @classmethod
    def of(cls, outputs: Any) -> Seen:
        """From a list of outputs, an array of numbers (2-D: one vector for each run) or a Counter of what compares."""
        if getattr(outputs, "ndim", 0) == 1 and outputs.dtype.kind in "biuf" and not np.isnan(outputs).any():
            values, counts = np.unique(outputs, return_counts=True)
            return cls(values.tolist(), counts)
        counter = outputs if isinstance(outputs, Counter) else _counted(outputs)
        return cls(list(counter), np.fromiter(counter.values(), dtype=np.int64, count=len(counter)))

    @property
    def runs(self) -> int:
        return int(self.counts.sum())

    def halves(self) -> tuple[Seen, Seen]:
        """Each run goes to one of two halves by a coin."""
        first = np.random.default_rng().binomial(self.counts, 0.5)
        return self._with(first), self._with(self.counts - first)

    def only(self, fits: Callable[[Any], bool]) -> Seen:
        """The values that fit."""
        return self._with(self.counts * np.fromiter(map(fits, self.values), dtype=bool, count=len(self.values)))

    def _with(self, counts: np.ndarray) -> Seen:
        kept = np.flatnonzero(counts)
        return Seen([self.values[i] for i in kept.tolist()], counts[kept])


Views = Mapping[str, Seen]


@dataclass(frozen=True, eq=False)
class SeenEvent:
    """A set of cells of one view; ``here`` names the table on which it is more likely."""

    view: str
    cells: OutputCells
    chosen: np.ndarray = field(repr=False)
    here: str = "one"

    def hits(self, views: Views) -> int:
        seen = views[self.view]
        codes = self.cells.code(seen.values)
        return int(seen.counts[(codes >= 0) & self.chosen[codes]].sum())

    def describe(self, hits: tuple[int, int], runs: tuple[int, int]) -> str:
        odds = f"{hits[0]:,} of {runs[0]:,} runs here, {hits[1]:,} of {runs[1]:,} there"
        return (
            f"{self.view} {self.cells.describe(np.flatnonzero(self.chosen))} (likelier on table {self.here!r}: {odds})"
        )


class OutputCells:
    """Each value a cell of its own; values that were not seen while finding belong to none."""

    ordered = False

    def __init__(self, values: Iterable[Hashable]) -> None:
        self.values = list(dict.fromkeys(values))
        self.n = len(self.values)
        self._number = {value: i for i, value in enumerate(self.values)}

    def code(self, values: Sequence[Any]) -> np.ndarray:
        return np.array([self._number.get(value, -1) for value in values], dtype=np.intp)

    def describe(self, chosen: np.ndarray) -> str:
        others = f" or one of {len(chosen) - 1} others" if len(chosen) > 1 else ""
        return f"is {shown(self.values[chosen[0]])}{others}"


class Intervals(OutputCells):
    """Numbers, in intervals that were about equally frequent."""

    ordered = True

    def __init__(self, one: Seen, other: Seen) -> None:
        values = np.array([*one.values, *other.values], dtype=float)
        counts = np.concatenate([one.counts, other.counts])
        order = np.argsort(values)
        share = np.cumsum(counts[order]) / counts.sum()
        n = int(np.clip(counts.sum() / _RUNS_EACH, 2, MOST_CELLS))
        at = np.searchsorted(share, np.arange(1, n) / n)
        self.edges = np.unique(values[order][at])
        self.n = len(self.edges) + 1

    def code(self, values: Any) -> np.ndarray:
        return np.searchsorted(self.edges, np.asarray(values, dtype=float), side="left")

    def describe(self, chosen: np.ndarray) -> str:
        low = "-inf" if chosen[0] == 0 else f"{self.edges[chosen[0] - 1]:.4g}"
        high = "inf" if chosen[-1] == self.n - 1 else f"{self.edges[chosen[-1]]:.4g}"
        whole = len(chosen) == chosen[-1] - chosen[0] + 1
        return f"is between {low} and {high}" + ("" if whole else f", in {len(chosen)} of the intervals")


class Regions(OutputCells):
    """Vectors of numbers, in the leaves of a decision tree that tells the two tables apart."""

    def __init__(self, one: Seen, other: Seen) -> None:
        from sklearn.tree import DecisionTreeClassifier

        counts = np.concatenate([one.counts, other.counts])
        vectors = np.array([*one.values, *other.values], dtype=float).reshape(len(counts), -1)
        # Trees compare numbers of single precision, which end at 3e38.
        largest = np.abs(np.where(np.isfinite(vectors), vectors, 0.0)).max(axis=0)
        self._scale = np.where(largest > 1e30, largest / 1e30, 1.0)
        leaf = max(20.0, counts.sum() / MOST_CELLS)
        self._tree = DecisionTreeClassifier(
            max_leaf_nodes=64, min_weight_fraction_leaf=min(0.5, leaf / counts.sum()), random_state=0
        ).fit(
            self._matrix(vectors),
            np.repeat([0, 1], [len(one.counts), len(other.counts)]),
            sample_weight=counts,
        )
        self._leaves = np.flatnonzero(self._tree.tree_.children_left < 0)
        self.n = len(self._leaves)

    def code(self, values: Any) -> np.ndarray:
        if not len(values):
            return np.empty(0, dtype=np.intp)
        return np.searchsorted(self._leaves, self._tree.apply(self._matrix(values)))

    def _matrix(self, values: Any) -> np.ndarray:
        vectors = np.asarray(values, dtype=float).reshape(len(values), -1) / self._scale
        return np.nan_to_num(np.clip(vectors, -1e38, 1e38), nan=2e38)

    def describe(self, chosen: np.ndarray) -> str:
        return f"is in {len(chosen)} of {self.n} regions"


class MixedCells(OutputCells):
    """Numbers or vectors in cells of their kind, and each other value a cell of its own."""

    def __init__(self, fits: Callable[[Any], bool], inside: OutputCells, others: OutputCells) -> None:
        self._fits, self.inside, self._others = fits, inside, others
        self.n = inside.n + others.n
        self.ordered = inside.ordered

    def code(self, values: Sequence[Any]) -> np.ndarray:
        fitting = np.fromiter(map(self._fits, values), dtype=bool, count=len(values))
        codes = np.empty(len(values), dtype=np.intp)
        codes[fitting] = self.inside.code([value for value, fit in zip(values, fitting) if fit])
        other = self._others.code([value for value, fit in zip(values, fitting) if not fit])
        codes[~fitting] = np.where(other < 0, -1, other + self.inside.n)
        return codes

    def describe(self, chosen: np.ndarray) -> str:
        inside, outside = chosen[chosen < self.inside.n], chosen[chosen >= self.inside.n] - self.inside.n
        parts = [cells.describe(own) for cells, own in ((self.inside, inside), (self._others, outside)) if len(own)]
        return " or ".join(parts)


def find_event(one: Views, other: Views, runs: tuple[int, int], alpha: float, delta: float = 0.0) -> SeenEvent:
    """The event that promises the largest bound when it is counted in ``runs`` fresh runs on each table.

    One half of what was seen puts the outputs in order, the other says where to stop: on the same runs, those that were
    lucky would come first and look better than they are.
    """
    best, event = -math.inf, None
    for view in one:
        order_one, judge_one = one[view].halves()
        order_other, judge_other = other[view].halves()
        # Of very few runs, the coins may leave none to put in order.
        some = order_one.runs + order_other.runs > 0
        cells = cells_of(order_one, order_other) if some else cells_of(one[view], other[view])
        a, b = _Counts.of(cells, order_one, judge_one, runs[0]), _Counts.of(cells, order_other, judge_other, runs[1])
        for here, there, name in ((a, b, "one"), (b, a, "other")):
            for chosen, score in _candidates(here, there, cells.ordered, alpha, delta):
                if score > best or event is None:
                    best, event = score, SeenEvent(view, cells, chosen, name)
    assert event is not None
    return event


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each cell came up on a table: in runs that put the cells in order, and in runs that judge, which are
    scaled to the number of runs in which an event will be counted."""

    order: np.ndarray
    judge: np.ndarray
    runs: int

    @classmethod
    def of(cls, cells: OutputCells, order: Seen, judge: Seen, runs: int) -> _Counts:
        return cls(_by_cell(cells, order), _by_cell(cells, judge) * (runs / max(1, judge.runs)), runs)


def _candidates(
    here: _Counts, there: _Counts, ordered: bool, alpha: float, delta: float
) -> Iterator[tuple[np.ndarray, float]]:
    """The best event of each family, and the bound that it promises."""
    everything = np.arange(len(here.order))
    single = log_odds(here.judge, here.runs, there.judge, there.runs, alpha, delta)
    yield everything == np.argmax(single), float(single.max())
    orders = [
        np.argsort(-_tilt(here.order, there.order), kind="stable"),
        np.argsort(-_cautious_tilt(here.order, there.order), kind="stable"),
    ]
    for order in [*orders, everything, everything[::-1]] if ordered else orders:
        a, b = np.cumsum(here.judge[order]), np.cumsum(there.judge[order])
        union = log_odds(a, here.runs, b, there.runs, alpha, delta)
        chosen = np.zeros(len(everything), dtype=bool)
        chosen[order[: int(np.argmax(union)) + 1]] = True
        yield chosen, float(union.max())


def nested_events(one: Views, other: Views, view: str, here: str, most: int) -> list[SeenEvent]:
    """A chain of events of one view, each a part of the next, from the most tilted outputs on."""
    cells = cells_of(one[view], other[view])
    a, b = _by_cell(cells, one[view]), _by_cell(cells, other[view])
    if here == "other":
        a, b = b, a
    order = np.argsort(-_tilt(a, b), kind="stable")
    mass = np.cumsum((a + b)[order])
    # Denser where events are rare: that is where a small delta decides.
    wanted = mass[-1] * np.concatenate([np.geomspace(1e-3, 0.1, most // 2), np.linspace(0.15, 0.95, most - most // 2)])
    events = []
    for end in np.unique(np.searchsorted(mass, wanted)):
        chosen = np.zeros(cells.n, dtype=bool)
        chosen[order[: end + 1]] = True
        events.append(SeenEvent(view, cells, chosen, here))
    return events


def cells_of(one: Seen, other: Seen) -> OutputCells:
    """How to tell outputs apart: one by one if they come up again and again, numbers by intervals, vectors by regions.

    Numbers that are nearly all different would not be seen again, however few they are.
    """
    values = [*one.values, *other.values]
    widths = Counter(len(value) for value in values if isinstance(value, tuple) and _is_vector(value, len(value)))
    is_vector = partial(_is_vector, width=widths.most_common(1)[0][0] if widths else 0)
    kinds: tuple[tuple[Any, ...], ...] = ((Intervals, _is_number, _atoms(one, other)), (Regions, is_vector, ()))
    for kind, alike, atoms in kinds:
        fits = partial(_fits_but, alike, atoms)
        inside = one.only(fits), other.only(fits)
        if sum(seen.runs for seen in inside) and not _come_again(*inside):
            return MixedCells(fits, kind(*inside), OutputCells(value for value in values if not fits(value)))
    return OutputCells(values)


def _come_again(one: Seen, other: Seen) -> bool:
    """Whether the different values are few, and most runs gave one that others gave as well."""
    counts = np.array([*_together(one, other).values()])
    return len(counts) <= MOST_CELLS and 2 * int((counts == 1).sum()) <= int(counts.sum())


def _atoms(one: Seen, other: Seen) -> frozenset[Any]:
    """Numbers that come up far more often than their neighbours could."""
    counts = _together(one.only(_is_number), other.only(_is_number))
    often = _ATOM * max(1.0, counts.total() / max(1, len(counts)))
    return frozenset(value for value, n in counts.most_common(_MOST_ATOMS) if n >= often)


def _together(one: Seen, other: Seen) -> Counter[Any]:
    """The different values of both tables, and how often each came up."""
    joint: Counter[Any] = Counter(dict(zip(one.values, one.counts.tolist())))
    joint.update(dict(zip(other.values, other.counts.tolist())))
    return joint


def _fits_but(fits: Callable[[Any], bool], atoms: Collection[Any], value: Any) -> bool:
    return fits(value) and value not in atoms


def shown(output: Any) -> str:
    """An output as text, not all of it if it is long."""
    text = str(output)
    return text if len(text) <= 160 else text[:157] + "..."


def comparable(value: Any) -> Hashable:
    """Arrays and lists as tuples, so that they can be counted, and not-a-number as a word, so that it equals itself."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and value != value:
        return "nan"
    return tuple(map(comparable, value)) if isinstance(value, list | tuple) else value


def _by_cell(cells: OutputCells, seen: Seen) -> np.ndarray:
    codes = cells.code(seen.values)
    return np.bincount(codes[codes >= 0], seen.counts[codes >= 0], cells.n)


def _tilt(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How much likelier each cell is here, drawn toward even odds where it was rarely seen."""
    return np.log((a + 0.5) / max(1, a.sum())) - np.log((b + 0.5) / max(1, b.sum()))


def _cautious_tilt(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same, less two standard errors: rare outputs come late."""
    return _tilt(a, b) - 2 * np.sqrt(1 / (a + 0.5) + 1 / (b + 0.5))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1000)


def _is_vector(value: Any, width: int) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == width > 0
        and all(isinstance(x, bool) or _is_number(x) for x in value)
    )


def _counted(outputs: Any) -> Counter[Any]:
    return Counter(
        checked(comparable(value)) for value in (outputs.tolist() if hasattr(outputs, "tolist") else outputs)
    )


class IncomparableError(PrivetError):
    """What is released cannot be compared."""


def checked(value: Any) -> Any:
    """The value; raises if two runs with the same output would not count as the same, and says what to return."""
    if isinstance(value, tuple):
        for part in value:
            checked(part)
        return value
    instead = "Return text, numbers or tuples of them, such as tuple(model.predict(probe)) or the model as JSON."
    kind = type(value)
    try:
        hash(value)
    except TypeError:
        raise IncomparableError(
            f"What is released ({kind.__name__}) cannot be compared: it has no hash. {instead}"
        ) from None
    if kind.__eq__ is object.__eq__ and value is not None:
        raise IncomparableError(
            f"What is released ({kind.__name__}) cannot be compared: it is equal to nothing but itself. {instead}"
        )
    return value
