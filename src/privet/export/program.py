"""What a model computes, made ready to be written in another language: which inputs, then trees or terms.

Only released numbers are in it. Every export computes what ``predict`` does, in the same order and in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.algorithms.registry import grown_of
from privet.errors import PrivetError
from privet.schema import Categorical, Numeric, Schema
from privet.schema_values import Value
from privet.tree.additive import Additive
from privet.tree.flat import cuts_of
from privet.tree.forest import Forest
from privet.tree.tree import Tree


@dataclass(frozen=True)
class Input:
    """A feature that a model asks for. ``cuts`` are all that the model has on a number; None for a category.

    A number's cell is how many cuts lie below it, and one more where it is missing; a category's is its place in the
    schema, and the one after the last for all other values.
    """

    feature: int
    name: str
    field: Numeric | Categorical
    cuts: tuple[float, ...] | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the feature is read from: its own, or those that it is the mean of."""
        return (self.field.mean_of if isinstance(self.field, Numeric) else ()) or (self.name,)

    @property
    def values(self) -> tuple[Value, ...]:
        """The categories in order; empty for a number."""
        return self.field.values if isinstance(self.field, Categorical) else ()

    @property
    def open(self) -> bool:
        """Whether there is a cell for missing numbers, or for missing and unlisted categories."""
        return self.field.missing if isinstance(self.field, Numeric) else self.field.other

    @property
    def n_cells(self) -> int:
        return len(self.values if self.cuts is None else self.cuts) + (self.cuts is not None) + self.open


@dataclass(frozen=True)
class Where:
    """Which values take a branch: numbers above ``low`` and at most ``high`` of a range, None being no end; or listed
    categories. The last branch of several takes the rest, and missing and unlisted values with it: its condition need
    not be tested."""

    ranges: tuple[tuple[float | None, float | None], ...] = ()
    listed: tuple[Value, ...] = ()


def branches(own: Input, cuts: Sequence[float] | None, keys: Sequence[int]) -> list[tuple[int, Where]]:
    """The values of each key, where ``keys`` has one for every segment between ``cuts`` or every category.

    The branch that missing or unlisted values take comes last.
    """
    n_listed = len(keys) - own.open
    by_key: dict[int, list[int]] = {}
    for segment in range(n_listed):
        by_key.setdefault(int(keys[segment]), []).append(segment)
    if own.open:
        last = int(keys[-1])
        by_key[last] = by_key.pop(last, [])
    return [(key, _where(own, cuts, segments)) for key, segments in by_key.items()]


def _where(own: Input, cuts: Sequence[float] | None, segments: list[int]) -> Where:
    if cuts is None:
        return Where(listed=tuple(own.values[segment] for segment in segments))
    ends = [None, *cuts, None]
    firsts = [s for s in segments if s - 1 not in segments]
    lasts = [s for s in segments if s + 1 not in segments]
    return Where(ranges=tuple((ends[first], ends[last + 1]) for first, last in zip(firsts, lasts)))


@dataclass(frozen=True)
class Program:
    """A model as trees whose leaves add up, or as a boosted sum of ``terms``.

    ``classes`` are in the order of ``predict_proba``; None for a numeric target. ``chances`` says whether the model has
    released probabilities, and ``by_label`` whether the label of a single tree's leaf is what is predicted, rather than
    the class with the best chance.
    """

    schema: Schema
    inputs: tuple[Input, ...]
    trees: tuple[Tree, ...]
    boosted: Additive | None
    classes: tuple[Value, ...] | None
    chances: bool
    by_label: bool

    @property
    def order(self) -> np.ndarray:
        """Where each of ``classes`` stands in the schema."""
        return np.argsort(np.array(self.schema.classes))

    def leaf_values(self, tree: Tree) -> np.ndarray:
        """What each node of a tree adds, if it is a leaf: a column for each class, or one for the target."""
        return tree.values[:, None] if self.classes is None else tree.shares[:, self.order]

    @property
    def by_feature(self) -> dict[int, Input]:
        return {own.feature: own for own in self.inputs}


def program_of(model: Any) -> Program:
    """What a fitted model computes; an error for one whose trees are hidden."""
    model = getattr(model, "best_estimator_", model)
    released = grown_of(model)
    if not isinstance(released, Tree | Forest | Additive):
        raise PrivetError("A hidden model cannot be exported: nobody has its tree. Its servers answer queries instead.")
    boosted = released if isinstance(released, Additive) else None
    trees = released.trees if isinstance(released, Forest) else (released,) if isinstance(released, Tree) else ()
    schema = released.schema
    cuts = boosted.cuts if boosted else cuts_of(trees)
    used = _features(boosted, trees)
    fields = list(schema.features.items())
    inputs = tuple(Input(f, *fields[f], None if cuts[f] is None else tuple(cuts[f] or ())) for f in used)
    classes = None if schema.classes is None else tuple(model.classes_.tolist())
    forest = isinstance(released, Forest)
    chances = classes is not None and (boosted is not None or forest or all(tree.weighed for tree in trees))
    return Program(
        schema, inputs, trees, boosted, classes, chances, by_label=bool(classes) and isinstance(released, Tree)
    )


def _features(boosted: Additive | None, trees: Sequence[Tree]) -> list[int]:
    """The features that are asked for, in the schema's order."""
    if boosted is not None:
        return sorted({f for term in boosted.terms for f in term.features})
    return sorted(set().union(*(tree.features for tree in trees)))
