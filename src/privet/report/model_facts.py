"""A released model as plain data for pages: enough to draw it, and to predict with it to the last bit.

Short keys, because a forest has thousands of nodes and a page carries all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from privet.explain.round_noise import round_noise
from privet.explain.subject import Subject
from privet.explain.text import remark_on_counts, rule_text
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.schema import Categorical, Numeric, Schema
from privet.tree.additive import Additive
from privet.tree.tree import Reach, Tree, TreeNode

ScopeNumber = Callable[[str], int]


def schema_facts(schema: Schema, says: Callable[[Any], str] = str) -> dict[str, Any]:
    """What a record looks like, and what is predicted; ``says`` is how people read a class."""
    classes = schema.classes
    return {
        "label": schema.label or "",
        "classes": None if classes is None else list(map(str, classes)),
        "says": None if classes is None else [says(own) for own in classes],
        # Ties go to the first class by name: that is how predictions are made.
        "order": [] if classes is None else np.argsort(np.array(classes)).tolist(),
        "target": None if schema.target is None else list(schema.target),
        "features": [_feature_facts(name, own) for name, own in schema.features.items()],
    }


def _feature_facts(name: str, feature: Numeric | Categorical) -> dict[str, Any]:
    if isinstance(feature, Categorical):
        return {"name": name, "values": list(map(str, feature.values)), "other": feature.other}
    facts: dict[str, Any] = {"name": name, "low": feature.low, "high": feature.high}
    for flag in ("integer", "log", "missing"):
        if getattr(feature, flag):
            facts[flag] = True
    return facts | ({"mean_of": list(feature.mean_of)} if feature.mean_of else {})


def model_facts(subject: Subject, scope_number: ScopeNumber) -> dict[str, Any]:
    """The trees or the rounds; ``scope_number`` is where the budget's facts have a scope."""
    if subject.boosted is not None:
        return {"kind": "boosted", **_boosted_facts(subject.boosted, subject)}
    if not subject.trees:
        return {"kind": "hidden"}
    says = [subject.says(own) for own in subject.schema.classes or ()]
    trees = [_tree_facts(tree, scope_number, says) for tree in subject.trees]
    return {"kind": "tree" if len(trees) == 1 else "forest", "votes": subject.votes, "trees": trees}


def _tree_facts(tree: Tree, scope_number: ScopeNumber, says: Sequence[str]) -> dict[str, Any]:
    texts = _conditions(tree)
    nodes = []
    for node, (text, exact) in zip(tree.nodes, texts):
        own = _leaf_facts(node, says) if node.rule is None else _rule_facts(node)
        said = {**({"t": text} if text else {}), **({"x": exact} if exact != text else {})}
        nodes.append({**own, "s": scope_number(node.scope), **said})
    return {"nodes": nodes, "weighed": tree.weighed}


def _leaf_facts(node: TreeNode, says: Sequence[str]) -> dict[str, Any]:
    if node.value is not None:
        return {"v": node.value, "w": round(node.weight or 0.0, 1)}
    remark = remark_on_counts(node, says)
    counted = {} if node.counts is None else {"n": list(node.counts)}
    return {"a": node.answer, **counted, **({"m": remark} if remark else {})}


def _rule_facts(node: TreeNode) -> dict[str, Any]:
    assert node.rule is not None
    cuts = {} if node.rule.cuts is None else {"c": list(node.rule.cuts)}
    drawn = {} if node.asked else {"drawn": True}
    return {"f": node.rule.feature, **cuts, "p": list(node.rule.part), "k": list(node.children), **drawn}


def _conditions(tree: Tree) -> list[tuple[str, str]]:
    """For each node the condition under which a record comes to it from its parent: briefly, and exactly."""
    texts = [("", "")] * len(tree.nodes)
    reach: dict[int, Reach | None] = {0: Reach(tree)}
    for i, node in enumerate(tree.nodes):  # parents come before their children
        here = reach.pop(i, None)
        if node.rule is None:
            continue
        below = [None] * len(node.children) if here is None else here.below(node.rule, len(node.children))
        for part, child in enumerate(node.children):
            brief, exact = (rule_text(node.rule, part, tree.schema, here, brief=brief) for brief in (True, False))
            texts[child] = brief, exact
            reach[child] = below[part]
    return texts


def _boosted_facts(boosted: Additive, subject: Subject) -> dict[str, Any]:
    plain = boosted.to_dict()
    noise = round_noise(boosted, subject.receipt)
    rounds = [
        {
            "f": list(own.features),
            "p": [plain_round["parts"][boosted.schema.names[f]] for f in own.features],
            "v": list(own.values),
            "e": [float(f"{error:.2g}") for error in errors],
            "o": own.output if boosted.n_outputs > 1 else 0,
        }
        for own, plain_round, errors in zip(boosted.rounds, plain["rounds"], noise)
    ]
    calibration = plain.get("calibration")
    return {
        "cuts": plain["cuts"],
        "rounds": rounds,
        "outputs": boosted.n_outputs,
        "one": GRADIENT_ONE,
        "terms": _term_facts(boosted),
        "calibration": None if calibration is None else {**calibration, "one": TARGET_ONE},
    }


def _term_facts(boosted: Additive) -> list[dict[str, Any]]:
    """What features together add, the most important first: their share of all, and the mean of what they add."""
    means: dict[tuple[str, ...], np.ndarray] = {}
    for term in boosted.terms:
        names = tuple(boosted.schema.names[f] for f in term.features)
        means[names] = means.get(names, 0) + term.mean / GRADIENT_ONE
    shares = boosted.term_importances
    index = boosted.schema.names.index
    return [
        {
            "f": [index(name) for name in names],
            "share": round(share, 5),
            "mean": [round(m, 6) for m in means[names].tolist()],
        }
        for names, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
