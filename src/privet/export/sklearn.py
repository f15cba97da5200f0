"""A model as scikit-learn's own trees, for tools that know these alone: dtreeviz, SHAP and the like.

scikit-learn compares in single precision and has no categories, so its trees get the numbers of cells, which a first
step looks up. Trees are put together through what pickling uses, ``__reduce__`` and ``__setstate__`` of a fitted
tree: there is no public way to make one, and no private module is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from privet.errors import PrivetError
from privet.export.program import Program, program_of
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.schema import Schema
from privet.tables.table import read_table
from privet.tree.additive import Additive, Term
from privet.tree.tree import Tree


class CellNumbers(TransformerMixin, BaseEstimator):
    """The number of the cell of every value: how many ``cuts`` lie below a number, or the place of a category."""

    def __init__(self, schema: Schema, cuts: dict[str, tuple[float, ...] | None]) -> None:
        self.schema = schema
        self.cuts = cuts

    def fit(self, X: Any = None, y: Any = None) -> CellNumbers:
        """Nothing is learned."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> np.ndarray:
        table = read_table(X, self.schema)
        columns = [
            table.codes(name) if cuts is None else _numbers_to_cells(table.numeric(name), cuts)
            for name, cuts in self.cuts.items()
        ]
        return np.column_stack(columns).astype(np.float32)  # far fewer cells than it holds exactly

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array(list(self.cuts), dtype=object)


def _numbers_to_cells(column: np.ndarray, cuts: Sequence[float]) -> np.ndarray:
    return np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column, side="left"))


@dataclass
class _Nodes:
    """A binary tree in the making: nodes in the order in which they were added."""

    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    value: list[np.ndarray] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)

    def add(self, value: np.ndarray, weight: float) -> int:
        self.left.append(-1)
        self.right.append(-1)
        self.feature.append(-2)  # as scikit-learn marks leaves
        self.threshold.append(-2.0)
        self.value.append(value)
        self.weight.append(weight)
        return len(self.left) - 1

    def part(self, node: int, feature: int, threshold: float, left: int, right: int) -> None:
        """Make a node of two others, with the mean of their values."""
        self.left[node], self.right[node] = left, right
        self.feature[node], self.threshold[node] = feature, threshold
        self.weight[node] = self.weight[left] + self.weight[right]
        shares = self.weight[left] / self.weight[node], self.weight[right] / self.weight[node]
        self.value[node] = shares[0] * self.value[left] + shares[1] * self.value[right]

    def depth(self, node: int = 0) -> int:
        below = [child for child in (self.left[node], self.right[node]) if child >= 0]
        return 1 + max(map(self.depth, below)) if below else 0


def to_sklearn(model: Any) -> Pipeline:
    """A pipeline of cells and scikit-learn's tree or forest, whose ``predict`` answers as the model's does.

    A boosted model becomes a forest of regression trees, one for each term, that sum up to its scores: what links
    scores to probabilities or to the target at the end has no equal in scikit-learn. Counts of records in nodes are the
    released ones, or 1 for a leaf that has none.
    """
    program = program_of(model)
    if not program.inputs:
        raise PrivetError("This model says the same of every record: there is no tree to export.")
    cells = CellNumbers(program.schema, {own.name: own.cuts for own in program.inputs})
    trees = [_of_tree(program, tree) for tree in program.trees] or _of_terms(program)
    return Pipeline([("cells", cells), ("model", _estimator(program, trees))])


def _estimator(program: Program, trees: list[_Nodes]) -> Any:
    """A fitted estimator whose trees are replaced."""
    n_features = len(program.inputs)
    if program.classes is not None and program.boosted is None:
        y: Any = np.array(program.classes)
        kinds: tuple[Any, Any] = (DecisionTreeClassifier, RandomForestClassifier)
    else:
        n_outputs = 1 if program.boosted is None else program.boosted.n_outputs
        y = np.zeros((1, n_outputs)) if n_outputs > 1 else np.zeros(1)
        kinds = (DecisionTreeRegressor, RandomForestRegressor)
    X = np.zeros((len(y), n_features), dtype=np.float32)
    if len(trees) == 1 and (program.by_label or program.classes is None) and program.boosted is None:
        alone = kinds[0](random_state=0).fit(X, y)
        alone.tree_ = _remade(alone.tree_, trees[0])
        return alone
    forest = kinds[1](n_estimators=len(trees), random_state=0).fit(X, y)
    for own, nodes in zip(forest.estimators_, trees):
        own.tree_ = _remade(own.tree_, nodes)
    return forest


