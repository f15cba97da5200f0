"""A released model as flat arrays: rooms can score records by it without running anybody's code.

A model is a sum of *terms* (a released function of one to three features) and *trees* (whose leaves hold values), in
whole numbers, over the cells of a public grid. Of numbers it is enough to know which bin they are in, so a scorer also
has the public *cuts* between bins, and a record's place in its table is (group, bin, true class). Where the table goes
wrong, it goes wrong in public: all of a scorer is made from what was released, and whatever it says, a record is in one
cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import Grid
from privet.questions.split import Product, Split, Table, check_splits, check_tables, factors_of
from privet.questions.word import Word, all_of, array, exactly, number, put, text, whole

MOST_SCORER_NODES = 2**20
DEEPEST = 1000
MOST_TERMS = 2**14
MOST_OUTPUTS = 2**12
MOST_BINS = 2**12
LARGEST_SCORE = 2**62
"""No sum of what a record is given may leave 64 bits."""

CLOSE = 2**8
"""What a prediction without error is worth where models are compared."""

LINKS = ("score", "shares", "one_against_rest", "error")
"""What is cut into bins: the score of the second of two classes; of several, the chance of the one with the largest
score, as its share of their sum or by what each class's score means against the rest
(``privacy.gradients.linked_chances``); or of a target, how far the prediction is off."""


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Summand(Word):
    """A released function: ``values[p]``, one for each output, for the records in part p of ``table``."""

    table: Table
    values: np.ndarray

    def __init__(self, table: Table, values: np.ndarray) -> None:
        (own,) = all_of((Split, Product), (table,), "A term's table")
        put(self, table=own, values=array(values, np.int64, "A term's values", ndim=2))
        if len(self.values) != own.n_children:
            raise LeakError("A term has values for each part of its table.")


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Branches(Word):
    """Trees, one after another: node i asks ``splits[split[i]]`` and goes on at ``first[i]`` + part; -1 is a leaf.

    ``roots`` are where the trees begin. Every node is reached in one way from one root, parents come before their
    children, and no path is longer than ``DEEPEST``; the longest has ``n_levels`` nodes. A leaf gives ``values``, one
    for each output.
    """

    splits: tuple[Split, ...]
    split: np.ndarray
    first: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    n_levels: int = field(repr=False)

    def __init__(
        self, splits: Iterable[Split], split: np.ndarray, first: np.ndarray, roots: np.ndarray, values: np.ndarray
    ) -> None:
        put(self, splits=tuple(exactly(Split, own, "A tree's split") for own in splits))
        put(self, split=array(split, np.int64, "The splits of nodes"), first=array(first, np.int64, "First children"))
        put(self, roots=array(roots, np.int64, "The roots of trees"))
        put(self, values=array(values, np.int64, "The values of leaves", ndim=2))
        n = len(self.split)
        if not 0 < n <= MOST_SCORER_NODES or len(self.splits) > MOST_SCORER_NODES:
            raise LeakError(f"Trees have from one to {MOST_SCORER_NODES:,} nodes.")
        if not len(self.first) == len(self.values) == n:
            raise LeakError("Every node of a tree has a split, a first child and values.")
        if not ((self.split >= -1) & (self.split < len(self.splits))).all():
            raise LeakError("A node asks for one of the trees' splits, or none.")
        self._check_reached(n)

    def _check_reached(self, n: int) -> None:
        """Raise LeakError unless every node is reached just once."""
        width = np.array([own.n_children for own in self.splits] or [0], dtype=np.int64)
        level, reached = self.roots, 0
        seen = np.zeros(n, dtype=bool)
        for n_levels in range(1, DEEPEST + 2):
            if not ((level >= 0) & (level < n)).all() or len(np.unique(level)) < len(level) or seen[level].any():
                raise LeakError("Every node of a tree is reached in one way.")
            seen[level] = True
            reached += len(level)
            inner = level[self.split[level] >= 0]
            if not len(inner):
                put(self, n_levels=n_levels)
                break
            counts = width[self.split[inner]]
            if not (self.first[inner] > inner).all() or reached + counts.sum() > n:
                raise LeakError("A node's children come after it, and are nodes.")
            starts = np.repeat(self.first[inner] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            level = starts + np.arange(len(starts))
        else:
            raise LeakError(f"No tree is deeper than {DEEPEST}.")
        if reached < n:
            raise LeakError("Every node of a tree is reached from a root.")


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Scorer(Word):
    """What a model says of a record, and into which of ``n_cells`` = groups x bins x classes that puts it.

    The score is the sum of what ``terms`` and ``branches`` give, times ``unit``, plus ``base``. ``link`` says what of
    it is cut into bins by ``cuts`` (bin i holds what is above cut i-1 and up to cut i), of several classes for each one
    that is predicted. ``order`` is how ties between these are broken, the first one first. Of two classes the bins from
    ``turn`` on stand for the second. ``by`` sends records to groups. A sum above level i-1 and at most level i is
    lifted by ``lifts[i]`` before it is a prediction, which then is clamped to the target's range, if there are levels.
    """

    grid: Grid
    terms: tuple[Summand, ...]
    branches: Branches | None
    link: str
    unit: float
    base: float
    cuts: np.ndarray
    order: tuple[int, ...]
    turn: int
    by: Split | None
    levels: np.ndarray
    lifts: np.ndarray
    n_bins: int = field(repr=False)
    features: tuple[int, ...] = field(repr=False)

    def __init__(
        self,
        grid: Grid,
        terms: Sequence[Summand],
        branches: Branches | None,
        link: str,
        cuts: np.ndarray,
        *,
        unit: float = 1.0,
        base: float = 0.0,
        order: Sequence[int] = (0,),
        turn: int = 0,
        by: Split | None = None,
        levels: np.ndarray = (),  # type: ignore[assignment]
        lifts: np.ndarray = (0,),  # type: ignore[assignment]
    ) -> None:
        exactly(Grid, grid, "A scorer's grid")
        own = tuple(exactly(Summand, term, "A scorer's term") for term in terms)
        if len(own) > MOST_TERMS:
            raise LeakError(f"A scorer has at most {MOST_TERMS:,} terms.")
        if branches is not None:
            exactly(Branches, branches, "A scorer's trees")
        if text(link, "A link") not in LINKS:
            raise LeakError(f"A link is one of {', '.join(LINKS)}.")
        put(self, grid=grid, terms=own, branches=branches, link=link, by=by)
        put(self, unit=number(unit, "A unit"), base=number(base, "A base"))
        if self.unit <= 0:
            raise LeakError("A unit is above zero.")
        put(self, cuts=array(cuts, np.float64, "The cuts between bins"))
        if not np.isfinite(self.cuts).all() or not (np.diff(self.cuts) > 0).all() or len(self.cuts) >= MOST_BINS:
            raise LeakError("Cuts between bins are finite numbers, each above the one before.")
        put(self, turn=whole(turn, 0, len(self.cuts) + 1, "Where the second class begins"))
        put(self, levels=array(levels, np.int64, "Levels"), lifts=array(lifts, np.int64, "Lifts"))
        if (
            not (np.diff(self.levels) > 0).all()
            or len(self.lifts) != len(self.levels) + 1
            or len(self.lifts) > MOST_BINS
        ):
            raise LeakError("Levels increase, and there is a lift for each.")
        self._check_outputs(tuple(whole(k, 0, MOST_OUTPUTS, "An output") for k in order))
        put(self, n_bins=(len(self.cuts) + 1) * (len(order) if link in ("shares", "one_against_rest") else 1))
        self._check_cells()

    def _check_outputs(self, order: tuple[int, ...]) -> None:
        n = len(order)
        if not 0 < n <= MOST_OUTPUTS or sorted(order) != list(range(n)):
            raise LeakError("The order of outputs names each of them once.")
        n_classes = len(self.grid.schema.classes or ())
        if n != (n_classes if self.link in ("shares", "one_against_rest") else 1):
            raise LeakError("A scorer of several classes has an output for each, any other has one.")
        if (self.link == "error") != (n_classes == 0) or (self.link == "score" and n_classes != 2):
            raise LeakError("This link is not for the schema's task.")
        put(self, order=order)
        if self.link != "error" and (len(self.levels) or self.lifts[0]):
            raise LeakError("Only the predictions of targets are lifted.")
        pieces = [(1, self.lifts[:, None]), *((1, term.values) for term in self.terms)]
        if self.branches is not None:
            pieces.append((len(self.branches.roots), self.branches.values))
        if any(values.shape[1] != n for _, values in pieces[1:]):
            raise LeakError("Terms and trees have a value for each output.")
        largest = (times * max(-int(own.min(initial=0)), int(own.max(initial=0))) for times, own in pieces)
        if sum(largest) >= LARGEST_SCORE:
            raise LeakError("These values could add up to more than 64 bits hold.")

    def _check_cells(self) -> None:
        tables = check_tables(tuple(term.table for term in self.terms), self.grid)
        splits = check_splits(() if self.branches is None else self.branches.splits, self.grid)
        if self.by is not None:
            exactly(Split, self.by, "What records are grouped by").check(self.grid)
        used = {own.feature for table in tables for own in factors_of(table)}
        used |= {own.feature for own in splits} | (set() if self.by is None else {self.by.feature})
        put(self, features=tuple(sorted(used)))
        if np.prod([float(n) for n in self.shape]) > MOST_SCORER_NODES:
            raise LeakError(f"A table of scores has at most {MOST_SCORER_NODES:,} cells.")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, bins and classes of the table; a target has one class."""
        return 1 if self.by is None else self.by.n_children, self.n_bins, len(self.grid.schema.classes or (0,))

    @property
    def n_steps(self) -> int:
        """In how many steps a record gets its score, at most: one for each term, and for each level of each tree."""
        return len(self.terms) + (0 if self.branches is None else len(self.branches.roots) * self.branches.n_levels)

    # -- what it says of records, given their cells -------------------------------------------------------------------

    def places(self, cells: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Each record's cell of the table, in C order of its shape.

        ``cells`` are the cells of ``features``, a column for each; ``truth`` the numbers of the true classes, or the
        targets.
        """
        column = {f: cells[:, i] for i, f in enumerate(self.features)}
        groups = 0 if self.by is None else self.by.parts[column[self.by.feature]].astype(np.int64)
        bins = self._bins(self._scores(column, cells), truth)
        return self._places(groups, bins, truth)

    def places_of_scores(self, groups: np.ndarray, scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """The same of records whose groups and scores are known already: (records, outputs)."""
        return self._places(groups, self._bins(scores, truth), truth)

    def _places(self, groups: np.ndarray | int, bins: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return np.asarray((groups * self.n_bins + bins) * self.shape[2] + (0 if self.link == "error" else truth))

    def _scores(self, column: dict[int, np.ndarray], cells: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(cells), len(self.order)), dtype=np.int64)
        for term in self.terms:
            part = np.zeros(len(cells), dtype=np.int64)
            for own in factors_of(term.table):
                part = part * own.n_children + own.parts[column[own.feature]]
            scores += term.values[part]
        if self.branches is not None:
            for leaves in self._leaves(self.branches, cells):
                scores += self.branches.values[leaves]
        return scores

    def _leaves(self, trees: Branches, cells: np.ndarray) -> Iterator[np.ndarray]:
        """The leaf of each record in one tree after the other: level by level, all records at once."""
        place = {f: i for i, f in enumerate(self.features)}
        asks = np.array([place[own.feature] for own in trees.splits] or [0])
        sizes = np.array([len(own.part) for own in trees.splits] or [0])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        parts = np.frombuffer(b"".join(own.part for own in trees.splits), dtype=np.uint8)
        for root in trees.roots.tolist():
            node = np.full(len(cells), root, dtype=np.int64)
            going = np.arange(len(cells)) if trees.split[root] >= 0 else np.arange(0)
            while len(going):
                at = node[going]
                split = trees.split[at]
                node[going] = trees.first[at] + parts[starts[split] + cells[going, asks[split]]]
                going = going[trees.split[node[going]] >= 0]
            yield node

    def _bins(self, scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
        if self.link == "score":
            return np.searchsorted(self.cuts, scores[:, 0].astype(np.float64), side="left")
        if self.link == "error":
            with np.errstate(over="ignore"):
                return np.searchsorted(self.cuts, self._predicted(scores[:, 0]) - truth, side="left")
        ordered = np.array(self.order)
        winner = ordered[scores[:, ordered].argmax(axis=1)]
        best = scores[np.arange(len(scores)), winner]
        if self.link == "one_against_rest":
            with np.errstate(over="ignore"):
                p = 1 / (1 + np.exp(-np.clip(scores * self.unit, -500, 500)))
            linked = np.where(p >= 0.5, 1 / (3 - 2 * p), 2 * p / (1 + 2 * p))
            chance = linked.max(axis=1) / linked.sum(axis=1)
        else:
            chance = best / np.maximum(scores.sum(axis=1, dtype=np.float64), 1)
        return np.asarray(winner * (len(self.cuts) + 1) + np.searchsorted(self.cuts, chance, side="left"))

    def _predicted(self, scores: np.ndarray) -> np.ndarray:
        """The predictions of a target."""
        lifted = scores + self.lifts[np.searchsorted(self.levels, scores, side="left")]
        with np.errstate(over="ignore"):
            predicted = self.base + self.unit * lifted
        assert self.grid.schema.target is not None
        return np.clip(predicted, *self.grid.schema.target) if len(self.levels) else predicted

    @property
    def predicts(self) -> np.ndarray:
        """The class that each bin stands for."""
        if self.link == "score":
            return (np.arange(self.n_bins) >= self.turn).astype(np.int64)
        return np.repeat(np.arange(len(self.order)), len(self.cuts) + 1)

    @property
    def gains(self) -> np.ndarray:
        """What a record in each (bin, class) is worth where models are compared: whole, from 0 to ``most_worth``.

        Of classes 1 where the bin stands for the class, else 0. Of a target from ``CLOSE`` for no error to 0 for one as
        large as the range or larger, by the middle of the bin.
        """
        if self.link != "error":
            return (self.predicts[:, None] == np.arange(self.shape[2])).astype(np.int64)
        assert self.grid.schema.target is not None
        low, high = self.grid.schema.target
        share = np.abs(self.middles) / max(high - low, np.finfo(float).tiny)
        return np.rint(CLOSE * (1 - np.clip(share, 0, 1))).astype(np.int64)[:, None]

    @property
    def most_worth(self) -> int:
        return CLOSE if self.link == "error" else 1

    @property
    def middles(self) -> np.ndarray:
        """A number in the middle of each stretch between cuts; beyond the first and the last, these."""
        ends = np.concatenate([self.cuts[:1], self.cuts, self.cuts[-1:]]) if len(self.cuts) else np.zeros(2)
        return (ends[:-1] + ends[1:]) / 2
