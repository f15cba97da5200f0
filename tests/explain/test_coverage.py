"""A model fits its receipt: every rule, label, count, value and step is paid for, or the model is refused."""

import json
import math
import tracemalloc
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import privet
from privet import (
    Categorical,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateForestClassifier,
    PrivateSearch,
    PrivateTreeClassifier,
    Schema,
)
from privet.algorithms.model_file import from_dict, to_dict
from privet.algorithms.registry import MODELS, model_class, parameters
from privet.algorithms.verification import stated_of
from privet.errors import ReceiptError
from privet.explain.coverage import check, digest
from privet.privacy.event import add_up, add_up_slack
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule, Tree, TreeNode

FEATURES = {"x": Numeric(0, 1, missing=True), "n": Numeric(0, 9, integer=True), "c": Categorical(["a", "b", "c"])}
CLASSES = Schema(FEATURES, classes=["no", "yes"])
TARGET = Schema(FEATURES, target=(-1, 1))
TREE = PrivateTreeClassifier(max_depth=1)


def table(n=400, seed=3):
    rng = np.random.default_rng(seed)
    X = np.array(
        [[x, k, "abc"[c]] for x, k, c in zip(rng.uniform(size=n), rng.integers(0, 10, n), rng.integers(0, 3, n))],
        dtype=object,
    )
    signal = X[:, 0].astype(float) + (X[:, 2] == "a") > 0.8
    return X, np.where(signal, "yes", "no"), np.where(signal, 0.7, -0.4)


X, LABELS, NUMBERS = table()


def fitted(name, **params):
    return copy(_fitted(name, tuple(params.items())))


@cache
def _fitted(name, params):
    """For one public structure where that is drawn: a random tree comes out as another one of a level now and then."""
    cls, params = model_class(name), dict(params)
    drawn = parameters(cls).get("structure")
    if drawn is not None and drawn.default is None:
        params |= {"structure": 0}
    if cls._task == "classification":
        return cls(CLASSES, epsilon=200, **params).fit(X, LABELS)
    return cls(TARGET, epsilon=200, **params).fit(X, NUMBERS)


def variants():
    for name in MODELS:
        yield pytest.param(name, {}, id=name)
        if "variant" in model_class(name)._get_param_names():
            yield pytest.param(name, {"variant": "published"}, id=f"{name}-published")
    yield pytest.param("PrivateForestClassifier", {"method": "boosting"}, id="boosting")
    yield pytest.param("PrivateForestClassifier", {"method": "boosting", "delta": 1e-6}, id="boosting-delta")
    yield pytest.param("PrivateForestClassifier", {"method": "trees", "n_trees": 3}, id="trees")
    yield pytest.param("PrivateTreeClassifier", {"leaves": "counts"}, id="counts")
    yield pytest.param("PrivateTreeClassifier", {"leaves": "counts", "min_leaf": 0.2}, id="min-leaf")
    yield pytest.param("HiddenTreeClassifier", {"structure": "random"}, id="hidden-random")
    yield pytest.param("HiddenForestClassifier", {"sampling": "poisson"}, id="hidden-poisson")
    yield pytest.param("HistogramTreeClassifier", {"save_budget": True, "delta": 1e-6, "leaves": "labels"}, id="saving")
    yield pytest.param("TopDownClassifier", {"split": "local_rnm"}, id="local-rnm")
    yield pytest.param("DiPriMeForestClassifier", {"partition": False, "attribute": "flip"}, id="copies")


every = pytest.mark.parametrize(("name", "params"), list(variants()))


def with_events(receipt, events):
    """A receipt with other events that adds up all the same."""
    events = tuple(events)
    if not receipt.at_delta:
        receipt = replace(receipt, spent=add_up(events), delta=add_up_slack(events), shortfall="as is")
    return replace(receipt, events=events)


def with_digest(model):
    """The model with a receipt that holds its digest, as a forger would write it."""
    released = getattr(model, model._released)
    model.privacy_ = replace(model.privacy_, released=digest(released))
    return model


