"""Does a model fit its receipt? Every rule, label, count, value and step must be covered by a paid answer.

Each node of a released tree names the scope that paid for it, and each round of a boosted ensemble the answer that did.
``check`` looks them up among the receipt's events, and compares the digest that the receipt holds with the model. What
this cannot see: a trainer that lies consistently, in the model, its digest and its events alike.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from typing import Any

from privet.errors import ReceiptError
from privet.privacy.event import Event
from privet.privacy.lemmas import Lemma
from privet.privacy.receipt import Receipt
from privet.privacy.unit import Unit
from privet.schema import Schema
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.tree import Reach, Tree, TreeNode

SPLIT, LABEL, COUNTS, VALUE, STEP, START = "split", "label", "counts", "value", "step", "start"

PAYS_FOR = {
    "choose a split": {SPLIT},
    "choose a split with its labels": {SPLIT, LABEL},
    "choose a label": {LABEL},
    "quantile of the target": {START},
    "peek": {SPLIT, LABEL, COUNTS, VALUE},
}
PAYS_FOR_ALL = "random_stopping"
"""This mechanism releases a whole model. What its run asked is in no receipt, and where it asked is no scope of it."""
"""What an answer to a question decides about a node of its scope."""

TALLY_PAYS_FOR = {
    "tally": {SPLIT, LABEL, COUNTS},
    "target_tally": {SPLIT, VALUE},
    "clipped_gradient_tally": {STEP},
    "residual_tally": {STEP},
}
"""The same of a tally, by what it adds up."""

ROUNDED = 1 - 1e-9
"""A variance is a float, and another machine's last digit may differ."""

_STEPS = re.compile(r"/split(\d+):(\d+)((?:/split\d+:\d+)*)")


def digest(released: Tree | Forest | Additive, scored: dict[str, Any] | None = None) -> str:
    """A hash of a released model and its schema, in hexadecimal: what the receipt holds, and parties sign.

    ``scored`` is the table of its scores, where the same receipt paid for one.
    """
    plain = {"released": released.to_dict(), "schema": released.schema.to_dict()}
    plain |= {} if scored is None else {"evaluation": scored}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(receipt: Receipt, released: Any, scored: dict[str, Any] | None = None) -> Receipt:
    """The receipt with the model's digest. Of a hidden model there is none: whoever guesses a tree could compare."""
    if not isinstance(released, Tree | Forest | Additive):
        return receipt
    return replace(receipt, released=digest(released, scored))


def check(released: Any, receipt: Receipt, *, drawn: bool = False, scored: dict[str, Any] | None = None) -> None:
    """Raise ReceiptError unless the receipt's answers cover all that the model says, and its digest is the model's.

    ``drawn``: whether the model is of a kind whose rules may be drawn without asking. A hidden model cannot be looked
    into; each server vouches for its own shares.
    """
    check_hidden(released.schema, receipt, scored)
    if not isinstance(released, Tree | Forest | Additive):
        return
    paid = _Paid(receipt.events)
    if isinstance(released, Additive):
        _check_rounds(released, paid)
    else:
        trees = [released] if isinstance(released, Tree) else released.trees
        if len({tree.nodes[0].scope for tree in trees}) < len(trees):
            raise ReceiptError("Two trees of this forest name the same answers: each was paid for by its own.")
        for tree in trees:
            _check_tree(tree, paid, drawn)
    check_scores(scored, receipt, released)
    if scored is not None:
        _check_held_out(paid.learned_at or _scopes(released), scored["scope"])


def check_hidden(schema: Schema, receipt: Receipt, scored: dict[str, Any] | None) -> None:
    """What can be checked of every model: the receipt is for whom the schema names, and its scores were paid for."""
    if receipt.unit != str(Unit.of(schema)):
        raise ReceiptError("The receipt covers somebody else than the model's schema says: one row, or one person.")
    _check_paid(scored, receipt, schema)


def _check_paid(scored: dict[str, Any] | None, receipt: Receipt, schema: Schema) -> None:
    """The scores' intervals follow from their noise: it is what was paid for, or more where parties each add some."""
    if scored is None:
        return
    paid = [event for event in receipt.events if event.question == "evaluate" and event.scope == scored["scope"]]
    if not paid:
        raise ReceiptError("No answer paid for the model's scores.")
    if scored["weight"] != receipt.weight or scored["variance"] < ROUNDED * min(event.variance for event in paid):
        raise ReceiptError("The model's scores are said to have less noise than the answer that paid for them.")
    if scored["classes"] != (None if schema.classes is None else list(schema.classes)):
        raise ReceiptError("The model's scores are of other classes than its schema's.")


def check_scores(scored: dict[str, Any] | None, receipt: Receipt, released: Tree | Forest | Additive) -> None:
    """Raise ReceiptError unless one of the answers is the table of scores, if there is one, and the digest is right."""
    _check_paid(scored, receipt, released.schema)
    if receipt.released != digest(released, scored):
        raise ReceiptError("This receipt is of another model: the digest that it holds is not this one's.")


def _scopes(released: Tree | Forest | Additive) -> set[str]:
    """Where the answers were asked that the model says."""
    if isinstance(released, Additive):
        return {own.scope for own in released.rounds}
    return {node.scope for node in released.nodes}


