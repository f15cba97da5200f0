"""A tree of scopes adds up as its docstring says, and refuses before it overspends."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charges import charge, event
from privet.errors import BudgetError, LeakError
from privet.privacy.event import add_up
from privet.privacy.ledger import Ledger

F = Fraction


class Naive:
    """The ledger's definition, recomputed from scratch at every question."""

    def __init__(self, limit=math.inf):
        self.limit, self.charges, self.groups = limit, [], []

    @property
    def spent(self):
        return sum(self.charges, F(0)) + sum((max(s.spent for s in group) for group in self.groups), F(0))

    def holds(self):
        return self.spent <= self.limit and all(s.holds() for group in self.groups for s in group)

    def allows(self, pairs, root):
        """Whether all limits would hold with these charges; changes nothing."""
        for scope, amount in pairs:
            scope.charges.append(amount)
        allowed = root.holds()
        for scope, _ in reversed(pairs):
            scope.charges.pop()
        return allowed


amounts = st.one_of(
    st.fractions(min_value=0, max_value=1, max_denominator=12), st.sampled_from([F(0), F(1, 3), math.inf])
)
limits = st.one_of(
    st.just(math.inf), st.sampled_from([0.5, 2.5, 1]), st.fractions(min_value=F(1, 10), max_value=3, max_denominator=12)
)
which = st.integers(0, 50)
steps = st.one_of(
    st.tuples(st.just("split"), which, st.integers(1, 3), st.sampled_from(["split", "parts"])),
    st.tuples(st.just("copy"), which, limits),
    st.tuples(st.just("charge"), st.lists(st.tuples(which, amounts), min_size=1, max_size=4)),
)


@settings(max_examples=150, deadline=None)
@given(limits, st.lists(steps, max_size=25))
def test_any_tree_of_scopes_spends_and_refuses_as_a_naive_recomputation_says(total, script):
    ledger = Ledger(total)
    root = Naive(ledger.total)
    scopes = [(ledger.root, root)]
    for kind, *rest in script:
        if kind == "charge":
            pairs = [(*scopes[i % len(scopes)], amount) for i, amount in rest[0]]
            before = [(s.spent, s.remaining) for s, _ in scopes], list(ledger.events)
            if root.allows([(n, amount) for _, n, amount in pairs], root):
                charge(ledger, *((s, amount) for s, _, amount in pairs))
                for _, n, amount in pairs:
                    n.charges.append(amount)
            else:
                with pytest.raises(BudgetError):
                    charge(ledger, *((s, amount) for s, _, amount in pairs))
                assert before == ([(s.spent, s.remaining) for s, _ in scopes], ledger.events)
        else:
            scope, naive = scopes[rest[0] % len(scopes)]
            if kind == "split":
                opened, group = scope.split(rest[1], rest[2]), [Naive() for _ in range(rest[1])]
            else:
                opened, group = [scope.copy(limit=rest[1])], [Naive(rest[1])]
            naive.groups.append(group)
            scopes += zip(opened, group)
    assert all(scope.spent == naive.spent for scope, naive in scopes)
    assert add_up(ledger.events) == ledger.spent == root.spent
    for scope, naive in scopes:
        left = scope.remaining
        assert root.allows([(naive, left)], root)
        assert left == math.inf or not root.allows([(naive, left + F(1, 10**9))], root)


def test_a_charge_of_all_that_remains_passes_and_anything_more_is_refused():
    ledger = Ledger(1)
    fit = ledger.begin("fit", F(1, 2))
    left, right = fit.split(2)
    charge(ledger, (left, F(1, 3)))
    assert right.remaining == F(1, 2)  # the first third hides behind the sibling
    with pytest.raises(BudgetError):
        charge(ledger, (right, F(1, 2) + F(1, 10**50)))
    charge(ledger, (right, F(1, 2)))
    assert fit.remaining == right.remaining == 0
    assert left.remaining == F(1, 6)
    assert ledger.remaining == F(1, 2)


def test_the_refused_last_charge_of_a_batch_takes_the_others_with_it():
    ledger = Ledger(1)
    a, b = ledger.root.split(2)
    with pytest.raises(BudgetError, match=r"would cost 1\.5 where 0\.5 is left"):
        charge(ledger, (a, F(1, 2)), (b, F(1, 2)), (b, F(1, 2)), (a, F(3, 2)))
    assert (a.spent, b.spent, ledger.spent, ledger.events) == (0, 0, 0, [])


@pytest.mark.parametrize("amount", [F(-1, 10**9), -1, math.nan, -math.inf, 0.25, "1", None])
def test_a_charge_that_is_no_exact_amount_is_refused_and_leaves_the_batch_unpaid(amount):
    ledger = Ledger(1)
    with pytest.raises(BudgetError):
        ledger.charge([(ledger.root, event(ledger.root, F(1, 2))), (ledger.root, event(ledger.root, amount))])
    assert (ledger.spent, ledger.events) == (0, [])


def test_an_interrupt_in_a_batch_leaves_nothing_behind(monkeypatch):
    ledger = Ledger(1)
    a, b = ledger.root.split(2)
    raise_to = type(a)._raise_to

    def interrupted(scope, spent, undo):
        raise_to(scope, spent, undo)
        if scope is b:
            raise KeyboardInterrupt

    monkeypatch.setattr(type(a), "_raise_to", interrupted)
    with pytest.raises(KeyboardInterrupt):
        charge(ledger, (a, F(1, 3)), (b, F(1, 2)))
    assert (a.spent, b.spent, ledger.spent, ledger.events) == (0, 0, 0, [])
    assert a.remaining == 1


def test_an_unlimited_ledger_takes_infinite_charges_and_still_obeys_the_limits_below():
    ledger = Ledger(math.inf)
    free, bound = ledger.begin("fit", math.inf), ledger.begin("fit", F(1))
    charge(ledger, (free, math.inf), (free, F(1)))
    assert ledger.spent == free.spent == ledger.remaining == math.inf
    charge(ledger, (bound, F(1)))
    with pytest.raises(BudgetError):
        charge(ledger, (bound, F(1, 10)))
    assert bound.spent == 1


def test_a_finite_ledger_refuses_an_infinite_charge():
    ledger = Ledger(1e300)
    with pytest.raises(BudgetError, match="infinity"):
        charge(ledger, (ledger.begin("fit", F(1)), math.inf))


@pytest.mark.parametrize("total", [0, -1, math.nan, -math.inf, None, "many"])
def test_a_ledger_needs_a_positive_total(total):
    with pytest.raises(BudgetError):
        Ledger(total)


def test_a_scope_of_another_ledger_cannot_be_charged():
    ours, other = Ledger(1), Ledger(1)
    with pytest.raises(LeakError):
        charge(ours, (other.root, F(1, 2)))
    assert ours.spent == other.spent == 0


@pytest.mark.parametrize("name", ["split", "parts", "", "a/b", "fit0", "Fit", "é"])
def test_a_copy_cannot_be_named_so_that_its_path_reads_otherwise(name):
    with pytest.raises(LeakError):
        Ledger(1).root.copy(name)


def test_disjoint_scopes_are_only_opened_by_a_kind_that_receipts_know():
    with pytest.raises(LeakError):
        Ledger(1).root.split(2, "copy")


def test_a_scope_without_a_limit_that_is_a_number_is_refused():
    with pytest.raises(BudgetError):
        Ledger(1).begin("fit", math.nan)


def test_a_limit_cannot_be_written():
    scope = Ledger(1).begin("fit", F(1))
    for name in ("limit", "spent"):
        with pytest.raises(AttributeError):
            setattr(scope, name, F(100))
