import copy
import dataclasses
import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import SchemaError
from privet.schema import Categorical, Features, Numeric, Schema

AGE = Numeric(17, 90, integer=True)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
finite = st.floats(-1e300, 1e300)
flags = st.booleans()
pairs = st.tuples(finite, finite).map(sorted)
whole_pairs = st.tuples(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53)).map(sorted)
values = st.one_of(
    st.lists(text, min_size=1, max_size=5, unique=True),
    st.lists(flags, min_size=1, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5, unique=True),
    st.lists(finite, min_size=1, max_size=5, unique=True),
)
numeric = st.one_of(
    st.builds(lambda r, m, i: Numeric(*r, missing=m, inferred=i), pairs, flags, flags),
    st.builds(lambda r, m: Numeric(*r, integer=True, missing=m), whole_pairs, flags),
    st.builds(lambda a, b: Numeric(*sorted((abs(a), abs(b))), log=True), finite, finite),
)
categorical = st.builds(
    lambda v, o, i, g: Categorical(v, other=o, groups=(v[:g], v[g:]) if 0 < g < len(v) else (), inferred=i),
    values, flags, flags, st.integers(0, 5),
)  # fmt: skip
features = st.dictionaries(text.filter(bool), numeric | categorical, min_size=1, max_size=5)
labels = st.one_of(st.builds(lambda v: {"classes": v}, values), st.builds(lambda r: {"target": tuple(r)}, pairs))


@st.composite
def schemas(draw):
    fields = draw(features)
    label = draw(st.none() | text.filter(lambda name: name and name not in fields))
    return Schema(fields, **draw(labels), label=label, inferred=draw(flags))


@given(schemas())
def test_every_format_gives_back_an_equal_schema(schema):
    copies = [
        Schema.from_toml(schema.to_toml()),
        Schema.from_json(schema.to_json()),
        Schema.from_dict(schema.to_dict()),
        pickle.loads(pickle.dumps(schema)),
        copy.deepcopy(schema),
        eval(repr(schema)),
    ]
    for other in copies:
        assert other == schema
        assert hash(other) == hash(schema)
        assert other.fingerprint() == schema.fingerprint()
        assert other.names == schema.names
        assert [type(v) for v in other.classes or ()] == [type(v) for v in schema.classes or ()]


@given(schemas(), schemas())
def test_fingerprints_agree_exactly_when_schemas_do(one, two):
    assert (one == two) == (one.fingerprint() == two.fingerprint())


def test_a_fingerprint_never_changes():
    schema = Schema({"age": AGE, "sex": Categorical(["f", "m"])}, classes=[0, 1], label="y")
    assert schema.fingerprint() == "9983fe81486f1ecdb2b9969ac91207fd56185905b6a206ce0fb0170207ad087c"


def test_files_are_read_and_written(tmp_path):
    schema = Schema({"größe": Numeric(0, 2.5)}, target=(0, 1))
    schema.to_toml(tmp_path / "s.toml")
    schema.to_json(str(tmp_path / "s.json"))
    assert Schema.from_toml(str(tmp_path / "s.toml")) == schema
    assert Schema.from_json(tmp_path / "s.json") == schema


def test_the_example_is_complete_and_confirmed():
    schema = Schema.from_toml(Path(__file__).parents[1] / "docs" / "example-schema.toml")
    assert len(schema.names) == 14
    assert schema.unconfirmed == ()
    assert schema.label == "income"


def test_types_of_values_count():
    assert Categorical([False, True]) != Categorical([0, 1])
    assert Categorical([0, 1]) != Categorical([0.0, 1.0])
    assert Categorical([1, 2.5]).values == (1.0, 2.5)
    assert Categorical(np.array([1, 2])).values == (1, 2)
    assert [type(v) for v in Categorical(np.array([True])).values] == [bool]


def test_order_of_features_counts():
    one, two = {"a": AGE, "b": AGE}, {"b": AGE, "a": AGE}
    assert Schema(one, classes=[0]) != Schema(two, classes=[0])


