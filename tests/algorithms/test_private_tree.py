"""PrivateTreeClassifier: its receipt is true, its model is made of answers alone, and it survives any input."""

import json
import math
import pickle
import traceback
import warnings
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet import (
    BudgetError,
    Categorical,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateTreeClassifier,
    PrivetError,
    Receipt,
    Schema,
    SchemaError,
    load,
    write_report,
)
from privet.algorithms.model_file import to_dict
from privet.audit import Pair, exact_bound
from privet.export.python import to_python
from privet.export.sklearn import to_sklearn
from privet.export.sql import to_sql
from privet.privacy.amounts import exact
from privet.questions.grid import public_grid

LEAVES = ["labels", "counts"]
leaves = st.sampled_from(LEAVES)
epsilons = st.one_of(
    st.floats(1e-6, 1e6), st.sampled_from([0.1, 0.3, 1, "0.1", Fraction(1, 3), np.float64(0.7), 1e-9, 1e9])
)

fields = st.one_of(
    st.tuples(st.integers(-5, 5), st.integers(0, 100), st.booleans(), st.booleans()).map(
        lambda t: Numeric(t[0], t[0] + t[1], integer=t[2], missing=t[3])
    ),
    st.tuples(st.integers(1, 13), st.booleans()).map(lambda t: Categorical(range(t[0]), other=t[1])),
)
schemas = st.tuples(st.lists(fields, min_size=1, max_size=4), st.integers(1, 4)).map(
    lambda t: Schema({f"x{i}": field for i, field in enumerate(t[0])}, classes=list(range(t[1])))
)


@st.composite
def problems(draw):
    """A schema with records that fit it."""
    schema = draw(schemas)
    n = draw(st.sampled_from([0, 1, 2, 30, 500]))
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


relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


# -- true ----------------------------------------------------------------------------------------------------------


@settings(relaxed, max_examples=120)
@given(problems(), epsilons, st.integers(0, 6), st.one_of(st.none(), st.integers(0, 10**6)), leaves)
def test_a_receipt_never_exceeds_the_requested_epsilon_and_verifies(problem, epsilon, max_depth, n_records, leaves):
    schema, X, y = problem
    model = PrivateTreeClassifier(schema, epsilon=epsilon, max_depth=max_depth, n_records=n_records, leaves=leaves)
    with Ledger(math.inf) as ledger:
        receipt = model.fit(X, y).privacy_
    assert receipt.void == ()
    assert receipt.claimed == exact(epsilon)
    assert receipt.epsilon == receipt.spent == ledger.spent <= exact(epsilon)
    assert receipt.verify()
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt
    assert again.verify()
    assert model.tree_.depth <= max_depth
    assert model.predict(X).shape == (len(X),)
    if leaves == "labels" and len(schema.classes) > 1:
        assert not hasattr(model, "predict_proba")
        return
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), len(schema.classes))
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@settings(relaxed, max_examples=30)
@given(problems(), epsilons, st.integers(0, 99))
def test_a_seed_or_an_inferred_schema_guarantees_nothing(problem, epsilon, seed):
    schema, X, y = problem
    receipts = [PrivateTreeClassifier(schema, epsilon=epsilon, random_state=seed).fit(X, y).privacy_]
    known = X.dropna()
    if len(known):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            receipts += [PrivateTreeClassifier("infer", epsilon=epsilon).fit(known, y[known.index]).privacy_]
    for receipt in receipts:
        assert receipt.void
        assert receipt.epsilon == math.inf
        assert receipt.spent <= exact(epsilon)
        assert receipt.verify()


class Scripted:
    """Answers that do not depend on the records at all."""

    reproducible = False

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        self.counts = set()

    def select(self, mechanism, scores, scales):
        return [int(self.generator.integers(len(score))) for score in scores]

    def geometric(self, values, scale):
        noisy = self.generator.integers(-50, 5000, size=values.shape)
        self.counts |= set(noisy.ravel().tolist())
        return noisy


