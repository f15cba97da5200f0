"""What all classifiers promise: scikit-learn's conventions, one ledger for several fits, and no half-done fit."""

import asyncio
import copy
import json
import math
import pickle
import subprocess
import sys
import textwrap
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from listening import Recording
from privet import (
    BudgetError,
    BudgetWarning,
    CapabilityError,
    Categorical,
    HistogramTreeClassifier,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateTreeClassifier,
    PrivetError,
    Receipt,
    Schema,
    SchemaError,
)
from privet.algorithms.registry import MODELS, model_class
from privet.curators.base import Curator
from privet.curators.desk import capabilities_of
from privet.curators.federated import FederatedRoom
from privet.privacy.amounts import exact
from privet.questions.tally import Tally
from privet.tree.tree import Tree, TreeNode

SCHEMA = Schema(
    {"age": Numeric(0, 90, integer=True), "pay": Numeric(0, 1000), "sex": Categorical(["f", "m"])},
    classes=["no", "yes"],
)


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(0, 91, n),
            "pay": rng.uniform(0, 1000, n),
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, n)],
        }
    )
    return X, np.where(X["age"] > 45, "yes", "no").astype(object)


X, Y = people()
MODEL = PrivateTreeClassifier(SCHEMA, epsilon=0.1)


def fitted(**params):
    return PrivateTreeClassifier(SCHEMA, **{"epsilon": 5, "random_state": 0} | params).fit(X, Y)


def text_of(model):
    return json.dumps([model.tree_.to_dict(), model.privacy_.to_dict(), model.schema_.to_dict()])


# -- one ledger for several fits -----------------------------------------------------------------------------------


def test_fits_share_a_ledger_and_one_too_many_is_refused_and_costs_nothing():
    with Ledger(0.2) as ledger:
        first = clone(MODEL).fit(X, Y)
        second = clone(MODEL).fit(X, Y)
        third = clone(MODEL)
        with pytest.raises(BudgetError, match=r"may spend epsilon 0\.1, but the ledger has 0 left of 0\.2"):
            third.fit(X, Y)
        assert not hasattr(third, "tree_")
    assert ledger.spent == Fraction(1, 5)
    assert first.privacy_.spent == second.privacy_.spent == Fraction(1, 10)
    assert len(ledger.events) == len(first.privacy_.events) + len(second.privacy_.events)


def test_each_receipt_holds_the_events_of_its_own_fit():
    with Ledger(100) as ledger:
        models = [clone(MODEL).fit(X, Y) for _ in range(12)]
    # Numbered by itself: a receipt does not say what else its ledger has answered.
    assert {event.scope.split("/")[1] for model in models for event in model.privacy_.events} == {"fit0:0"}
    assert sum(len(model.privacy_.events) for model in models) == len(ledger.events)
    assert all(model.privacy_.verify() for model in models)
    assert ledger.spent == Fraction(12, 10)


def test_without_a_ledger_every_fit_has_its_own():
    model = clone(MODEL)
    assert model.fit(X, Y).privacy_.spent == model.fit(X, Y).privacy_.spent == Fraction(1, 10)


BAD_DATA = {
    "NaN": (X.assign(pay=X["pay"].where(X["pay"] > 5)), Y),
    "infinity": (X.assign(pay=np.where(X["pay"] > 5, X["pay"], math.inf)), Y),
    "an unknown class": (X, ["no"] * (len(Y) - 1) + ["other"]),
    "no class": (X, ["no"] * (len(Y) - 1) + [None]),
    "too few labels": (X, Y[:-1]),
    "labels in two dimensions": (X, np.stack([Y, Y])),
    "a missing column": (X.drop(columns="sex"), Y),
    "text for numbers": (X.assign(age="old"), Y),
    "numbers for text": (X.assign(sex=1), Y),
    "one dimension": (X["age"], Y),
    "no labels": (X, None),
    "a number": (3, Y),
    "text": ("X", Y),
    "nothing": (None, Y),
}