def set_released(model, released):
    setattr(model, model._released, released)
    return model


@every
def test_what_was_fitted_is_paid_for(name, params):
    model = fitted(name, **params)
    assert model.verify()
    assert from_dict(json.loads(json.dumps(to_dict(model)))).verify()


@every
def test_a_model_whose_events_were_deleted_is_refused(name, params):
    """Whichever node's events are left out, with those below it, which pay for the label of merged leaves."""
    model = fitted(name, **params)
    whole = model.privacy_
    released = getattr(model, model._released)
    named = {own.scope for own in (released.rounds if isinstance(released, Additive) else released.nodes)}
    paid = [f"{event.scope}/" for event in whole.events]
    scopes = sorted(scope for scope in named if any(own.startswith(f"{scope}/") for own in paid))
    assert scopes
    sealed = digest(released)  # as a forger would write it
    for scope in scopes[:20]:
        kept = (event for event in whole.events if not f"{event.scope}/".startswith(f"{scope}/"))
        without = replace(with_events(whole, kept), released=sealed)
        with pytest.raises(ReceiptError, match="paid for"):
            check(released, without, replace(stated_of(model), drawn=True))
    assert whole.at_delta or without.verify()  # by itself: the last of them stands for all


@every
def test_another_model_beside_the_receipt_is_refused(name, params):
    model, other = fitted(name, **params), another(name, **params)
    assert digest(getattr(model, model._released)) != digest(getattr(other, other._released))
    with pytest.raises(ReceiptError):
        set_released(model, getattr(other, other._released)).verify()


def another(name, **params):
    """A model that is not the one of ``fitted``: a smaller one or, if it has no depth, one of opposite labels."""
    cls = model_class(name)
    if "max_depth" in cls._get_param_names():
        return fitted(name, **params, max_depth=1)
    if cls._task == "classification":
        return cls(CLASSES, epsilon=200, **params).fit(X, np.where(LABELS == "yes", "no", "yes"))
    return cls(TARGET, epsilon=200, **params).fit(X, -NUMBERS)


def chain(depth, scope, asked=True):
    """A tree that somebody wrote by hand, with scopes as they would be."""
    tree = GrowingTree(CLASSES)
    tree.nodes[0].scope, end = scope, 0
    for level in range(depth):
        here = tree.nodes[end].scope
        left, end = tree.grow(
            end, Rule(0, ((level + 1) / (depth + 2),), bytes([0, 1, 1])), 2, [f"{here}/split0:{p}" for p in (0, 1)],
            asked=asked,
        )  # fmt: skip
        tree.nodes[left].label = level % 2
    tree.nodes[end].label = 1
    return tree.as_grown()


@pytest.mark.parametrize(
    "name", [n for n in MODELS if model_class(n)._released == "tree_" and model_class(n)._task == "classification"]
)
@pytest.mark.parametrize("asked", [True, False])
def test_a_deep_tree_that_somebody_wrote_is_refused(name, asked):
    model = fitted(name)
    scope = model.tree_.nodes[0].scope
    forged = chain(40, scope, asked)
    assert forged.depth == 40
    with pytest.raises(ReceiptError, match=r"paid for|drawn without asking"):
        with_digest(set_released(model, forged)).verify()
    model = fitted(name)
    with pytest.raises(ReceiptError):
        set_released(model, chain(40, "")).verify()


def changed(model, **fields):
    """The model with fields of its first node that has them changed."""
    released = getattr(model, model._released)
    if isinstance(released, Additive):
        return None
    trees = list(released.trees) if isinstance(released, Forest) else [released]
    for t, tree in enumerate(trees):
        nodes = list(tree.nodes)
        for i, node in enumerate(nodes):
            if all(getattr(node, name) is not None for name in fields):
                nodes[i] = replace(node, **{name: change(getattr(node, name)) for name, change in fields.items()})
                trees[t] = Tree(tree.schema, tuple(nodes))
                return set_released(
                    model, Forest(tree.schema, tuple(trees)) if isinstance(released, Forest) else trees[0]
                )
    return None