@settings(relaxed, max_examples=60)
@given(problems(), st.integers(0, 2**32), leaves, st.data())
def test_a_model_is_a_function_of_the_answers_alone(problem, seed, leaves, data):
    """The same answers on a neighbouring table, or on any other, give the same bytes."""
    schema, X, y = problem
    tables = [(X, y)]
    if len(X):
        gone = data.draw(st.integers(0, len(X) - 1))
        tables += [(X.drop(index=gone), np.delete(y, gone)), (X[:0], y[:0]), (X[::-1], y)]
    models = []
    for table, labels in tables:
        curator = MemoryCurator(table, labels, schema, mechanisms=Scripted(seed))
        models.append(PrivateTreeClassifier(epsilon=2, leaves=leaves).fit_curator(curator))
    assert len({json.dumps(to_dict(model)) for model in models}) == 1
    assert len({pickle.dumps(model) for model in models}) == 1


@settings(relaxed, max_examples=60)
@given(problems(), st.integers(0, 2**32), leaves)
def test_a_saved_model_holds_only_public_numbers_and_answers(problem, seed, leaves):
    schema, X, y = problem
    noise = Scripted(seed)
    model = PrivateTreeClassifier(epsilon=2, leaves=leaves, n_records=10**6)
    saved = to_dict(model.fit_curator(MemoryCurator(X, y, schema, mechanisms=noise)))
    assert set(saved) == {"format", "model", "params", "schema", "tree", "receipt"}
    assert saved["schema"] == schema.to_dict()
    assert saved["params"] == {k: v for k, v in model.get_params().items() if k != "schema"}
    assert set(saved["tree"]) == {"nodes"}
    cuts = {cells.name: cells.cuts for cells in public_grid(schema).features}
    for node in saved["tree"]["nodes"]:
        assert set(node) <= {"feature", "cuts", "part", "children", "label", "counts", "scope"}
        assert node["scope"] in {event["scope"] for event in saved["receipt"]["events"]}
        assert set(node.get("cuts") or ()) <= set(() if node.get("cuts") is None else cuts[node["feature"]])
        assert set(node.get("part", ())) <= {0, 1}
        assert all(0 < child < len(saved["tree"]["nodes"]) for child in node.get("children", ()))
        assert node.get("label", 0) in range(len(schema.classes))
        assert set(node.get("counts", ())) <= noise.counts
    for event in saved["receipt"]["events"]:
        known = {"scope", "question", "mechanism", "sensitivity", "scale", "charged", "lemma", "delta", "drawn"}
        assert set(event) == known


# -- accurate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaves", LEAVES)
def test_much_budget_finds_what_a_tree_can_find(leaves):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 6))
    y = (X[:, 2] > 0.3).astype(int) + (X[:, 4] > 0.6)
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(6)}, classes=[0, 1, 2])
    model = PrivateTreeClassifier(schema, epsilon=100, leaves=leaves).fit(X, y)
    assert model.score(X, y) > 0.95
    assert {2, 4} <= model.tree_.features


def test_a_few_planted_records_get_no_leaf_of_their_own():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, 4000), np.zeros(4000)])
    y = (X[:, 0] > 0.5).astype(int)
    X[:40], y[:40] = [0.2, 1], 1
    schema = Schema({"x": Numeric(0, 1), "trigger": Numeric(0, 1)}, classes=[0, 1])
    for min_leaf, answer in ((0.0, 1), (0.05, 0)):
        # The counts' noise has a scale of 1/10: no draw of it turns a leaf of 1% into one of 5%.
        model = PrivateTreeClassifier(schema, epsilon=100, leaves="counts", min_leaf=min_leaf).fit(X, y)
        assert model.predict([[0.2, 1.0]]) == [answer]
        assert model.privacy_.verify()


