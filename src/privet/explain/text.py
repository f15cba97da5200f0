"""Trees and receipts as text that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privet.privacy.fixed_point import GRADIENT_ONE
from privet.schema import Categorical, Numeric, Schema
from privet.tree.additive import Additive, Calibration
from privet.tree.forest import Forest
from privet.tree.tree import Reach, Rule, Tree, TreeNode


def rules_text(released: Tree | Forest | Additive) -> str:
    """A tree's rules, or those of a forest's trees, one after the other; or what each feature adds to the scores."""
    if isinstance(released, Tree):
        return tree_text(released)
    if isinstance(released, Additive):
        return additive_text(released)
    n = len(released.trees)
    return "\n\n".join(f"tree {i} of {n}\n{tree_text(tree)}" for i, tree in enumerate(released.trees, start=1))


def additive_text(boosted: Additive) -> str:
    """What features add to the scores, term by term; of several features the last has a column for each stretch."""
    unit, lines = 1.0, [_header(boosted)]
    if boosted.calibration is not None and boosted.schema.target is not None:
        low, high = boosted.schema.target
        unit = float(high) - float(low)
        lines += _calibration_text(boosted.calibration, float(low), unit)
    shares = boosted.term_importances
    for term in boosted.terms:
        if not term.values.any():
            continue
        names = tuple(boosted.schema.names[f] for f in term.features)
        lines.append(f"{' x '.join(names)} (importance {shares[names]:.3f})")
        texts = [_stretch_texts(boosted, f, own) for f, own in zip(term.features, term.stretches)]
        if len(names) > 1:
            lines.append(f"|   columns: {'; '.join(texts[-1])}")
        for place in np.ndindex(term.values.shape[: max(1, len(names) - 1)]):
            row = term.values[place].reshape(-1, boosted.n_outputs)
            adds = "; ".join(", ".join(f"{unit * value / GRADIENT_ONE:+.3f}" for value in own) for own in row)
            lines.append(f"|   {', '.join(text[i] for text, i in zip(texts, place))}: {adds}")
    return "\n".join(lines)


def _header(boosted: Additive) -> str:
    classes = boosted.schema.classes
    if classes is None:
        return f"adds to {boosted.schema.label or 'the target'}"
    return f"adds to the score of {', '.join(map(str, classes[1:] if boosted.n_outputs == 1 else classes))}"


def _calibration_text(calibration: Calibration, low: float, unit: float) -> list[str]:
    """Where sums begin, and what they are lifted by in the end."""
    cuts = [low + unit * cut / GRADIENT_ONE for cut in calibration.cuts]
    names = [*(f"up to {cut:.3g}" for cut in cuts), f"above {cuts[-1]:.3g}" if cuts else "everything"]
    lifts = (f"{name}: {unit * value / GRADIENT_ONE:+.3f}" for name, value in zip(names, calibration.values))
    start = low + unit * calibration.start / GRADIENT_ONE
    return [f"begins at {start:.3f}", f"is lifted in the end: {'; '.join(lifts)}"]


def _stretch_texts(boosted: Additive, f: int, stretches: np.ndarray) -> list[str]:
    """The condition for being in each stretch of a feature's cells."""
    return [_cells_text(boosted, f, np.flatnonzero(stretches == p)) for p in range(int(stretches.max()) + 1)]


def _cells_text(boosted: Additive, f: int, cells: np.ndarray) -> str:
    """The condition for being in these cells, which are neighbours if the feature is a number."""
    name, cuts = boosted.schema.names[f], boosted.cuts[f]
    feature = boosted.schema.features[name]
    if isinstance(feature, Categorical):
        return _category_text(name, feature, [int(cell) for cell in cells], [True] * (len(feature.values) + 1))
    if cells[0] > len(cuts or ()):
        return f"{name} is missing"
    part = np.zeros(len(cuts or ()) + 1 + feature.missing, dtype=np.uint8)
    part[cells] = 1
    rule = _joined(Rule(f, cuts, part.tobytes()))
    return _number_text(name, feature, rule, 1, [True] * len(rule.part))


def _joined(rule: Rule) -> Rule:
    """The same rule without the cuts that part nothing."""
    cuts, part = rule.cuts or (), np.frombuffer(rule.part, dtype=np.uint8)
    known = part[: len(cuts) + 1]
    changes = np.flatnonzero(np.diff(known))
    joined = np.concatenate([known[:1], known[changes + 1], part[len(known) :]])
    return Rule(rule.feature, tuple(cuts[i] for i in changes), joined.tobytes())