@pytest.mark.parametrize("data", BAD_DATA.values(), ids=BAD_DATA)
def test_a_failed_fit_spends_nothing_and_changes_nothing(data):
    fresh, old = clone(MODEL), fitted()
    before = text_of(old), sorted(vars(old))
    with Ledger(10) as ledger:
        for model in (fresh, old):
            with pytest.raises(PrivetError):
                model.fit(*data)
    assert (ledger.spent, ledger.events) == (0, [])
    assert sorted(vars(fresh)) == sorted(fresh.get_params())
    assert (text_of(old), sorted(vars(old))) == before


@pytest.mark.parametrize("name", MODELS)
def test_no_model_spends_anything_on_columns_that_it_refuses(name):
    kind = model_class(name)
    features = dict(SCHEMA.features) | {"sex": Categorical(["f", "m"], other=False)}
    ends = {"classes": SCHEMA.classes} if kind._task == "classification" else {"target": (0, 90)}
    unlisted = X.assign(sex=np.where(X["age"] < 88, X["sex"], "other"))
    with Ledger(math.inf) as ledger:
        for table in (BAD_DATA["NaN"][0], unlisted):
            with pytest.raises(SchemaError):
                kind(Schema(features, **ends), epsilon=1).fit(table, Y if "classes" in ends else X["age"])
    assert (ledger.spent, ledger.events) == (0, [])


@pytest.mark.parametrize("name", MODELS)
def test_epsilon_has_no_default_and_a_fit_without_one_says_how_to_choose(name):
    kind = model_class(name)
    ends = {"classes": SCHEMA.classes} if kind._task == "classification" else {"target": (0, 90)}
    model, labels = kind(Schema(SCHEMA.features, **ends)), Y if "classes" in ends else X["age"]
    curator = MemoryCurator(X, labels, model.schema, ledger=Ledger(math.inf))
    tries = [lambda: model.fit(X, labels), lambda: model.fit_curator(curator), lambda: model.quote(100)]
    for attempt in tries:
        with pytest.raises(
            BudgetError,
            match=r"no default.*Usual are 0.1 to 1.*privet plan --schema SCHEMA.toml --n-records N --choose",
        ):
            attempt()
    assert curator.ledger.spent == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_tiny_epsilon_is_enough_or_refused_before_anything_is_spent(name):
    """And noise that is a million times the records buys no tree that takes long, however it falls."""
    kind = model_class(name)
    ends = {"classes": SCHEMA.classes} if kind._task == "classification" else {"target": (0, 90)}
    with Ledger(math.inf) as ledger:
        try:
            kind(Schema(SCHEMA.features, **ends), epsilon=1e-7).fit(X, Y if "classes" in ends else X["age"])
        except BudgetError:
            assert (ledger.spent, ledger.events) == (0, [])
    assert ledger.spent <= Fraction("1e-7")


@pytest.mark.parametrize("name", MODELS)
def test_no_model_spends_anything_with_a_curator_that_cannot_answer_all(name):
    kind = model_class(name)
    schema = SCHEMA if kind._task == "classification" else Schema(SCHEMA.features, target=(0, 90))
    ledger = Ledger(math.inf)
    owners = capabilities_of(FederatedRoom)
    curator = Recording(X, Y if schema.classes else X["age"], schema, ledger=ledger, able=owners)
    for options in [{}, {"method": "boosting"}] if name == "PrivateForestClassifier" else [{}]:
        try:
            kind(epsilon=1, **options).fit_curator(curator)
        except CapabilityError:
            assert (ledger.spent, ledger.events) == (0, [])
        else:
            ledger = curator.ledger = Ledger(math.inf)


def test_a_fit_that_breaks_off_half_way_keeps_the_old_model_and_its_costs(monkeypatch):
    old = fitted()
    before = text_of(old)

    def broken(self):
        raise RuntimeError("power cut")

    monkeypatch.setattr(Tree, "simplified", broken)
    with Ledger(10) as ledger, pytest.raises(RuntimeError):
        old.fit(X, Y)
    assert text_of(old) == before
    assert ledger.spent == 5  # it was answered, so it was spent


def test_threads_share_the_ledger_of_the_thread_that_opened_it():
    with Ledger(0.5) as ledger, parallel_config(backend="threading"):
        cross_val_score(MODEL, X, Y, cv=5, n_jobs=2, error_score="raise")
    assert ledger.spent == Fraction(1, 2)