def test_categories_are_split_by_subsets():
    towns = list("abcdefgh")
    X = pd.DataFrame({"town": towns * 50})
    y = X["town"].isin(list("aceg")).astype(int)
    model = PrivateTreeClassifier(Schema({"town": Categorical(towns)}, classes=[0, 1]), epsilon=50).fit(X, y)
    assert model.score(X, y) == 1
    assert {tuple(model.tree_.nodes[0].rule.part[i] for i in part) for part in ((0, 2, 4, 6), (1, 3, 5, 7))} == {
        (0, 0, 0, 0),
        (1, 1, 1, 1),
    }


# -- robust ----------------------------------------------------------------------------------------------------------

SCHEMA = Schema({"a": Numeric(0, 10), "b": Categorical(["x", "y"])}, classes=["no", "yes"])
TABLE = pd.DataFrame({"a": np.arange(20) / 2, "b": ["x", "y"] * 10})
LABELS = np.array(["no", "yes"], dtype=object)[(np.arange(20) > 9).astype(int)]


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("n", [0, 1])
def test_no_record_and_one_record_train_and_predict(n, leaves):
    for schema in (SCHEMA, Schema(SCHEMA.features, classes=["no"])):
        for table in (TABLE[:n], TABLE[:n].to_numpy(dtype=object)):
            model = PrivateTreeClassifier(schema, epsilon=1, leaves=leaves).fit(table, LABELS[:n])
            assert set(model.predict(TABLE)) <= set(schema.classes)
            assert model.predict(TABLE[:0]).tolist() == []
            if leaves == "counts":
                assert model.predict_proba(TABLE[:0]).shape == (0, len(schema.classes))
            assert model.privacy_.verify()


@pytest.mark.parametrize("n", [0, 1])
def test_empty_arrays_of_numbers_train_too(n):
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1])
    for table in (
        np.zeros((n, 2)),
        np.zeros((n, 2), dtype=np.int8),
        pd.DataFrame(np.zeros((n, 2)), columns=["a", "b"]),
    ):
        model = PrivateTreeClassifier(schema, epsilon=1, n_records=1000).fit(table, np.zeros(n, dtype=int))
        assert model.predict(np.zeros((3, 2))).shape == (3,)


def test_one_class_present_is_learned():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1000).fit(TABLE, ["yes"] * 20)
    assert set(model.predict(TABLE)) == {"yes"}


def test_one_class_in_the_schema_costs_nothing_in_accuracy():
    model = PrivateTreeClassifier(Schema(SCHEMA.features, classes=["no"]), epsilon=0.01).fit(TABLE, ["no"] * 20)
    assert set(model.predict(TABLE)) == {"no"}
    assert model.predict_proba(TABLE).tolist() == [[1.0]] * 20
    assert len(model.tree_.nodes) == 1


@pytest.mark.parametrize("leaves", LEAVES)
def test_columns_with_nothing_to_split_give_a_leaf(leaves):
    schema = Schema({"a": Numeric(5, 5), "b": Categorical(["x"], other=False)}, classes=["no", "yes"])
    table = pd.DataFrame({"a": [5.0] * 20, "b": ["x"] * 20})
    model = PrivateTreeClassifier(schema, epsilon=1000, leaves=leaves, n_records=20).fit(table, ["yes"] * 20)
    assert len(model.tree_.nodes) == 1
    assert set(model.predict(table)) == {"yes"}
    assert model.privacy_.spent <= 1000


def test_constant_data_in_a_wide_range_is_fine():
    model = PrivateTreeClassifier(SCHEMA, epsilon=10).fit(TABLE.assign(a=3.0, b="x"), LABELS)
    assert model.predict(TABLE).shape == (20,)


def test_ten_thousand_categories():
    values = [f"v{i}" for i in range(10_000)]
    schema = Schema({"c": Categorical(values), "d": Categorical(range(300), other=False)}, classes=[0, 1])
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice([*values, "unlisted"], 3000), "d": rng.integers(0, 300, 3000)})
    model = PrivateTreeClassifier(schema, epsilon=10).fit(X, (X["d"] == 7).astype(int))
    assert model.privacy_.verify()
    assert model.predict(X).shape == (3000,)


