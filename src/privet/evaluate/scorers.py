"""A released model as a ``Scorer``: the word that rooms can score records by, made from what is public alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from privet.curators.hidden_scorer import HiddenScorer
from privet.errors import PrivetError, SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.questions.grid import Grid
from privet.questions.scorer import Branches, Scorer, Summand
from privet.questions.split import Product, Split
from privet.schema import Categorical, Numeric, Schema
from privet.schema_file import nearest
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.hidden_tree import HiddenForest, HiddenTree, tables_of
from privet.tree.tree import Rule, Tree

ONE = 2**40
"""Shares and values of leaves are whole numbers of this part of one: ties stay ties, and 2^22 trees fit in 64 bits."""

LARGEST_LOGIT = 4.0
"""Between these log-odds the bins of two classes' scores are evenly spaced."""

LEAST_CHANCE = 1e-3
"""No chance counts as smaller in the log loss: a noisy count of 0 is no certainty. Beyond it scores are in one bin."""

SMALLEST_ERROR = 2.0**-8
"""Errors below this share of the target's range are in one bin."""


@dataclass(frozen=True)
class Groups:
    """Public groups of records, by the values of one feature: names, and the cuts between them if it is numeric."""

    feature: str
    cuts: tuple[float, ...] | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema, by: str | Mapping[str, Iterable[float]] | None) -> Groups | None:
        """By the categories of a feature, given by its name; of a number by cuts: ``{"age": [30, 60]}``."""
        if by is None:
            return None
        name, cuts = (by, None) if isinstance(by, str) else _only(by)
        if name not in schema.features:
            raise SchemaError(f"There is no feature {name!r} to tell groups by{nearest(name, schema.names)}.")
        feature = schema.features[name]
        if isinstance(feature, Categorical):
            if cuts is not None:
                raise SchemaError(f"Feature {name!r} has categories, which are the groups: leave the cuts out.")
            return cls(name, None, (*map(str, feature.values), *(["others"] if feature.other else [])))
        if cuts is None:
            raise SchemaError(
                f"Feature {name!r} is numeric: say where groups begin, such as by={{{name!r}: [30, 60]}}."
            )
        try:
            own = tuple(sorted({float(cut) for cut in cuts}))
        except (TypeError, ValueError, OverflowError):
            raise SchemaError("Groups begin at numbers.") from None
        if not own or len(own) > 100 or not all(feature.low <= cut < feature.high for cut in own):
            raise SchemaError(f"Groups of {name!r} need from 1 to 100 cuts inside its range.")
        ends = [f"up to {own[0]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(own)), f"above {own[-1]:g}"]
        return cls(name, own, (*ends, *(["missing"] if feature.missing else [])))


def _only(by: Any) -> tuple[Any, Any]:
    if not isinstance(by, Mapping) or len(by) != 1:
        raise SchemaError("Groups are told by the name of one feature, or by one feature with its cuts.")
    return next(iter(by.items()))


def check_scorable(released: Any) -> None:
    """Raise for what cannot be scored where records are: a hidden model, which its servers score on rows on shares."""
    if not isinstance(released, Tree | Forest | Additive):
        raise PrivetError("Only models that were released can be scored; this one is hidden from everybody.")


class Reading(NamedTuple):
    """A scorer, and what its bins say: of two classes the chance of the second, of several that of the predicted one,
    of targets the cuts between errors. ``widths`` is how far log-odds reach inside a bin, 0 where they are known."""

    scorer: Any  # a Scorer or, of a hidden model, a HiddenScorer
    marks: np.ndarray
    widths: np.ndarray


def reading_of(released: Tree | Forest | Additive, n_bins: int, groups: Groups | None) -> Reading:
    """How to score records by a model, with about so many bins."""
    check_scorable(released)
    schema = released.schema
    grid = _grid(released, groups)
    terms = tuple(_summands(released)) if isinstance(released, Additive) else ()
    trees = () if isinstance(released, Additive) else (released,) if isinstance(released, Tree) else released.trees
    branches, n_trees = _branches(trees, grid) if trees else None, len(trees)
    by = None if groups is None else _split(groups, grid)
    if schema.classes is None:
        return _of_errors(released, grid, terms, branches, n_trees, n_bins, by)
    classes = np.array(schema.classes)
    # A tree says its label. Ensembles say the class whose probability is largest, the first in order among equals.
    order = range(len(classes)) if isinstance(released, Tree) else np.argsort(classes).tolist()
    if len(classes) == 2:
        cuts, turn, chances, widths = _score_cuts(branches, n_trees, n_bins, first=order[0])
        return Reading(Scorer(grid, terms, branches, "score", cuts, turn=turn, by=by), chances, widths)
    certain = branches is not None and set(np.unique(branches.values)) <= {0, ONE} and n_trees == 1
    cuts = np.zeros(0) if certain else np.linspace(1 / len(classes), 1, n_bins + 1)[1:-1]
    link, unit = ("one_against_rest", 1 / GRADIENT_ONE) if branches is None else ("shares", 1.0)
    ends = np.concatenate([[1 / len(classes)], cuts, [1.0]])
    middles = np.tile(np.ones(1) if certain else (ends[1:] + ends[:-1]) / 2, len(classes))
    scorer = Scorer(grid, terms, branches, link, cuts, unit=unit, order=order, by=by)
    return Reading(scorer, middles, np.zeros(len(middles)))


def hidden_reading(released: HiddenTree | HiddenForest, groups: Groups | None) -> Reading:
    """How to score rows on shares by a model that nobody sees: by the class that it says."""
    tables, schema = tables_of(released), released.schema
    shape = (released.trees[0] if isinstance(released, HiddenForest) else released).shape
    by = None if groups is None else _split(groups, shape.grid)
    marks = np.array([0.0, 1.0]) if len(schema.classes or ()) == 2 else np.ones(len(schema.classes or ()))
    return Reading(HiddenScorer(shape, tables, by), marks, np.zeros(len(marks)))


# -- cells -------------------------------------------------------------------------------------------------------------


def _grid(released: Tree | Forest | Additive, groups: Groups | None) -> Grid:
    """All cuts that the model, or the groups, have on each feature."""
    schema = released.schema
    cuts: list[set[float]] = [set() for _ in schema.names]
    if isinstance(released, Additive):
        for own, of_feature in zip(cuts, released.cuts):
            own.update(of_feature or ())
    else:
        nodes = released.nodes
        for rule in (node.rule for node in nodes if node.rule is not None):
            cuts[rule.feature].update(rule.cuts or ())
    if groups is not None:
        cuts[schema.names.index(groups.feature)].update(groups.cuts or ())
    features = schema.features.values()
    return Grid(schema, (sorted(own) if isinstance(f, Numeric) else None for own, f in zip(cuts, features)))


def _split_on(rule: Rule, grid: Grid, n_children: int) -> Split:
    """A rule as a split of the grid's cells."""
    cells, part = grid.features[rule.feature], np.frombuffer(rule.part, dtype=np.uint8)
    if rule.cuts is None:
        return Split(rule.feature, rule.part, n_children)
    assert cells.cuts is not None
    segments = np.searchsorted(rule.cuts, np.append(cells.cuts, np.inf), side="left")
    return Split(rule.feature, np.concatenate([part[segments], part[len(rule.cuts) + 1 :]]).tobytes(), n_children)


def _split(groups: Groups, grid: Grid) -> Split:
    feature = grid.schema.names.index(groups.feature)
    return _split_on(Rule(feature, groups.cuts, bytes(range(len(groups.names)))), grid, len(groups.names))


# -- terms and trees ---------------------------------------------------------------------------------------------------


def _summands(released: Additive) -> Iterable[Summand]:
    for own in released.rounds:
        factors = [Split(feature, part) for feature, part in own.factors]
        values = np.zeros((len(own.values), released.n_outputs), dtype=np.int64)
        values[:, own.output if released.n_outputs > 1 else 0] = own.values
        yield Summand(factors[0] if len(factors) == 1 else Product(factors), values)


def _branches(trees: Sequence[Tree], grid: Grid) -> Branches:
    """Trees one after another, each level by level, so that the children of a node are next to each other."""
    numbers: dict[Split, int] = {}
    split: list[int] = []
    first: list[int] = []
    values: list[np.ndarray] = []
    roots = []
    for tree in trees:
        of_node = _values(tree)
        roots.append(len(split))
        level, end = [0], len(split) + 1
        while level:
            below: list[int] = []
            for i in level:
                rule, children = tree.nodes[i].rule, tree.nodes[i].children
                own = None if rule is None else _split_on(rule, grid, len(children))
                split.append(-1 if own is None else numbers.setdefault(own, len(numbers)))
                first.append(end + len(below))
                below += children
                values.append(of_node[i])
            end += len(below)
            level = below
    return Branches(tuple(numbers), np.array(split), np.array(first), np.array(roots), np.array(values))


def _values(tree: Tree) -> np.ndarray:
    """What each node gives if it is a leaf, one number for each output."""
    if tree.schema.target is not None:
        low, high = tree.schema.target
        place = (np.nan_to_num(tree.values) - low) / max(high - low, np.finfo(float).tiny)
        return np.rint(place * ONE).astype(np.int64)[:, None]
    shares = tree.shares
    if shares.shape[1] == 2:
        shares = shares[:, 1:] - shares[:, :1]
    return np.rint(shares * ONE).astype(np.int64)


# -- bins --------------------------------------------------------------------------------------------------------------


def _score_cuts(
    branches: Branches | None, n_trees: int, n_bins: int, *, first: int
) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Cuts of two classes' scores, the number of bins for the first class, and each bin's chance of the second and
    width in log-odds."""
    turn = 0.0 if first == 0 else -1.0  # scores are whole: who is first has the ties
    if branches is not None and n_trees == 1:
        leaves = np.unique(branches.values[branches.split < 0, 0])
        if len(leaves) <= n_bins:  # a bin for each value that there is
            cuts = (leaves[1:] + leaves[:-1]) / 2
            apart = np.searchsorted(leaves, turn, side="right")
            if 0 < apart < len(leaves):
                cuts[apart - 1] = turn
            return cuts, int(apart), (leaves / ONE + 1) / 2, np.zeros(len(leaves))
    half, certain = n_bins // 2, np.log((1 - LEAST_CHANCE) / LEAST_CHANCE)
    even = LARGEST_LOGIT * np.arange(1 - half, half) / (half - 1)
    logits = np.concatenate([[-certain], even, [certain]])
    cuts = _boosted(logits) * GRADIENT_ONE if branches is None else np.tanh(logits / 2) * ONE * n_trees
    cuts[half] = turn
    middles = np.concatenate([logits[:1], (logits[1:] + logits[:-1]) / 2, logits[-1:]])
    widths = np.concatenate([[0.0], np.diff(logits), [0.0]])
    return cuts, half + 1, 1 / (1 + np.exp(-middles)), widths


def _boosted(logits: np.ndarray) -> np.ndarray:
    """The scores that mean chances of these log-odds: ``linked_chances`` the other way round."""
    chance = 1 / (1 + np.exp(-logits))
    p = np.where(chance < 0.5, chance / (2 * (1 - chance)), (3 - 1 / chance) / 2)
    return np.asarray(np.log(p / (1 - p)))


def _of_errors(
    released: Tree | Forest | Additive,
    grid: Grid,
    terms: tuple[Summand, ...],
    branches: Branches | None,
    n_trees: int,
    n_bins: int,
    by: Split | None,
) -> Reading:
    """Errors in bins that are narrower towards 0, each as wide as a share of what it is away from it."""
    assert released.schema.target is not None
    low, high = released.schema.target
    span = max(float(high - low), np.finfo(float).tiny)
    ends = span * SMALLEST_ERROR ** (np.arange(max(n_bins // 2, 2)) / (max(n_bins // 2, 2) - 1))
    cuts = np.concatenate([-ends, ends[::-1]])
    lift: dict[str, Any] = {"unit": span / ONE / max(n_trees, 1), "base": float(low), "by": by}
    if isinstance(released, Additive) and released.calibration is not None:
        own = released.calibration
        everything = Split(0, bytes(grid.features[0].n_cells))
        terms = (*terms, Summand(everything, np.array([[own.start]])))
        lift |= {"unit": span / TARGET_ONE, "levels": own.cuts, "lifts": own.values}
    return Reading(Scorer(grid, terms, branches, "error", cuts, **lift), cuts, np.zeros(0))


def n_bins_for(n_records: float, variance: float, n_classes: int) -> int:
    """So many bins that the noise of all cells together stays below the chance of sampling: few for few records.

    The share of correct predictions has a standard error of about .4 / sqrt(n) from sampling, and of
    sqrt(2 bins * variance) / n from noise; half as much is allowed to that.
    """
    cells = 0.04 * max(n_records, 0.0) / max(variance, 1e-12)
    if n_classes == 0:
        return 2 * int(min(max(cells / 2, 12), 48))
    if n_classes == 2:
        return 2 * int(min(max(cells / 4, 4), 16))
    return int(min(max(cells / n_classes**2, 1), 10))