def test_worker_processes_are_refused_while_a_ledger_is_open():
    """In a process of its own: its worker processes must not stay behind. Also workers older than the ledger."""
    code = """
        import numpy as np
        from sklearn.model_selection import cross_val_score
        from privet import BudgetError, Ledger, Numeric, PrivateTreeClassifier, Schema

        X, y = np.arange(40.0)[:, None], np.arange(40) % 2
        model = PrivateTreeClassifier(Schema({"x": Numeric(0, 40)}, classes=[0, 1]), epsilon=1, random_state=0)
        cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
        with Ledger(100) as ledger:
            try:
                cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
            except BudgetError as error:
                print("refused:", "n_jobs=1 or threads" in str(error), ledger.spent)
        cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
        print("and fine again")
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert ran.stdout == "refused: True 0\nand fine again\n", ran.stderr[-2000:]


# -- curators ------------------------------------------------------------------------------------------------------


def test_a_curator_and_its_ledger_serve_several_models():
    ledger = Ledger(0.3)
    curator = MemoryCurator(X, Y, SCHEMA, ledger=ledger)
    models = [PrivateTreeClassifier(epsilon=0.1, max_depth=depth).fit_curator(curator) for depth in (1, 2, 3)]
    assert ledger.spent == Fraction(3, 10)
    assert all(model.privacy_.verify() and model.privacy_.epsilon == Fraction(1, 10) for model in models)
    assert all(model.schema_ == SCHEMA for model in models)
    with pytest.raises(BudgetError):
        PrivateTreeClassifier(epsilon=0.1).fit_curator(curator)
    assert ledger.spent == Fraction(3, 10)


def test_fit_curator_says_what_does_not_fit():
    curator = MemoryCurator(X, Y, SCHEMA)
    other = Schema({"age": Numeric(0, 90)}, classes=["no", "yes"])
    with pytest.raises(SchemaError, match="different schemas"):
        PrivateTreeClassifier(other, epsilon=1).fit_curator(curator)
    with pytest.raises(PrivetError, match="random_state has no effect"):
        PrivateTreeClassifier(epsilon=1, random_state=0).fit_curator(curator)
    with pytest.raises(PrivetError, match="takes a curator"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit_curator(X)
    assert curator.ledger.spent == 0
    assert PrivateTreeClassifier(SCHEMA, epsilon=1).fit_curator(curator).schema_ == SCHEMA


def test_a_receipt_is_void_if_exact_values_were_read():
    class Peeking(PrivateTreeClassifier):
        def _grow(self, curator, start, budget):
            from privet.questions.grid import public_grid

            curator.grid(public_grid(curator.schema))
            curator.peek([start])
            return super()._grow(curator, start, budget)

    class Generous(Peeking):
        def _limit(self, budget):
            return math.inf

    with pytest.raises(BudgetError):
        Peeking(SCHEMA, epsilon=1).fit(X, Y)
    receipt = Generous(epsilon=1).fit_curator(MemoryCurator(X, Y, SCHEMA)).privacy_
    assert receipt.epsilon == receipt.spent == math.inf
    assert receipt.void == ("exact values were read",)
    assert receipt.verify()


@pytest.mark.parametrize("second", [False, True])
def test_with_a_delta_a_receipt_states_the_same_whatever_was_opened(second):
    """Whether the second half is opened may follow from an answer: then an epsilon of what was opened does not hold."""

    class Adaptive(HistogramTreeClassifier):
        def _grow(self, curtain, start, budget):
            rho = curtain.rho_within(budget, exact(self.delta))
            (counts,) = curtain.tally({curtain.root(rho / 2, "rho"): Tally()}, rho / 2).values()
            if second:
                curtain.tally({curtain.root(rho / 2, "rho"): Tally()}, rho / 2)
            return Tree(curtain.schema, (TreeNode(label=int(counts.argmax()), scope="/fit1:0"),))

    model = Adaptive(SCHEMA, epsilon=1, delta=1e-6).fit(X, Y)
    assert model.verify()
    assert Fraction(99, 100) < model.privacy_.epsilon <= 1


def test_a_model_holds_no_curator():
    model = PrivateTreeClassifier(epsilon=1).fit_curator(MemoryCurator(X, Y, SCHEMA))

    def held(value, seen):
        if id(value) in seen:
            return
        seen[id(value)] = value
        for inside in (*vars(value).values(),) if hasattr(value, "__dict__") else ():
            held(inside, seen)
        for inside in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
            held(inside, seen)

    seen: dict = {}
    held(model, seen)
    assert not any(isinstance(value, Curator | Ledger | pd.DataFrame) for value in seen.values())
    assert not any(isinstance(value, np.ndarray) and len(value) >= 100 for value in seen.values())


# -- scikit-learn's conventions --------------------------------------------------------------------------------------


def test_parameters_survive_clone_and_set_params():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5, max_depth=2, leaves="labels", n_records=7, random_state=3)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert again.schema == SCHEMA
    assert clone(fitted()).get_params() == fitted().get_params()
    assert not hasattr(clone(fitted()), "tree_")
    assert model.set_params(epsilon=2, max_depth=3).get_params()["epsilon"] == 2
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(depth=3)


def test_works_in_pipelines_cross_validation_and_grid_search():
    model = PrivateTreeClassifier(SCHEMA, epsilon=20, random_state=0)
    pipeline = make_pipeline(FunctionTransformer(lambda table: table.assign(extra=1)), model)
    assert pipeline.fit(X, Y).predict(X).shape == (len(X),)
    assert cross_val_score(pipeline, X, Y, cv=3, error_score="raise").mean() > 0.9
    search = GridSearchCV(model, {"max_depth": [1, 2], "epsilon": [1, 20]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_estimator_.schema_ == SCHEMA
    assert search.best_score_ > 0.8


def test_a_search_inside_a_ledger_pays_for_every_fit():
    with Ledger(100) as ledger:
        GridSearchCV(MODEL, {"max_depth": [1, 2, 3]}, cv=4, error_score="raise").fit(X, Y)
    assert ledger.spent == Fraction(13, 10)


def test_metadata_routing_is_left_alone():
    for enable in (False, True):
        with sklearn.config_context(enable_metadata_routing=enable):
            assert cross_val_score(MODEL, X, Y, cv=2, error_score="raise").shape == (2,)
    assert sklearn.get_config()["enable_metadata_routing"] is False


def test_copies_and_pickles_predict_the_same():
    model = fitted()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert again.predict(X).tolist() == model.predict(X).tolist()
        assert again.privacy_ == model.privacy_
        assert again.privacy_.verify()
        assert text_of(again) == text_of(model)


def test_a_pickle_does_not_grow_with_the_records():
    sizes = []
    for n in (100, 20_000):
        table, labels = people(n)
        model = PrivateTreeClassifier(SCHEMA, epsilon=1, max_depth=1, random_state=0, n_records=1000)
        sizes.append(len(pickle.dumps(model.fit(table, labels))))
    assert abs(sizes[0] - sizes[1]) < 200  # another split, at most


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1], [False, True], [-1, 7], ["a", "b", "c"], [3, 1, 2]])
def test_labels_come_back_as_what_they_are(classes):
    schema = Schema({"x": Numeric(0, len(classes) - 1, integer=True)}, classes=classes)
    codes = np.arange(200) % len(classes)
    y = np.array(classes)[codes]
    for labels in (y, y.tolist(), pd.Series(y), pl.Series(y), pa.array(y), y.astype(object)):
        model = PrivateTreeClassifier(schema, epsilon=1000, max_depth=4, n_records=200).fit(codes[:, None], labels)
        assert model.classes_.tolist() == sorted(classes)
        assert model.predict(codes[:, None]).tolist() == y.tolist()
        assert model.predict(codes[:, None]).dtype == y.dtype
        assert model.score(codes[:, None], y) == 1


def test_every_kind_of_table_gives_the_same_model():
    tables = {
        "pandas": X,
        "reordered": X[["sex", "age", "pay"]].assign(extra="?"),
        "polars": pl.from_pandas(X),
        "pyarrow": pa.Table.from_pandas(X),
        "numpy": X.to_numpy(dtype=object),
        "lists": X.to_numpy(dtype=object).tolist(),
        "categorical": X.astype({"sex": "category"}),
        "float32": X.astype({"pay": np.float64, "age": np.float32}),
    }
    models = {kind: fitted().fit(table, Y) for kind, table in tables.items()}
    assert len({text_of(model) for model in models.values()}) == 1
    expected = models["pandas"].predict(X).tolist()
    for kind, table in tables.items():
        assert models["pandas"].predict(table).tolist() == expected, kind


def test_columns_match_by_name_and_arrays_by_position():
    model = fitted()
    assert model.feature_names_in_.tolist() == ["age", "pay", "sex"]
    assert model.n_features_in_ == 3
    with pytest.raises(SchemaError, match="'pay'; did you mean 'Pay'"):
        model.predict(X.rename(columns={"pay": "Pay"}))
    with pytest.raises(SchemaError, match="2 features, but Schema is expecting 3"):
        model.predict(X.to_numpy(dtype=object)[:, :2])
    with pytest.raises(SchemaError, match="several columns of the same name"):
        model.predict(pd.concat([X, X[["age"]]], axis=1))


def test_an_inferred_schema_is_strict_about_names_only_for_tables_that_had_them():
    with pytest.warns(UserWarning, match="the receipt is void"):
        model = PrivateTreeClassifier("infer", epsilon=1, random_state=0).fit(X, Y)
    with pytest.raises(SchemaError, match="must be in the same order"):
        model.predict(X[["sex", "age", "pay"]])
    model.set_params(schema=SCHEMA).fit(X, Y)
    model.predict(X[["sex", "age", "pay"]])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "apply"])
def test_prediction_needs_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(clone(MODEL).set_params(leaves="counts"), method)(X)
    for method in ("export_text",):
        with pytest.raises(NotFittedError):
            getattr(clone(MODEL), method)()


def test_predictions_agree_with_the_leaves():
    model = fitted(leaves="counts")
    leaves = model.apply(X)
    assert {int(leaf) for leaf in leaves} <= set(model.tree_.leaves)
    labels = [model.tree_.nodes[leaf].answer for leaf in leaves]
    assert model.predict(X).tolist() == [SCHEMA.classes[label] for label in labels]
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))


def test_leaves_with_counts_give_shares_and_without_a_label_the_largest():
    model = fitted()
    nodes = list(model.tree_.nodes)
    for leaf, counts in zip(model.tree_.leaves, [(30, 10), (-4, 6), (0, 0), (-1, -2)]):
        nodes[leaf] = TreeNode(counts=counts)
    model.tree_ = Tree(SCHEMA, tuple(nodes))
    by_leaf = dict(zip(model.apply(X).tolist(), model.predict_proba(X).tolist()))
    expected = dict(zip(model.tree_.leaves, [[0.75, 0.25], [0, 1], [0.5, 0.5], [0.5, 0.5]]))
    assert all(expected[leaf] == shares for leaf, shares in by_leaf.items() if leaf in expected)
    first = model.tree_.leaves[0]
    assert set(model.predict(X)[model.apply(X) == first]) <= {"no"}


@pytest.mark.parametrize("classes", [["no", "yes"], ["yes", "no"]])
def test_the_order_of_classes_in_a_schema_changes_no_score(classes):
    """scikit-learn's metrics take probabilities to be in sorted order."""
    schema = Schema(SCHEMA.features, classes=classes)
    model = PrivateTreeClassifier(schema, epsilon=1000, n_records=300, leaves="counts").fit(X, Y)
    scores = {name: get_scorer(name)(model, X, Y) for name in ("accuracy", "roc_auc", "neg_log_loss")}
    assert scores == pytest.approx({"accuracy": 1, "roc_auc": 1, "neg_log_loss": 0}, abs=1e-6)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.classes_[model.predict_proba(X).argmax(axis=1)].tolist() == model.predict(X).tolist()


