"""The curtain: questions and public structure for as long as a fit lasts, and nothing behind it by attribute."""

from fractions import Fraction

import numpy as np
import pytest

from privet import LeakError, MemoryCurator, Numeric, Schema
from privet.curators.desk import QUESTIONS, STRUCTURE
from privet.questions.curtain import Curtain, Node, budgets, positive
from privet.questions.grid import public_grid
from privet.questions.tally import Tally

TENTH = Fraction(1, 10)
SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["n", "y"])
PUBLIC = {"schema", "trust", "capabilities", "n_owners", "most_records"}
PUBLIC |= {"rho_within", "covers", "root", "path", "grid", "split"}


def desk_of(n=5):
    return MemoryCurator(np.linspace(0, 1, n)[:, None], ["n"] * n, SCHEMA).open()


def test_each_node_may_have_its_own_budget():
    a, b = Node(), Node()
    assert budgets([a, b], TENTH) == [TENTH, TENTH]
    assert budgets([a, b], {b: Fraction(1, 5), a: TENTH}) == [TENTH, Fraction(1, 5)]


@pytest.mark.parametrize("wrong", [0.1, 1, Fraction(0), Fraction(-1, 2), None, "1/10"])
def test_a_budget_is_a_positive_fraction(wrong):
    a, b = Node(), Node()
    for budget in (wrong, {a: TENTH, b: wrong}):
        with pytest.raises(LeakError, match="positive Fraction"):
            budgets([a, b], budget)


def test_a_budget_of_a_callers_own_kind_is_refused():
    class Mine(Fraction):
        pass

    with pytest.raises(LeakError, match="positive Fraction"):
        positive(Mine(1, 10))


def test_a_node_without_a_budget_is_refused():
    a, b = Node(), Node()
    with pytest.raises(LeakError, match="Each node needs a budget"):
        budgets([a, b], {a: TENTH})


def test_nodes_say_nothing_and_are_not_each_other():
    a, b = Node(), Node()
    assert a != b
    assert len({a, b}) == 2
    assert not [name for name in dir(a) if not name.startswith("__")]


def test_a_curtain_has_the_questions_and_the_structure_and_nothing_else():
    curtain = desk_of().curtain
    names = {name for name in dir(curtain) if not name.startswith("__")}
    assert names == PUBLIC | {*QUESTIONS, *STRUCTURE, "draw_hidden"}
    assert not hasattr(curtain, "__dict__")
    for name in ("ledger", "room", "desk", "_totals"):
        assert not hasattr(curtain, name)
        with pytest.raises(AttributeError):
            setattr(curtain, name, None)


def test_nothing_that_a_curtain_tells_leads_behind_it():
    """Every public value of it is a plain one."""
    curtain = desk_of().curtain
    values = [curtain.schema, curtain.trust, curtain.capabilities, curtain.n_owners]
    assert [type(value) for value in values] == [Schema, str, frozenset, int]


def test_a_curtain_that_nobody_has_drawn_answers_nothing():
    with pytest.raises(LeakError, match="no curator behind it"):
        Curtain().root()


def test_a_curtain_asks_the_desk_behind_it():
    desk = desk_of()
    curtain = desk.curtain
    curtain.grid(public_grid(SCHEMA))
    root = curtain.root(Fraction(1000))
    assert curtain.tally({root: Tally()}, Fraction(1000))[root].tolist() == [[5, 0]]
    assert curtain.path(root) == desk.events[0].scope
    assert desk.ledger.spent == 1000


def test_after_the_fit_everything_is_refused():
    desk = desk_of()
    curtain = desk.curtain
    curtain.grid(grid := public_grid(SCHEMA))
    root = curtain.root()
    desk.close()
    for ask in (
        lambda: curtain.tally({root: Tally()}, TENTH),
        lambda: curtain.peek([root]),
        lambda: curtain.copies(root, 2),
        lambda: curtain.path(root),
        lambda: curtain.grid(grid),
        lambda: curtain.noise(np.zeros(1, int), 1.0),
        curtain.root,
    ):
        with pytest.raises(LeakError, match="This fit has ended"):
            ask()
    assert desk.ledger.spent == 0
