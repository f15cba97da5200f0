"""The text of a receipt has every charge, and says "in parallel" only where that is so."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, Ledger, MemoryCurator, Numeric, PrivateSearch, PrivateTreeClassifier, Schema
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
    assert line.strip() == "0.1   tally: geometric, tally(1), 4 disjoint nodes in parallel"


def test_what_adds_up_is_not_called_parallel(curator):
    root = curator.root()
    curator.tally(dict.fromkeys(curator.copies(root, 3), Tally()), Fraction(1, 10))
    assert text_of(curator, root).endswith("tally: geometric, tally(1), 3 times")
    curator.quantiles(root, [0], [Fraction(1, 4), Fraction(3, 4)], Fraction(1, 5))
    assert text_of(curator, root).endswith("0.2   joint quantiles: exponential, joint quantiles(1/4)")
    for _ in range(2):
        curator.quantiles(root, [0], [Fraction(3, 4)], Fraction(1, 10))
    assert text_of(curator, root).endswith("quantile(3/4), 2 times")


def test_two_splits_of_the_same_records_are_not_called_parallel(curator):
    root = curator.root()
    split = public_splits(curator.cells).split(5)
    children = [curator.split({root: split})[root][0] for _ in range(2)]
    curator.tally(dict.fromkeys(children, Tally()), Fraction(1, 10))
    assert text_of(curator, root).endswith("2 times")


def test_a_receipt_says_what_holds_and_why_nothing_does():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    y = ["no", "yes"] * 50
    text = str(PrivateTreeClassifier(SCHEMA, epsilon=0.1).fit(X, y).privacy_)
    assert text.startswith("epsilon   0.1   (delta 0)\nclaimed   0.1\nspent     0.1\n")
    assert "one row of the table, not a person who has several; neighbours: add or remove one" in text
    assert "saw all records" in text
    assert "VOID" not in text
    void = str(PrivateTreeClassifier(SCHEMA, epsilon=0.1, random_state=1).fit(X, y).privacy_)
    assert void.startswith("epsilon   infinity")
    assert "VOID      random_state: the noise can be reproduced" in void


def test_an_infinite_receipt_says_infinity(curator):
    curator.peek([curator.root()])
    assert curator.ledger.spent == math.inf
    assert "infinity   peek: peek, peek" in text_of(curator, curator.root())


def test_every_charge_is_in_the_text(curator):
    with Ledger(5):
        model = PrivateTreeClassifier(SCHEMA, epsilon=2, n_records=10**6).fit(
            np.array([[20, "f"], [50, "m"]] * 50, dtype=object), ["no", "yes"] * 50
        )
    receipt = model.privacy_
    lines = str(receipt).splitlines()
    kinds = {(e.question, e.charged, e.scope.count("/")) for e in receipt.events}
    assert len(lines) == 5 + len(kinds)
    assert len(str(replace(receipt, events=())).splitlines()) == 5


def test_what_was_asked_of_parts_of_the_records_says_so():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    text = str(PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=100).fit(X, ["no", "yes"] * 50, holdout=0.2).privacy_)
    assert ", part 1 of 2\n" in text
    assert ", part 2 of 2\n" in text
    assert text.endswith("Parts have no record in common: of their costs the largest counts, not the sum.")


def test_parts_of_a_part_are_told_apart():
    X = np.array([[20, "f"], [50, "m"]] * 50, dtype=object)
    trees = [PrivateTreeClassifier(max_depth=1), PrivateTreeClassifier(max_depth=1, leaves="counts")]
    search = PrivateSearch(SCHEMA, candidates=trees, epsilon=1).fit(X, ["no", "yes"] * 50, holdout=0.2)
    lines = {line.split("   ")[-1].split(":")[0]: line for line in str(search.privacy_).splitlines()}
    assert lines["choose a model"].endswith(", part 1 of 2, in it part 2 of 2")
    assert lines["evaluate"].endswith(", part 2 of 2")
    assert ", part 1 of 2, in it part 1 of 2\n" in str(search.privacy_)


def test_two_draws_of_parts_are_not_called_one(curator):
    root = curator.root()
    first, second = (curator.parts(root, [1, 1])[0] for _ in range(2))
    curator.tally({first: Tally()}, Fraction(1, 10))
    curator.tally({second: Tally()}, Fraction(1, 5))
    assert "part 1" not in text_of(curator, root)
    assert "Parts have no record in common" not in text_of(curator, root)