# -- seeds and schemas that void a receipt ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 2**32, np.int64(5), np.random.default_rng(1), np.random.RandomState(1)])
def test_a_seed_voids_the_receipt(seed):
    receipt = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=seed).fit(X, Y).privacy_
    assert receipt.epsilon == math.inf
    assert receipt.spent <= 1
    assert len(receipt.void) == 1
    assert receipt.verify()


def test_the_same_seed_gives_the_same_model_and_no_seed_another_one():
    assert text_of(fitted(epsilon=0.01)) == text_of(fitted(epsilon=0.01))
    assert len({text_of(fitted(epsilon=0.01, random_state=None)) for _ in range(40)}) > 1


@pytest.mark.parametrize("seed", ["abc", -1, 1.5, object()])
def test_a_random_state_that_is_none_is_refused(seed):
    with pytest.raises(PrivetError, match="random_state must be"):
        PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=seed).fit(X, Y)


def test_an_inferred_schema_warns_and_voids_the_receipt():
    with pytest.warns(UserWarning, match="privet schema draft"):
        model = PrivateTreeClassifier("infer", epsilon=0.5).fit(X, Y)
    assert model.privacy_.epsilon == math.inf
    assert "inferred" in model.privacy_.void[0]
    assert model.privacy_.spent <= Fraction(1, 2)


