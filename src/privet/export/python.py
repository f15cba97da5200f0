"""A model as one Python file that needs nothing but Python: for places where nothing can be installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privet.errors import PrivetError
from privet.export.program import Input, Program, Where, branches, program_of
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.schema import Numeric
from privet.schema_values import kind_of
from privet.tree.additive import Additive
from privet.tree.tree import Tree

DEEPEST = 90
"""Python reads at most a hundred levels of indentation."""

_READ = '''
def _number(record, columns, missing):
    """A number, or the mean of several columns; NaN if it is missing."""
    total = 0.0
    for column in columns:
        value = record[column]
        if value is not None and (isinstance(value, str) or float(value) in (inf, -inf)):
            raise ValueError(f"column {column!r} must hold finite numbers")
        total += (nan if value is None else float(value)) / len(columns)
    if isnan(total) and not missing:
        raise ValueError(f"column {columns[0]!r} has a missing value")
    return total


def _category(record, column, values, kind, other):
    """A category as the schema lists it; None if it is missing or not listed."""
    value = record[column]
    if value is not None and not (isinstance(value, float) and isnan(value)):
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"column {column!r} holds another type than the schema lists")
        if value in values:
            return value
    if not other:
        raise ValueError(f"column {column!r} has a missing or unlisted value")
    return None
'''

_SUM = '''
def _scores(record):
    """What all terms add up to, for each score."""
    x, scores = _read(record), [0] * {n_outputs}
    for features, tables, values in _TERMS:
        place = 0
        for feature, (stretches, size) in zip(features, tables):
            place = place * size + stretches[_cell(x[feature], _CELLS[feature])]
        for k in range(len(scores)):
            scores[k] += values[place * len(scores) + k]
    return scores


def _cell(value, cells):
    """How many cuts lie below a number, one more than there are if it is missing; or a category's place."""
    if isinstance(cells, dict):
        return cells.get(value, len(cells))
    return len(cells) + 1 if isnan(value) else bisect_left(cells, value)
'''

_LINK = '''
def _chance(score):
    """The chance of a class that a score stands for."""
    p = 1 / (1 + exp(-max(min(score / {one}, 500.0), -500.0)))
    return 1 / (3 - 2 * p) if p >= 0.5 else 2 * p / (1 + 2 * p)
