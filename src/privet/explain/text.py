"""Trees and receipts as text that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privet.privacy.fixed_point import GRADIENT_ONE
from privet.schema import Categorical, Numeric, Schema
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.tree import Rule, Tree, TreeNode


def rules_text(released: Tree | Forest | Additive) -> str:
    """A tree's rules, or those of a forest's trees, one after the other; or what each feature adds to the scores."""
    if isinstance(released, Tree):
        return tree_text(released)
    if isinstance(released, Additive):
        return additive_text(released)
    n = len(released.trees)
    return "\n\n".join(f"tree {i} of {n}\n{tree_text(tree)}" for i, tree in enumerate(released.trees, start=1))


def additive_text(boosted: Additive) -> str:
    """What each feature adds to the logarithm of the odds, neighbouring cells that add the same together."""
    classes = boosted.schema.classes or ()
    outputs = classes[1:] if boosted.n_outputs == 1 else classes
    lines = [f"adds to the log-odds of {', '.join(map(str, outputs))}"]
    order = sorted(range(len(boosted.shapes)), key=lambda f: -boosted.importances[f])
    for f in order:
        shape = boosted.shapes[f]
        if not shape.values.any():
            continue
        part = np.unique(shape.values, axis=0, return_inverse=True)[1]
        if shape.cuts is not None:  # runs of equal cells, rather than all equal ones
            changes = np.any(np.diff(shape.values[: len(shape.cuts) + 1], axis=0) != 0, axis=1)
            runs = np.concatenate([[0], np.cumsum(changes)])
            part = np.concatenate([runs, np.arange(len(shape.values) - len(runs)) + runs[-1] + 1])
        lines.append(f"{boosted.schema.names[f]} (importance {boosted.importances[f]:.3f})")
        for p in range(int(part.max()) + 1):
            cells = np.flatnonzero(part == p)
            adds = ", ".join(f"{value / GRADIENT_ONE:+.3f}" for value in shape.values[cells[0]])
            lines.append(f"|   {_cells_text(boosted, f, cells)}: {adds}")
    return "\n".join(lines)


def _cells_text(boosted: Additive, f: int, cells: np.ndarray) -> str:
    """The condition for being in these cells, which are neighbours if the feature is a number."""
    name, cuts = boosted.schema.names[f], boosted.shapes[f].cuts
    feature = boosted.schema.features[name]
    if isinstance(feature, Categorical):
        return _category_text(name, feature, [int(cell) for cell in cells])
    ends = [cut for cut in (cells[0] - 1, cells[-1]) if 0 <= cut < len(cuts or ())]
    part = bytes(int(cells[0] > 0 and i == 1) or int(cells[0] == 0 and i == 0) for i in range(len(ends) + 1))
    if cells[0] > len(cuts or ()):
        return f"{name} is missing"
    return _number_text(name, feature, Rule(f, tuple((cuts or ())[i] for i in ends), part + b"\0" * feature.missing), 1)


def tree_text(tree: Tree) -> str:
    """The tree's rules, indented, one line for each branch."""
    if tree.nodes[0].is_leaf:
        return leaf_text(tree.nodes[0], tree.schema)
    lines: list[str] = []
    conditions: dict[int, str] = {}
    for i, depth in tree.walk():
        node = tree.nodes[i]
        if i:
            label = f": {leaf_text(node, tree.schema)}" if node.is_leaf else ""
            lines.append(f"{'|   ' * (depth - 1)}{conditions.pop(i)}{label}")
        if node.rule is not None:
            for part, child in enumerate(node.children):
                conditions[child] = rule_text(node.rule, part, tree.schema)
    return "\n".join(lines)


def leaf_text(node: TreeNode, schema: Schema) -> str:
    classes = schema.classes or ()
    if node.value is not None:
        return f"{node.value:.6g} (about {node.weight or 0:.0f} records)"
    if node.counts is not None:
        counts = ", ".join(f"{classes[k]}: {count}" for k, count in enumerate(node.counts))
        return f"{classes[node.answer or 0]} (noisy counts {counts})"
    return str(classes[node.answer or 0])


def rule_text(rule: Rule, part: int, schema: Schema) -> str:
    """The condition under which a record goes to child ``part``.

    >>> from privet.schema import Numeric, Schema
    >>> rule_text(Rule(0, (30.0,), bytes([0, 1])), 1, Schema({"age": Numeric(0, 99)}, classes=["no", "yes"]))
    'age > 30'
    """
    name = schema.names[rule.feature]
    feature = schema.features[name]
    if isinstance(feature, Categorical):
        return _category_text(name, feature, [c for c, p in enumerate(rule.part) if p == part])
    return _number_text(name, feature, rule, part)


def _category_text(name: str, feature: Categorical, codes: Sequence[int]) -> str:
    values = [str(feature.values[code]) for code in codes if code < len(feature.values)]
    left_out = [str(value) for code, value in enumerate(feature.values) if code not in set(codes)]
    if len(feature.values) in codes and feature.other and len(left_out) < len(values):
        # The unlisted values belong here: saying what does not belong is shorter and complete.
        return f"{name} is not {_listed(left_out)}" if left_out else f"{name} is anything"
    others = ["any other value"] if feature.other and len(feature.values) in codes else []
    return f"{name} is {_listed(values + others)}" if codes else "never"


def _number_text(name: str, feature: Numeric, rule: Rule, part: int) -> str:
    cuts = rule.cuts or ()
    bounds = [-math.inf, *cuts, math.inf]
    pieces = []
    for segment in range(len(cuts) + 1):
        if rule.part[segment] != part:
            continue
        low, high = bounds[segment], bounds[segment + 1]
        if low == -math.inf and high == math.inf:
            pieces.append(f"{name} is known")
        elif low == -math.inf:
            pieces.append(f"{name} <= {_cut_text(high)}")
        elif high == math.inf:
            pieces.append(f"{name} > {_cut_text(low)}")
        else:
            pieces.append(f"{_cut_text(low)} < {name} <= {_cut_text(high)}")
    if feature.missing and rule.part[-1] == part:
        pieces.append(f"{name} is missing")
    return " or ".join(pieces) or "never"


def _cut_text(cut: float) -> str:
    """Whole numbers in full, others to six digits."""
    return str(int(cut)) if cut == int(cut) and abs(cut) < 1e15 else f"{cut:.6g}"


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"one of: {', '.join(values)}"
