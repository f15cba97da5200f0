"""The ensemble: accurate, pure or with a delta as asked, readable, and made of released numbers alone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import privet
from privet import Categorical, Ledger, MemoryCurator, Numeric, PrivateForestClassifier, Schema
from privet.errors import BudgetError, PrivetError, SchemaError
from privet.privacy.event import add_up
from privet.privacy.zcdp import epsilon_at, rho_within
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.tree import Tree, TreeNode

SCHEMA = Schema(
    {"x": Numeric(0, 10), "when": Numeric(0, 5, missing=True), "town": Categorical(["a", "b", "c"])},
    classes=["no", "yes"],
    label="y",
)


def table(n=4_000, n_classes=2, seed=0):
    """The first feature and the town decide, with some noise; the second says nothing."""
    rng = np.random.default_rng(seed)
    x, when, town = rng.uniform(0, 10, n), rng.uniform(0, 5, n), rng.integers(3, size=n)
    when[rng.random(n) < 0.1] = np.nan
    score = x - 5 + 2 * (town == 2) + rng.normal(0, 1, n)
    labels = np.digitize(score, [0] if n_classes == 2 else [-2, 2])
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = x, when, np.array(["a", "b", "c"])[town]
    return X, np.array(["no", "yes", "often"])[labels]


THREE = Schema(dict(SCHEMA.features), classes=["no", "yes", "often"], label="y")
X, Y = table()


def forest(**options):
    return PrivateForestClassifier(SCHEMA, **{"epsilon": 5, "random_state": 1, "progress": False, **options})


# -- accuracy and method ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}, {"method": "trees"}, {"method": "trees", "n_trees": 5}])
def test_it_learns(options):
    model = forest(**options).fit(X, Y)
    assert model.score(*table(seed=1)) > 0.83  # noise in the labels: about 0.88 is the most


def test_boosting_has_probabilities_that_rank():
    model = forest(method="boosting", delta=1e-6).fit(X, Y)
    other, labels = table(seed=1)
    chances = model.predict_proba(other)
    assert np.allclose(chances.sum(axis=1), 1)
    assert roc_auc_score(labels == "yes", chances[:, 1]) > 0.93
    assert (model.predict(other) == model.classes_[chances.argmax(axis=1)]).all()


def test_trees_vote_with_their_probabilities():
    model = forest(method="trees", n_trees=3).fit(X, Y)
    assert len(np.unique(model.predict_proba(X)[:, 0])) > 4  # as many as counting hands would give
    leaves = [TreeNode(label=1, counts=(48, 52)), TreeNode(label=1, counts=(48, 52)), TreeNode(label=0, counts=(9, 0))]
    model.forest_ = Forest(SCHEMA, tuple(Tree(SCHEMA, (leaf,)) for leaf in leaves))
    assert model.predict_proba(X[:1])[0].tolist() == pytest.approx([1.96 / 3, 1.04 / 3])
    assert model.predict(X[:1]) == ["no"]


def test_three_classes_are_boosted_in_turns():
    rows, labels = table(n_classes=3)
    model = PrivateForestClassifier(THREE, epsilon=20, method="boosting", random_state=0, progress=False)
    model.fit(rows, labels)
    assert model.score(*table(n_classes=3, seed=1)) > 0.75
    assert model.forest_.n_outputs == 3
    # The columns are those of classes_, sorted, whatever the schema's order.
    assert model.classes_.tolist() == ["no", "often", "yes"]
    assert (model.predict(rows) == model.classes_[model.predict_proba(rows).argmax(axis=1)]).all()


@pytest.mark.parametrize(
    ("n_records", "epsilon", "delta", "kind"),
    [
        (1_000, 1, None, Forest),
        (100_000, 1, None, Additive),
        (1_000, 1, 1e-6, Forest),
        (10_000, 1, 1e-6, Additive),
    ],
)
def test_the_method_follows_from_the_public_number_of_records(n_records, epsilon, delta, kind):
    model = forest(epsilon=epsilon, delta=delta, n_records=n_records).fit(X[:200], Y[:200])
    assert isinstance(model.forest_, kind)


def test_several_trees_are_trees_whatever_the_number_of_records():
    assert len(forest(n_trees=3, n_records=10**6).fit(X, Y).forest_.trees) == 3


# -- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"method": "boosting"}, {"method": "trees", "n_trees": 4}])
def test_without_a_delta_it_is_pure_and_spends_its_epsilon(options):
    receipt = PrivateForestClassifier(SCHEMA, epsilon=0.7, progress=False, **options).fit(X, Y).privacy_
    assert receipt.verify()
    assert (receipt.epsilon, receipt.delta) == (Fraction(7, 10), 0)
    assert all(event.mechanism != "gaussian" for event in receipt.events)


def test_with_a_delta_boosting_says_so_and_verifies():
    receipt = (
        PrivateForestClassifier(SCHEMA, epsilon=0.7, delta=1e-6, method="boosting", progress=False).fit(X, Y).privacy_
    )
    assert receipt.verify()
    assert Fraction(699, 1000) < receipt.epsilon <= Fraction(7, 10)
    assert receipt.delta == Fraction(1, 10**6)
    assert receipt.events[0].mechanism == "geometric"  # the number of records, measured in epsilon
    assert {event.mechanism for event in receipt.events[1:]} == {"exponential", "gaussian"}
    assert "delta 1e-06" in str(receipt)


@pytest.mark.parametrize("options", [{"method": "trees"}, {"n_records": 10}, {}])
def test_a_tree_that_is_grown_although_a_delta_was_allowed_states_the_delta(options):
    """Whether the delta is used follows from the noisy size, so the fit as a whole has it."""
    receipt = forest(delta=1e-6, random_state=None, epsilon=0.1, **options).fit(X[:100], Y[:100]).privacy_
    assert receipt.verify()
    assert (receipt.epsilon, receipt.delta, receipt.at_delta) == (Fraction(1, 10), Fraction(1, 10**6), 0)
    assert all(event.mechanism != "gaussian" for event in receipt.events)


@pytest.mark.parametrize("n", [0, 60, 200])
@pytest.mark.parametrize("holdout", [None, 0.3])
def test_in_a_ledger_with_a_delta_a_forest_that_comes_out_as_a_tree_has_what_it_reserved(n, holdout):
    """A tree of all of epsilon might cost more rho than that, and was refused half grown."""
    with Ledger(1, delta=1e-6) as ledger:
        model = forest(delta=1e-6, random_state=None, epsilon=1, method="auto").fit(X[:n], Y[:n], holdout=holdout)
    assert model.verify()
    assert ledger.spent <= 1
    receipt = model.privacy_
    events = receipt.events if receipt.at_delta else [event.in_rho() for event in receipt.events]
    assert add_up(events) <= rho_within(Fraction(1), Fraction(1, 10**6))
    with Ledger(10, delta=1e-6):  # where it is left, all of epsilon is spent
        assert forest(delta=1e-6, random_state=None, epsilon=1, method="trees").fit(X, Y).privacy_.spent == 1


def test_with_a_delta_each_root_reserves_its_share():
    class Opened(MemoryCurator):
        def open(self):
            self.desk = super().open()
            return self.desk

    curator = Opened(X, Y, SCHEMA, ledger=Ledger(math.inf, delta=1e-6))
    for method in ("boosting", "trees"):
        model = PrivateForestClassifier(epsilon=1, delta=1e-6, method=method, progress=False).fit_curator(curator)
        _, size, grown = (root.scope for root in curator.desk.roots)
        rest = (
            (Fraction(98, 100), "epsilon")
            if method == "trees"
            else (model.privacy_.reserved - size.limit**2 / 2, "rho")
        )
        assert (size.limit, size.currency) == (Fraction(2, 100), "epsilon")
        assert (grown.limit, grown.currency) == rest


def test_a_ledger_with_a_delta_is_shared_by_boosting_and_trees():
    with Ledger(1, delta=1e-6) as ledger:
        forest(epsilon=0.5, delta=1e-6, method="boosting", random_state=None).fit(X, Y)
        after_boosting = ledger.spent
        forest(epsilon=0.1, method="trees", random_state=None).fit(X, Y)
    assert Fraction(1, 2) > after_boosting > Fraction(49, 100)
    # The tree is 0.1-DP, so at most 0.1^2 / 2 in rho, however few of its answers the noise let it ask.
    both = rho_within(Fraction(1, 2), ledger.delta) + Fraction(1, 200)
    assert after_boosting < ledger.spent <= epsilon_at(both, ledger.delta)
    with ledger, pytest.raises(BudgetError):
        forest(epsilon=1, delta=1e-6, method="boosting").fit(X, Y)


def test_a_ledger_without_a_delta_refuses_one_before_anything_is_spent():
    with Ledger(1) as ledger, pytest.raises(BudgetError, match="delta"):
        forest(epsilon=0.5, delta=1e-6).fit(X, Y)
    assert ledger.spent == 0


def test_a_curator_with_a_ledger_of_its_own_is_charged():
    curator = MemoryCurator(X, Y, SCHEMA, ledger=Ledger(1, delta=1e-5))
    model = PrivateForestClassifier(epsilon=1, delta=1e-5, method="boosting", progress=False).fit_curator(curator)
    assert model.privacy_.verify()
    assert Fraction(99, 100) < curator.ledger.spent <= model.privacy_.epsilon <= 1


@pytest.mark.parametrize(
    "options",
    [
        {"method": "bagging"},
        {"n_trees": 0},
        {"max_depth": 0},
        {"n_records": -1},
        {"delta": 0},
        {"delta": 1.5},
        {"epsilon": 0},
        {"method": "boosting", "n_trees": 2},
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_anything_is_spent(options):
    with Ledger(10) as ledger, pytest.raises((PrivetError, BudgetError)):
        forest(**options).fit(X, Y)
    assert ledger.spent == 0


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}, {"n_trees": 3}])
@pytest.mark.parametrize("method", ["auto", "boosting", "trees"])
def test_no_records_and_absent_classes_are_fitted(options, method):
    if method == "boosting" and "n_trees" in options:
        return
    model = forest(method=method, **options).fit(X[:0], Y[:0])
    assert set(model.predict(X[:5])) <= {"no", "yes"}
    only = Y == "yes"
    assert forest(method=method, **options).fit(X[only], Y[only]).predict(X[:5]).shape == (5,)


# -- reading and keeping ------------------------------------------------------------------------------------------


KINDS = [
    {"method": "boosting"},
    {"method": "boosting", "delta": 1e-6},
    {"method": "trees", "n_trees": 3},
    {"method": "trees"},
]


@pytest.mark.parametrize("options", KINDS)
def test_a_saved_model_predicts_the_same(options, tmp_path):
    model = forest(**options).fit(X, Y)
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.privacy_ == model.privacy_
    assert again.export_text() == model.export_text()
    assert np.allclose(again.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize("options", KINDS)
def test_importances_find_the_feature_that_decides(options):
    importances = forest(**options).fit(X, Y).feature_importances_
    assert importances.argmax() == 0
    assert importances.sum() == pytest.approx(1)
    assert importances[1] < 0.15


@pytest.mark.parametrize("options", KINDS)
def test_partial_dependence_rises_where_the_class_becomes_likely(options):
    model = forest(**options).fit(X, Y)
    chances = model.partial_dependence("x", np.linspace(0, 10, 101))
    assert np.allclose(chances.sum(axis=1), 1)
    assert chances[-10:, 1].mean() > chances[:10, 1].mean() + 0.3
    chances = model.partial_dependence("town", ["a", "c", "elsewhere"])
    assert chances[1, 1] >= chances[0, 1]
    with pytest.raises(SchemaError, match="no feature"):
        model.partial_dependence("nothing", [1])


def test_the_text_says_what_each_feature_adds():
    text = forest(method="boosting").fit(X, Y).export_text()
    assert text.startswith("adds to the score of yes\nx (importance")
    assert "town is c: +" in text


@pytest.mark.parametrize("options", [{"method": "boosting"}, {"method": "trees", "n_trees": 5, "n_records": 10**6}])
def test_progress_is_told(options):
    seen = []
    forest(progress=lambda share, note: seen.append(share), **options).fit(X, Y)
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_a_seed_makes_the_same_model_again_and_voids_the_receipt():
    one, other = (forest(delta=1e-6, random_state=3).fit(X, Y) for _ in range(2))
    assert (one.predict_proba(X) == other.predict_proba(X)).all()
    assert one.privacy_.epsilon == math.inf


def test_missing_and_unlisted_values_are_predicted():
    rows = np.array([[1.0, np.nan, "somewhere"], [9.0, 2.0, "c"]], dtype=object)
    for options in KINDS:
        assert forest(**options).fit(X, Y).predict(rows).tolist() == ["no", "yes"]


def test_a_fit_that_a_ledger_with_a_delta_cannot_afford_costs_nothing():
    model = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method="boosting")
    with Ledger(1.2, delta=1e-6) as ledger:
        model.fit(X[:500], Y[:500])
        before = ledger.root.spent
        with pytest.raises(BudgetError, match=r"left of 1\.2"):
            model.fit(X[:500], Y[:500])
    assert ledger.root.spent == before


def test_an_epsilon_may_be_large_or_a_fraction_with_a_delta_too():
    for epsilon in (10_000, "1/3"):
        model = PrivateForestClassifier(SCHEMA, epsilon=epsilon, delta=1e-6, method="boosting").fit(X[:500], Y[:500])
        assert model.privacy_.verify()
        assert model.privacy_.epsilon <= Fraction(epsilon)


def test_a_model_is_saved_without_the_function_that_showed_its_progress(tmp_path):
    shares = []
    model = PrivateForestClassifier(SCHEMA, epsilon=1, progress=lambda share, note: shares.append(share)).fit(X, Y)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict(X), model.predict(X))
    assert shares[-1] == 1
    with pytest.raises(PrivetError, match="progress"):
        PrivateForestClassifier(SCHEMA, epsilon=1, progress=5).fit(X, Y)


def test_owners_who_keep_their_records_grow_trees_on_parts_and_boosting_is_refused_before_anything_is_asked():
    pytest.importorskip("cryptography")
    from privet import CapabilityError, FederatedCurator
    from privet.consortium.federated.channel import in_process

    rng = np.random.default_rng(0)
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=[0, 1])
    X = rng.random((6000, 2))
    y = (X[:, 0] > 0.4).astype(int)
    channel = in_process([(X[i::3], y[i::3]) for i in range(3)], schema, limit=20)
    for n_trees in (1, 3):
        curator = FederatedCurator(schema, channel)
        model = PrivateForestClassifier(epsilon=5, n_trees=n_trees).fit_curator(curator)
        assert model.score(X, y) > 0.9
        assert model.privacy_.verify()
        assert len(curator.coordinator.sign(model.privacy_.to_json()).signatures) == 3
    curator = FederatedCurator(schema, channel)
    with pytest.raises(CapabilityError):
        PrivateForestClassifier(epsilon=5, method="boosting").fit_curator(curator)
    assert not curator.ledger.events
