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
from fractions import Fraction

import numpy as np
import pytest

from charges import charge, event
from privet import Numeric, PrivateTreeClassifier, Schema, disk
from privet.errors import BudgetError
from privet.privacy import processes
from privet.privacy.amounts import exact
from privet.privacy.event import add_up
from privet.privacy.ledger import Ledger
from privet.privacy.unit import Unit

F = Fraction


# -- totals --------------------------------------------------------------------------------------------


def test_three_parts_of_three_tenths_spend_exactly_three_tenths():
    ledger = Ledger(0.3)
    for _ in range(3):
        charge(ledger, (ledger.begin("fit", exact(0.1)), exact(0.1)))
    assert ledger.spent == F(3, 10)
    assert ledger.remaining == 0
    with pytest.raises(BudgetError, match="left"):
        ledger.begin("fit", F(1, 10**30))


# -- units ---------------------------------------------------------------------------------------------

PATIENT = Unit("patient_id", 20)


def test_a_ledger_takes_the_unit_of_its_first_fit_and_refuses_another():
    ledger = Ledger(1)
    assert ledger.unit == ""
    charge(ledger, (ledger.begin("fit", F(1, 2), unit=PATIENT), F(1, 2)))
    assert ledger.unit == "one person (column 'patient_id')"
    for other in (Unit(), Unit("doctor", 20)):
        with pytest.raises(BudgetError, match="patient_id"):
            ledger.begin("fit", F(1, 4), unit=other)
    ledger.begin("fit", F(1, 4), unit=Unit("patient_id", 5))  # another cap covers the same persons
    assert Ledger(1, unit=PATIENT).unit == ledger.unit


def test_a_refused_fit_gives_a_ledger_no_unit():
    outer, inner = Ledger(1, unit=PATIENT), Ledger(1)
    with outer, inner:
        with pytest.raises(BudgetError, match="patient_id"):
            inner.begin("fit", F(1, 2))
        with pytest.raises(BudgetError, match="left"):
            inner.begin("fit", F(2), unit=PATIENT)
        assert inner.unit == ""
        inner.begin("fit", F(1, 2), unit=PATIENT)
        assert inner.unit == outer.unit


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


# -- ledgers inside ledgers -----------------------------------------------------------------------------------


def test_a_nested_ledger_charges_all_that_enclose_it():
    with Ledger(3) as outer, Ledger(2) as middle, Ledger(1) as inner:
        fit = inner.begin("fit", F(1))
    left, right = fit.split(2)
    charge(inner, (fit, F(1, 8)), (left, F(1, 4)), (right, F(1, 2)), (left.copy(), F(1, 8)))
    for ledger in (outer, middle, inner):
        assert ledger.spent == add_up(ledger.events) == F(5, 8)
        assert len(ledger.events) == 4


def test_a_fit_that_an_enclosing_ledger_cannot_afford_is_refused_before_it_starts():
    with Ledger(F(1, 10)) as outer, Ledger(100) as inner:
        with pytest.raises(BudgetError, match=r"a ledger around it has 0\.1 left"):
            inner.begin("fit", F(50))
        with pytest.raises(BudgetError, match="around"):
            inner.afford(F(50))
        inner.afford(F(1, 10))
    assert outer.spent == inner.spent == 0


def test_a_charge_that_an_enclosing_ledger_refuses_is_charged_nowhere():
    with Ledger(1) as outer, Ledger(100) as inner:
        first, second = inner.begin("fit", F(1)), inner.begin("fit", F(1))
        charge(inner, (first, F(3, 4)))
        with pytest.raises(BudgetError, match=r"where 0\.125 is left"):
            charge(inner, (second, F(1, 8)), (second, F(1, 2)))
        assert second.remaining == F(1, 4)
        charge(inner, (second, F(1, 4)))
    assert outer.spent == inner.spent == 1
    assert len(outer.events) == len(inner.events) == 2


def test_a_ledger_stays_part_of_those_it_was_opened_in():
    """A curator keeps its ledger when the with statement is over, so the ledgers around it are kept, too."""
    with Ledger(1) as outer, Ledger(1) as inner:
        pass
    charge(inner, (inner.begin("fit", F(1, 2)), F(1, 2)))
    assert outer.spent == F(1, 2)
    charge(outer, (outer.begin("fit", F(1, 2)), F(1, 2)))
    with inner, pytest.raises(BudgetError, match="around"):
        inner.begin("fit", F(1, 2))


def test_a_ledger_opened_inside_itself_is_charged_once_and_with_what_is_between():
    with Ledger(1) as a, Ledger(1) as b, a:
        charge(a, (a.begin("fit", F(1, 2)), F(1, 2)))
    assert (a.spent, b.spent) == (F(1, 2), F(1, 2))
    charge(a, (a.begin("fit", F(1, 4)), F(1, 4)))  # a is no part of b
    assert (a.spent, b.spent) == (F(3, 4), F(1, 2))


