"""PrivaTreeClassifier: a true receipt in both variants, the printed budgets, and splits found in noisy counts alone."""

import json
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from privet import (
    BudgetError,
    Categorical,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivaTreeClassifier,
    PrivetError,
    Receipt,
    Schema,
    load,
)
from privet.algorithms.model_file import to_dict
from privet.algorithms.privatree import _bins, weighted_gini, worst_label_error
from privet.audit.claims import privatree as claims
from privet.privacy.amounts import exact
from privet.privacy.mechanisms import SeededMechanisms, mechanisms
from privet.questions.grid import Cells, even_grid

AB = Categorical(["a", "b"], other=False)
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

fields = st.one_of(
    st.tuples(st.integers(-5, 5), st.integers(0, 100), st.booleans(), st.booleans()).map(
        lambda t: Numeric(t[0], t[0] + t[1], integer=t[2], missing=t[3])
    ),
    st.tuples(st.integers(1, 6), st.booleans()).map(lambda t: Categorical(range(t[0]), other=t[1])),
)


@st.composite
def problems(draw):
    """A schema with records that fit it."""
    features = draw(st.lists(fields, min_size=1, max_size=4))
    schema = Schema(
        {f"x{i}": feature for i, feature in enumerate(features)}, classes=list(range(draw(st.integers(1, 4))))
    )
    n = draw(st.sampled_from([0, 1, 2, 30, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = {}
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical):
            X[name] = rng.integers(0, len(feature.values) + 2 * feature.other, n)
        else:
            X[name] = rng.uniform(feature.low - 1, feature.high + 1, n)
            if feature.missing:
                X[name][rng.uniform(size=n) < 0.2] = np.nan
    return schema, pd.DataFrame(X), rng.integers(0, len(schema.classes), n)


def some_table(n=400, seed=0):
    """A numeric feature whose two ends are of one class, a category that says nothing, and a few classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(0, 1, n), "c": rng.choice(["a", "b"], n)})
    schema = Schema({"x": Numeric(0, 1), "c": AB}, classes=["no", "yes"])
    return X, np.where(np.abs(X["x"] - 0.5) < 0.2, "yes", "no"), schema


# -- true receipts -------------------------------------------------------------------------------------------------

options = st.fixed_dictionaries(
    {
        "max_depth": st.integers(1, 4),
        "n_bins": st.integers(2, 12),
        "bins": st.sampled_from(["quantile", "uniform"]),
        "n_records": st.one_of(st.none(), st.integers(0, 10**6), st.just(1e300)),
        "leaf_share": st.one_of(st.none(), st.floats(0.01, 0.9)),
    }
)
epsilons = st.one_of(st.floats(1e-4, 1e6), st.sampled_from([0.1, "0.1", Fraction(1, 3), np.float64(0.7), 1e-9, 1e9]))


@settings(relaxed, max_examples=50)
@given(problems(), epsilons, options)
def test_a_sound_receipt_never_exceeds_epsilon_and_verifies(problem, epsilon, chosen):
    schema, X, y = problem
    model = PrivaTreeClassifier(schema, epsilon=epsilon, **chosen)
    with Ledger(math.inf) as ledger:
        receipt = model.fit(X, y).privacy_
    assert receipt.void == ()
    assert receipt.claimed == exact(epsilon)
    assert receipt.epsilon == receipt.spent == ledger.spent <= exact(epsilon)
    assert receipt.verify()
    assert Receipt.from_json(receipt.to_json()) == receipt
    assert model.tree_.depth <= chosen["max_depth"]
    assert model.predict(X).shape == (len(X),)
    assert hasattr(model, "predict_proba") == (len(schema.classes) == 1)  # of one class the chance is 1


@settings(relaxed, max_examples=30)
@given(problems(), options)
def test_without_its_early_stop_the_published_variant_costs_what_the_features_add_up_to(problem, chosen):
    schema, X, y = problem
    assume(not any(isinstance(f, Numeric) and f.low == f.high and f.missing for f in schema.features.values()))
    chosen |= {"n_records": chosen["n_records"] or 100}
    model = PrivaTreeClassifier(schema, epsilon=1, variant="published", early_stop=False, **chosen).fit(X, y)
    receipt = model.privacy_
    m = sum(
        feature.n_codes > 1 if isinstance(feature, Categorical) else feature.low < feature.high
        for feature in schema.features.values()
    )
    leaf = min(event.charged for event in receipt.events if event.question == "choose a label")
    if len(model.tree_.schema.classes) > 1 and m:
        assert receipt.spent == m * (1 - 2 * leaf) + leaf
        assert (receipt.shortfall == "") == (receipt.spent <= 1)
    assert receipt.claimed == 1
    assert receipt.verify()


@pytest.mark.parametrize("chosen", [{}, {"early_stop": False, "bins": "exact"}, {"n_records": 400}])
def test_reading_exact_data_costs_infinity(chosen):
    X, y, schema = some_table()
    receipt = PrivaTreeClassifier(schema, epsilon=1, variant="published", **chosen).fit(X, y).privacy_
    assert receipt.spent == receipt.epsilon == math.inf
    assert receipt.claimed == 1
    assert receipt.void == ("exact values were read",)
    assert "pure" in receipt.shortfall
    assert receipt.verify()


def test_a_ledger_with_a_limit_refuses_exact_data():
    X, y, schema = some_table()
    with Ledger(5) as ledger, pytest.raises(PrivetError):
        PrivaTreeClassifier(schema, epsilon=1, variant="published").fit(X, y)
    assert ledger.spent == 0


# -- budgets ---------------------------------------------------------------------------------------------------------


def charges(receipt, question):
    return {event.charged for event in receipt.events if event.question == question}


@pytest.mark.parametrize("n_records", [100, 10_000])
def test_the_published_budgets_are_those_of_equations_7_to_10(n_records):
    X, y, schema = some_table()
    schema = Schema({**schema.features, "z": Numeric(0, 1)}, classes=schema.classes)
    model = PrivaTreeClassifier(
        schema, epsilon=0.1, max_depth=4, variant="published", early_stop=False, n_records=n_records
    )
    receipt = model.fit(X.assign(z=0.5), y).privacy_
    leaf = min(0.05, 2**4 / (math.e * n_records * 0.01))
    rest = 0.1 - leaf
    assert float(*charges(receipt, "choose a label")) == pytest.approx(leaf / 2, rel=1e-4)  # its true price
    # Two numeric features and one category: charged for all of a kind together, because their noise is asked together.
    assert [float(x) for x in charges(receipt, "joint quantiles")] == pytest.approx([rest / 5], rel=1e-4)
    assert sorted(float(x) for x in charges(receipt, "tally")) == pytest.approx([rest / 4, 2 * rest / 5], rel=1e-4)


def test_sound_histograms_and_quantiles_have_an_mth_of_the_budget_and_leaves_half_of_equation_7():
    X, y, schema = some_table()
    schema = Schema({**schema.features, "z": Numeric(0, 1)}, classes=schema.classes)
    receipt = PrivaTreeClassifier(schema, epsilon=1, n_records=10_000).fit(X.assign(z=0.5), y).privacy_
    leaf = 2**4 / (2 * math.e * 10_000 * 0.01)
    each = (1 - leaf) / 3
    assert float(*charges(receipt, "choose a label")) == pytest.approx(leaf, rel=1e-4)
    assert [float(x) for x in charges(receipt, "joint quantiles")] == pytest.approx([each / 5], rel=1e-4)
    assert sorted(float(x) for x in charges(receipt, "tally")) == pytest.approx([each / 4, 2 * each / 5], rel=1e-4)
    assert receipt.spent == 1


def test_shares_of_ones_own():
    X, y, schema = some_table()
    model = PrivaTreeClassifier(schema, epsilon=1, max_depth=2, leaf_share=0.2, quantile_share=0.3)
    receipt = model.fit(X, y).privacy_
    assert charges(receipt, "choose a label") == {Fraction(1, 5)}
    assert charges(receipt, "joint quantiles") == {Fraction(3, 20)}  # for one of two features
    assert charges(receipt, "tally") == {Fraction(1, 8), Fraction(1, 5)}
    assert receipt.spent == 1


def test_without_private_quantiles_all_features_share_alike():
    X, y, schema = some_table()
    receipt = PrivaTreeClassifier(schema, epsilon=1, max_depth=2, leaf_share=0.2, bins="uniform").fit(X, y).privacy_
    assert charges(receipt, "tally") == {Fraction(2, 5)}
    assert charges(receipt, "joint quantiles") == set()


def test_a_measured_size_is_paid_for():
    X, y, schema = some_table()
    receipt = PrivaTreeClassifier(schema, epsilon=1, max_depth=2).fit(X, y).privacy_
    assert receipt.events[0].charged == Fraction(1, 50)
    assert receipt.spent == 1


@pytest.mark.parametrize("n_classes", [2, 3, 5, 20])
def test_the_worst_error_of_a_label_is_that_of_the_mechanism(n_classes):
    """No gap makes permute-and-flip err more: all classes but one behind by the same number of records."""
    from privet.privacy.laws import log_permute_and_flip

    gaps = np.arange(1, 400)
    errors = [
        gap * (1 - math.exp(log_permute_and_flip(np.array([0, *[-gap] * (n_classes - 1)]), 40.0)[0])) for gap in gaps
    ]
    assert max(errors) / 40 == pytest.approx(float(worst_label_error(n_classes)), rel=2e-3)
    assert max(errors) / 40 <= float(worst_label_error(n_classes))
    if n_classes == 2:
        assert float(worst_label_error(2)) == pytest.approx(1 / (2 * math.e), rel=1e-5)


# -- a function of the answers -----------------------------------------------------------------------------------------


class Scripted:
    """Answers that do not depend on the records at all."""

    reproducible = False

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def select(self, mechanism, scores, scales):
        return [int(self.generator.integers(len(score))) for score in scores]

    def joint_quantiles(self, counts, score, weights, scale):
        return sorted(self.generator.integers(len(weights), size=len(score.spacings) - 1).tolist())

    def geometric(self, values, scale):
        return self.generator.integers(-50, 500, size=values.shape)


@settings(relaxed, max_examples=40)
@given(problems(), st.integers(0, 2**32), st.sampled_from(["quantile", "uniform"]), st.data())
def test_a_sound_model_is_a_function_of_the_answers_alone(problem, seed, bins, data):
    schema, X, y = problem
    tables = [(X, y)]
    if len(X):
        gone = data.draw(st.integers(0, len(X) - 1))
        tables += [(X.drop(index=gone), np.delete(y, gone)), (X[:0], y[:0])]
    models = []
    for table, labels in tables:
        curator = MemoryCurator(table, labels, schema, mechanisms=Scripted(seed))
        models.append(PrivaTreeClassifier(epsilon=2, max_depth=3, bins=bins).fit_curator(curator))
    assert len({json.dumps(to_dict(model)) for model in models}) == 1
    assert len({pickle.dumps(model) for model in models}) == 1


# -- the algorithm -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", ["quantile", "uniform", "exact"])
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_much_budget_finds_what_a_tree_can_find(variant, bins):
    if variant == "sound" and bins == "exact":
        return
    X, y, schema = some_table(2000)
    model = PrivaTreeClassifier(schema, epsilon=1e6, max_depth=2, variant=variant, bins=bins, random_state=1).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.tree_.features == {0}


def test_categories_are_split_by_the_order_of_their_classes():
    """Values that alternate between the classes: one split parts them, as they are sorted by their noisy shares."""
    X = pd.DataFrame({"c": list("abcdef") * 50})
    y = np.array([0, 1] * 150)
    schema = Schema({"c": Categorical(list("abcdef"))}, classes=[0, 1])
    model = PrivaTreeClassifier(schema, epsilon=1e6, max_depth=1, random_state=0).fit(X, y)
    assert model.score(X, y) == 1


def test_with_several_classes_categories_stay_in_the_schemas_order():
    X = pd.DataFrame({"c": list("abcdef") * 50})
    y = np.array([0, 1, 2] * 100)
    schema = Schema({"c": Categorical(list("abcdef"), other=False)}, classes=[0, 1, 2])
    model = PrivaTreeClassifier(schema, epsilon=1e6, max_depth=1, random_state=0).fit(X, y)
    part = model.tree_.nodes[0].rule.part
    assert sorted(part) == list(part)


def test_bins_are_cut_at_quantiles():
    """A long tail: equal widths put nearly all records into one bin, quantiles do not."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.exponential(1.0, 20_000)})
    y = (X["x"] > np.log(2)).astype(int)
    schema = Schema({"x": Numeric(0, 1000)}, classes=[0, 1])
    scores = {
        bins: PrivaTreeClassifier(schema, epsilon=10, max_depth=1, bins=bins, random_state=0).fit(X, y).score(X, y)
        for bins in ("quantile", "uniform")
    }
    assert scores["quantile"] > 0.9
    assert scores["uniform"] < 0.6


def test_the_published_variant_stops_at_pure_nodes_and_the_sound_one_does_not():
    X, y = pd.DataFrame({"c": ["a", "b"] * 50}), np.zeros(100, dtype=int)
    schema = Schema({"c": AB}, classes=[0, 1])
    published, sound = (
        PrivaTreeClassifier(schema, epsilon=1, variant=variant, n_records=100).fit(X, y)
        for variant in ("published", "sound")
    )
    assert [event.question for event in published.privacy_.events] == ["peek", "choose a label"]
    assert "tally" in [event.question for event in sound.privacy_.events]


def test_missing_values_have_a_bin_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 2000)
    x[::4] = np.nan
    schema = Schema({"x": Numeric(0, 1, missing=True)}, classes=[0, 1])
    model = PrivaTreeClassifier(schema, epsilon=1e6, max_depth=1, random_state=0)
    X, y = pd.DataFrame({"x": x}), np.isnan(x).astype(int)
    assert model.fit(X, y).score(X, y) == 1


def test_thousands_of_categories_share_bins():
    schema = Schema({"c": Categorical(range(1000), other=False)}, classes=[0, 1])
    X = pd.DataFrame({"c": np.arange(1000)})
    y = (X["c"] > 500).astype(int)
    model = PrivaTreeClassifier(schema, epsilon=1e6, max_depth=1, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert len(set(_bins(even_grid(schema, 10).features[0], None))) == 255


def test_the_bins_of_cells_are_the_intervals_between_the_chosen_cuts():
    cells = Cells("x", Numeric(0, 9, missing=True), [1.0, 2.0, 3.0, 4.0])
    assert _bins(cells, [2.0, 2.0, 3.0]).tolist() == [0, 0, 1, 2, 2, 3]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=2))
