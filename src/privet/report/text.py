"""Trees and receipts as text that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from privet.privacy.ledger import show
from privet.privacy.receipt import Receipt
from privet.schema import Categorical, Numeric, Schema
from privet.tree.tree import Rule, Tree, TreeNode


def tree_text(tree: Tree) -> str:
    """The tree's rules, indented, one line for each branch."""
    lines: list[str] = []
    _write(tree, 0, "", lines)
    return "\n".join(lines)


def _write(tree: Tree, i: int, indent: str, lines: list[str]) -> None:
    node = tree.nodes[i]
    if node.rule is None:
        lines.append(f"{indent}{leaf_text(node, tree.schema)}")
        return
    for part, child in enumerate(node.children):
        condition = rule_text(node.rule, part, tree.schema)
        if tree.nodes[child].is_leaf:
            lines.append(f"{indent}{condition}: {leaf_text(tree.nodes[child], tree.schema)}")
        else:
            lines.append(f"{indent}{condition}")
            _write(tree, child, indent + "|   ", lines)


def leaf_text(node: TreeNode, schema: Schema) -> str:
    classes = schema.classes or ()
    if node.counts is not None:
        counts = ", ".join(f"{classes[k]}: {count}" for k, count in enumerate(node.counts))
        return f"{classes[node.label or 0]} (noisy counts {counts})"
    return str(classes[node.label or 0])


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
    return f"{name} is {_listed(values + others)}"


def _number_text(name: str, feature: Numeric, rule: Rule, part: int) -> str:
    cuts = rule.cuts or ()
    bounds = [None, *cuts, None]
    pieces = []
    for segment in range(len(cuts) + 1):
        if rule.part[segment] != part:
            continue
        low, high = bounds[segment], bounds[segment + 1]
        if low is None and high is None:
            pieces.append(f"{name} is known")
        elif low is None:
            pieces.append(f"{name} <= {high:.6g}")
        elif high is None:
            pieces.append(f"{name} > {low:.6g}")
        else:
            pieces.append(f"{low:.6g} < {name} <= {high:.6g}")
    if feature.missing and rule.part[-1] == part:
        pieces.append(f"{name} is missing")
    return " or ".join(pieces)


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"one of: {', '.join(values)}"


def receipt_text(receipt: Receipt) -> str:
    """The receipt in a few lines: the guarantee, what it covers, and where it went."""
    lines = [
        f"epsilon   {show(receipt.epsilon)}   (delta {show(receipt.delta)})",
        f"claimed   {show(receipt.claimed)}",
        f"spent     {show(receipt.spent)}",
        f"covers    {receipt.unit}; neighbours: {receipt.neighbours}",
        f"trust     {receipt.trust}",
    ]
    lines += [f"VOID      {reason}" for reason in receipt.void]
    # Answers of one kind and price on one depth of the tree are one line: "4 nodes, in parallel".
    kinds = Counter((e.scope.count("/"), e.question, e.mechanism, e.charged, e.lemma) for e in receipt.events)
    for (_, question, mechanism, charged, lemma), n in kinds.items():
        nodes = "" if n == 1 else f", {n} disjoint nodes in parallel"
        lines.append(
            f"  {show(charged):>12}   {question}: {mechanism.replace('_', '-')}, {lemma.replace('_', ' ')}{nodes}"
        )
    return "\n".join(lines)