def _remade(tree: Any, nodes: _Nodes) -> Any:
    """A tree of these nodes, for as many features and outputs as another: made as one is that comes out of a pickle."""
    make, arguments, state = tree.__reduce__()
    plain = np.zeros(len(nodes.left), dtype=state["nodes"].dtype)
    plain["left_child"], plain["right_child"] = nodes.left, nodes.right
    plain["feature"], plain["threshold"] = nodes.feature, nodes.threshold
    plain["weighted_n_node_samples"] = nodes.weight
    plain["n_node_samples"] = np.maximum(np.rint(nodes.weight), 1)
    values = np.stack(nodes.value)
    # Outputs come before classes: a classifier has one output, a regressor one class.
    values = values.reshape(len(values), *state["values"].shape[1:])
    new = make(*arguments)
    new.__setstate__(state | {"nodes": plain, "values": values, "node_count": len(plain), "max_depth": nodes.depth()})
    return new


# -- trees and terms -------------------------------------------------------------------------------------------------


def _of_tree(program: Program, tree: Tree) -> _Nodes:
    nodes, values = _Nodes(), program.leaf_values(tree)
    places = {feature: k for k, feature in enumerate(program.by_feature)}

    def grow(i: int, share: float) -> int:
        node = tree.nodes[i]
        if node.rule is None:
            value = values[i].copy()
            if program.by_label:  # a tie goes to the first class, which need not be the label
                label = int(np.flatnonzero(program.order == node.answer)[0])
                value[label] += 1e-9 * (value.argmax() != label)
            weight = node.weight if node.counts is None else float(sum(max(count, 0) for count in node.counts))
            return nodes.add(value, max(weight or 0.0, 1.0) * share)
        own = program.by_feature[node.rule.feature]
        parts = np.frombuffer(node.rule.part, dtype=np.uint8)
        if own.cuts is not None:
            segments = np.searchsorted(node.rule.cuts or (), np.array([*own.cuts, np.inf]), side="left")
            parts = np.concatenate([parts[segments], parts[len(node.rule.cuts or ()) + 1 :]])
        children = {int(part): node.children[part] for part in set(parts.tolist())}
        return _branch(nodes, places[node.rule.feature], parts, lambda part, its: grow(children[part], share * its))

    grow(0, 1.0)
    return _root_first(nodes)


def _of_terms(program: Program) -> list[_Nodes]:
    boosted = program.boosted
    assert boosted is not None
    places = {feature: k for k, feature in enumerate(program.by_feature)}
    return [_of_term(boosted, term, places) for term in boosted.terms]


def _of_term(boosted: Additive, term: Term, places: dict[int, int]) -> _Nodes:
    nodes, values = (
        _Nodes(),
        term.values * (len(boosted.terms) / GRADIENT_ONE),
    )  # a forest predicts the mean of its trees

    def grow(place: tuple[int, ...]) -> int:
        if len(place) == len(term.features):
            return nodes.add(values[place], max(float(term.weight[place]), 1e-9))
        k = len(place)
        return _branch(nodes, places[term.features[k]], term.stretches[k], lambda own, _: grow((*place, own)))

    grow(())
    return _root_first(nodes)


def _branch(nodes: _Nodes, feature: int, keys: np.ndarray, grow: Any) -> int:
    """Part the cells of a feature by their keys, by halves; ``grow`` is told a key and the share of its runs."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys.astype(np.int64))) + 1])
    runs = keys[starts].tolist()

    def halve(first: int, last: int) -> int:
        if last - first == 1:
            return int(grow(runs[first], 1 / runs.count(runs[first])))
        middle = (first + last) // 2
        left, right = halve(first, middle), halve(middle, last)
        node = nodes.add(nodes.value[left], 0.0)
        nodes.part(node, feature, float(starts[middle]) - 0.5, left, right)
        return node

    return halve(0, len(runs))


def _root_first(nodes: _Nodes) -> _Nodes:
    """The same nodes with parents before their children, as scikit-learn has them: ours were added last to first."""
    order, waiting = [], [len(nodes.left) - 1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if nodes.left[node] >= 0:
            waiting += [nodes.right[node], nodes.left[node]]
    number = {old: new for new, old in enumerate(order)} | {-1: -1}
    return _Nodes(
        [number[nodes.left[old]] for old in order],
        [number[nodes.right[old]] for old in order],
        [nodes.feature[old] for old in order],
        [nodes.threshold[old] for old in order],
        [nodes.value[old] for old in order],
        [nodes.weight[old] for old in order],
    )
