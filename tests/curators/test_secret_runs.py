"""Runs whose number is secret: one charge, exact losses on tiny tables, and nothing of the runs that did not win."""

import contextlib
import warnings
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pandas
import pytest

from algorithms.test_held_out import OneLabel
from privacy.test_random_stopping import law_of_best
from privet import Ledger, MemoryCurator, PrivateSearch
from privet.audit.exact import outputs
from privet.curators.secret_runs import best_of_secret_runs
from privet.errors import BudgetError
from privet.questions.tally import Tally
from tiny_tables import CASES, kinds_of

F = Fraction


def law_of_run(case, table, budget):
    """The chance of every (model, score) that one run of a search may come to."""
    schema, search = CASES[case], PrivateSearch(candidates=[OneLabel()])

    def run(mechanisms):
        X = pandas.DataFrame({name: [record[i] for record in table] for i, name in enumerate(schema.names)})
        y = [record[-1] for record in table]
        desk = MemoryCurator(X, y, schema, ledger=Ledger(budget), mechanisms=mechanisms).open()
        (_, _, grown), score = search._run(desk, desk.gather(), 0)
        return grown.nodes[0].label, score

    return outputs(run, (0, 1))


@pytest.mark.parametrize("case", ["one category"])
def test_the_best_of_secret_runs_loses_no_more_than_epsilon(case):
    """Epsilon 3: one run loses at most 1, and the best of fifty on average no more than 3 but more than 1."""
    kinds, losses = kinds_of(case), []
    for table in combinations_with_replacement(kinds[:2], 1):
        laws = [law_of_run(case, own, F(1)) for own in (table, (*table, kinds[-1]))]
        scores = sorted({score for law in laws for _, score in law})
        models = sorted({model for law in laws for model, _ in law})
        runs = [np.array([[np.exp(law.get((m, q), -np.inf)) for q in scores] for m in models]) for law in laws]
        seen = (runs[0] > 0) & (runs[1] > 0)
        assert ((runs[0] > 0) == (runs[1] > 0)).all()
        one = np.abs(np.log(runs[0][seen] / runs[1][seen])).max()
        best = [law_of_best(run, 0.02)[seen] for run in runs]
        losses.append((one, np.abs(np.log(best[0] / best[1])).max()))
    assert max(one for one, _ in losses) <= 1 + 1e-9
    assert 0.5 < max(all_runs for _, all_runs in losses) <= 3 + 1e-9


def desk_of(ledger, n=100):
    X = pandas.DataFrame({"s": ["a", "b"] * (n // 2)})
    return MemoryCurator(X, ["n"] * n, CASES["one category"], ledger=ledger).open()


def counted(desk, node, option):
    """A run that asks for a noisy number of records, which is its score, too."""
    root = desk.root(F(1), within=node)
    n = int(desk.tally({root: Tally(by_class=False)}, F(1))[root][0])
    return (option, n), n


def test_all_runs_are_one_event_of_the_ledger():
    ledger = Ledger(3)
    desk = desk_of(ledger)
    option, n = best_of_secret_runs(desk, F(3), 20, 5, counted)
    assert option in range(5)
    assert abs(n - 100) < 60
    (event,) = desk.events
    assert (event.mechanism, event.sensitivity, event.charged) == ("random_stopping", 3, 3)
    assert event.cost <= 3
    assert ledger.spent == 3


def test_a_run_cannot_spend_more_than_its_third():
    def greedy(desk, node, option):
        return None, int(desk.tally({desk.root(F(2), within=node): Tally(by_class=False)}, F(2)))

    with pytest.raises(BudgetError):
        best_of_secret_runs(desk_of(Ledger(3)), F(3), 5, 1, greedy)


def test_what_is_not_left_is_refused_before_a_run():
    ran = []
    desk = desk_of(Ledger(1))
    with pytest.raises(BudgetError):
        best_of_secret_runs(desk, F(3), 5, 1, lambda *asked: ran.append(asked))
    assert not ran


def test_a_run_that_fails_loses_and_is_told_of_only_if_all_others_do():
    """An error that ended the others would tell that there was this run."""
    for bad in range(8):
        runs = iter(range(1000))

        def run(*_, bad=bad, runs=runs):
            if (number := next(runs)) == bad:
                raise ValueError("SECRET")
            return number, 10 - number

        if bad:
            assert best_of_secret_runs(desk_of(Ledger(3), 2), F(3), 30, 1, run) == 0
        else:
            with contextlib.suppress(ValueError):  # there may be one run alone
                assert best_of_secret_runs(desk_of(Ledger(3), 2), F(3), 30, 1, run) == 1


def test_the_largest_score_wins():
    scores = iter(range(1000))
    drawn = [best_of_secret_runs(desk_of(Ledger(3), 2), F(3), 30, 1, lambda *_: (s := next(scores), s)) for _ in (1, 2)]
    assert drawn[0] < drawn[1]  # the last run has the largest number


def test_no_warning_counts_the_runs():
    def warns(desk, node, option):
        warnings.warn("a run", UserWarning, stacklevel=1)
        return counted(desk, node, option)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        best_of_secret_runs(desk_of(Ledger(3)), F(3), 20, 5, warns)
    assert told == []
