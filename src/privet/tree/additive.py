"""A boosted ensemble: for each class the sum of released functions of single features and of a few together.

Each round of boosting adds a step function of one feature or of a product of them. The rounds are what is kept, each
with the answer that paid for it; rounds of the same features add up to one table, a term, with a number for each
combination of stretches of public cells: exact, and readable term by term.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.gradients import linked_chances
from privet.questions.grid import Grid
from privet.questions.split import MOST_CHILDREN, MOST_FACTORS, Table, factors_of
from privet.schema import Categorical, Numeric, Schema
from privet.strict_json import as_list, as_text, as_whole, only

LARGEST_VALUE = 2**40
"""No value of a round in a file is larger, so that sums of them fit in 64 bits."""

MOST_ROUNDS = 2**20
"""No ensemble in a file has more rounds."""

MOST_CELLS = 2**16
"""No feature in a file has more cells."""

LARGEST_TERM = 2**18
"""The most numbers of a term: rounds of the same features that would need more are two terms."""


@dataclass(frozen=True)
class Round:
    """One step: ``values[p]`` is added to the score of class ``output`` for the records in part p.

    ``factors`` are features with the part of each of their cells; a record's part is told by those that it has in each,
    numbered as ``np.ravel_multi_index`` does. Values are whole numbers, in units of 1 / ``GRADIENT_ONE``, as the noisy
    ``hessians`` of the parts are. The answer that paid is gradient tally number ``paid`` of those that the receipt has
    at ``scope``.
    """

    factors: tuple[tuple[int, bytes], ...]
    values: tuple[int, ...]
    hessians: tuple[int, ...]
    output: int
    scope: str = ""
    paid: int = 0

    @classmethod
    def of(cls, table: Table, values: np.ndarray, hessians: np.ndarray, output: int, scope: str, paid: int) -> Round:
        factors = tuple((split.feature, split.part) for split in factors_of(table))
        return cls(factors, tuple(map(int, values)), tuple(map(int, hessians)), int(output), scope, paid)

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(feature for feature, _ in self.factors)


@dataclass(frozen=True)
class Calibration:
    """What the scores of a numeric target begin with, and what they are lifted by at the end, by their own level.

    A score above cut i-1 and at most cut i is lifted by ``values[i]``. Whole numbers of 1 / ``TARGET_ONE`` of the
    target's range. The start was paid for by a quantile of the target at ``scope``, and the values by the last tally of
    residuals that the receipt has there.
    """

    start: int
    cuts: tuple[int, ...]
    values: tuple[int, ...]
    scope: str = ""

    def lifted(self, scores: np.ndarray) -> np.ndarray:
        """Scores in units of the range, which the rounds have added to the start."""
        whole = np.rint(scores * TARGET_ONE) + self.start
        places = np.searchsorted(self.cuts, whole, side="left")
        return np.clip((whole + np.array(self.values)[places]) / TARGET_ONE, 0, 1)

    def to_dict(self) -> dict[str, Any]:
        return {"start": self.start, "cuts": list(self.cuts), "values": list(self.values), "scope": self.scope}

    @classmethod
    def from_dict(cls, data: Any) -> Calibration:
        only(data, ("start", "cuts", "values", "scope"))
        cuts, values = (tuple(as_whole(own) for own in as_list(data[name])) for name in ("cuts", "values"))
        start = as_whole(data["start"])
        if not all(one < other for one, other in pairwise(cuts)) or len(values) != len(cuts) + 1:
            raise ValueError("a calibration has a value for each level, and levels increase")
        if not all(abs(value) < LARGEST_VALUE for value in (start, *cuts, *values)) or len(cuts) >= MOST_CHILDREN:
            raise ValueError("too large a value")
        return cls(start, cuts, values, as_text(data["scope"]))


@dataclass(frozen=True, eq=False)
class Term:
    """What ``features`` together add to the scores: ``values[stretch, ..., output]`` in units of 1 / ``GRADIENT_ONE``.

    ``stretches`` has for each feature the stretch that each of its public cells belongs to: cells that no round parts
    are one. ``weight`` is how many records a combination of stretches has, in units that mean nothing by themselves:
    from the noisy Hessians of the rounds.
    """

    features: tuple[int, ...]
    stretches: tuple[np.ndarray, ...]
    values: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, features: tuple[int, ...], rounds: list[Round], n_outputs: int) -> Term:
        """The sum of rounds of these features."""
        parts = [np.stack([np.frombuffer(own.factors[k][1], np.uint8) for own in rounds]) for k in range(len(features))]
        found = [np.unique(own, axis=1, return_index=True, return_inverse=True) for own in parts]
        stretches = tuple(np.ravel(inverse) for _, _, inverse in found)
        shape = tuple(len(first) for _, first, _ in found)
        values, weight = np.zeros((*shape, n_outputs), dtype=np.int64), np.zeros(shape)
        for r, own in enumerate(rounds):
            mine = [kinds[r] for kinds, _, _ in found]  # the part of each stretch
            sizes = [np.bincount(all_parts[r]) for all_parts in parts]  # how many cells each part has
            table = np.ravel_multi_index(np.ix_(*mine), [len(size) for size in sizes])
            values[..., own.output if n_outputs > 1 else 0] += np.array(own.values)[table]
            shares = (np.bincount(each) / size[part] for each, size, part in zip(stretches, sizes, mine))
            weight += np.maximum(np.array(own.hessians), 0)[table] / GRADIENT_ONE * reduce(np.multiply.outer, shares)
        return cls(features, stretches, values, weight)

    def at(self, cells: Mapping[int, np.ndarray]) -> np.ndarray:
        """What it adds to records in these cells of its features."""
        return self.values[tuple(own[cells[f]] for f, own in zip(self.features, self.stretches))]

    @property
    def mean(self) -> np.ndarray:
        """The mean of what it adds, over its weight."""
        return self.means_of(()).reshape(-1)

    def means_of(self, kept: tuple[int, ...]) -> np.ndarray:
        """The mean of what it adds for each stretch of the features ``kept``, over the weight of the others."""
        others = tuple(k for k, f in enumerate(self.features) if f not in kept)
        # A little everywhere, so that what has no weight has the plain mean.
        weight = self.weight + max(self.weight.sum(), 1.0) * 1e-12
        return (self.values * weight[..., None]).sum(axis=others) / weight.sum(axis=others)[..., None]

    @property
    def spread(self) -> float:
        """How much it moves the scores: the mean distance from its own mean."""
        apart = np.abs(self.values - self.mean).sum(axis=-1)
        return float((self.weight * apart).sum()) / max(float(self.weight.sum()), 1e-300) / GRADIENT_ONE


@dataclass(frozen=True)
class Additive:
    """Scores as sums of ``rounds`` over public cells, whose ``cuts`` are given for each feature, None for categories.

    Each class has a score, against the rest; two classes have one, the second one's. A numeric target has one, a part
    of its range, and a ``calibration``.
    """

    schema: Schema
    cuts: tuple[tuple[float, ...] | None, ...]
    rounds: tuple[Round, ...]
    calibration: Calibration | None = None

    @classmethod
    def on(cls, schema: Schema, grid: Grid, rounds: list[Round], calibration: Calibration | None = None) -> Additive:
        """The rounds of a fit on this grid."""
        cuts = (None if cells.cuts is None else tuple(float(cut) for cut in cells.cuts) for cells in grid.features)
        return cls(schema, tuple(cuts), tuple(rounds), calibration)

    @property
    def n_outputs(self) -> int:
        n_classes = len(self.schema.classes or ())
        return n_classes if n_classes > 2 else 1

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What features, and features together, add in all rounds: the one that moves scores most first."""
        of_features: dict[tuple[int, ...], list[Round]] = {}
        for own in self.rounds:
            of_features.setdefault(own.features, []).append(own)
        terms = [
            Term.of(features, some, self.n_outputs)
            for features, rounds in of_features.items()
            for some in _small_enough(rounds, LARGEST_TERM)
        ]
        return tuple(sorted(terms, key=lambda term: -term.spread))

    @cached_property
    def small_terms(self) -> tuple[tuple[Term, ...], ...]:
        """For each output terms of at most ``MOST_CHILDREN`` numbers, whose sum is its score."""
        found = []
        for output in range(self.n_outputs):
            of_features: dict[tuple[int, ...], list[Round]] = {}
            for own in self.rounds:
                if self.n_outputs == 1 or own.output == output:
                    of_features.setdefault(own.features, []).append(own)
            lists = (
                (own, some) for own, all_of in of_features.items() for some in _small_enough(all_of, MOST_CHILDREN)
            )
            found.append(tuple(Term.of(features, some, 1) for features, some in lists))
        return tuple(found)

    def scores(self, columns: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
        """The score of each row for each output."""
        total = np.zeros((n_rows, self.n_outputs), dtype=np.int64)
        used = sorted({f for term in self.terms for f in term.features})
        cells = {f: self.cells(f, columns[f]) for f in used}
        for term in self.terms:
            total += term.at(cells)
        return total / GRADIENT_ONE

    def cells(self, feature: int, column: np.ndarray) -> np.ndarray:
        """The cell of each number, or of each code of a category; a missing number has the last."""
        cuts = self.cuts[feature]
        if cuts is None:
            return column
        return np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column, side="left"))

    def predictions(self, scores: np.ndarray) -> np.ndarray:
        """What scores stand for: the chance of each class, in the schema's order, or one column for the target."""
        if self.calibration is None:
            return _chances(scores)
        assert self.schema.target is not None
        low, high = self.schema.target
        return np.clip(low + self.calibration.lifted(scores) * (high - low), low, high)

    @property
    def term_importances(self) -> dict[tuple[str, ...], float]:
        """How much each feature, or features together, move the scores, as shares of the sum: the largest first."""
        whole = sum(term.spread for term in self.terms) or 1.0
        shares: dict[tuple[str, ...], float] = {}
        for term in self.terms:
            names = tuple(self.schema.names[f] for f in term.features)
            shares[names] = shares.get(names, 0.0) + term.spread / whole
        return shares

    @property
    def importances(self) -> np.ndarray:
        """The same for each feature: those of a term share it evenly."""
        shares = np.zeros(len(self.cuts))
        whole = sum(term.spread for term in self.terms) or 1.0
        for term in self.terms:
            shares[list(term.features)] += term.spread / whole / len(term.features)
        return shares

    def dependence(self, feature: int, column: np.ndarray) -> np.ndarray:
        """What is predicted at each value of one feature, where all others add what they add on average."""
        cells, total = self.cells(feature, column), np.zeros((len(column), self.n_outputs))
        for term in self.terms:
            if feature in term.features:
                stretch = term.stretches[term.features.index(feature)]
                total += term.means_of((feature,))[stretch[cells]]
            else:
                total += term.mean
        return self.predictions(total / GRADIENT_ONE)

    def to_dict(self) -> dict[str, Any]:
        plain = {
            "cuts": [None if own is None else list(own) for own in self.cuts],
            "rounds": [self._plain(own) for own in self.rounds],
        }
        return plain if self.calibration is None else plain | {"calibration": self.calibration.to_dict()}

    def _plain(self, own: Round) -> dict[str, Any]:
        return {
            "parts": {self.schema.names[f]: self._plain_part(f, part) for f, part in own.factors},
            "values": list(own.values),
            "hessians": list(own.hessians),
            "output": own.output,
            "scope": own.scope,
            "paid": own.paid,
        }

    def _plain_part(self, feature: int, part: bytes) -> list[int]:
        parts = np.frombuffer(part, dtype=np.uint8)
        # Parts of numbers are neighbouring cells, numbered in order: where each but the first begins says it all.
        plain: list[int] = (parts if self.cuts[feature] is None else np.flatnonzero(np.diff(parts)) + 1).tolist()
        return plain

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Additive:
        """Read an ensemble. Whatever the data say, the result fits the schema, or it is an error."""
        try:
            only(data, ("cuts", "rounds") if schema.target is None else ("cuts", "rounds", "calibration"))
            features = schema.features.values()
            cuts = tuple(_read_cuts(own, f) for own, f in zip(as_list(data["cuts"]), features, strict=True))
            if len(as_list(data["rounds"])) > MOST_ROUNDS:
                raise ValueError("too many rounds")
            rounds = tuple(_read_round(own, cuts, schema) for own in data["rounds"])
            calibration = None if schema.target is None else Calibration.from_dict(data["calibration"])
            return cls(schema, cuts, rounds, calibration)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SchemaError("This is not a whole ensemble: a round is missing or does not fit the schema.") from None