@pytest.mark.parametrize("n_features", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_thousands_of_features(n_features):
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(n_features)}, classes=[0, 1])
    X = np.random.default_rng(0).uniform(size=(300, n_features))
    y = (X[:, 432] > 0.5).astype(int)
    model = PrivateTreeClassifier(schema, epsilon=100, max_depth=2).fit(X, y)
    assert model.tree_.nodes[0].rule.feature == 432
    assert model.score(X, y) > 0.95


def test_values_beyond_the_range_are_clamped():
    wide = TABLE.assign(a=[-1e300] * 10 + [1e300] * 10)
    ends = TABLE.assign(a=[0] * 10 + [10] * 10)
    model = PrivateTreeClassifier(SCHEMA, epsilon=1000, max_depth=1)
    assert model.fit(wide, LABELS).predict(ends).tolist() == LABELS.tolist()
    assert model.fit(ends, LABELS).predict(wide).tolist() == LABELS.tolist()


def test_missing_and_unlisted_values_are_learned_from():
    schema = Schema({"a": Numeric(0, 10, missing=True), "b": Categorical(["x", "y"])}, classes=["no", "yes"])
    table = pd.DataFrame({"a": [np.nan, 5.0] * 50, "b": ["x", "z", None, "z"] * 25})
    by_missing = ["yes", "no"] * 50
    by_unlisted = ["no", "yes", "yes", "yes"] * 25
    for y in (by_missing, by_unlisted):
        assert PrivateTreeClassifier(schema, epsilon=1000).fit(table, y).score(table, y) == 1


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e9, 1e300, "0.1", Fraction(1, 10), np.float32(0.5), np.int64(2), 3])
def test_any_positive_epsilon_works(epsilon):
    model = PrivateTreeClassifier(SCHEMA, epsilon=epsilon).fit(TABLE, LABELS)
    assert model.privacy_.epsilon <= exact(epsilon)
    assert model.privacy_.verify()
    assert model.predict(TABLE).shape == (20,)


WRONG = {
    "epsilon": [0, 0.0, -1, -0.1, math.nan, math.inf, -math.inf, None, True, "much", "", [1], {}, 1j, "nan", "inf"],
    "max_depth": [-1, "3", 2.5, None, True, math.nan, [4]],
    "leaves": ["label", "", None, 3, True],
    "min_leaf": [-0.1, 0.5, math.nan, True, "0.1", None, 0.1],  # the last one needs counts
    "n_records": [-1, -0.5, math.nan],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_parameter_is_a_clear_error_and_costs_nothing(name, value):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).set_params(**{name: value})
    with Ledger(10) as ledger:
        with pytest.raises(PrivetError, match=name):
            model.fit(TABLE, LABELS)
        with pytest.raises(PrivetError, match=name):
            model.set_params(schema=None).fit_curator(MemoryCurator(TABLE, LABELS, SCHEMA, ledger=ledger))
    assert (ledger.spent, ledger.events) == (0, [])
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize("n_records", ["100", "many", [5], {}])
def test_a_hint_that_is_no_number_is_a_clear_error(n_records):
    with pytest.raises(PrivetError, match="n_records"):
        PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=n_records).fit(TABLE, LABELS)


@pytest.mark.parametrize("leaves", LEAVES)
def test_a_depth_of_0_is_one_label_that_can_be_saved_reported_and_exported(leaves, tmp_path):
    model = PrivateTreeClassifier(SCHEMA, epsilon=50, max_depth=0, leaves=leaves).fit(TABLE[8:], LABELS[8:])
    assert set(model.predict(TABLE)) == {"yes"}
    assert len(model.tree_.nodes) == 1
    assert len(model.privacy_.events) == (1 if leaves == "labels" else 2)  # no number of records is measured
    assert model.privacy_.epsilon == 50
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.privacy_.verify()
    assert set(again.predict(TABLE)) == {"yes"}
    assert "yes" in model.export_text()
    write_report(model, tmp_path / "report.html")
    assert "yes" in to_python(model)
    assert "yes" in to_sql(model, "people")
    with pytest.raises(PrivetError, match="no tree to export"):
        to_sklearn(model)