CHANGES = {
    "label": lambda label: 1 - label,
    "counts": lambda counts: (counts[0] + 1, *counts[1:]),
    "value": lambda value: value / 2 + 0.01,
    "rule": lambda rule: replace(rule, part=bytes(max(rule.part) - child for child in rule.part)),
}


@every
@pytest.mark.parametrize("what", CHANGES)
def test_a_swapped_label_another_count_value_or_rule_is_refused(name, params, what):
    model = changed(fitted(name, **params), **{what: CHANGES[what]})
    if model is None:
        return  # it has none of these
    with pytest.raises(ReceiptError, match="another model"):
        model.verify()


def test_a_moved_cut_is_refused():
    model = PrivateTreeClassifier(Schema({"x": Numeric(0, 1)}, classes=["no", "yes"]), epsilon=200)
    model.fit(X[:, :1].astype(float), LABELS)
    assert changed(model, rule=lambda rule: replace(rule, cuts=tuple(cut / 2 for cut in rule.cuts)))
    with pytest.raises(ReceiptError, match="another model"):
        model.verify()


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_an_extra_round_a_repeated_or_a_borrowed_one_is_refused(delta):
    model = PrivateForestClassifier(CLASSES, epsilon=20, delta=delta, method="boosting").fit(X, LABELS)
    rounds = model.forest_.rounds
    last = rounds[-1]
    extra = (
        (*rounds, last),
        (*rounds, replace(last, paid=last.paid + 1)),
        (*rounds, replace(last, scope="/fit9:0", paid=0)),
        (*rounds[:-1], replace(last, paid=len(rounds))),
    )
    for forged in extra:
        with pytest.raises(ReceiptError, match="paid for"):
            with_digest(set_released(model, replace(model.forest_, rounds=forged))).verify()
    values = (last.values[0] + 1, *last.values[1:])
    for forged in ((*rounds[:-1], replace(last, values=values)), rounds[:-1]):
        model.forest_ = replace(model.forest_, rounds=forged)
        model.privacy_ = replace(model.privacy_, released=digest(replace(model.forest_, rounds=rounds)))
        with pytest.raises(ReceiptError, match="another model"):
            model.verify()


def test_a_tree_counts_once_in_a_forest():
    model = PrivateForestClassifier(CLASSES, epsilon=200, method="trees", n_trees=3).fit(X, LABELS)
    twice = replace(model.forest_, trees=(*model.forest_.trees, model.forest_.trees[0]))
    with pytest.raises(ReceiptError, match="same answers"):
        with_digest(set_released(model, twice)).verify()


def test_children_in_another_order_are_refused():
    model = PrivateTreeClassifier(CLASSES, epsilon=500, n_records=10**6).fit(X, LABELS)
    nodes = list(model.tree_.nodes)
    inner = next(i for i, node in enumerate(nodes) if any(nodes[c].scope != node.scope for c in node.children))
    nodes[inner] = replace(nodes[inner], children=nodes[inner].children[::-1])
    with pytest.raises(ReceiptError, match="part number"):
        with_digest(set_released(model, Tree(CLASSES, tuple(nodes)))).verify()


def test_leaves_of_a_split_that_was_chosen_without_labels_are_refused():
    model = PrivateTreeClassifier(CLASSES, epsilon=500, n_records=10**6).fit(X, LABELS)
    root = model.tree_.nodes[0]
    leaves = [TreeNode(label=label, scope=root.scope) for label in (0, 1)]
    stump = Tree(CLASSES, (replace(root, children=(1, 2)), *leaves))
    with pytest.raises(ReceiptError, match="not chosen with labels"):
        with_digest(set_released(model, stump)).verify()


def test_a_rule_that_says_it_was_drawn_is_refused_where_rules_are_chosen():
    model = changed(fitted("PrivateTreeClassifier"), rule=lambda rule: rule, asked=lambda asked: False)
    with pytest.raises(ReceiptError, match="drawn without asking"):
        with_digest(model).verify()