def test_a_schema_cannot_be_changed():
    schema = Schema({"a": AGE}, classes=[0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.label = "y"
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.features["a"].low = 0
    with pytest.raises(TypeError):
        schema.features["a"] = AGE


def test_a_field_can_be_confirmed_in_place_of_another():
    field = dataclasses.replace(Categorical(["a"], inferred=True), inferred=False)
    assert field == Categorical(["a"])


def test_unconfirmed_names_every_inferred_field():
    fields = {"a": Numeric(0, 1, inferred=True), "b": AGE, "c": Categorical(["x"], inferred=True)}
    assert Schema(fields, classes=[0, 1], label="y", inferred=True).unconfirmed == ("a", "c", "y")
    assert Schema(fields, classes=[0, 1], inferred=True).unconfirmed == ("a", "c", "label")


def test_a_constant_and_a_single_class_are_allowed():
    assert Schema({"a": Numeric(3, 3)}, classes=["only"]).task == "classification"
    assert Schema({"a": Numeric(3, 3)}, target=(1, 1)).task == "regression"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Numeric(2, 1), "low must not be above high"),
        (lambda: Numeric(0, float("inf")), "high must be finite"),
        (lambda: Numeric(float("nan"), 1), "low must be finite"),
        (lambda: Numeric(0, 10**400), "finite"),
        (lambda: Numeric(-1e308, 1e308), "too wide"),
        (lambda: Numeric("0", 1), "low must be a number"),
        (lambda: Numeric(False, True), "number"),
        (lambda: Numeric(0.5, 2, integer=True), "whole numbers"),
        (lambda: Numeric(0, 2**60, integer=True), "2\\*\\*53"),
        (lambda: Numeric(-1, 2, log=True), "log needs low >= 0"),
        (lambda: Numeric(0, 1, missing="yes"), "missing must be true or false"),
        (lambda: Numeric(0, 1, mean_of="ab"), "list of column names"),
        (lambda: Numeric(0, 1, mean_of=["a", "a"]), "twice"),
        (lambda: Numeric(0, 1, mean_of=["a", 1]), "text"),
        (lambda: Numeric(0, 1, integer=True, mean_of=["a", "b"]), "leave integer out"),
        (lambda: Schema({"m": Numeric(0, 1, mean_of=["a", "b"])}, classes=[0], label="b"), "'b' is the label"),
        (lambda: Categorical([]), "must not be empty"),
        (lambda: Categorical("abc"), "must be a list"),
        (lambda: Categorical(["a", "b", "a"]), "'a' is listed twice"),
        (lambda: Categorical([1, 1.0]), "listed twice"),
        (lambda: Categorical([1, True]), "all text, all booleans or all numbers"),
        (lambda: Categorical(["1", 1]), "put text in quotes"),
        (lambda: Categorical([None]), "leave missing values out"),
        (lambda: Categorical([float("nan")]), "finite"),
        (lambda: Categorical([2**64]), "64-bit"),
        (lambda: Categorical([2**53 + 1, 0.5]), "too large"),
        (lambda: Categorical(range(65_536)), "at most 65,535"),
        (lambda: Categorical(["\ud800"]), "Unicode"),
        (lambda: Categorical(["a", "b"], groups=["a", "b"]), "each of groups must be a list"),
        (lambda: Categorical(["a", "b"], groups=[["a"]]), "every one of the values"),
        (lambda: Categorical(["a", "b"], groups=[["a"], ["b", "c"]]), "nothing else"),
        (lambda: Categorical(["a", "b"], groups=[["a"], ["b", "a"]]), "groups must all be different, and 'a'"),
        (lambda: Categorical([0, 1], groups=[[False], [True]]), "every one of the values"),
        (lambda: Categorical(["a"], groups=3), "list of lists"),
        (lambda: Schema({}, classes=[0]), "at least one feature"),
        (lambda: Schema({"a": 3}, classes=[0]), "feature 'a' must be"),
        (lambda: Schema({"": AGE}, classes=[0]), "not empty"),
        (lambda: Schema({1: AGE}, classes=[0]), "must be text"),
        (lambda: Schema({"a": AGE}), "either classes"),
        (lambda: Schema({"a": AGE}, classes=[0], target=(0, 1)), "either classes"),
        (lambda: Schema({"a": AGE}, classes=[0], label="a"), "'a' is the label"),
        (lambda: Schema({"a": AGE}, target=(1, 0)), "target: low must not be above"),
        (lambda: Schema({"a": AGE}, target=3), "two numbers"),
    ],
)
def test_a_wrong_schema_says_which_rule_it_breaks(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[features.age]\nlow = 0\nhigh = 1\nintger = true\n",
            "'age' has an unknown key 'intger'; did you mean",
        ),
        ("[feature.age]\nlow = 0\n", "unknown key 'feature'; did you mean 'features'"),
        ("[label]\nzzz = 1\n", "known are name, classes"),
        ("[features.age]\nlow = 0\n", "feature 'age' needs low and high"),
        ("[features.age]\nlow = 2\nhigh = 1\n", "feature 'age': low must not be above"),
        ("[features.a]\nvalues = [1, 1]\n", "feature 'a': values must all be different"),
        ("[features.a]\nvalues = [1]\nlow = 1\n", "unknown key 'low'"),
        ("features = 3\n", "must be a table"),
        ("[features\n", "not valid TOML"),
        ("no-such-file.toml", "no such file"),
    ],
)
def test_a_wrong_file_names_the_field_and_the_rule(toml, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_toml(toml)


def test_a_person_is_no_feature():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], label="y", person="id", records_per_person=5)
    assert (schema.columns, schema.person, schema.records_per_person) == (("x",), "id", 5)
    assert Schema.from_toml(schema.to_toml()) == Schema.from_json(schema.to_json()) == schema
    assert eval(repr(schema)) == schema
    plain = Schema({"x": Numeric(0, 1)}, classes=[0, 1], label="y")
    assert plain != schema
    assert plain.fingerprint() != schema.fingerprint()
    assert Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="id").records_per_person == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"person": "x"}, "cannot be a feature"),
        ({"person": "y"}, "cannot be a feature or the label"),
        ({"person": ""}, "person's column"),
        ({"records_per_person": 5}, "needs person"),
        *(({"person": "id", "records_per_person": cap}, "from 1 to 64") for cap in (0, 65, 1.5, True, "5")),
    ],
    ids=str,
)
def test_a_wrong_person_is_refused(options, message):
    with pytest.raises(SchemaError, match=message):
        Schema({"x": Numeric(0, 1)}, classes=[0, 1], label="y", **options)


