"""Nodes of a fit, and records that are parted before it begins."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import BudgetError, Categorical, LeakError, Ledger, MemoryCurator, Schema
from privet.curators.open_nodes import OpenNodes, all_reserved, all_spent, renumbered
from privet.privacy.event import add_up
from privet.questions.curtain import Node
from privet.questions.tally import Tally

F = Fraction
SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])


def desk_of(ledger=None, n=400):
    X = np.array([["a"], ["b"]] * (n // 2), dtype=object)
    return MemoryCurator(X, ["n", "y"] * (n // 2), SCHEMA, ledger=ledger or Ledger(math.inf)).open()


def ask(desk, node, budget):
    return desk.tally({node: Tally(by_class=False)}, budget)[node]


def test_a_strangers_node_has_no_place():
    for stranger in (Node(), None, "node"):
        with pytest.raises(LeakError, match="not of this fit"):
            OpenNodes().place(stranger)


def test_paths_are_numbered_as_in_a_ledger_of_their_own():
    assert renumbered("/fit7:0/parts0:1/fit3:0", 0) == "/fit0:0/parts0:1/fit3:0"


def test_parts_of_gathered_records_cost_what_the_dearest_costs():
    ledger = Ledger(1)
    desk = desk_of(ledger)
    desk.learning, scoring = desk.parts(desk.gather(), [4, 1])
    first, second, score = desk.root(F(1, 2)), desk.root(F(1, 2)), desk.root(F(1), within=scoring)
    for node, budget in ((first, F(1, 2)), (score, F(1)), (second, F(1, 4))):
        ask(desk, node, budget)
    assert [root.path for root in desk.roots] == [
        "/fit0:0/parts0:0/fit0:0",
        "/fit0:0/parts0:0/fit1:0",
        "/fit0:0/parts0:1/fit0:0",
    ]
    assert all_spent(desk.roots) == add_up(desk.events) == ledger.spent == 1


def test_every_root_is_of_the_learning_part():
    desk = desk_of()
    desk.learning, scoring = desk.parts(desk.gather(), [1, 1])
    roots = [desk.root(F(10**6)) for _ in range(3)]
    (learned, *again), (scored,) = (
        [int(ask(desk, node, F(10**6))[0]) for node in nodes]
        for nodes in (roots, [desk.root(F(10**6), within=scoring)])
    )
    assert again == [learned, learned]
    assert learned + scored == 400
    assert 0 < learned < 400  # but for one chance in 2^399


def test_a_root_within_a_part_is_refused_only_for_what_its_own_records_have_spent():
    desk = desk_of(Ledger(1))
    desk.learning, scoring = desk.parts(desk.gather(), [1, 1])
    ask(desk, desk.root(F(3, 4)), F(3, 4))
    desk.root(F(1), within=scoring)
    with pytest.raises(BudgetError, match="less left"):
        desk.root(F(1, 2))
    desk.root(F(1, 4))


def test_ledgers_around_count_the_dearest_part_too():
    with Ledger(2) as outer, Ledger(1):
        desk = desk_of(Ledger.current())
        desk.learning, scoring = desk.parts(desk.gather(), [1, 1])
        ask(desk, desk.root(F(1)), F(1))
        ask(desk, desk.root(F(1), within=scoring), F(1))
    assert outer.spent == 1


def test_roots_in_rho_within_parts_reserve_the_largest_sum():
    ledger = Ledger(10, delta=1e-6)
    desk = desk_of(ledger)
    desk.learning, scoring = desk.parts(desk.gather(), [1, 1])
    desk.root(F(1, 5))  # in epsilon: reserves half its square
    desk.root(F(1, 100), "rho")
    score = desk.root(F(1, 40), "rho", within=scoring)
    assert all_reserved(desk.roots) == max(F(1, 50) + F(1, 100), F(1, 40))
    ask(desk, score, F(1, 40))
    ask(desk, desk.root(F(1, 10)), F(1, 10))
    assert ledger.root.spent == F(1, 40)


def test_a_root_in_rho_needs_a_ledger_with_a_delta_also_within_a_part():
    desk = desk_of(Ledger(1))
    desk.learning, _ = desk.parts(desk.gather(), [1, 1])
    with pytest.raises(BudgetError, match="delta"):
        desk.root(F(1, 100), "rho")
    with pytest.raises(LeakError, match="same ledger"):
        Ledger(1).begin("fit", F(1), within=desk.scope(desk.learning))
