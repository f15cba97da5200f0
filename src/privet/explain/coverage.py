"""Does a model fit its receipt? Every rule, label, count, value and step must be covered by a paid answer.

Each node of a released tree names the scope that paid for it, and each round of a boosted ensemble the answer that did.
``check`` looks them up among the receipt's events, and compares the digest that the receipt holds with the model, and
the model with what its class and parameters say of it. What this cannot see: a trainer that lies consistently, in the
model, its digest and its events alike. Of the secret runs of a search the receipt has one event: what they asked, and
where, is looked for nowhere.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from privet.errors import ReceiptError
from privet.privacy.event import SAMPLE, Event
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
"""What an answer to a question decides about a node of its scope."""

PAYS_FOR_ALL = "random_stopping"
"""This mechanism releases a whole model: what its runs asked is in no receipt."""

SECRET_RUNS = (
    "The model is the best of a secret number of runs, which the receipt pays for as one. Which answers its rules and "
    "numbers are made of, and what each cost, was not looked into: no file has them."
)

TALLY_PAYS_FOR = {
    "tally": {SPLIT, LABEL, COUNTS},
    "target_tally": {SPLIT, VALUE},
    "clipped_gradient_tally": {STEP},
    "residual_tally": {STEP},
}
"""The same of a tally, by what it adds up."""

ROUNDED = 1 - 1e-9
"""A variance is a float, and another machine's last digit may differ."""

OPENED = {"copies": "copy", "parts": "parts", "samples": SAMPLE}
"""The questions by which a forest opens the nodes that its trees begin at, and their names in a path."""

_STEPS = re.compile(r"/split(\d+):(\d+)((?:/split\d+:\d+)*)")


@dataclass(frozen=True)
class Stated:
    """What a file says of a model beside the model itself: by its class, its parameters, and what it was chosen among.

    ``drawn``: whether rules may be drawn without asking. ``opens``: which of ``OPENED`` a fit asks for. ``chosen``: the
    candidates of a search, and which of them this is.
    """

    drawn: bool = False
    opens: frozenset[str] = frozenset()
    max_depth: int | None = None
    n_trees: int | None = None
    chosen: dict[str, Any] | None = None


def digest(
    released: Tree | Forest | Additive, scored: dict[str, Any] | None = None, chosen: dict[str, Any] | None = None
) -> str:
    """A hash of a released model and its schema, in hexadecimal: what the receipt holds, and parties sign.

    ``scored`` is the table of its scores, where the same receipt paid for one; ``chosen`` is as in ``Stated``.
    """
    plain = {"released": released.to_dict(), "schema": released.schema.to_dict()}
    plain |= {} if scored is None else {"evaluation": scored}
    plain |= {} if chosen is None else {"chosen": chosen}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    receipt: Receipt, released: Any, scored: dict[str, Any] | None = None, chosen: dict[str, Any] | None = None
) -> Receipt:
    """The receipt with the model's digest. Of a hidden model there is none: whoever guesses a tree could compare."""
    if not isinstance(released, Tree | Forest | Additive):
        return receipt
    return replace(receipt, released=digest(released, scored, chosen))


def check(released: Any, receipt: Receipt, stated: Stated, scored: dict[str, Any] | None = None) -> None:
    """Raise ReceiptError unless the receipt's answers cover all that the model says, and its digest is the model's.

    The model must also be what is ``stated`` of it. A hidden model cannot be looked into; each server vouches for its
    own shares.
    """
    check_hidden(released.schema, receipt, scored)
    if not isinstance(released, Tree | Forest | Additive):
        return
    paid = _Paid(receipt.events, searched=stated.chosen is not None)
    if isinstance(released, Additive):
        _check_rounds(released, paid)
    else:
        _check_trees((released,) if isinstance(released, Tree) else released.trees, paid, stated)
    if stated.chosen is not None and receipt.released == digest(released, scored):
        raise ReceiptError(
            "The receipt's digest says nothing of what this model was chosen among: an earlier version wrote the file, "
            "or somebody added it. Take 'chosen' out of the file."
        )
    check_scores(scored, receipt, released, stated.chosen)
    if scored is not None:
        _check_held_out(_scopes(released), scored["scope"])


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


def check_scores(
    scored: dict[str, Any] | None,
    receipt: Receipt,
    released: Tree | Forest | Additive,
    chosen: dict[str, Any] | None = None,
) -> None:
    """Raise ReceiptError unless one of the answers is the table of scores, if there is one, and the digest is right."""
    _check_paid(scored, receipt, released.schema)
    if receipt.released != digest(released, scored, chosen):
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