def test_ledgers_that_were_opened_inside_each_other_do_not_wait_for_each_other():
    with Ledger(100) as a, Ledger(100) as b:
        pass
    with b, a:
        pass

    def work(ledger):
        for _ in range(200):
            charge(ledger, (ledger.begin("fit", F(1, 10)).split(2)[1], F(1, 10)))

    threads = [threading.Thread(target=work, args=(ledger,), daemon=True) for ledger in (a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert a.spent == b.spent == add_up(a.events) == 40


def test_a_pure_fit_is_charged_in_rho_to_a_ledger_with_a_delta_around_it():
    with Ledger(1, delta=1e-6) as outer, Ledger(1) as inner:
        fit = inner.begin("fit", F(1))
        charge(inner, (fit, F(1, 10)), (fit, F(1, 10)))
    assert (inner.spent, outer.root.spent) == (F(1, 5), F(1, 100))
    assert add_up(outer.events) == F(1, 100)
    with pytest.raises(BudgetError, match="in rho"):
        charge(inner, (fit, F(3, 10)))
    assert (inner.spent, outer.root.spent) == (F(1, 5), F(1, 100))


def test_a_pure_fit_in_a_ledger_with_a_delta_is_charged_in_epsilon_to_a_pure_one_around_it():
    with Ledger(1) as outer, Ledger(1, delta=1e-6) as inner:
        fit = inner.begin("fit", F(1, 2))
        charge(inner, (fit.split(2)[0], F(1, 10)))
    assert (fit.spent, inner.root.spent, outer.spent) == (F(1, 10), F(1, 200), F(1, 10))
    assert add_up(inner.events) == add_up(outer.events) == F(1, 10)


def test_a_fit_with_a_delta_is_refused_where_a_pure_ledger_is_around_it():
    with Ledger(1) as outer, Ledger(1, delta=1e-6) as inner:
        for refused in (lambda: inner.begin("fit", F(1, 1000), "rho"), lambda: inner.afford(F(1, 1000))):
            with pytest.raises(BudgetError, match="a ledger around it has none"):
                refused()
    assert outer.spent == inner.spent == 0


def test_rho_is_charged_to_ledgers_of_other_deltas():
    with Ledger(2, delta=1e-9) as outer, Ledger(1, delta=1e-6) as inner:
        fit = inner.begin("fit", F(1, 100), "rho")
        charge(inner, (fit, F(1, 200)))
        with pytest.raises(BudgetError, match="left"):
            inner.begin("fit", F(1), "rho")
    assert outer.root.spent == inner.root.spent == F(1, 200)


def test_a_sample_counts_for_less_in_every_ledger():
    with Ledger(1) as outer, Ledger(1) as inner:
        charge(inner, (inner.begin("fit", F(1)).sample(5), F(1)))
    assert outer.spent == inner.spent == add_up(outer.events) < F(3, 10)
    with Ledger(1, delta=1e-6), Ledger(1) as pure, pytest.raises(BudgetError, match="sample"):
        pure.begin("fit", F(1)).sample(5)


def test_a_ledger_of_another_thread_encloses_nothing():
    with Ledger(1) as mine, ThreadPoolExecutor(1) as pool:

        def elsewhere():
            with Ledger(1) as own:
                charge(own, (own.begin("fit", F(1)), F(1)))

        pool.submit(elsewhere).result()
    assert mine.spent == 0


def test_fits_charge_every_ledger_around_them():
    schema = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
    X, y = np.linspace(0, 1, 200)[:, None], ["no", "yes"] * 100
    with Ledger(F(1, 10)) as outer, Ledger(100) as inner:
        with pytest.raises(BudgetError, match="around"):
            PrivateTreeClassifier(schema, epsilon=50).fit(X, y)
        assert outer.spent == inner.spent == 0
        receipt = PrivateTreeClassifier(schema, epsilon=0.1).fit(X, y).privacy_
    assert receipt.verify()
    assert outer.spent == inner.spent == receipt.spent == F(1, 10)


# -- limits only fall ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amount", [-1000, F(-1, 10**9), math.inf, -math.inf, math.nan, 0.5, "1", None, True])
def test_what_is_withheld_cannot_raise_a_limit(amount):
    ledger = Ledger(1)
    with pytest.raises(BudgetError):
        ledger.withhold(amount)
    assert ledger.remaining == 1


def test_what_is_withheld_is_not_left():
    ledger = Ledger(1)
    ledger.withhold(F(3, 4))
    assert ledger.remaining == F(1, 4)
    with pytest.raises(BudgetError):
        charge(ledger, (ledger.root, F(1, 2)))


def test_a_total_is_lowered_and_never_raised():
    ledger = Ledger(math.inf)
    charge(ledger, (ledger.root, F(2)))
    for total, left in ((3, 1), (1000, 1), (math.inf, 1), (1, 0)):
        ledger.lower(total)
        assert ledger.remaining == left
    with pytest.raises(BudgetError):
        charge(ledger, (ledger.root, F(1, 1000)))
    with pytest.raises(BudgetError):
        ledger.lower(-1)


def test_a_total_is_lowered_in_the_ledgers_currency():
    ledger = Ledger(math.inf, delta=1e-6)
    ledger.lower(1)
    assert ledger.root.limit == Ledger(1, delta=1e-6).root.limit


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
        monkeypatch.setattr(disk, "fcntl", None)
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
        with ledger.book.lock:
            held.set()
            done.wait()

    def child():
        code = 0
        for question in (lambda: charge(ledger, (ledger.root, F(1, 2))), lambda: ledger.begin("fit", F(1, 2))):
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
    node = ledger.begin("fit", F(1)).split(2)[1].copy().split(3, "parts")[2]
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