def test_impurity_is_the_mean_of_the_childrens(children):
    left, right = np.array(children)
    n = left.sum() + right.sum()
    if n == 0:
        assert weighted_gini(left, right) == 1
        return
    exactly = sum(
        Fraction(int(side.sum()), int(n)) * (1 - sum(Fraction(int(c), int(side.sum())) ** 2 for c in side))
        for side in (left, right)
        if side.sum()
    )
    assert weighted_gini(left, right) == pytest.approx(float(exactly), abs=1e-12)
    assert weighted_gini(left, right) == weighted_gini(right[::-1], left[::-1])


class Roots(MemoryCurator):
    """Notes the splits that it is told: a released tree has lost those whose sides say the same."""

    def open(self):
        desk, self.seen = super().open(), []
        split = desk.split
        desk.split = lambda splits: (self.seen.extend(splits.values()), split(splits))[1]
        return desk


def test_the_published_roots_are_those_of_the_audited_law():
    """What the auditor computes the witness from is what the estimator does; false alarms are below 1e-6."""
    n, pair = 300, claims.separated(5, rows=4)
    X, y = pair.other
    schema = Schema({f"f{j}": Categorical([0, 1], other=False) for j in range(5)}, classes=[0, 1])
    rng, roots = np.random.default_rng(8), Counter()
    for _ in range(n):
        curator = Roots(X, y, schema, mechanisms=SeededMechanisms(rng))
        model = PrivaTreeClassifier(
            epsilon=2.0, max_depth=1, leaf_share=0.5, variant="published", early_stop=False
        ).fit_curator(curator)
        assert model.privacy_.spent == 5 * 1 + Fraction(1, 2)
        roots[curator.seen[0].feature] += 1
    for feature, log_p in claims.FeaturesInParallel(1.0).log_law(X, y).items():
        p = math.exp(log_p)
        assert abs(roots[feature] - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 6


# -- input and keeping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_no_record_and_one_record_train_and_predict(n, variant):
    X, y, schema = some_table()
    model = PrivaTreeClassifier(schema, epsilon=1, variant=variant).fit(X[:n], y[:n])
    assert set(model.predict(X)) <= {"no", "yes"}


def test_columns_with_nothing_to_split_give_a_leaf():
    schema = Schema({"x": Numeric(2, 2), "c": Categorical(["a"], other=False)}, classes=[0, 1])
    model = PrivaTreeClassifier(schema, epsilon=50).fit(pd.DataFrame({"x": [2.0] * 9, "c": ["a"] * 9}), [1] * 9)
    assert len(model.tree_.nodes) == 1
    assert model.privacy_.epsilon <= 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 1.5),
        ("max_depth", 40),
        ("n_bins", 1),
        ("n_bins", 300),
        ("n_bins", True),
        ("bins", "kmeans"),
        ("bins", "exact"),  # of the sound variant
        ("early_stop", True),
        ("max_leaf_error", 0),
        ("max_leaf_error", "small"),
        ("leaf_share", 1),
        ("leaf_share", 0),
        ("quantile_share", 0.5),  # with up to a half for the leaves
        ("n_records", -1),
        ("n_records", "many"),
        ("variant", "printed"),
        ("epsilon", 0),
    ],
)
def test_a_wrong_parameter_is_a_clear_error_and_costs_nothing(name, value):
    X, y, schema = some_table()
    with Ledger(1) as ledger:
        with pytest.raises(PrivetError) as error:
            PrivaTreeClassifier(schema, epsilon=1).set_params(**{name: value}).fit(X, y)
        assert ledger.spent == 0
    assert name in str(error.value)