def test_an_inferred_schema_voids_until_every_field_is_confirmed():
    half = Schema({**SCHEMA.features, "pay": Numeric(0, 1000, inferred=True)}, classes=SCHEMA.classes)
    assert PrivateTreeClassifier(half, epsilon=1).fit(X, Y).privacy_.void == ("schema inferred from the data: pay",)
    assert PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y).privacy_.void == ()


@pytest.mark.parametrize("schema", [None, "inferred", "adult.toml", 3, {"age": Numeric(0, 1)}, X, np.arange(3), []])
def test_without_a_schema_the_error_says_how_to_write_one(schema):
    with Ledger(1) as ledger, pytest.raises(SchemaError, match="privet schema draft"):
        PrivateTreeClassifier(schema, epsilon=1).fit(X, Y)
    assert ledger.spent == 0


def test_a_schema_for_regression_is_refused():
    schema = Schema({"age": Numeric(0, 90)}, target=(0, 1))
    with pytest.raises(SchemaError, match="classes"):
        PrivateTreeClassifier(schema, epsilon=1).fit(X[["age"]], Y)


def test_a_receipt_prints_and_survives_json():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.1).fit(X, Y)
    assert "epsilon   0.1" in str(model.privacy_)
    again = Receipt.from_json(model.privacy_.to_json())
    assert again == model.privacy_
    assert again.verify()
    assert model.export_text()


