"""What every curator promises, whatever it can do."""

from fractions import Fraction

import pytest

from privet import CapabilityError, LeakError
from privet.curators.base import Curator, Node, Tally, budgets
from privet.privacy.ledger import Ledger

TENTH = Fraction(1, 10)


def two_nodes():
    root = Ledger(1).root
    return [Node(root), Node(root)]


@pytest.mark.parametrize(
    ("question", "ask"),
    {
        "tally": lambda c: c.tally({}, TENTH),
        "choose": lambda c: c.choose({}, None, TENTH),
        "choose_each": lambda c: c.choose_each({}, None, TENTH),
        "owner_sum": lambda c: c.owner_sum({}, "least_impurity", TENTH),
        "quantiles": lambda c: c.quantiles(None, [], [], TENTH),
        "peek": lambda c: c.peek([]),
        "advance": lambda c: c.advance(None),
    }.items(),
)
def test_a_question_that_a_curator_cannot_answer_says_what_it_can(question, ask):
    class Modest(Curator):
        capabilities = frozenset({"tally", "peek"})

    with pytest.raises(CapabilityError) as error:
        ask(Modest())
    message = str(error.value)
    assert message.startswith(f"Modest cannot answer '{question}'")
    assert "it can answer: peek, tally" in message
    assert "docs/architecture.md" in message


def test_a_curator_without_any_answer_says_so():
    with pytest.raises(CapabilityError, match="it can answer: nothing"):
        Curator().peek([])


def test_each_node_may_have_its_own_budget():
    a, b = two_nodes()
    assert budgets([a, b], TENTH) == [TENTH, TENTH]
    assert budgets([a, b], {b: Fraction(1, 5), a: TENTH}) == [TENTH, Fraction(1, 5)]


@pytest.mark.parametrize("wrong", [0.1, 1, Fraction(0), Fraction(-1, 2), None, "1/10"])
def test_a_budget_is_a_positive_fraction(wrong):
    a, b = two_nodes()
    for budget in (wrong, {a: TENTH, b: wrong}):
        with pytest.raises(LeakError, match="positive Fraction"):
            budgets([a, b], budget)


def test_a_node_without_a_budget_is_refused():
    a, b = two_nodes()
    with pytest.raises(LeakError, match="Each node needs a budget"):
        budgets([a, b], {a: TENTH})


def test_nodes_of_one_scope_are_not_the_same_node():
    a, b = two_nodes()
    assert a != b
    assert len({a, b}) == 2


def test_a_tally_asks_for_class_counts_of_the_node_itself_by_default():
    assert Tally() == Tally(tables=(), by_class=True)
