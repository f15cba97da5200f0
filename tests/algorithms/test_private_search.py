"""A private choice among models costs epsilon once, and the winner is a model as any other."""

from fractions import Fraction

import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier, is_regressor

import privet
from algorithms.test_held_out import HoldingOut, OneLabel
from privet import (
    BudgetError,
    CapabilityError,
    Categorical,
    HistogramTreeClassifier,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateSearch,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    PrivetError,
    Schema,
    SchemaError,
    TopDownClassifier,
)
from privet.audit import Pair, exact_bound
from privet.curators.desk import Desk, capabilities_of
from privet.privacy.event import add_up
from privet.privacy.zcdp import rho_within
from rooms import hold
from tiny_tables import worst_loss

SCHEMA = Schema({"x": Numeric(0, 1), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
NUMBER = Schema({"x": Numeric(0, 1)}, target=(0, 1))
RNG = np.random.default_rng(0)
X = pandas.DataFrame({"x": RNG.random(6000), "s": RNG.choice(["a", "b"], 6000)})
Y = np.where((X["x"] > 0.5) ^ (X["s"] == "a"), "y", "n")  # one split says nothing
GOOD, BAD = PrivateTreeClassifier(max_depth=3), PrivateTreeClassifier(max_depth=1)


# -- the guarantee -----------------------------------------------------------------------------------------------------


def test_no_transcript_of_a_search_is_more_than_epsilon_apart():
    search = PrivateSearch(candidates=[OneLabel(), OneLabel()], epsilon=1.0)
    assert worst_loss("one class", search, 2, (0, 1)) <= 1 + 1e-9
    assert worst_loss("integers", search, 1, (0, 1)) <= 1 + 1e-9


@pytest.mark.slow
def test_no_transcript_of_a_search_with_a_score_is_more_than_epsilon_apart():
    search = PrivateSearch(candidates=[OneLabel(), OneLabel()], epsilon=1.0)
    assert worst_loss("integers", HoldingOut(search, holdout=0.5), 1, (0, 1)) <= 1 + 1e-9


def test_an_audit_of_a_search_finds_no_more_than_epsilon():
    small = Schema({"a": Categorical([0, 1], other=False)}, classes=[0, 1])
    pair = Pair(([[0]], [0]), ([[0], [1]], [0, 1]), small)
    bound = exact_bound(PrivateSearch(candidates=[OneLabel(), OneLabel()], epsilon=1.0), pair)
    assert bound.epsilon <= 1


def test_a_choice_on_the_records_that_were_tried_would_be_caught(monkeypatch):
    monkeypatch.setattr(Desk, "parts", lambda self, node, shares: [node] * len(shares))
    search = PrivateSearch(candidates=[OneLabel(), OneLabel()], epsilon=1.0, trial=0.9)
    assert worst_loss("integers", search, 2, (0, 1)) > 1.05


def test_no_transcript_of_a_search_by_noisy_tables_is_more_than_epsilon_apart(monkeypatch):
    """What owners do, none of whom can choose."""
    monkeypatch.setattr("privet.curators.desk.capabilities_of", lambda room: capabilities_of(room) - {"prefer"})
    search = PrivateSearch(candidates=[OneLabel(), OneLabel()], epsilon=1.0)
    assert 0.01 < worst_loss("one class", search, 1, (0, 1)) <= 1 + 1e-9


@pytest.mark.parametrize("holdout", [None, 0.2])
@pytest.mark.parametrize("best", [0, 1])
def test_with_a_delta_the_search_reserves_what_epsilon_and_delta_come_to(holdout, best):
    """Candidates spend rho (boosting) or epsilon (a tree): either way a ledger for both is enough."""
    candidates = [PrivateForestClassifier(method="boosting", progress=False), PrivateTreeClassifier(max_depth=2)]
    with Ledger(4, delta=1e-6) as ledger:
        search = PrivateSearch(SCHEMA, candidates=candidates[:: 1 - 2 * best], epsilon=4, delta=1e-6)
        search.fit(X, Y, holdout=holdout)
    receipt = search.privacy_
    assert search.verify()
    assert search.best_estimator_.verify()
    assert receipt.at_delta == receipt.delta == Fraction(1, 10**6)
    assert receipt.reserved == rho_within(Fraction(4), Fraction(1, 10**6))
    assert receipt.epsilon <= 4
    assert add_up(receipt.events) <= receipt.reserved
    assert ledger.spent <= 4
    choice = next(event for event in receipt.events if event.question == "choose a model")
    assert choice.mechanism == "exponential"
    assert choice.charged == receipt.reserved * Fraction(3, 10)


def test_the_winner_of_a_search_with_a_delta_is_a_model_file(tmp_path):
    candidates = [PrivateForestClassifier(method="boosting", progress=False), PrivateTreeClassifier(max_depth=2)]
    for own in candidates:
        PrivateSearch(SCHEMA, candidates=[own], epsilon=4, delta=1e-6).fit(X, Y, holdout=0.2).save(
            tmp_path / "m.json", overwrite=True
        )
        assert privet.load(tmp_path / "m.json").verify()


def test_owners_choose_by_noisy_tables():
    pytest.importorskip("cryptography")
    from privet.consortium.federated.channel import in_process
    from privet.consortium.federated.curator import federated_curator

    y = np.where((X["x"] > 0.5) & (X["s"] == "a"), "y", "n")  # one split has three in four right, two have all
    owners = [(X[i::3], y[i::3]) for i in range(3)]
    candidates = [HistogramTreeClassifier(max_depth=1), HistogramTreeClassifier(max_depth=2)]
    curator = federated_curator(SCHEMA, in_process(owners, SCHEMA, limit=20), ledger=Ledger(20))
    search = PrivateSearch(candidates=candidates, epsilon=20).fit_curator(curator, holdout=0.2)
    assert search.best_index_ == 1
    assert curator.ledger.spent == search.privacy_.spent == 20
    assert search.verify()
    assert search.evaluation_.accuracy.value > 0.9
    boosting = PrivateForestClassifier(method="boosting")  # which owners cannot answer
    curator = federated_curator(SCHEMA, in_process(owners, SCHEMA, limit=20), ledger=Ledger(20))
    with pytest.raises(CapabilityError):
        PrivateSearch(candidates=[*candidates, boosting], epsilon=20).fit_curator(curator)
    assert curator.ledger.spent == 0


def test_who_needs_much_budget_to_shine_is_tried_with_more():
    candidates = [PrivateForestClassifier(method="boosting", progress=False), GOOD, BAD]
    receipt = PrivateSearch(SCHEMA, candidates=candidates, epsilon=8).fit(X, Y).privacy_
    paths = [f"/fit0:0/parts0:0/fit{i}:0/" for i in range(3)]
    spent = [add_up([own for own in receipt.events if f"{own.scope}/".startswith(path)]) for path in paths]
    assert spent == [Fraction(24, 10) * share / 8 for share in (6, 1, 1)]


@pytest.mark.parametrize("holdout", [None, 0.2])
def test_the_whole_search_spends_epsilon_once(holdout):
    with Ledger(2) as ledger:
        search = PrivateSearch(SCHEMA, candidates=[GOOD, BAD, TopDownClassifier()], epsilon=1).fit(
            X, Y, holdout=holdout
        )
    assert ledger.spent == search.privacy_.spent == search.best_estimator_.privacy_.spent == 1
    assert search.verify()
    assert search.best_estimator_.verify()
    questions = [event.question for event in search.privacy_.events]
    assert questions.count("choose a model") == 1
    assert ("evaluate" in questions) == (holdout is not None)


# -- what it chooses ---------------------------------------------------------------------------------------------------


def test_the_better_candidate_wins():
    for candidates, best in (([GOOD, BAD], 0), ([BAD, GOOD], 1)):
        search = PrivateSearch(SCHEMA, candidates=candidates, epsilon=20, random_state=1).fit(X, Y, holdout=0.2)
        assert search.best_index_ == best
        assert search.score(X, Y) > 0.95
        assert search.evaluation_.accuracy.value > 0.9
        assert (search.predict(X) == search.best_estimator_.predict(X)).all()
        assert search.classes_.tolist() == ["n", "y"]


def test_boosted_candidates_begin_anew():
    """Trials of one kind leave no scores behind for the next."""
    boosted = PrivateForestClassifier(method="boosting", progress=False)
    y = np.where(X["x"] > 0.5, "y", "n")
    search = PrivateSearch(SCHEMA, candidates=[boosted, clone(boosted)], epsilon=20, random_state=1).fit(X, y)
    assert search.score(X, y) > 0.95
    assert search.predict_proba(X).shape == (6000, 2)


def test_numbers_are_chosen_by_how_close_they_are():
    y = (X["x"] > 0.7).astype(float)
    candidates = [PrivateTreeRegressor(max_depth=1), PrivateForestRegressor(n_trees=2, max_depth=1)]
    search = PrivateSearch(NUMBER, candidates=candidates, epsilon=10, random_state=0).fit(X[["x"]], y, holdout=0.2)
    assert search.verify()
    assert search.evaluation_.mean_absolute_error.value < 0.2
    assert {event.lemma for event in search.privacy_.events if event.question == "choose a model"} == {"worth(256)"}


def test_the_winner_is_saved_with_the_receipt_of_the_search(tmp_path):
    search = PrivateSearch(SCHEMA, candidates=[GOOD, BAD], epsilon=2).fit(X, Y, holdout=0.2)
    search.save(tmp_path / "winner.json")
    again = privet.load(tmp_path / "winner.json")
    assert again.privacy_ == search.privacy_
    assert str(again.evaluation_) == str(search.evaluation_)
    said = str(search.best_estimator_.chosen_)
    assert str(again.chosen_) == said
    assert said.count("PrivateTreeClassifier(") + said.count("TopDownClassifier(") == 2
    assert "A private choice took" in search._repr_html_()
    assert "A private choice took" in again._repr_html_()
    assert (again.predict(X) == search.predict(X)).all()
    assert not hasattr(again.fit(X, Y), "chosen_")  # another fit draws other noise, and nothing was chosen for it


def test_hints_are_scaled_to_the_part_that_tries():
    search = PrivateSearch(SCHEMA, candidates=[PrivateTreeClassifier(n_records=6000)], epsilon=1).fit(X, Y)
    assert search.best_estimator_.n_records == 6000
    assert search.candidates[0].n_records == 6000


def test_scikit_learn_sees_what_it_is():
    assert is_classifier(PrivateSearch(candidates=[GOOD]))
    assert is_regressor(PrivateSearch(candidates=[PrivateTreeRegressor()]))
    assert len(clone(PrivateSearch(candidates=[GOOD, BAD])).candidates) == 2


# -- random stopping ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("holdout", [None, 0.2])
def test_the_best_of_secret_runs_is_one_event_and_a_model_as_any_other(holdout, tmp_path):
    candidates = [BAD, GOOD, PrivateForestClassifier(method="boosting", n_records=6000)]
    with Ledger(20) as ledger:
        search = PrivateSearch(SCHEMA, candidates=candidates, epsilon=20, method="random_stopping", expected_runs=40)
        search.fit(X, Y, holdout=holdout)
    assert ledger.spent == search.privacy_.spent == 20
    assert search.verify()
    learned = [event for event in search.privacy_.events if not event.scope.startswith("/fit0:0/parts0:1")]
    assert [event.mechanism for event in learned] == ["random_stopping"]
    assert search.best_estimator_.n_records in (None, 6000)
    search.save(tmp_path / "winner.json")
    again = privet.load(tmp_path / "winner.json")
    assert again.verify()
    assert (again.predict(X) == search.predict(X)).all()


def test_the_best_run_wins():
    """That none of forty runs, on average, takes the good one of two happens one time in forty: the seed is fixed."""
    search = PrivateSearch(
        SCHEMA, candidates=[BAD, GOOD], epsilon=30, method="random_stopping", expected_runs=40, random_state=3
    ).fit(X, Y)
    assert search.best_index_ == 1
    assert search.score(X, Y) > 0.95


@pytest.mark.parametrize("room", ["duckdb", "dask"])
def test_where_others_would_see_how_many_runs_there_are_a_search_says_what_to_do(room):
    with Ledger(1) as ledger:
        curator = hold(room, X[:50], Y[:50], SCHEMA)(ledger=ledger)
        search = PrivateSearch(candidates=[GOOD], epsilon=1, method="random_stopping")
        with pytest.raises(CapabilityError, match=r"would see how often: .* Take method='trials', or learn from"):
            search.fit_curator(curator)
    assert ledger.spent == 0


def test_random_stopping_is_for_pure_epsilon_and_records_in_one_place():
    with Ledger(1, delta=1e-6) as ledger, pytest.raises(PrivetError, match="pure epsilon"):
        PrivateSearch(SCHEMA, candidates=[GOOD], epsilon=1, delta=1e-6, method="random_stopping").fit(X, Y)
    assert ledger.spent == 0
    needs = PrivateSearch(candidates=[GOOD], method="random_stopping")._needs(frozenset({"evaluate", "prefer"}))
    assert "secret_runs" in needs


# -- refusals, before anything is spent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidates", "error"),
    [
        ([], PrivetError),
        ([GOOD, "tree"], PrivetError),
        ([GOOD, PrivateTreeRegressor()], PrivetError),
        ([PrivateTreeRegressor()], SchemaError),
        ([PrivateTreeClassifier(max_depth=-1)], PrivetError),
        ([TopDownClassifier(variant="published")], PrivetError),
        ([PrivateForestClassifier(delta=1e-6)], PrivetError),
        ([PrivateSearch(candidates=[GOOD])], PrivetError),
    ],
)
def test_candidates_that_make_no_sense_spend_nothing(candidates, error):
    with Ledger(1) as ledger, pytest.raises(error):
        PrivateSearch(SCHEMA, candidates=candidates, epsilon=1).fit(X, Y)
    assert ledger.spent == 0


def test_with_a_delta_a_candidate_says_what_it_spends():
    with Ledger(1, delta=1e-6) as ledger, pytest.raises(PrivetError, match="boosting"):
        PrivateSearch(SCHEMA, candidates=[PrivateForestClassifier()], epsilon=1, delta=1e-6).fit(X, Y)
    assert ledger.spent == 0
    with Ledger(1) as ledger, pytest.raises(BudgetError, match="delta"):
        PrivateSearch(SCHEMA, candidates=[GOOD], epsilon=1, delta=1e-6).fit(X, Y)
    assert ledger.spent == 0


def test_too_little_budget_or_a_curator_that_cannot_is_refused_first(monkeypatch):
    with Ledger(0.5) as ledger, pytest.raises(BudgetError):
        PrivateSearch(SCHEMA, candidates=[GOOD], epsilon=1).fit(X, Y)
    assert ledger.spent == 0
    curator, plain = MemoryCurator(X, Y, SCHEMA, ledger=Ledger(1)), MemoryCurator.open

    def open_without(self):
        desk = plain(self)
        desk.capabilities -= {"prefer", "evaluate"}
        return desk

    monkeypatch.setattr(MemoryCurator, "open", open_without)
    with pytest.raises(CapabilityError, match="evaluate"):
        PrivateSearch(candidates=[GOOD], epsilon=1).fit_curator(curator)
    assert curator.ledger.spent == 0