def test_a_receipt_shows_every_root_that_was_opened():
    class Sneaky(PrivateTreeClassifier):
        def _grow(self, curator, start, budget):
            tree = super()._grow(curator, start, budget)
            curator.peek([curator.root()])
            return tree

    curator = MemoryCurator(X, Y, SCHEMA)
    receipt = Sneaky(epsilon=0.1).fit_curator(curator).privacy_
    assert receipt.epsilon == math.inf
    assert receipt.void


def test_a_curator_with_another_ledger_is_refused_inside_a_ledger():
    curator = MemoryCurator(X, Y, SCHEMA)
    with Ledger(0.1) as ledger, pytest.raises(BudgetError, match="another ledger"):
        PrivateTreeClassifier(epsilon=0.1).fit_curator(curator)
    assert ledger.spent == 0


def test_tasks_on_one_thread_charge_their_own_ledgers():
    async def task(total):
        with Ledger(total) as ledger:
            await asyncio.sleep(0)
            PrivateTreeClassifier(SCHEMA, epsilon=0.1).fit(X, Y)
            await asyncio.sleep(0)
        return ledger.spent

    async def both():
        return await asyncio.gather(task(1), task(2))

    assert asyncio.run(both()) == [Fraction(1, 10), Fraction(1, 10)]


@pytest.mark.parametrize(("wrong", "kind"), [(None, "NoneType"), ((), "tuple")])
def test_an_algorithm_that_returns_no_tree_is_refused(wrong, kind):
    class Wrong(PrivateTreeClassifier):
        def _grow(self, curator, start, budget):
            return wrong

    with pytest.raises(TypeError, match=f"Wrong._grow must return a Tree or a Forest, not a {kind}"):
        Wrong(SCHEMA, epsilon=1).fit(X, Y)


def test_a_draft_of_a_schema_is_warned_about():
    draft = Schema({"a": Numeric(0, 1, inferred=True)}, classes=["no", "yes"])
    with pytest.warns(BudgetWarning, match="The schema is a draft"):
        PrivateTreeClassifier(draft, epsilon=1).fit([[0.1], [0.9]], ["no", "yes"])
