import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.errors import SchemaError
from privet.schema import Categorical, Numeric, Schema
from privet.tables.draft import draft_toml, infer
from privet.tables.table import read_file, read_labels, read_table, read_targets

ROWS = {"age": [30, 20], "size": [1.5, 0.5], "sex": ["m", "f"], "ok": [True, False]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_gives_ranges_and_sorted_categories(make):
    schema = infer(make(ROWS), ["no", "yes"], "ill")
    assert schema == Schema(
        {
            "age": Numeric(20, 30, integer=True, inferred=True),
            "size": Numeric(0.5, 1.5, inferred=True),
            "sex": Categorical(["f", "m"], inferred=True),
            "ok": Categorical([False, True], inferred=True),
        },
        classes=["no", "yes"],
        label="ill",
        inferred=True,
    )
    assert schema.unconfirmed == ("age", "size", "sex", "ok", "ill")


def test_arrays_get_numbered_names():
    schema = infer(np.array([[1, 2.5], [3, 4]]), [1, 0])
    assert schema.names == ("x0", "x1")
    assert schema.classes == (0, 1)
    objects = infer(np.array([[1.5, "a"], [3, "b"]], dtype=object), [1, 0])
    assert objects.features["x0"] == Numeric(1.5, 3, inferred=True)
    assert objects.features["x1"] == Categorical(["a", "b"], inferred=True)


def test_listed_numbers_stay_categories():
    frame = pd.DataFrame({"a": pd.Series([3, 1, 3], dtype="category")})
    assert infer(frame, [0, 1, 0]).features["a"] == Categorical([1, 3], inferred=True)


def test_the_task_follows_the_labels_unless_it_is_given():
    X = np.ones((2, 1))
    assert infer(X, [0.5, 2]).target == (0.5, 2)
    assert infer(X, [1.0, 2.0]).classes == (1.0, 2.0)
    assert infer(X, [1, 2], task="regression").target == (1, 2)
    with pytest.raises(SchemaError, match="Unknown label type: continuous"):
        infer(X, [0.5, 2], task="classification")
    with pytest.raises(SchemaError, match="numbers for regression"):
        infer(X, ["a", "b"], task="regression")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], "NaN"),
        ([[1.0], [None]], [0, 1], "NaN"),
        ([[1.0], [-np.inf]], [0, 1], "infinity"),
        ([[1.0], [2.0]], [0, np.nan], "NaN"),
        ([[1.0], [2.0]], [0.5, np.inf], "infinity"),
        (np.empty((0, 2)), [], r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required"),
        (np.empty((3, 0)), [0, 1, 1], r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ([1.0, 2.0], [0, 1], "Reshape your data"),
        (np.ones((2, 1), complex), [0, 1], "Complex data not supported"),
        (np.array([[{}], [1]], dtype=object), [0, 1], "column 'x0'"),
    ],
)
def test_what_cannot_be_inferred_is_refused(X, y, message):
    with pytest.raises(SchemaError, match=message):
        infer(X, y)


def test_an_inferred_schema_reads_its_own_data():
    schema = infer(pd.DataFrame(ROWS), [0, 1])
    table = read_table(pd.DataFrame(ROWS), schema)
    assert table.codes("sex").tolist() == [1, 0]
    assert table.numeric("age").tolist() == [30, 20]


@pytest.fixture
def file(tmp_path):
    frame = pd.DataFrame(
        {
            "": range(40),
            "person": [f"p{i}" for i in range(40)],
            "serial": range(40),
            "zip": [f"0{i % 5}1" for i in range(40)],
            "age": [20 + i % 30 for i in range(40)],
            "size": [None if i % 7 == 0 else i / 4 for i in range(40)],
            "ok": ["true" if i % 2 else "FALSE" for i in range(40)],
            "const": "k",
            "empty": "",
            "code": [i % 3 for i in range(40)],
            'odd "name"\n.x': [f'v"{i % 4}\né' for i in range(40)],
            "gap": ["" if i % 9 == 0 else "ab"[i % 2] for i in range(40)],
            "ill": [i % 2 for i in range(40)],
            "cost": [i / 8 for i in range(40)],
        }
    )
    frame.to_csv(tmp_path / "f.csv", index=False)
    return tmp_path / "f.csv"


def test_a_draft_is_a_schema_that_nobody_confirmed(file):
    text = draft_toml(file, "ill")
    schema = Schema.from_toml(text)
    assert schema.unconfirmed == (*schema.names, "ill")
    assert schema.features["zip"].values == ("001", "011", "021", "031", "041")
    assert schema.features["age"] == Numeric(20, 50, integer=True, inferred=True)
    assert schema.features["size"] == Numeric(0, 10, missing=True, inferred=True)
    assert schema.features["ok"].values == (False, True)
    assert schema.classes == (0, 1)
    assert not {"", "person", "empty"} & set(schema.names)


