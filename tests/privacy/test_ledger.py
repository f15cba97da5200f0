"""The ledger adds up as its docstring says, refuses before it overspends, and cannot be charged unseen."""

from __future__ import annotations

import math
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import BudgetError, LeakError
from privet.privacy import processes
from privet.privacy.ledger import Ledger, exact, show
from privet.privacy.receipt import Event, add_up

F = Fraction


def event(scope, charged):
    """An event on ``scope`` that costs ``charged``."""
    if charged == math.inf:
        return Event(scope.path, "peek", "peek", F(0), 0.0, math.inf, "peek")
    return Event(scope.path, "an example", "geometric", F(1), 1.0, charged, "tally")


def charge(ledger, *pairs):
    ledger.charge([(scope, event(scope, amount)) for scope, amount in pairs])


# -- amounts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "fraction"),
    [
        (0.1, F(1, 10)),
        (0.3, F(3, 10)),
        (1, F(1)),
        (F(1, 3), F(1, 3)),
        ("0.1", F(1, 10)),
        (" 2.5 ", F(5, 2)),
        (Decimal("0.7"), F(7, 10)),
        (np.float64(0.1), F(1, 10)),
        (np.int32(2), F(2)),
        (1e-300, F(1, 10**300)),
        (5e-324, F(5, 10**324)),
        (1e300, F(10**300)),
    ],
)
def test_an_amount_is_the_fraction_that_a_person_means(amount, fraction):
    assert exact(amount) == fraction


@pytest.mark.parametrize(
    "amount",
    [
        *(0, 0.0, -0.0, -1, -0.1, F(0), F(-1, 2), math.nan, math.inf, -math.inf, True, False, None),
        *("", "a tenth", "nan", "inf", "-1", [], {}, 1j, len, np.nan, np.inf, np.bool_(True)),
        *(10**400, np.array([0.1, 0.2]), np.float64(0), np.int64(-3)),
    ],
    ids=repr,
)
def test_what_is_no_positive_finite_number_is_a_budget_error(amount):
    with pytest.raises(BudgetError):
        exact(amount)


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_an_exact_amount_is_the_same_float_again(x):
    assert float(exact(x)) == x


def test_three_parts_of_three_tenths_spend_exactly_three_tenths():
    ledger = Ledger(0.3)
    for _ in range(3):
        charge(ledger, (ledger.open("fit", exact(0.1)), exact(0.1)))
    assert ledger.spent == F(3, 10)
    assert ledger.remaining == 0
    with pytest.raises(BudgetError, match="left"):
        ledger.open("fit", F(1, 10**30))


def test_amounts_are_shown_with_the_digits_that_matter():
    assert [show(F(1, 3)), show(F(2)), show(math.inf)] == ["0.3333333333", "2", "infinity"]


# -- the tree of scopes against a naive recomputation ----------------------------------------------------


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
    fit = ledger.open("fit", F(1, 2))
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
    free, bound = ledger.open("fit", math.inf), ledger.open("fit", F(1))
    charge(ledger, (free, math.inf), (free, F(1)))
    assert ledger.spent == free.spent == ledger.remaining == math.inf
    charge(ledger, (bound, F(1)))
    with pytest.raises(BudgetError):
        charge(ledger, (bound, F(1, 10)))
    assert bound.spent == 1


def test_a_finite_ledger_refuses_an_infinite_charge():
    ledger = Ledger(1e300)
    with pytest.raises(BudgetError, match="infinity"):
        charge(ledger, (ledger.open("fit", F(1)), math.inf))


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
        Ledger(1).open("fit", math.nan)


# -- the with statement ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _nothing_left_over():
    assert Ledger.current() is None
    yield
    assert Ledger._active == []
    assert processes.VARIABLE not in os.environ
    assert not processes._path(os.getpid()).exists()


def test_the_innermost_ledger_is_current_also_when_one_is_opened_twice():
    with Ledger(1) as a:
        assert Ledger.current() is a
        with Ledger(2) as b:
            assert Ledger.current() is b
            with a:
                assert Ledger.current() is a
            assert Ledger.current() is b
        assert Ledger.current() is a
    assert Ledger.current() is None


def test_a_ledger_closes_after_an_error():
    with pytest.raises(ZeroDivisionError), Ledger(1):
        raise ZeroDivisionError
    assert Ledger.current() is None


def test_a_ledger_is_charged_by_other_threads():
    with Ledger(1) as ledger, ThreadPoolExecutor(4) as pool:
        assert all(found is ledger for found in pool.map(lambda _: Ledger.current(), range(20)))


def test_a_thread_with_a_ledger_of_its_own_charges_that_one():
    opened, checked = threading.Event(), threading.Event()
    found = []

    def elsewhere():
        with Ledger(2) as own:
            opened.set()
            checked.wait()
            found.append(Ledger.current() is own)

    thread = threading.Thread(target=elsewhere)
    with Ledger(1) as mine:
        thread.start()
        opened.wait()
        assert Ledger.current() is mine
        with ThreadPoolExecutor(1) as pool, pytest.raises(BudgetError, match="Several threads"):
            pool.submit(Ledger.current).result()
        checked.set()
        thread.join()
        assert Ledger.current() is mine
    assert found == [True]