def test_a_person_without_a_name_in_a_file_is_refused():
    with pytest.raises(SchemaError, match="needs a name"):
        Schema.from_dict({"label": {"classes": [0]}, "person": {}, "features": {"x": {"low": 0, "high": 1}}})


def test_derived_features_name_the_columns_that_are_read():
    schema = Schema(
        {"ab": Numeric(0, 2, mean_of=["a", "b"]), "b": Numeric(0, 2), "bc": Numeric(0, 2, mean_of=("b", "c"))},
        classes=[0, 1],
    )
    assert schema.names == ("ab", "b", "bc")
    assert schema.columns == ("a", "b", "c")
    assert Schema.from_toml(schema.to_toml()) == schema
    assert eval(repr(schema)) == schema
    assert schema.fingerprint() != Schema({**schema.features, "ab": Numeric(0, 2)}, classes=[0, 1]).fingerprint()


def test_repr_reads_like_the_call_that_made_it():
    schema = Schema({"age": AGE, "sex": Categorical(["f"], other=False)}, classes=["no", "yes"], label="y")
    assert repr(schema) == (
        "Schema(\n"
        "    {\n"
        "        'age': Numeric(17, 90, integer=True),\n"
        "        'sex': Categorical(['f'], other=False),\n"
        "    },\n"
        "    classes=['no', 'yes'],\n"
        "    label='y',\n"
        ")"
    )