def _secret_runs(events: tuple[Event, ...], searched: bool) -> str | None:
    """Where the secret runs of a search were paid for, if there are any: they are all that the records taught."""
    runs = [event for event in events if event.mechanism == PAYS_FOR_ALL]
    if not runs:
        return None
    if not searched:
        raise ReceiptError("Only a search pays for secret runs, and this file does not say what it chose among.")
    if any(event is not runs[0] and not _are_apart(event.scope, runs[0].scope) for event in events):
        raise ReceiptError("Beside the secret runs of a search nothing else is asked of the records that they had.")
    return runs[0].scope


def not_looked_into(receipt: Receipt) -> str:
    """What ``check`` leaves open of a model with this receipt; nothing of most."""
    return SECRET_RUNS if any(event.mechanism == PAYS_FOR_ALL for event in receipt.events) else ""


def _is_inside(scope: str, outer: str) -> bool:
    """Whether a scope is the other one, or below it."""
    return f"{scope}/".startswith(f"{outer}/")


def _kind(step: str) -> str:
    return step.partition(":")[0].rstrip("0123456789")


def _before_splits(scope: str) -> str:
    """A scope without the splits that it ends with."""
    steps = scope.split("/")
    while steps and _kind(steps[-1]) == "split":
        steps.pop()
    return "/".join(steps)


class _Paid:
    """What was paid for, scope by scope. Inside the scope of ``secret`` runs nobody knows what: it may be anything."""

    def __init__(self, events: tuple[Event, ...], searched: bool) -> None:
        self.secret = _secret_runs(events, searched)
        self._at: dict[str, Counter[str]] = {}
        for event in events:
            self._at.setdefault(event.scope, Counter()).update(_pays_for(event))
        # A slash behind each scope: then those at and below it are next to each other, all by splits alone.
        self._labelled: dict[str, list[str]] = {}
        for scope in sorted(f"{scope}/" for scope, paid in self._at.items() if paid[LABEL]):
            self._labelled.setdefault(_before_splits(scope[:-1]), []).append(scope)

    def times(self, what: str, scope: str) -> int:
        if self.secret is not None:
            return sys.maxsize if _is_inside(scope, self.secret) else 0
        return self._at.get(scope, Counter())[what]

    def label(self, scope: str) -> bool:
        """Whether a label was chosen at this scope or below it: leaves that say the same are one."""
        if self.secret is not None:
            return _is_inside(scope, self.secret)
        labelled = self._labelled.get(_before_splits(scope), [])
        place = bisect_left(labelled, f"{scope}/")
        return bool(scope) and place < len(labelled) and labelled[place].startswith(f"{scope}/")


def _pays_for(event: Event) -> set[str]:
    if event.question == "tally":
        return TALLY_PAYS_FOR.get(Lemma.parse(event.lemma).name.removeprefix("euclidean_"), set())
    return PAYS_FOR.get(event.question, set())


def _check_trees(trees: tuple[Tree, ...], paid: _Paid, stated: Stated) -> None:
    if len({tree.nodes[0].scope for tree in trees}) < len(trees):
        raise ReceiptError("Two trees of this forest name the same answers: each was paid for by its own.")
    for tree in trees:
        _check_tree(tree, paid, stated.drawn)
    if stated.n_trees is not None and len(trees) > stated.n_trees:
        raise ReceiptError(f"The model has {len(trees)} trees, and its n_trees is {stated.n_trees}.")
    if stated.max_depth is not None and any(tree.depth > stated.max_depth for tree in trees):
        raise ReceiptError(f"The model is deeper than its max_depth, which is {stated.max_depth}.")
    _check_begun({_begun(tree.nodes[0].scope, len(trees), stated.opens) for tree in trees})


def _begun(scope: str, n_trees: int, opens: frozenset[str]) -> str:
    """The scope that a tree's own one was opened in, if it was opened as the model's class says; else its own.

    A tree whose first splits part nothing begins below its own scope.
    """
    own = _before_splits(scope)
    above, _, step = own.rpartition("/")
    kind, number = _kind(step), step.partition(":")[2]
    if kind not in {OPENED[how] for how in opens} or (kind == SAMPLE and number != str(n_trees)):
        return own
    return above


def _check_begun(scopes: set[str]) -> None:
    """Raise ReceiptError unless all of a model begins in one scope: costs add up there, unless its class says else."""
    if len(scopes) > 1 or any(f"/{SAMPLE}" in scope for scope in scopes):
        raise ReceiptError(
            "Parts of this model are said to be of different records, or of a sample, which costs less. Models of its "
            "class, with its parameters, are not learned so."
        )


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
    _check_begun({own.scope for own in boosted.rounds} | (set() if lifted is None else {lifted.scope}))
    if lifted is None:
        return
    last = max((own.paid for own in boosted.rounds if own.scope == lifted.scope), default=-1)
    if not paid.times(START, lifted.scope) or paid.times(STEP, lifted.scope) < last + 2:
        raise ReceiptError(f"No answers at {lifted.scope or 'any scope'} paid for the start and the calibration.")