'''


def to_python(model: Any) -> str:
    """The source of ``predict(record)`` and, where probabilities were released, ``predict_proba(record)``.

    A record is a dictionary by column name. Values that ``predict`` refuses are a ValueError here.
    """
    program = program_of(model)
    if any(tree.depth > DEEPEST for tree in program.trees):
        raise PrivetError(f"Python does not nest deeper than {DEEPEST} levels: this tree is deeper.")
    return "\n".join([*_head(model), *_reader(program), *(_boosted(program) or _trees(program))]) + "\n"


def _head(model: Any) -> list[str]:
    return [
        f'"""{type(model).__name__}, exported from Privet: predict(record) takes a dictionary by column name."""',
        "",
        "from bisect import bisect_left",
        "from math import exp, inf, isnan, nan",
    ]


def _reader(program: Program) -> list[str]:
    lines = [_READ, "", "def _read(record):", "    return {"]
    lines += [f"        {own.name!r}: {_reading(own)}," for own in program.inputs]
    return [*lines, "    }"]


def _reading(own: Input) -> str:
    if isinstance(own.field, Numeric):
        return f"_number(record, {own.columns!r}, {own.open})"
    kind = {"text": "str", "booleans": "bool", "numbers": "(int, float)"}[kind_of(own.values)]
    return f"_category(record, {own.name!r}, {set(own.values)!r}, {kind}, {own.open})"


# -- trees -----------------------------------------------------------------------------------------------------------


def _trees(program: Program) -> list[str]:
    lines: list[str] = []
    for i, tree in enumerate(program.trees):
        lines += ["", "", f"def _leaf_{i}(x):", *_node(program, tree, 0, "    ")]
    if program.by_label and not program.chances:
        return [*lines, *_by_label(program)]
    lines += ["", "", "_VALUES = ["]
    for tree in program.trees:
        lines += [f"    {dict(zip(tree.leaves, program.leaf_values(tree)[tree.leaves].tolist()))!r},"]
    lines += ["]", "", "", "def _means(record):", '    """The mean of what the leaves say."""', "    x = _read(record)"]
    lines += [f"    leaves = [{', '.join(f'_leaf_{i}(x)' for i in range(len(program.trees)))}]"]
    lines += [f"    totals = [0.0] * {len(program.classes or (0,))}"]
    lines += ["    for values, leaf in zip(_VALUES, leaves):"]
    lines += ["        totals = [total + value for total, value in zip(totals, values[leaf])]"]
    lines += ["    return [total / len(_VALUES) for total in totals]"]
    if program.by_label:
        return [*lines, *_by_label(program), *_proba(program, "_means(record)")]
    lines += ["", "", "def predict(record):"]
    if program.classes is None:
        return [*lines, "    return _means(record)[0]"]
    lines += ["    chances = _means(record)", f"    return {list(program.classes)!r}[chances.index(max(chances))]"]
    return [*lines, *_proba(program, "_means(record)")]


def _by_label(program: Program) -> list[str]:
    tree, names = program.trees[0], program.schema.classes or ()
    labels = {i: names[tree.labels[i]] for i in tree.leaves}
    return ["", "", "def predict(record):", f"    return {labels!r}[_leaf_0(_read(record))]"]


def _node(program: Program, tree: Tree, i: int, indent: str) -> Iterator[str]:
    """The rules below a node, as nested conditions that end in the number of a leaf."""
    node = tree.nodes[i]
    if node.rule is None:
        yield f"{indent}return {i}"
        return
    own = program.by_feature[node.rule.feature]
    found = branches(own, node.rule.cuts, list(node.rule.part))
    for k, (part, where) in enumerate(found):
        if k + 1 < len(found):
            yield f"{indent}if {_condition(f'x[{own.name!r}]', where)}:"
            yield from _node(program, tree, node.children[part], indent + "    ")
        else:
            yield from _node(program, tree, node.children[part], indent)


def _condition(x: str, where: Where) -> str:
    if where.listed:
        return f"{x} in {where.listed!r}"
    return " or ".join(_range(x, low, high) for low, high in where.ranges)


def _range(x: str, low: float | None, high: float | None) -> str:
    if low is high is None:
        return f"not isnan({x})"
    return f"{'' if low is None else f'{low!r} < '}{x}{'' if high is None else f' <= {high!r}'}"


def _proba(program: Program, chances: str) -> list[str]:
    if not program.chances:
        return []
    return ["", "", "def predict_proba(record):", f"    return dict(zip({list(program.classes or ())!r}, {chances}))"]


# -- boosting --------------------------------------------------------------------------------------------------------


def _boosted(program: Program) -> list[str]:
    boosted = program.boosted
    if boosted is None:
        return []
    lines = ["", "", f"_CELLS = { ({own.name: _cells(own) for own in program.inputs})!r}", "_TERMS = ["]
    for term in boosted.terms:
        tables = tuple((tuple(own.tolist()), size) for own, size in zip(term.stretches, term.values.shape))
        names = tuple(program.schema.names[f] for f in term.features)
        lines += [f"    {(names, tables, tuple(term.values.ravel().tolist()))!r},"]
    lines += ["]", "", _SUM.format(n_outputs=boosted.n_outputs)]
    return lines + (_target(boosted) if program.classes is None else _chances(program, boosted))


def _cells(own: Input) -> Any:
    return own.cuts if own.cuts is not None else {value: code for code, value in enumerate(own.values)}


def _chances(program: Program, boosted: Additive) -> list[str]:
    lines = [_LINK.format(one=GRADIENT_ONE), "", "def _chances(record):"]
    lines += ["    chances = [_chance(score) for score in _scores(record)]"]
    if boosted.n_outputs == 1:
        lines += ["    chances = [1 - chances[0], chances[0]]"]
    else:
        lines += ["    chances = [chance / sum(chances) for chance in chances]"]
    lines += [f"    return [chances[k] for k in {program.order.tolist()!r}]", "", "", "def predict(record):"]
    lines += [
        "    chances = _chances(record)",
        f"    return {list(program.classes or ())!r}[chances.index(max(chances))]",
    ]
    return [*lines, *_proba(program, "_chances(record)")]


def _target(boosted: Additive) -> list[str]:
    calibration, target = boosted.calibration, boosted.schema.target
    assert calibration is not None
    assert target is not None
    low, high = map(float, target)
    return [
        "",
        "def predict(record):",
        f"    score = _scores(record)[0] + {calibration.start}",
        f"    score += {list(calibration.values)!r}[bisect_left({list(calibration.cuts)!r}, score)]",
        f"    share = max(min(score / {TARGET_ONE}, 1.0), 0.0)",
        f"    return max(min({low!r} + share * {high - low!r}, {high!r}), {low!r})",
    ]
