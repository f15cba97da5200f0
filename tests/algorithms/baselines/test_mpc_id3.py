"""The baselines of paper 003: what they cost, and that they are the same on rows of secret shares."""

import math
from fractions import Fraction

import numpy as np
import pytest

from cut_mechanisms import CutMechanisms
from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.algorithms.baselines.mpc_id3 import MPCID3Classifier, PMPCID3Classifier

SCHEMA = Schema(
    {"age": Numeric(0, 80), "colour": Categorical(["r", "g", "b"], other=False), "n": Numeric(0, 3, integer=True)},
    classes=["no", "yes"],
)


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = rng.random(n) * 80, rng.choice(["r", "g", "b"], n), rng.integers(0, 4, n)
    return X, np.where((X[:, 0].astype(float) > 32) ^ (X[:, 1] == "g"), "yes", "no")


@pytest.mark.parametrize("leaves", ["laplace", "exponential"])
def test_the_revealed_tree_costs_epsilon_and_as_printed_less(leaves):
    X, y = table()
    sound = PMPCID3Classifier(SCHEMA, epsilon=1, max_depth=2, leaves=leaves).fit(X, y).privacy_
    printed = PMPCID3Classifier(SCHEMA, epsilon=1, max_depth=2, leaves=leaves, variant="published").fit(X, y).privacy_
    assert sound.spent == 1
    assert printed.spent == (Fraction(2, 3) if leaves == "laplace" else Fraction(1, 2))
    assert printed.claimed == 1
    assert sound.verify()
    assert printed.verify()


def test_without_noise_the_rule_is_found_and_the_receipt_says_infinity():
    X, y = table()
    model = MPCID3Classifier(SCHEMA, max_depth=2).fit(X, y)
    assert model.score(X, y) == 1
    assert model.privacy_.epsilon == math.inf
    assert model.privacy_.verify()


def rules(tree):
    """A tree without the scopes that paid for it: an opened one has none."""
    kept = ("feature", "cuts", "part", "children", "label", "counts")
    return [{key: value for key, value in node.items() if key in kept} for node in tree.to_dict()["nodes"]]


def on_rows(make, X, y, seed=None):
    pytest.importorskip("cryptography")
    from hidden_programs import horizontally, on_shares, opened
    from privet.tree.hidden_tree import HiddenTree

    def program(curator, engine):
        tree = make().fit_curator(curator).tree_
        return rules(opened(tree, engine) if isinstance(tree, HiddenTree) else tree)

    return on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=200, seed=seed)


@pytest.mark.parametrize("leaves", ["laplace", "exponential"])
def test_on_rows_of_secret_shares_the_revealed_tree_is_the_same(leaves):
    X, y = table()

    def make():
        return PMPCID3Classifier(epsilon=3.0, max_depth=2, leaves=leaves)

    mechanisms = CutMechanisms(np.random.default_rng(1))
    central = make().fit_curator(MemoryCurator(X, y, SCHEMA, ledger=Ledger(math.inf), mechanisms=mechanisms))
    assert on_rows(make, X, y, seed=1) == [rules(central.tree_)] * 3


def test_without_noise_the_hidden_tree_is_the_same():
    X, y = table()
    expected = rules(MPCID3Classifier(SCHEMA, max_depth=2).fit(X, y).tree_)
    assert on_rows(lambda: MPCID3Classifier(max_depth=2), X, y) == [expected] * 3