# -- values that stay what was checked -----------------------------------------------------------------------------


class Shifting(Mapping):
    """Has one list of features the first time it is read, and another one afterwards."""

    def __init__(self, first, then):
        self.answers = [then, first]

    def items(self):
        return (self.answers.pop() if len(self.answers) > 1 else self.answers[0]).items()

    def __getitem__(self, name):
        return self.answers[0][name]

    def __iter__(self):
        return iter(self.answers[0])

    def __len__(self):
        return len(self.answers[0])


def test_a_mapping_is_read_once():
    other = {"a": Numeric(0, 1), "b": Categorical(["x"])}
    schema = Schema(Shifting({"a": AGE}, other), classes=[0, 1])
    assert schema == Schema({"a": AGE}, classes=[0, 1])
    assert dict(schema.features) == {"a": AGE}


def test_what_is_changed_later_has_no_effect():
    fields, values, groups, columns, classes, target = (
        {"a": AGE},
        ["x", "y"],
        [["x"], ["y"]],
        ["p", "q"],
        [0, 1],
        [0.0, 1.0],
    )
    category, mean = Categorical(values, groups=groups), Numeric(0, 1, mean_of=columns)
    schema, regression = Schema(fields, classes=classes), Schema(fields, target=target)
    before = copy.deepcopy((category, mean, schema, regression))
    for listed in (values, groups, groups[0], columns, classes, target):
        listed[0] = "changed"
    fields["b"] = AGE
    del fields["a"]
    assert (category, mean, schema, regression) == before


class Text(str):
    def __str__(self):
        return "lie"

    def __hash__(self):
        return id(self)

    def encode(self, *args):
        return b""


class Number(float):
    def __gt__(self, other):
        return False

    def __sub__(self, other):
        return 0.0


def test_subclasses_with_methods_of_their_own_become_plain_values():
    schema = Schema(
        {
            Text("a"): Numeric(Number(0.5), Number(2.5), mean_of=[Text("p"), Text("q")]),
            Text("b"): Categorical([Text("x"), Text("y")], groups=[[Text("x")], [Text("y")]]),
        },
        classes=[Text("no"), Text("yes")],
        label=Text("ill"),
    )
    number, category = schema.features.values()
    assert schema.names == ("a", "b")
    assert {type(value) for value in (number.low, number.high)} == {float}
    texts = [*schema.names, *number.mean_of, *category.values, *schema.classes, schema.label]
    texts += [value for group in category.groups for value in group]
    assert texts == ["a", "b", "p", "q", "x", "y", "no", "yes", "ill", "x", "y"]
    assert {type(value) for value in texts} == {str}


def test_a_number_cannot_lie_about_its_range():
    with pytest.raises(SchemaError, match="swap"):
        Numeric(Number(5), Number(1))
    with pytest.raises(SchemaError, match="Unicode"):
        Categorical([Text("\ud800")])


@pytest.mark.parametrize("kind", [Numeric, Categorical, Schema, Features])
def test_nobody_can_subclass_a_schema_or_its_fields(kind):
    with pytest.raises(TypeError, match="final"):
        type("Spy", (kind,), {})


@pytest.mark.parametrize("value", [AGE, Categorical(["a"]), Schema({"a": AGE}, classes=[0]), Features({"a": AGE})])
def test_a_value_has_no_room_for_more(value):
    assert not hasattr(value, "__dict__")
    for name in ("low", "values", "features", "_fields", "n_codes", "anything"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, name, None)


def test_features_are_read_only_all_the_way():
    features = Schema({"a": AGE}, classes=[0]).features
    with pytest.raises(TypeError):
        features._fields["b"] = AGE
    assert pickle.loads(pickle.dumps(features)) == copy.deepcopy(features) == features


def test_a_field_of_another_kind_is_refused():
    class Posing:
        __class__ = Numeric
        low, high, mean_of, inferred = 0.0, 1.0, (), False

    with pytest.raises(SchemaError, match="must be a Numeric"):
        Schema({"a": Posing()}, classes=[0])
