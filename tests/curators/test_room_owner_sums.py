"""A desk of one place is one owner: its own choice, and sums over owners that have one term."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from exact_transcripts import loss, transcripts
from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.privacy.fixed_point import ONE
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates
from privet.questions.grid import even_grid
from privet.questions.split import Split
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
TABLES = (Split(0, bytes([0, 1, 2, 3])), Split(1, bytes([0, 1])))
ROWS = [(0, "a", "n"), (1, "a", "n"), (1, "b", "y"), (3, "b", "y"), (3, "a", "n")]


def desk_of(rows, schema=SCHEMA, **options):
    X = np.array([row[:-1] for row in rows], dtype=object).reshape(len(rows), len(schema.names))
    desk = MemoryCurator(X, [row[-1] for row in rows], schema, **options).open()
    desk.grid(even_grid(schema, 4))
    return desk


def test_a_least_impurity_without_noise_is_exact():
    desk = desk_of(ROWS)
    root = desk.root()
    (answer,) = desk.owner_sum({root: TABLES}, "least_impurity", Fraction(10**9)).values()
    # The best cut of x parts one "n" off and leaves two of each class together: 2 * 2 / 4. s parts the classes.
    assert answer.tolist() == [ONE, 0]


def test_numeric_targets_have_a_least_spread():
    schema = Schema({"x": Numeric(0, 3, integer=True)}, target=(0, 10))
    desk = desk_of([(0, 0.0), (0, 10.0), (3, 5.0)], schema)
    root = desk.root()
    (answer,) = desk.owner_sum({root: TABLES[:1]}, "least_impurity", Fraction(10**9)).values()
    assert answer.tolist() == [ONE // 2 + ONE // 4]  # (1/2 of 2 records mixed) + (a half record of each on its own)


def test_owner_sums_on_every_small_pair_of_tables_are_within_their_price():
    """All tables of up to 2 records; every answer of two tables, cut to a few values, by its exact probability."""
    schema = Schema({"s": SCHEMA.features["s"], "t": SCHEMA.features["s"]}, classes=["n", "y"])
    tables = (Split(0, bytes([0, 1])), Split(1, bytes([0, 1])))
    kinds = list(product("ab", "ab", "ny"))

    def law(rows):
        def ask(mechanisms):
            desk = desk_of(rows, schema, ledger=Ledger(math.inf), mechanisms=mechanisms)
            desk.owner_sum({desk.root(): tables}, "least_impurity", Fraction(1))

        return transcripts(ask, (63, 65))

    laws = {}
    worst = 0.0
    for n in range(2):
        for rows in combinations_with_replacement(kinds, n):
            for more in kinds:
                after = tuple(sorted((*rows, more)))
                for table in (rows, after):
                    laws.setdefault(table, law(list(table)))
                worst = max(worst, loss(laws[rows], laws[after]))
    assert 0.2 < worst <= 1 + 1e-9


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "report_noisy_max"])
def test_the_only_owner_chooses_for_all(mechanism):
    desk = desk_of(ROWS)
    root = desk.root()
    options = {root: Candidates(public_splits(desk.cells), 2)}
    each = desk.choose_each(options, Gini(), Fraction(10**6), mechanism=mechanism)
    assert [choice.split.feature for choice in each[root]] == [1]
    assert [event.mechanism for event in desk.ledger.events] == [mechanism]