def test_deleting_the_lines_confirms(file):
    lines = draft_toml(file, "ill").splitlines()
    schema = Schema.from_toml("\n".join(line for line in lines if not line.startswith("inferred")))
    assert schema.unconfirmed == ()


def test_a_draft_reads_the_file_it_came_from(file):
    schema = Schema.from_toml(draft_toml(file, "ill"))
    X, y = read_file(file, schema)
    table = read_table(X, schema)
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical):
            codes = table.codes(name)
            assert name == "gap" or (codes < len(feature.values)).all()
        else:
            values = table.numeric(name)
            assert feature.low <= np.nanmin(values) <= np.nanmax(values) <= feature.high
    assert read_labels(y, schema).tolist() == [0, 1] * 20


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("features.person", "Nearly every value differs, as in an identifier: left out"),
        ("features.serial", "if it is an identifier, delete"),
        ("features.zip", "leading zeros"),
        ("features.size", "Some values are missing"),
        ("features.const", "Constant"),
        ("features.empty", "No value at all"),
        ("features.code", "if they are codes"),
        ("features.gap", "they count as other"),
        ("label", "taken as classes; if that is wrong, write target"),
        ('features.""', "without a name"),
    ],
)
def test_suspicious_columns_get_a_remark(file, name, remark):
    block = next(b for b in draft_toml(file, "ill").split("\n\n") if b.startswith((f"[{name}]", f"# [{name}]")))
    assert remark in block


def test_a_draft_shows_no_smallest_and_no_largest_value(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age,ill\n" + "".join(f"{17.3 + i},{i % 2}\n" for i in range(72)))
    age = Schema.from_toml(draft_toml(path, "ill")).features["age"]
    assert (age.low, age.high) == (10, 90)


def test_a_decimal_comma_is_named(tmp_path):
    path = tmp_path / "euro.csv"
    path.write_text("income;ill\n" + "".join(f"{i % 9},5;{i % 2}\n" for i in range(72)))
    assert "decimal comma" in draft_toml(path, "ill")


def test_a_label_that_is_not_there_is_refused_with_the_columns_that_are(file):
    with pytest.raises(SchemaError, match=r"(?s)no column 'outcome'; it has .*ill"):
        draft_toml(file, "outcome")


def test_labels_may_be_amounts(file):
    schema = Schema.from_toml(draft_toml(file, "cost"))
    assert schema.target == (0, 5)  # 0 to 4.875, rounded outward
    assert Schema.from_toml(draft_toml(file, "code", "regression")).target == (0, 2)
    X, y = read_file(file, schema)
    assert X.num_rows == len(read_targets(y, schema)) == 40


def test_parquet_keeps_its_types(tmp_path):
    table = pa.table(
        {
            "a": ["1", "2"] * 20,
            "b": pa.array(["x", "y"] * 20).dictionary_encode(),
            "day": pa.array([1, 2] * 20, pa.date32()),
            "many": [f"c{i % 30}" for i in range(40)],
            "inf": [1.0, np.inf] * 20,
            "y": ["n", "p"] * 20,
        }
    )
    pq.write_table(table, tmp_path / "f.parquet")
    text = draft_toml(tmp_path / "f.parquet", "y")
    schema = Schema.from_toml(text)
    assert schema.features["a"].values == ("1", "2")
    assert schema.features["b"].values == ("x", "y")
    assert len(schema.features["many"].values) == 30
    assert "day" not in schema.names
    assert "Contains infinity" in text


def test_many_categories_get_a_remark(tmp_path):
    column = [f"c{i}" for i in range(1200)] * 2
    pq.write_table(pa.table({"a": column, "y": [0, 1] * 1200}), tmp_path / "f.parquet")
    assert "More than 1,000 categories" in draft_toml(tmp_path / "f.parquet", "y")


def test_a_draft_needs_its_label_and_records(file, tmp_path):
    with pytest.raises(SchemaError, match="has no column 'il'; did you mean 'ill'"):
        draft_toml(file, "il")
    (tmp_path / "e.csv").write_text("a,y\n")
    with pytest.raises(SchemaError, match="no records"):
        draft_toml(tmp_path / "e.csv", "y")


def test_identifiers_of_people_are_proposed_as_the_person_and_never_as_features(tmp_path):
    rows = "\n".join(f"{i % 7},{i % 5},{100 + i},{'yes' if i % 2 else 'no'}" for i in range(60))
    path = tmp_path / "visits.csv"
    path.write_text(f"patient_id,age,user_uuid,ill\n{rows}\n")
    text = draft_toml(path, "ill")
    schema = Schema.from_toml(text)
    assert (schema.person, schema.records_per_person, schema.names) == ("patient_id", 20, ("age",))
    assert "# [features.user_uuid]" in text
    assert "never a feature" in text