def test_one_label_costs_at_most_its_epsilon():
    schema = Schema({"f": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
    few = (np.array([["a"], ["b"]]), np.array(["n", "y"]))
    more = (np.array([["a"], ["b"], ["a"]]), np.array(["n", "y", "y"]))
    bound = exact_bound(PrivateTreeClassifier(epsilon=1.0, max_depth=0), Pair(few, more, schema))
    assert 0 < bound.epsilon <= 1.0 + 1e-9


@pytest.mark.parametrize("max_depth", [1, 2, 20, np.int64(3)])
def test_a_depth_is_a_cap(max_depth):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1e6, max_depth=max_depth, n_records=10**9).fit(TABLE, LABELS)
    assert 1 <= model.tree_.depth <= max_depth
    assert model.privacy_.verify()


@pytest.mark.parametrize("n_records", [0, 1, 1e6, np.int64(50), 10**30])
def test_a_hint_is_never_compared_with_the_data(n_records):
    with Ledger(1) as ledger:
        model = PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=n_records).fit(TABLE, LABELS)
    assert "tally" not in {event.question for event in ledger.events if model.leaves == "labels"}
    assert model.privacy_.spent <= 1


# -- no value in any message ---------------------------------------------------------------------------------------

SECRET = "S3CRET"
NUMBER = 987654.3125
SHOWN = ("S3CRET", "987654", "9.8765")


class Odd:
    def __repr__(self):
        return SECRET

    __str__ = __repr__


def with_cell(column, value):
    return TABLE.astype(object).assign(**{column: [value, *TABLE[column][1:]]})


def with_label(value):
    return [value, *LABELS[1:]]


STRICT = Schema({"a": Numeric(0, 10), "b": Categorical(["x", "y"], other=False)}, classes=["no", "yes"])
NUMBERS = Schema({"a": Numeric(0, 10), "b": Categorical([0, 1])}, classes=[0, 1])
CASES = {
    "text among numbers": (with_cell("a", SECRET), LABELS, SCHEMA),
    "an object among numbers": (with_cell("a", Odd()), LABELS, SCHEMA),
    "a list among numbers": (with_cell("a", [SECRET]), LABELS, SCHEMA),
    "bytes among numbers": (with_cell("a", SECRET.encode()), LABELS, SCHEMA),
    "a complex number": (with_cell("a", complex(NUMBER, 1)), LABELS, SCHEMA),
    "a date among numbers": (with_cell("a", date(1987, 6, 5)), LABELS, SCHEMA),
    "a number among text": (with_cell("b", NUMBER), LABELS, SCHEMA),
    "an object among text": (with_cell("b", Odd()), LABELS, SCHEMA),
    "an unlisted value": (with_cell("b", SECRET), LABELS, STRICT),
    "text for a number category": (with_cell("b", SECRET), (LABELS == "yes").astype(int), NUMBERS),
    "an unknown class": (TABLE, with_label(SECRET), SCHEMA),
    "a number as a class": (TABLE, with_label(NUMBER), SCHEMA),
    "an object as a class": (TABLE, with_label(Odd()), SCHEMA),
    "a fraction as a class": (TABLE[["a"]].assign(b=0), [NUMBER, *[0] * 19], NUMBERS),
    "text as a class": (TABLE[["a"]].assign(b=0), [SECRET, *[0] * 19], NUMBERS),
    "ragged rows": ([[SECRET, "x"], [1.0, "y", 3]], ["no", "yes"], SCHEMA),
    "ragged labels": (TABLE, [[SECRET], ["no", "yes"]], SCHEMA),
    "text in an array": (np.array([[SECRET, "x"]] * 20, dtype=object), LABELS, SCHEMA),
    "one dimension": (np.array([SECRET] * 20, dtype=object), LABELS, SCHEMA),
    "a dictionary": ({"a": [SECRET], "b": ["x"]}, ["no"], SCHEMA),
    "a sparse matrix": (scipy.sparse.csr_matrix(np.full((20, 2), NUMBER)), LABELS, SCHEMA),
    "a masked array": (np.ma.masked_array(np.full((20, 2), NUMBER)), LABELS, SCHEMA),
    "text": (SECRET, LABELS, SCHEMA),
    "too few labels": (TABLE.assign(a=NUMBER), LABELS[:-1], SCHEMA),
    "a missing value": (with_cell("a", None).assign(b=SECRET), LABELS, SCHEMA),
    "records as names": (pd.DataFrame([[1.0, "x"]] * 20, columns=[SECRET, str(NUMBER)]), LABELS, SCHEMA),
}