def test_a_saved_model_is_the_same_model(tmp_path):
    X, y, schema = some_table()
    model = PrivaTreeClassifier(schema, epsilon=1, leaf_share=0.3, quantile_share=0.1).fit(X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is PrivaTreeClassifier
    assert (again.predict(X) == model.predict(X)).all()
    assert again.privacy_ == model.privacy_
    assert again.get_params()["quantile_share"] == 0.1


def test_the_same_seed_gives_the_same_model():
    X, y, schema = some_table()
    one, again = (PrivaTreeClassifier(schema, epsilon=0.1, random_state=5).fit(X, y) for _ in range(2))
    assert one.tree_ == again.tree_
    assert one.privacy_.void
    assert mechanisms(5).reproducible


@pytest.mark.parametrize(
    "odd", [{"quantile_share": 0}, {"quantile_share": False}, {"leaf_share": 0.7, "quantile_share": 0.3}]
)
def test_shares_that_leave_nothing_are_refused_before_anything_is_spent(odd):
    with Ledger(1.0) as ledger:
        with pytest.raises(PrivetError, match="leaf_share"):
            PrivaTreeClassifier(NUMPY_SCHEMA, epsilon=0.5, **odd).fit(np.zeros((4, 1)), ["n", "y", "n", "y"])
        assert ledger.spent == 0


def test_a_budget_too_small_for_labels_is_refused_before_anything_is_spent():
    with Ledger(1.0) as ledger:
        with pytest.raises(BudgetError, match="too small"):
            PrivaTreeClassifier(NUMPY_SCHEMA, epsilon=1e-10, n_records=1e20).fit(np.zeros((4, 1)), ["n", "y", "n", "y"])
        assert ledger.spent == 0


def test_numbers_of_numpy_mean_what_they_say():
    X, y = np.zeros((4, 1)), ["n", "y", "n", "y"]
    odd = {"max_depth": np.int8(9), "n_bins": np.int16(4), "n_records": np.float32(45_000)}
    plain = {"max_depth": 9, "n_bins": 4, "n_records": 45_000}
    fits = [PrivaTreeClassifier(NUMPY_SCHEMA, epsilon=1, random_state=0, **each).fit(X, y) for each in (odd, plain)]
    costs = [[event.charged for event in fit.privacy_.events] for fit in fits]
    assert costs[0] == costs[1]


def test_a_published_variant_says_why_a_ledger_with_a_total_refuses_it():
    with Ledger(100.0) as ledger:
        with pytest.raises(BudgetError, match="published"):
            PrivaTreeClassifier(NUMPY_SCHEMA, epsilon=1, variant="published").fit(np.zeros((2, 1)), ["n", "y"])
        assert ledger.spent == 0


NUMPY_SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["n", "y"])