def test_concurrent_charges_never_overspend_and_never_lose_one():
    ledger = Ledger(1)
    start = threading.Barrier(8)
    refused, paid = [], []
    switch = sys.getswitchinterval()

    def worker(i):
        start.wait()
        scope = ledger.root.copy()
        for k in range(60):
            amount = F(1 + (i * k) % 7, 997)
            try:
                charge(ledger, (scope.split(2)[k % 2], amount))
                paid.append(amount)
            except BudgetError:
                refused.append(amount)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(worker, range(8)))
    finally:
        sys.setswitchinterval(switch)
    assert refused  # 480 charges of 1 to 7 thousandths are more than there is
    assert ledger.spent <= 1
    assert min(refused) > ledger.remaining
    assert ledger.spent == sum(paid) == add_up(ledger.events)
    assert len(ledger.events) == len(paid)


def test_groups_opened_by_many_threads_at_once_are_all_different():
    ledger = Ledger(math.inf)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _: ledger.root.copy(), range(2000)))
    finally:
        sys.setswitchinterval(switch)
    assert len({scope.path for scope in opened}) == 2000


# -- other processes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_process_is_refused(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with Ledger(1), ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        worker = pool.submit(Ledger.current)
        with pytest.raises(BudgetError, match="process"):
            worker.result()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_that_was_there_before_the_ledger_is_refused_and_free_again_after_it(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(Ledger.current).result() is None
        with Ledger(1):
            worker = pool.submit(Ledger.current)
            with pytest.raises(BudgetError, match="process"):
                worker.result()
        assert pool.submit(Ledger.current).result() is None


def test_joblibs_workers_are_refused_also_when_it_keeps_them():
    joblib = pytest.importorskip("joblib")

    def ask():
        return joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(Ledger.current)() for _ in range(2))

    assert ask() == [None, None]
    with Ledger(1), pytest.raises(BudgetError, match="process"):
        ask()
    assert ask() == [None, None]


def test_a_worker_that_was_started_inside_is_free_after_the_ledger_is_closed():
    """It still has the variable in its environment, but the lock behind it is gone."""
    with Ledger(1):
        inside = dict(os.environ)
    code = "from privet.privacy.ledger import Ledger; Ledger.current()"
    assert processes.VARIABLE in inside
    subprocess.run([sys.executable, "-c", code], env=inside, check=True)


def test_a_file_left_by_a_process_that_was_killed_refuses_nobody():
    path = processes._path(os.getppid())
    path.touch()
    try:
        assert Ledger.current() is None
    finally:
        path.unlink()


@pytest.mark.parametrize("unlocked", ["no fcntl", "no folder"])
def test_without_locks_the_environment_still_refuses(monkeypatch, tmp_path, unlocked):
    if unlocked == "no fcntl":
        monkeypatch.setattr(processes, "fcntl", None)
    else:
        monkeypatch.setattr(processes.tempfile, "gettempdir", lambda: str(tmp_path / "missing"))
    code = "from privet.privacy.ledger import Ledger; Ledger.current()"
    with Ledger(1) as ledger:
        assert Ledger.current() is ledger
        inside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "BudgetError" in inside.stderr
    assert Ledger.current() is None


def test_a_plain_subprocess_is_refused_only_while_the_ledger_is_open():
    code = "from privet.privacy.ledger import Ledger; Ledger.current()"
    with Ledger(1):
        inside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    outside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert inside.returncode == 1
    assert "BudgetError" in inside.stderr
    assert outside.returncode == 0


def test_a_worker_that_opened_and_closed_its_own_ledger_is_still_refused():
    code = """if True:
        from privet.privacy.ledger import Ledger
        with Ledger(1) as own:
            assert Ledger.current() is own
        Ledger.current()
    """
    with Ledger(1):
        worker = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert worker.returncode == 1
    assert worker.stderr.strip().splitlines()[-1].startswith("privet.errors.BudgetError")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_refused_even_if_a_thread_was_charging_at_the_fork():
    """The child inherits a lock that nobody will release; it must not wait for it."""
    ledger = Ledger(1)
    held, done = threading.Event(), threading.Event()

    def hold():
        with ledger.root._lock:
            held.set()
            done.wait()

    def child():
        code = 0
        for question in (lambda: charge(ledger, (ledger.root, F(1, 2))), lambda: ledger.open("fit", F(1, 2))):
            try:
                question()
            except BudgetError:
                code += 1
        os._exit(code)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)  # a hang ends the test, no more
    if process.exitcode is None:
        process.kill()
    done.set()
    thread.join()
    assert process.exitcode == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_may_open_its_own_ledger_and_leave_both():
    def child():
        try:
            with Ledger(2) as own:
                good = Ledger.current() is own
        finally:
            outer.__exit__(None, None, None)
        os._exit(0 if good else 1)

    with Ledger(1) as outer:
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
    assert process.exitcode == 0


def test_an_event_keeps_the_path_that_the_receipt_adds_up():
    ledger = Ledger(1)
    node = ledger.open("fit", F(1)).split(2)[1].copy().split(3, "parts")[2]
    assert node.path == "/fit0:0/split0:1/copy0:0/parts0:2"
    charge(ledger, (node, F(1, 4)))
    assert ledger.events == [replace(event(node, F(1, 4)), scope=node.path)]


def test_a_limit_that_is_a_float_binds_as_it_is_written():
    ledger = Ledger(math.inf)
    scope = ledger.root.copy("fit", 0.3)
    assert (scope.limit, scope.remaining) == (F(3, 10), F(3, 10))
    charge(ledger, (scope, F(2, 10)))
    with pytest.raises(BudgetError):
        charge(ledger, (scope, F(2, 10)))