def _check_held_out(scopes: set[str], scored: str) -> None:
    """Raise ReceiptError unless the records that score the model are others than those that it was learned from."""
    if not all(_are_apart(scope, scored) for scope in scopes if scope):
        raise ReceiptError("The model's scores are of records that it was learned from: they flatter it.")


def _are_apart(one: str, other: str) -> bool:
    """Whether two scopes hold different records: where their paths part, they are two parts of one draw."""
    for step, beside in zip(one.split("/"), other.split("/")):
        if step != beside:
            return step.startswith("parts") and step.partition(":")[0] == beside.partition(":")[0]
    return False


class _Paid:
    """What was paid for, scope by scope."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self._at: dict[str, Counter[str]] = {}
        for event in events:
            self._at.setdefault(event.scope, Counter()).update(_pays_for(event))
        # A slash behind each scope: then those at and below it are next to each other.
        self.learned_at = {event.scope for event in events if event.mechanism == PAYS_FOR_ALL}
        self.all_at_once = bool(self.learned_at)
        self._labelled = sorted(f"{scope}/" for scope, paid in self._at.items() if paid[LABEL])

    def times(self, what: str, scope: str) -> int:
        return sys.maxsize if self.all_at_once else self._at.get(scope, Counter())[what]

    def label(self, scope: str) -> bool:
        """Whether a label was chosen at this scope or below it: leaves that say the same are one."""
        if self.all_at_once:
            return True
        place = bisect_left(self._labelled, f"{scope}/")
        return bool(scope) and place < len(self._labelled) and self._labelled[place].startswith(f"{scope}/")


def _pays_for(event: Event) -> set[str]:
    if event.question == "tally":
        return TALLY_PAYS_FOR.get(Lemma.parse(event.lemma).name.removeprefix("euclidean_"), set())
    return PAYS_FOR.get(event.question, set())


def _check_tree(tree: Tree, paid: _Paid, drawn: bool) -> None:
    reached: list[Reach | None] = [None] * len(tree.nodes)
    reached[0] = Reach(tree)
    for i, node in enumerate(tree.nodes):  # parents come before their children
        if node.rule is None:
            _check_leaf(node, paid, reached[i] is not None)
            continue
        if node.asked and not paid.times(SPLIT, node.scope):
            raise ReceiptError(f"No answer at {node.scope or 'any scope'} paid for the rule of a node.")
        if not (node.asked or drawn):
            raise ReceiptError("A rule is said to be drawn without asking, which this kind of model does not do.")
        _check_children(node, [tree.nodes[child] for child in node.children], paid)
        reach = reached[i]
        if reach is not None:
            for child, inside in zip(node.children, reach.below(node.rule, len(node.children))):
                reached[child] = inside


def _check_leaf(leaf: TreeNode, paid: _Paid, reached: bool) -> None:
    # A leaf that nothing can reach says nothing about anybody.
    if reached and leaf.label is not None and not paid.label(leaf.scope):
        raise ReceiptError(f"No answer at {leaf.scope or 'any scope'} paid for the label of a leaf.")
    if leaf.counts is not None and not paid.times(COUNTS, leaf.scope):
        raise ReceiptError(f"No answer at {leaf.scope or 'any scope'} paid for the counts of a leaf.")
    if leaf.value is not None and not paid.times(VALUE, leaf.scope):
        raise ReceiptError(f"No answer at {leaf.scope or 'any scope'} paid for the value of a leaf.")


def _check_children(node: TreeNode, children: list[TreeNode], paid: _Paid) -> None:
    """A child's scope is its part of the node's records; a leaf that was chosen with the split may have the node's."""
    groups = set()
    for part, child in enumerate(children):
        if child.is_leaf and child.scope == node.scope and node.asked:
            if child.label is not None and not paid.times(LABEL, node.scope):
                raise ReceiptError(f"The split at {node.scope} was not chosen with labels for its children.")
            continue
        steps = _STEPS.fullmatch(child.scope.removeprefix(node.scope)) if child.scope.startswith(node.scope) else None
        if steps is None or steps[2] != str(part):
            raise ReceiptError(f"A child of the node at {node.scope or 'no scope'} is not its part number {part}.")
        groups.add(steps[1])
    if len(groups) > 1:
        raise ReceiptError(f"The children of the node at {node.scope} are of different splits.")


def _check_rounds(boosted: Additive, paid: _Paid) -> None:
    named = Counter((own.scope, own.paid) for own in boosted.rounds)
    if named and max(named.values()) > 1:
        raise ReceiptError("Two rounds name the same answer: each was paid for by its own.")
    for own in boosted.rounds:
        if own.paid >= min(paid.times(STEP, own.scope), paid.times(SPLIT, own.scope)):
            raise ReceiptError(f"No answer at {own.scope or 'any scope'} paid for a round of boosting.")
    lifted = boosted.calibration
    if lifted is None:
        return
    last = max((own.paid for own in boosted.rounds if own.scope == lifted.scope), default=-1)
    if not paid.times(START, lifted.scope) or paid.times(STEP, lifted.scope) < last + 2:
        raise ReceiptError(f"No answers at {lifted.scope or 'any scope'} paid for the start and the calibration.")
