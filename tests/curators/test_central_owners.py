"""A curator of one place is one owner: its own choice, and sums over owners that have one term."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet import BudgetError, Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema
from privet.audit.exact import loss, transcripts
from privet.privacy.event import add_up
from privet.privacy.fixed_point import ONE
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates
from privet.questions.grid import even_grid
from privet.questions.split import Split
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
TABLES = (Split(0, bytes([0, 1, 2, 3])), Split(1, bytes([0, 1])))
ROWS = [(0, "a", "n"), (1, "a", "n"), (1, "b", "y"), (3, "b", "y"), (3, "a", "n")]


def curator_of(rows, schema=SCHEMA, **options):
    X = np.array([row[:-1] for row in rows], dtype=object).reshape(len(rows), len(schema.names))
    curator = MemoryCurator(X, [row[-1] for row in rows], schema, **options).open()
    curator.grid(even_grid(schema, 4))
    return curator


def test_a_least_impurity_without_noise_is_exact():
    curator = curator_of(ROWS)
    root = curator.root()
    (answer,) = curator.owner_sum({root: TABLES}, "least_impurity", Fraction(10**9)).values()
    # The best cut of x parts one "n" off and leaves two of each class together: 2 * 2 / 4. s parts the classes.
    assert answer.tolist() == [ONE, 0]


def test_numeric_targets_have_a_least_spread():
    schema = Schema({"x": Numeric(0, 3, integer=True)}, target=(0, 10))
    curator = curator_of([(0, 0.0), (0, 10.0), (3, 5.0)], schema)
    root = curator.root()
    (answer,) = curator.owner_sum({root: TABLES[:1]}, "least_impurity", Fraction(10**9)).values()
    assert answer.tolist() == [ONE // 2 + ONE // 4]  # (1/2 of 2 records mixed) + (a half record of each on its own)


def test_sums_over_owners_pay_for_every_table_once_and_say_so():
    curator = curator_of(ROWS, ledger=Ledger(1))
    root = curator.root(Fraction(1))
    children = curator.split({root: TABLES[1]})[root]
    curator.owner_sum(dict.fromkeys(children, TABLES), "least_impurity", Fraction(1, 2))
    events = curator.ledger.events
    assert [(event.question, event.lemma, event.sensitivity) for event in events] == [
        ("owner sum", "least_impurity(2)", 2 * ONE)
    ] * 2
    assert all(event.cost <= event.charged == Fraction(1, 2) for event in events)
    assert add_up(events) == Fraction(1, 2)
    with pytest.raises(BudgetError):
        curator.owner_sum({root: TABLES}, "least_impurity", Fraction(3, 4))
    assert len(curator.ledger.events) == 2


def test_sums_that_have_no_proof_or_no_table_are_refused_before_they_are_charged():
    curator = curator_of(ROWS)
    root = curator.root()
    refused = [
        ({root: TABLES}, "variance", "is one of"),
        ({root: ()}, "least_impurity", "at least one table"),
        ({root: (Split(0, bytes(3)),)}, "least_impurity", "every cell"),
        ({root: (Split(7, bytes(4)),)}, "least_impurity", "no such feature"),
        ({curator_of(ROWS).root(): TABLES}, "least_impurity", "not one of"),
    ]
    for tables, statistic, message in refused:
        with pytest.raises(LeakError, match=message):
            curator.owner_sum(tables, statistic, Fraction(1))
    assert curator.owner_sum({}, "least_impurity", Fraction(1)) == {}
    assert not curator.ledger.events


def test_owner_sums_on_every_small_pair_of_tables_are_within_their_price():
    """All tables of up to 2 records; every answer of two tables, cut to a few values, by its exact probability."""
    schema = Schema({"s": SCHEMA.features["s"], "t": SCHEMA.features["s"]}, classes=["n", "y"])
    tables = (Split(0, bytes([0, 1])), Split(1, bytes([0, 1])))
    kinds = list(product("ab", "ab", "ny"))

    def law(rows):
        def ask(mechanisms):
            curator = curator_of(rows, schema, ledger=Ledger(math.inf), mechanisms=mechanisms)
            curator.owner_sum({curator.root(): tables}, "least_impurity", Fraction(1))

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
    curator = curator_of(ROWS)
    root = curator.root()
    options = {root: Candidates(public_splits(curator.cells), 2)}
    each = curator.choose_each(options, Gini(), Fraction(10**6), mechanism=mechanism)
    assert [choice.split.feature for choice in each[root]] == [1]
    assert [event.mechanism for event in curator.ledger.events] == [mechanism]