def _small_enough(rounds: list[Round], most: int) -> list[list[Round]]:
    """Rounds of the same features, in lists whose terms have at most so many numbers, if no round has more."""
    lists: list[list[Round]] = []
    stretches: list[np.ndarray] = []
    for own in rounds:
        parts = [np.frombuffer(part, dtype=np.uint8) for _, part in own.factors]
        joined = [_numbered(have * 256 + part) for have, part in zip(stretches, parts)]
        if not lists or math.prod(int(each.max()) + 1 for each in joined) > most:
            lists.append([])
            joined = [_numbered(part) for part in parts]
        stretches = joined
        lists[-1].append(own)
    return lists


def _numbered(kinds: np.ndarray) -> np.ndarray:
    """The number of each one's kind, without gaps."""
    return np.unique(kinds, return_inverse=True)[1]


def _n_cells(feature: Numeric | Categorical, cuts: tuple[float, ...] | None) -> int:
    return feature.n_codes if isinstance(feature, Categorical) else len(cuts or ()) + 1 + feature.missing


def _chances(scores: np.ndarray) -> np.ndarray:
    """What scores of classes against the rest mean together; a single column is the second of two classes."""
    chances = linked_chances(scores)
    if scores.shape[1] == 1:
        return np.column_stack([1 - chances[:, 0], chances[:, 0]])
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _read_cuts(plain: Any, feature: Numeric | Categorical) -> tuple[float, ...] | None:
    if isinstance(feature, Categorical):
        if plain is not None:
            raise ValueError("cuts on a category")
        return None
    cuts = tuple(float(cut) for cut in as_list(plain))
    if not all(map(math.isfinite, cuts)) or not all(a < b for a, b in pairwise(cuts)) or len(cuts) >= MOST_CELLS:
        raise ValueError("cuts must increase")
    return cuts