def test_models_of_one_ledger_are_numbered_alone_and_verify():
    """So two ledgers with different pasts have the same receipts, and a file says nothing about other fits."""
    with Ledger(100) as ledger:
        models = [PrivateTreeClassifier(CLASSES, epsilon=20).fit(X, LABELS) for _ in range(3)]
    assert all(model.verify() for model in models)
    assert len({model.tree_.nodes[0].scope for model in models}) == 1
    assert len({event.scope.split("/")[1] for event in ledger.events}) == 3
    boosted = PrivateForestClassifier(epsilon=20, method="boosting")
    curator = MemoryCurator(X, LABELS, CLASSES, ledger=Ledger(math.inf))
    assert [boosted.fit_curator(curator).verify() for _ in range(2)] == [True, True]


def test_a_file_whose_model_does_not_fit_its_receipt_is_not_loaded(tmp_path):
    model = PrivateTreeClassifier(CLASSES, epsilon=Fraction(200)).fit(X, LABELS)
    model.save(tmp_path / "model.json")
    assert privet.load(tmp_path / "model.json").verify()
    plain = json.loads((tmp_path / "model.json").read_text())
    leaf = next(node for node in plain["tree"]["nodes"] if "label" in node)
    leaf["label"] = 1 - leaf["label"]
    (tmp_path / "model.json").write_text(json.dumps(plain))
    with pytest.raises(ReceiptError, match="another model"):
        privet.load(tmp_path / "model.json")


def test_a_strangers_scope_takes_no_more_room_than_its_letters():
    """All scopes above this one, written out, are a hundred megabytes; above one in a file of a megabyte, too many."""
    model = fitted("PrivateTreeClassifier")
    label = next(event for event in model.privacy_.events if "label" in event.question)
    deep = replace(label, scope="/fit0:0" + "/split0:0" * 5_000)
    tracemalloc.start()
    try:
        check(model.tree_, replace(model.privacy_, events=(*model.privacy_.events, deep)), stated_of(model))
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", ["1" + "0" * 5_000, "00"])
def test_a_strangers_part_is_a_number_of_ours(part):
    model = fitted("PrivateTreeClassifier")
    nodes = list(model.tree_.nodes)
    nodes[1] = replace(nodes[1], scope=f"/fit0:0/split0:{part}")
    with pytest.raises(ReceiptError, match="not its part"):
        check(Tree(CLASSES, tuple(nodes)), model.privacy_, stated_of(model))


def test_a_model_that_states_another_epsilon_than_its_receipt_is_refused():
    X, y = [[0.1], [0.9]] * 20, ["no", "yes"] * 20
    schema = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"])
    model = model_class("PrivateTreeClassifier")(schema, epsilon=2.0).fit(X, y)
    assert model.verify()
    model.epsilon = 1.0
    with pytest.raises(ReceiptError, match="another epsilon"):
        model.verify()


def test_scores_of_secret_runs_are_of_records_that_were_held_out():
    """The runs' own scopes are in no receipt: what the model was learned from is where the runs were paid for."""
    X, y, _ = table()
    search = PrivateSearch(CLASSES, epsilon=3, method="random_stopping", expected_runs=2, candidates=[TREE])
    model = search.fit(X, y, holdout=0.2).best_estimator_
    assert model.verify()
    learned = next(own.scope for own in model.privacy_.events if own.mechanism == "random_stopping")
    scores = model.evaluation_.scope
    moved = [
        replace(own, scope=f"{learned}/copy0:0" if own.scope == scores else own.scope) for own in model.privacy_.events
    ]
    flattered = replace(model.evaluation_, scope=f"{learned}/copy0:0").to_dict()
    released = digest(model.tree_, flattered, model.chosen_.to_dict())
    receipt = replace(with_events(model.privacy_, moved), released=released)
    with pytest.raises(ReceiptError, match="nothing else is asked"):
        check(model.tree_, receipt, stated_of(model), flattered)