def tree_text(tree: Tree) -> str:
    """The tree's rules, indented, one line for each branch."""
    if tree.nodes[0].is_leaf:
        return leaf_text(tree.nodes[0], tree.schema)
    lines: list[str] = []
    conditions: dict[int, str] = {}
    reach: dict[int, Reach | None] = {0: Reach(tree)}
    for i, depth in tree.walk():
        node = tree.nodes[i]
        if i:
            label = f": {leaf_text(node, tree.schema)}" if node.is_leaf else ""
            lines.append(f"{'|   ' * (depth - 1)}{conditions.pop(i)}{label}")
        if node.rule is not None:
            here = reach.pop(i)
            below = [None] * len(node.children) if here is None else here.below(node.rule, len(node.children))
            for part, child in enumerate(node.children):
                conditions[child] = rule_text(node.rule, part, tree.schema, here)
                reach[child] = below[part]
    return "\n".join(lines)


def leaf_text(node: TreeNode, schema: Schema) -> str:
    classes = schema.classes or ()
    if node.value is not None:
        return f"{node.value:.6g} (about {node.weight or 0:.0f} records)"
    if node.counts is not None:
        counts = ", ".join(f"{classes[k]}: {count}" for k, count in enumerate(node.counts))
        remark = remark_on_counts(node, list(map(str, classes)))
        return f"{classes[node.answer or 0]} (noisy counts {counts}{'; ' if remark else ''}{remark})"
    return str(classes[node.answer or 0])


def remark_on_counts(node: TreeNode, says: Sequence[str]) -> str:
    """What to make of a leaf's counts that noise has made negative, or that contradict its label; else nothing.

    >>> remark_on_counts(TreeNode(label=1, counts=(9, -2)), ["no", "yes"])
    'what is below 0 is taken as none; largest for no, but the label was chosen apart from them'
    """
    if node.counts is None:
        return ""
    largest = max(node.counts)
    if largest <= 0:
        return "noise hides them: none is above 0"
    found = ["what is below 0 is taken as none"] if min(node.counts) < 0 else []
    if node.label is not None and node.counts[node.label] < largest:
        found.append(f"largest for {says[node.counts.index(largest)]}, but the label was chosen apart from them")
    return "; ".join(found)


def rule_text(rule: Rule, part: int, schema: Schema, reach: Reach | None = None, *, brief: bool = False) -> str:
    """The condition under which a record goes to child ``part``, of values that can ``reach`` the node at all.

    ``brief``: cuts with about three digits, where these still tell them apart.

    >>> from privet.schema import Numeric, Schema
    >>> rule_text(Rule(0, (30.0,), bytes([0, 1])), 1, Schema({"age": Numeric(0, 99)}, classes=["no", "yes"]))
    'age > 30'
    """
    name = schema.names[rule.feature]
    feature = schema.features[name]
    here = [True] * len(rule.part) if reach is None else reach.segments(rule)
    if isinstance(feature, Categorical):
        codes = [code for code, own in enumerate(rule.part) if own == part and here[code]]
        return _category_text(name, feature, codes, here)
    return _number_text(name, feature, rule, part, here, brief=brief)


def _category_text(name: str, feature: Categorical, codes: Sequence[int], here: Sequence[bool]) -> str:
    values = [str(feature.values[code]) for code in codes if code < len(feature.values)]
    left_out = [str(v) for code, v in enumerate(feature.values) if code not in set(codes) and here[code]]
    if len(feature.values) in codes and feature.other and len(left_out) < len(values):
        # The unlisted values belong here: saying what does not belong is shorter and complete.
        return f"{name} is not {_listed(left_out)}" if left_out else f"{name} is anything"
    others = ["any other value"] if feature.other and len(feature.values) in codes else []
    return f"{name} is {_listed(values + others)}" if codes else "never"


def _number_text(
    name: str, feature: Numeric, rule: Rule, part: int, here: Sequence[bool], *, brief: bool = False
) -> str:
    cuts = rule.cuts or ()
    show = _brief_cut if brief and len(set(map(_brief_cut, cuts))) == len(cuts) else _cut_text
    bounds = [-math.inf, *cuts, math.inf]
    pieces = []
    for segment in range(len(cuts) + 1):
        if rule.part[segment] != part or not here[segment]:
            continue
        low, high = bounds[segment], bounds[segment + 1]
        if low == -math.inf and high == math.inf:
            pieces.append(f"{name} is known")
        elif low == -math.inf:
            pieces.append(f"{name} <= {show(high)}")
        elif high == math.inf:
            pieces.append(f"{name} > {show(low)}")
        else:
            pieces.append(f"{show(low)} < {name} <= {show(high)}")
    if feature.missing and rule.part[-1] == part and here[-1]:
        pieces.append(f"{name} is missing")
    return " or ".join(pieces) or "never"


def _brief_cut(cut: float) -> str:
    """Whole numbers in full, others to three digits or to the point, whichever is more."""
    return _cut_text(cut) if cut == int(cut) else f"{cut:.0f}" if abs(cut) >= 1000 else f"{cut:.3g}"


def _cut_text(cut: float) -> str:
    """Whole numbers in full, others to six digits."""
    return str(int(cut)) if cut == int(cut) and abs(cut) < 1e15 else f"{cut:.6g}"


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"one of: {', '.join(values)}"