def _read_round(plain: Any, cuts: tuple[tuple[float, ...] | None, ...], schema: Schema) -> Round:
    only(plain, ("parts", "values", "hessians", "output", "scope", "paid"))
    if type(plain["parts"]) is not dict or not 1 <= len(plain["parts"]) <= MOST_FACTORS:
        raise ValueError("a round is of one feature or a few")
    features = {schema.names.index(name): part for name, part in plain["parts"].items()}
    factors = tuple((f, _read_part(features[f], f, cuts, schema)) for f in sorted(features))
    values, hessians = (tuple(as_whole(own) for own in as_list(plain[name])) for name in ("values", "hessians"))
    n_parts = math.prod(max(part) + 1 for _, part in factors)
    if not len(values) == len(hessians) == n_parts <= MOST_CHILDREN:
        raise ValueError("one number for each part")
    if not all(abs(value) < LARGEST_VALUE for value in values):
        raise ValueError("too large a value")
    output, n_classes = as_whole(plain["output"]), len(schema.classes or (0,))
    if not (output == 1 if n_classes == 2 else 0 <= output < n_classes):
        raise ValueError("an output is the number of a class")
    if not as_whole(plain["paid"]) >= 0:
        raise ValueError("a round names the answer that paid for it")
    return Round(factors, values, hessians, output, as_text(plain["scope"]), plain["paid"])


def _read_part(plain: Any, feature: int, cuts: tuple[tuple[float, ...] | None, ...], schema: Schema) -> bytes:
    """The part of each cell of a feature."""
    n_cells = _n_cells(schema.features[schema.names[feature]], cuts[feature])
    parts = np.array([as_whole(own) for own in as_list(plain)], dtype=np.int64)
    if cuts[feature] is None:
        part = parts
        kinds = set(parts.tolist())
        fits = len(part) == n_cells and kinds == set(range(len(kinds)))
    else:
        part = np.cumsum(np.isin(np.arange(n_cells), parts))
        fits = bool((np.diff(parts) > 0).all()) and all(0 < start < n_cells for start in parts.tolist())
    if not fits or part.max() > 255:
        raise ValueError("every cell has a part")
    return part.astype(np.uint8).tobytes()
