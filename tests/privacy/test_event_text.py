"""The text of a receipt has every charge, and says that it counts once only where that is so."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

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
from privet.privacy.receipt import Receipt
from privet.questions.grid import public_grid
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"age": Numeric(0, 90, integer=True), "sex": Categorical(["f", "m"])}, classes=["no", "yes"])


@pytest.fixture
def curator():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    curator = MemoryCurator(X, ["no", "yes"] * 50, SCHEMA).open()
    curator.grid(public_grid(SCHEMA))
    return curator


def text_of(curator, node):
    events = tuple(curator.ledger.events)
    return str(Receipt(Fraction(9), curator.scope(node).spent, Fraction(0), (), curator.trust, events))


def test_a_level_is_one_line_that_says_parallel(curator):
    root = curator.root()
    split = public_splits(curator.cells).split(5)
    level = curator.split({root: split})[root]
    level = [child for children in curator.split(dict.fromkeys(level, split)).values() for child in children]
    curator.tally(dict.fromkeys(level, Tally()), Fraction(1, 10))
    line = text_of(curator, root).splitlines()[-1]
    assert line.strip() == (
        "0.1   How many records are here, in all or of each kind? Records are counted. "
        "(4 nodes, a record is in one of them: counted once) [tally: geometric, tally(1)]"
    )


def test_what_adds_up_is_not_called_parallel(curator):
    root = curator.root()
    curator.tally(dict.fromkeys(curator.copies(root, 3), Tally()), Fraction(1, 10))
    assert text_of(curator, root).endswith("(3 times) [tally: geometric, tally(1)]")
    curator.quantiles(root, [0], [Fraction(1, 4), Fraction(3, 4)], Fraction(1, 5))
    assert text_of(curator, root).endswith("[joint quantiles: exponential, joint quantiles(1/4)]")
    for _ in range(2):
        curator.quantiles(root, [0], [Fraction(3, 4)], Fraction(1, 10))
    assert text_of(curator, root).endswith("(2 times) [quantile: exponential, quantile(3/4)]")


def test_two_splits_of_the_same_records_are_not_called_parallel(curator):
    root = curator.root()
    split = public_splits(curator.cells).split(5)
    children = [curator.split({root: split})[root][0] for _ in range(2)]
    curator.tally(dict.fromkeys(children, Tally()), Fraction(1, 10))
    assert "(2 times)" in text_of(curator, root)
    assert "counted once" not in text_of(curator, root)


def test_a_receipt_says_what_holds_and_why_nothing_does():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    y = ["no", "yes"] * 50
    text = str(PrivateTreeClassifier(SCHEMA, epsilon=0.1).fit(X, y).privacy_)
    assert text.startswith("epsilon   0.1\ncovers    ")  # nothing that is said twice
    assert "one row of the table, not a person who has several: whether it is there or not" in text
    assert "saw all records" in text
    assert "VOID" not in text
    void = str(PrivateTreeClassifier(SCHEMA, epsilon=0.1, random_state=1).fit(X, y).privacy_)
    assert void.startswith("epsilon   infinity\nclaimed   0.1\nspent     0.1\n")
    assert "VOID      random_state: the noise can be reproduced" in void


def test_an_infinite_receipt_says_infinity(curator):
    curator.peek([curator.root()])
    assert curator.ledger.spent == math.inf
    assert "[peek: peek, peek]" in text_of(curator, curator.root())


def test_every_charge_is_in_the_text(curator):
    with Ledger(5):
        model = PrivateTreeClassifier(SCHEMA, epsilon=2, n_records=10**6).fit(
            np.array([[20, "f"], [50, "m"]] * 50, dtype=object), ["no", "yes"] * 50
        )
    receipt = model.privacy_
    lines = str(receipt).splitlines()
    kinds = {(e.question, e.charged, e.scope.count("/")) for e in receipt.events}
    assert len(lines) == 4 + len(kinds)
    assert len(str(replace(receipt, events=())).splitlines()) == 3


def test_learning_and_scoring_have_their_own_sums():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    text = str(PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=100).fit(X, ["no", "yes"] * 50, holdout=0.2).privacy_)
    explained = "cost      learning 1, scoring 1. No record is in both, so each pays 1 at most, and not the sum.\n"
    assert explained in text
    assert text.index(explained) < text.index("\nlearning: 1\n") < text.index("\nscoring: 1\n")
    assert "Parts have no record in common" not in text  # it was said


def test_parts_of_a_part_are_told_apart():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    trees = [PrivateTreeClassifier(max_depth=1), PrivateTreeClassifier(max_depth=1, leaves="counts")]
    search = PrivateSearch(SCHEMA, candidates=trees, epsilon=1).fit(X, ["no", "yes"] * 50, holdout=0.2)
    text = str(search.privacy_)
    assert "cost      choosing a model and learning it 1, scoring 1. No record is in both" in text
    choice = next(line for line in text.splitlines() if "choose a model" in line)
    assert "(part 2 of 2)" in choice
    assert "(part 1 of 2)" in text


def test_what_all_records_pay_comes_on_top():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    trees = [PrivateTreeClassifier(max_depth=1), PrivateTreeClassifier(max_depth=2)]
    text = str(PrivateSearch(SCHEMA, candidates=trees, epsilon=1).fit(X, ["no", "yes"] * 50).privacy_)
    assert (
        "learning 0.3, choosing among models 0.3, on all records 0.7. What was asked of all records comes on top"
        in text
    )


def test_parts_that_do_the_same_have_one_list():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    forest = PrivateForestClassifier(SCHEMA, epsilon=1, method="trees", n_trees=3).fit(X, ["no", "yes"] * 50)
    assert "cost      answer by answer:" in str(forest.privacy_)


def test_very_many_prices_are_one_line_with_their_sum():
    x = np.random.default_rng(0).random((3000, 3))
    schema = Schema(dict.fromkeys("abc", Numeric(0, 1)), classes=[0, 1])
    model = PrivateForestClassifier(schema, epsilon=3, delta=1e-6, method="boosting")
    boosted = model.fit(x, (x[:, 0] > 0.5).astype(int))
    assert len(boosted.privacy_.events) > 40
    assert len(str(boosted.privacy_).splitlines()) < 12


def test_two_draws_of_parts_are_not_called_one(curator):
    root = curator.root()
    first, second = (curator.parts(root, [1, 1])[0] for _ in range(2))
    curator.tally({first: Tally()}, Fraction(1, 10))
    curator.tally({second: Tally()}, Fraction(1, 5))
    assert "part 1" not in text_of(curator, root)
    assert "Parts have no record in common" not in text_of(curator, root)
