"""Splitting classes: the public list of binary questions that a node may choose from.

A paper calls it H. It is made from the schema before any record is seen: some thresholds for every numeric feature, and
for every category the question whether a record is of it (one-hot encoding with one threshold at a half, in effect).
Derived features are features like any other: the schema names them and says what they are computed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.questions.grid import MOST_CELLS, OCTAVES, Grid
from privet.questions.splits import Splits
from privet.schema import Categorical, Numeric, Schema
from privet.schema_values import Value
from privet.tree.public_splits import runs_of


@dataclass(frozen=True, eq=False)
class SplittingClass:
    """The questions that a node may choose from.

    ``thresholds`` is how many evenly spaced thresholds a numeric feature has. ``of`` is for features that are to have
    others, by name: a number of thresholds, a list of thresholds, or, of a categorical feature, a list of groups, each
    of which is asked for as a whole. 0, or an empty list, leaves a feature out.

    >>> schema = Schema({"age": Numeric(0, 100), "sex": Categorical(["f", "m"], other=False)}, classes=[0, 1])
    >>> len(SplittingClass(10).functions(schema))
    11
    >>> SplittingClass(of={"age": [18, 65]}).functions(schema).grid.features[0].cuts.tolist()
    [18.0, 65.0]
    """

    thresholds: int = 10
    of: Mapping[str, int | Sequence[float] | Sequence[Sequence[Value]]] | None = None

    def __post_init__(self) -> None:
        if not _is_count(self.thresholds):
            raise SchemaError(f"A number of thresholds is a whole number from 0 to {MOST_CELLS - 2:,}.")
        if self.of is not None and not isinstance(self.of, Mapping):
            raise SchemaError(
                "of is a table: for each feature a number of thresholds, thresholds, or groups of values."
            )

    def functions(self, schema: Schema) -> Splits:
        """All of them on one grid, whose cells are just what they tell apart."""
        unknown = [name for name in self.of or () if name not in schema.features]
        if unknown:
            raise SchemaError(f"The splitting class speaks of {unknown[0]!r}, which is not a feature of the schema.")
        grid = Grid(schema, (self._cuts(name, feature) for name, feature in schema.features.items()))
        runs, subsets = [], []
        for f, (name, feature) in enumerate(schema.features.items()):
            if isinstance(feature, Numeric):
                runs.append(_thresholds(grid, f))
            elif self._own(name) is None:
                runs.append(_one_hot(grid, f))
            else:
                subsets.append((f, _groups(name, feature, self._own(name))))
        return Splits.of(grid, runs, subsets)

    def _own(self, name: str) -> Any:
        return (self.of or {}).get(name)

    def _cuts(self, name: str, feature: Numeric | Categorical) -> np.ndarray | None:
        if isinstance(feature, Categorical):
            return None
        own = self.thresholds if self._own(name) is None else self._own(name)
        return evenly_spaced(feature, int(own)) if _is_count(own) else _given(name, feature, own)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `from_dict` gives back an equal splitting class."""
        of = {name: _plain(own) for name, own in (self.of or {}).items()}
        return {"thresholds": int(self.thresholds), **({"of": of} if of else {})}

    @classmethod
    def from_dict(cls, content: Any) -> SplittingClass:
        if not isinstance(content, Mapping) or not set(content) <= {"thresholds", "of"}:
            raise SchemaError("This is not a splitting class: it has thresholds, and perhaps of.")
        return cls(**content)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, SplittingClass) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def evenly_spaced(feature: Numeric, n: int) -> np.ndarray:
    """The middles of ``n`` equal parts of the range; of a ``log`` feature, of equal ratios.

    Three thresholds between 0 and 255 are 42.5, 127.5 and 212.5. For whole numbers, those that part the same values are
    one.
    """
    low, high = float(feature.low), float(feature.high)
    shares = (np.arange(n) + 0.5) / max(n, 1)
    if feature.log and high > 0:
        start = low if low > 0 else high * 2.0**-OCTAVES
        points = start * (high / start) ** shares
    else:
        points = low + (high - low) * shares
    if feature.integer:
        points = np.floor(points)
    return np.unique(points[(points >= low) & (points < high)])


def _given(name: str, feature: Numeric, thresholds: Any) -> np.ndarray:
    """Thresholds of the user's: numbers inside the range, where there is something to part."""
    numbers = list(thresholds) if isinstance(thresholds, Iterable) and not isinstance(thresholds, str) else [None]
    if not all(isinstance(t, Real) and not isinstance(t, bool) for t in numbers):
        raise SchemaError(f"The thresholds of {name!r} are a whole number, how many, or a list of numbers.")
    cuts = np.unique(np.array(numbers, dtype=float))
    if not ((cuts >= feature.low) & (cuts < feature.high)).all():
        raise SchemaError(f"A threshold of {name!r} lies outside its range, where it would part nothing.")
    if len(cuts) > MOST_CELLS - 2:
        raise SchemaError(f"{name!r} has more than {MOST_CELLS - 2:,} thresholds.")
    return cuts


def _thresholds(grid: Grid, f: int) -> np.ndarray:
    """Values up to a threshold go left, and missing ones right; whether a value is missing is a question too."""
    start, cells = int(grid.offsets[f]), grid.features[f]
    last = start + np.arange(cells.n_cells - 1 - cells.special)
    if not cells.special:
        return runs_of(f, start, last)
    missing = start + cells.n_cells - 1
    return np.concatenate([runs_of(f, start, last), [[f], [missing], [missing], [-1]]], axis=1)


def _one_hot(grid: Grid, f: int) -> np.ndarray:
    """For each listed value whether it is this one; of two values that are all there is, one question is enough."""
    cells = grid.features[f]
    n = cells.n_cells - cells.special
    each = grid.offsets[f] + np.arange(1 if cells.n_cells == 2 else n if cells.n_cells > 1 else 0)
    return runs_of(f, each, each)


def _groups(name: str, feature: Categorical, groups: Any) -> np.ndarray:
    """Each group as a row of the cells that it holds; unlisted values are in none."""
    if isinstance(groups, Iterable) and not isinstance(groups, str):
        groups = list(groups)
        if all(isinstance(group, Iterable) and not isinstance(group, str) for group in groups):
            masks = np.zeros((len(groups), feature.n_codes), dtype=bool)
            for mask, group in zip(masks, groups):
                for value in group:
                    if value not in feature.values:
                        raise SchemaError(f"A group of {name!r} has a value that the schema does not list.")
                    mask[feature.values.index(value)] = True
            return masks
    raise SchemaError(f"{name!r} is categorical: give it groups of its values, such as [['a'], ['a', 'b']].")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= MOST_CELLS - 2


def _plain(own: Any) -> Any:
    if isinstance(own, str) or not isinstance(own, Iterable):
        return own.item() if hasattr(own, "item") else own
    return [_plain(each) for each in own]