def everything_said(error):
    """All messages of an exception and of those it is chained to, printed or not."""
    said, waiting = ["".join(traceback.format_exception(error))], [error]
    while waiting:
        one = waiting.pop()
        if one is not None:
            said.append(f"{one} {one.args!r}")
            waiting += [one.__cause__, one.__context__]
    return " ".join(said)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bad_data_is_a_clear_error_without_a_value_at_no_cost(case):
    X, y, schema = case
    with Ledger(1) as ledger, pytest.raises(PrivetError) as raised:
        PrivateTreeClassifier(schema, epsilon=1).fit(X, y)
    said = everything_said(raised.value)
    assert not [shown for shown in SHOWN if shown in said]
    assert ledger.spent == 0


@pytest.mark.parametrize(
    "table",
    [X for X, _, schema in CASES.values() if schema is SCHEMA and X is not TABLE and not isinstance(X, str)],
    ids=lambda _: "",
)
def test_bad_data_is_a_clear_error_when_predicting_too(table):
    """Text is the name of a file, which an error repeats."""
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(TABLE, LABELS)
    try:
        model.predict(table)
    except PrivetError as error:
        said = everything_said(error)
        assert not [shown for shown in SHOWN if shown in said]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.filterwarnings("ignore:schema='infer' reads:UserWarning")
def test_inferring_from_bad_data_shows_no_value_either(case):
    X, y, _ = case
    try:
        PrivateTreeClassifier("infer", epsilon=1).fit(X, y)
    except PrivetError as error:
        said = everything_said(error)
        assert not [shown for shown in SHOWN if shown in said]


def test_a_fit_that_is_refused_by_its_ledger_reads_nothing_aloud():
    with Ledger(0.5), pytest.raises(BudgetError) as raised:
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(TABLE.assign(a=NUMBER, b=SECRET), LABELS)
    assert not [shown for shown in SHOWN if shown in everything_said(raised.value)]


def test_a_column_twice_is_refused():
    with pytest.raises(SchemaError, match="several columns of the same name"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(pd.concat([TABLE, TABLE[["a"]]], axis=1), LABELS)


def test_columns_of_which_only_some_have_names_are_refused():
    with pytest.raises(SchemaError, match="names for some columns"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(TABLE.rename(columns={"b": 1}), LABELS)


def test_thousands_of_classes_train():
    schema = Schema({"a": Numeric(0, 1)}, classes=range(3000))
    X = np.linspace(0, 1, 500)[:, None]
    model = PrivateTreeClassifier(schema, epsilon=100, n_records=10_000).fit(X, np.full(500, 77))
    # All splits are equally good here, so a leaf may hold a record or two and lose against 2,999 others. Half of the
    # records can only be wrong if a leaf of 15 is (of at most 16): below 3000 exp(-15 * 9.5 / 2), with 9.5 for a label.
    assert np.mean(model.predict(X) == 77) > 0.5
