import traceback
import warnings

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from privet.errors import SchemaError
from privet.schema import Categorical, Numeric, Schema
from privet.tables import table as table_module
from privet.tables.table import check_lengths, read_file, read_labels, read_table, read_targets

SCHEMA = Schema(
    {"age": Numeric(0, 100, missing=True), "sex": Categorical(["f", "m"]), "kids": Categorical([0, 1, 2])},
    classes=["no", "yes"],
    label="ill",
)
ROWS = {
    "age": [30.0, None, 50.0, 7.0],
    "sex": ["m", "f", None, "x"],
    "kids": [2, 0, 7, 1],
    "extra": ["a", "b", "c", "d"],
}
FRAMES = {
    "pandas": lambda d: pd.DataFrame(d),
    "pandas object": lambda d: pd.DataFrame(d, dtype=object),
    "pandas nullable": lambda d: pd.DataFrame(d).convert_dtypes(),
    "pandas arrow": lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="pyarrow"),
    "pandas category": lambda d: pd.DataFrame(d).astype({"sex": "category", "kids": "category"}),
    "polars": lambda d: pl.DataFrame(d),
    "polars categorical": lambda d: pl.DataFrame(d).with_columns(pl.col("sex").cast(pl.Categorical)),
    "pyarrow": lambda d: pa.table(d),
    "pyarrow batch": lambda d: pa.RecordBatch.from_pydict(d),
    "pyarrow chunks": lambda d: pa.concat_tables([pa.table(d).slice(0, 1), pa.table(d).slice(1)]),
    "pyarrow view": lambda d: pa.table(d | {"sex": pa.array(d["sex"], pa.string_view())}),
    "pyarrow dictionary": lambda d: pa.table(d | {"sex": pa.array(d["sex"]).dictionary_encode()}),
    "narwhals": lambda d: nw.from_native(pl.DataFrame(d)),
    "numpy": lambda d: np.array([d[name] for name in SCHEMA.names], dtype=object).T,
    "lists": lambda d: [list(row) for row in zip(*(d[name] for name in SCHEMA.names))],
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_every_kind_of_table_reads_the_same(make):
    table = read_table(make(ROWS), SCHEMA)
    assert table.n_rows == len(table) == 4
    assert table.matrix is None
    np.testing.assert_array_equal(table.numeric("age"), [30, np.nan, 50, 7])
    assert table.numeric("age").dtype == np.float64
    assert table.codes("sex").tolist() == [1, 0, 2, 2]
    assert table.codes("kids").tolist() == [2, 0, 3, 1]
    assert table.codes("sex").dtype == np.uint8


def test_columns_match_by_name_in_any_order():
    frame = pd.DataFrame(ROWS)[["kids", "extra", "sex", "age"]]
    assert read_table(frame, SCHEMA).codes("kids").tolist() == [2, 0, 3, 1]


def test_a_missing_column_is_named_with_a_hint():
    with pytest.raises(SchemaError, match="missing: 'sex'; did you mean 'Sex'"):
        read_table(pd.DataFrame(ROWS).rename(columns={"sex": "Sex"}), SCHEMA)


def test_a_table_without_any_known_column_gets_no_hint():
    with pytest.raises(SchemaError) as caught:
        read_table(pd.DataFrame({"Age": [1], "sexx": ["f"]}), SCHEMA)
    assert "sexx" not in str(caught.value)


def test_columns_of_the_same_name_are_refused():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(SchemaError, match="same name"):
        read_table(frame, Schema({"a": Numeric(0, 1)}, classes=[0]))


def test_fitted_names_follow_scikit_learn():
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0])
    frame = pd.DataFrame({"a": [1.0], "b": [1.0]})
    assert read_table(frame, schema, fitted_names=["a", "b"]).n_rows == 1
    with pytest.raises(SchemaError, match="must be in the same order as they were in fit"):
        read_table(frame[["b", "a"]], schema, fitted_names=["a", "b"])
    with pytest.raises(SchemaError, match="Feature names seen at fit time, yet now missing:\n- b\n"):
        read_table(frame[["a"]], schema, fitted_names=["a", "b"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_an_array_of_numbers_is_handed_on_without_a_copy(dtype):
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0])
    array = np.ones((3, 2), dtype)
    table = read_table(array, schema)
    assert table.matrix is array
    assert table.numeric("b").dtype == np.float64
    assert np.shares_memory(table.numeric("b"), array) == (dtype is np.float64)


def test_numbers_in_frames_are_not_copied():
    column = np.arange(5.0)
    schema = Schema({"a": Numeric(0, 1)}, classes=[0])
    for frame in (
        pd.DataFrame({"a": column}, copy=False),
        pl.DataFrame({"a": column}),
        pa.table({"a": column}),
    ):
        first, again = (read_table(frame, schema).numeric("a") for _ in range(2))
        assert np.shares_memory(first, again)


def test_pieces_of_a_column_are_the_column(monkeypatch):
    monkeypatch.setattr(table_module, "PIECE", 4)
    whole = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    chunks = pa.chunked_array([pa.array(whole[:3], pa.int32()), pa.array([*whole[3:-1], None], pa.int32())])
    columns = {
        "f8": np.array(whole, np.float64),
        "f4": np.array(whole, np.float32),
        "nullable": chunks,
        "dictionary": chunks.dictionary_encode(),
    }
    features = {name: Numeric(0, 9, missing=True) for name in columns}
    schema = Schema(features | {"mean": Numeric(0, 9, mean_of=["f8", "f4"])}, classes=[0])
    table = read_table(pa.table(columns), schema)
    for name in schema.features:
        pieces = list(table.numeric_pieces(name))
        assert [rows.start for rows, _ in pieces] == [0, 4, 8]
        assert all(values.dtype == np.float64 for _, values in pieces)
        np.testing.assert_array_equal(np.concatenate([values for _, values in pieces]), table.numeric(name))
    bad = read_table(pa.table({"a": pa.array(["text"])}), Schema({"a": Numeric(0, 1)}, classes=[0]))
    with pytest.raises(SchemaError, match="must hold numbers only"):
        list(bad.numeric_pieces("a"))


def test_numbered_columns_are_positions_and_that_is_said():
    two = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0])
    with pytest.warns(UserWarning, match="taken by position"):
        assert read_table(pd.DataFrame(np.ones((2, 2))), two).n_rows == 2


@pytest.mark.parametrize("names", [[1, 0], [3, 7], pd.MultiIndex.from_tuples([("a", "x"), ("b", "x")])])
def test_columns_with_numbers_or_several_levels_for_names_are_not_taken_by_position(names):
    two = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0])
    with pytest.raises(SchemaError, match="give them the schema's names"):
        read_table(pd.DataFrame(np.ones((2, 2)), columns=names), two)


def test_no_records_are_fine():
    empty = {name: [] for name in SCHEMA.names}
    for X in (np.empty((0, 3)), pd.DataFrame(empty), pl.DataFrame(empty), pa.table(empty)):
        table = read_table(X, SCHEMA)
        assert table.n_rows == len(table.numeric("age")) == len(table.codes("sex")) == 0
    assert len(read_labels([], SCHEMA)) == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "Reshape your data"),
        ([1.0, 2.0], "Reshape your data"),
        (np.ones((2, 2)), "X has 2 features, but Schema is expecting 3 features as input"),
        (scipy.sparse.csr_matrix(np.ones((2, 3))), "sparse"),
        (scipy.sparse.csr_array(np.ones((2, 3))), "sparse"),
        (np.ones((2, 3), complex), "Complex data not supported"),
        (np.ma.ones((2, 3)), "masked"),
        ([[1, 2, 3], [1]], "rows of the same length"),
        (pl.LazyFrame(ROWS), "collect"),
    ],
)
def test_other_things_are_refused_with_advice(X, message):
    with pytest.raises(SchemaError, match=message):
        read_table(X, SCHEMA)


def one(field, column):
    """A table of one column, and the field's reading of it."""
    table = read_table(pd.DataFrame({"c": column}), Schema({"c": field}, classes=[0]))
    return table.codes("c") if isinstance(field, Categorical) else table.numeric("c")


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "float64", "Int64", "object"])
def test_numbers_match_by_value_whatever_their_type(dtype):
    column = pd.Series([1, 5, 2], dtype=dtype)
    assert one(Categorical([2, 1]), column).tolist() == [1, 2, 0]
    assert one(Categorical([2.0, 1.0, 300.0, -1.5]), column).tolist() == [1, 4, 0]


def test_large_integers_stay_themselves():
    field = Categorical([2**53, 2**53 + 1])
    assert one(field, pd.Series([2**53 + 1, 2**53], dtype="int64")).tolist() == [1, 0]
    assert one(field, pd.Series([2**53 + 1, None], dtype="Int64")).tolist() == [1, 2]
    assert one(field, pd.Series([2**53 + 1, 2**70], dtype=object)).tolist() == [1, 2]


def test_a_narrow_float_column_matches_what_it_can_hold():
    assert one(Categorical([0.1, 0.2]), np.array([0.2, 0.1, 0.3], np.float32)).tolist() == [1, 0, 2]


def test_booleans_match_booleans():
    for column in (
        [True, False],
        pd.Series([True, False], dtype="boolean"),
        pd.Series([True, False], dtype=object),
    ):
        assert one(Categorical([False, True]), column).tolist() == [1, 0]
        assert one(Categorical([True]), column).tolist() == [0, 1]


def test_many_categories_need_two_bytes():
    names = [f"v{i}" for i in range(300)]
    codes = one(Categorical(names), [*reversed(names), "other"])
    assert codes.dtype == np.uint16
    assert codes.tolist() == [*reversed(range(300)), 300]
    assert one(Categorical(range(300)), np.array([299, 0, -1])).tolist() == [299, 0, 300]


@pytest.mark.parametrize(
    ("field", "column"),
    [
        (Categorical(["001"]), [1, 2]),
        (Categorical(["1"]), [1.0, 2.0]),
        (Categorical([1]), ["1", "001"]),
        (Categorical([1]), [True, False]),
        (Categorical([True]), [1, 0]),
        (Categorical(["True"]), [True, False]),
        (Categorical([1]), pd.Series(["1", None], dtype="category")),
        (Categorical(["1"]), pd.Series(["1", 1], dtype=object)),
        (Categorical([1]), pd.Series([1, True], dtype=object)),
        (Categorical(["a"]), pd.Series([b"a"], dtype=object)),
        (Categorical(["a"]), pd.to_datetime(["2020-01-01"])),
        (Numeric(0, 1), pd.to_datetime(["2020-01-01"])),
        (Numeric(0, 1), pd.Series([[1], [2]], dtype=object)),
    ],
)
def test_a_column_of_another_kind_is_an_error_not_all_other(field, column):
    with pytest.raises(SchemaError, match="column 'c'"):
        one(field, column)


@pytest.mark.parametrize("column", [[None, None], [np.nan, np.nan], pd.Series([None, None], dtype="str")])
def test_an_empty_column_is_all_missing(column):
    assert one(Categorical(["a"]), column).tolist() == [1, 1]
    assert one(Categorical([3]), column).tolist() == [1, 1]
    assert np.isnan(one(Numeric(0, 1, missing=True), column)).all()


def test_text_that_is_a_number_is_read_as_one():
    assert one(Numeric(0, 1), ["1.5", "-2"]).tolist() == [1.5, -2]


values = st.one_of(
    st.lists(st.text(max_size=2), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-40, 40), min_size=1, max_size=40, unique=True),
    st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1.0, 3.0]), min_size=1, unique=True),
    st.lists(st.booleans(), min_size=1, unique=True),
)


@given(st.data())
def test_codes_agree_with_looking_each_value_up(data):
    listed = data.draw(values)
    other = {
        str: st.text(max_size=2),
        bool: st.booleans(),
        int: st.integers(-50, 50),
        float: st.floats(-4, 4),
    }
    column = data.draw(st.lists(st.none() | st.sampled_from(listed) | other[type(listed[0])], max_size=20))
    expected = [listed.index(v) if v in listed else len(listed) for v in column]
    schema = Schema({"c": Categorical(listed)}, classes=[0])
    typed = pa.array(column, pa.array(listed).type)
    objects = np.empty((len(column), 1), object)
    objects[:, 0] = column
    for X in (
        pa.table({"c": typed}),
        pa.table({"c": typed.dictionary_encode()}),
        pa.table({"c": typed}).to_pandas(),
        pl.from_arrow(pa.table({"c": typed})),
        objects,
    ):
        assert read_table(X, schema).codes("c").tolist() == expected


LABELS = {
    "list": list,
    "numpy": np.array,
    "object": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "category": lambda y: pd.Series(y, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("make", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1], [-1.0, 2.5], [False, True], [5]])
def test_labels_become_indices_of_classes(make, classes):
    y = make([classes[-1], classes[0], classes[-1]])
    schema = Schema({"a": Numeric(0, 1)}, classes=classes)
    last = len(classes) - 1
    assert read_labels(y, schema).tolist() == [last, 0, last]
    assert read_labels(y, schema).dtype == np.uint8


@pytest.mark.parametrize("y", [np.array([["no"], ["yes"]]), pd.DataFrame({"y": ["no", "yes"]}), [["no"], ["yes"]]])
def test_a_column_vector_is_accepted_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert read_labels(y, SCHEMA).tolist() == [0, 1]


def test_labels_must_be_one_known_class_each():
    binary = Schema({"a": Numeric(0, 1)}, classes=[0, 1])
    for y in ([0, np.nan], pd.Series([0, None], dtype="Int64"), pl.Series([0, None])):
        with pytest.raises(SchemaError, match="NaN"):
            read_labels(y, binary)
    with pytest.raises(SchemaError, match="NaN"):
        read_labels(["no", None], SCHEMA)
    with pytest.raises(SchemaError, match="does not list"):
        read_labels([0, 1, 2], binary)
    with pytest.raises(SchemaError, match="1d array"):
        read_labels(np.zeros((3, 2)), binary)
    with pytest.raises(SchemaError, match="y cannot be None"):
        read_labels(None, binary)


def test_targets_are_clamped():
    schema = Schema({"a": Numeric(0, 1)}, target=(0, 10))
    for make in (list, np.array, pd.Series, pl.Series, pa.array):
        assert read_targets(make([-5, 3, 50]), schema).tolist() == [0, 3, 10]
    for bad, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(SchemaError, match=word):
            read_targets([1.0, bad], schema)
    with pytest.raises(SchemaError, match="no classes"):
        read_labels([1], schema)
    with pytest.raises(SchemaError, match="no target"):
        read_targets([1], SCHEMA)


def test_lengths_must_agree():
    table = read_table(pd.DataFrame(ROWS), SCHEMA)
    check_lengths(table, read_labels(["no"] * 4, SCHEMA))
    with pytest.raises(SchemaError, match="inconsistent"):
        check_lengths(table, read_labels(["no"], SCHEMA))


def test_numbers_must_be_finite_unless_missing_is_allowed():
    for make in (list, lambda c: pd.Series(c, dtype=object), lambda c: pl.Series(c).to_pandas()):
        with pytest.raises(SchemaError, match=r"column 'c' contains NaN"):
            one(Numeric(0, 1), make([1.0, np.nan]))
        for missing in (False, True):
            with pytest.raises(SchemaError, match=r"column 'c' contains infinity"):
                one(Numeric(0, 1, missing=missing), make([1.0, -np.inf]))
    assert one(Numeric(0, 1), [1e308, 1e308]).tolist() == [1e308, 1e308]


SECRET = "s3cr3t-8675309"
NUMBER = 8675309


@pytest.mark.parametrize(
    ("field", "column"),
    [
        (Numeric(0, 1), ["1", SECRET]),
        (Numeric(0, 1), pd.Series([1, SECRET], dtype=object)),
        (Numeric(0, 1), pd.Series([1, {SECRET: NUMBER}], dtype=object)),
        (Numeric(0, 1), pd.Series(["1", SECRET], dtype="category")),
        (Numeric(0, 1), pd.Series([SECRET.encode()], dtype=object)),
        (Numeric(0, 1), pd.Series([NUMBER, None], dtype="Int64")),
        (Numeric(0, 1), [NUMBER, np.inf]),
        (Categorical(["a"], other=False), ["a", SECRET]),
        (Categorical(["a"], other=False), pd.Series(["a", SECRET], dtype="category")),
        (Categorical(["a"]), pd.Series(["a", NUMBER], dtype=object)),
        (Categorical(["a"]), pd.Series(["a", [SECRET]], dtype=object)),
        (Categorical([1], other=False), [1, NUMBER]),
        (Categorical([1]), pd.Series([1, SECRET], dtype=object)),
        (Categorical([1]), [SECRET]),
        (Categorical([True]), [NUMBER]),
    ],
)
def test_no_error_about_a_column_quotes_a_value(field, column):
    for X in (pd.DataFrame({"c": column}), pd.DataFrame({"c": column}).to_numpy(dtype=object)):
        check_silent(lambda X=X: getattr(*reader(X, field))("c"))


def reader(X, field):
    table = read_table(X, Schema({"c": field}, classes=[0]))
    return table, "codes" if isinstance(field, Categorical) else "numeric"


@pytest.mark.parametrize(
    ("label", "y"),
    [
        ({"classes": ["a"]}, ["a", SECRET]),
        ({"classes": [1]}, [1, NUMBER]),
        ({"classes": [1]}, [SECRET]),
        ({"classes": ["a"]}, np.array(["a", NUMBER], dtype=object)),
        ({"classes": [1]}, [[NUMBER, 1], [2]]),
        ({"target": (0, 1)}, [SECRET]),
        ({"target": (0, 1)}, np.array([1, SECRET], dtype=object)),
        ({"target": (0, 1)}, [NUMBER, np.nan]),
    ],
)
def test_no_error_about_labels_quotes_a_value(label, y):
    schema = Schema({"c": Numeric(0, 1)}, **label)
    check_silent(lambda: (read_labels if schema.classes else read_targets)(y, schema))


@pytest.mark.parametrize(
    "text",
    [
        f"a,b,ill\n{SECRET},x,no\n",
        f"a,b,ill\n1,{SECRET},no\n",
        f"a,b,ill\n1,2,no,{SECRET}\n",
        f'a,b,ill\n1,2,"{SECRET}\n',
        f"{NUMBER},{SECRET},no\n1,2,no\n",
        f"a,a,ill,{SECRET}\n",
        f"{SECRET}\n",
    ],
)
def test_no_error_about_a_file_quotes_a_value(tmp_path, text):
    path = tmp_path / "f.csv"
    path.write_text(text)
    schema = Schema({"a": Numeric(0, 1), "b": Categorical([1])}, classes=["no"], label="ill")

    def read():
        X, y = read_file(path, schema)
        table = read_table(X, schema)
        table.numeric("a"), table.codes("b"), read_labels(y, schema)

    check_silent(read)


def check_silent(read):
    with pytest.raises(SchemaError) as caught:
        read()
    error = caught.value
    while error is not None:
        said = "".join(traceback.format_exception_only(error)) + repr(error) + repr(error.args)
        assert SECRET not in said
        assert str(NUMBER) not in said
        error = error.__cause__ or error.__context__


FILE = Schema(
    {
        "zip": Categorical(["001", "002"]),
        "kids": Categorical([0, 1]),
        "rich": Categorical([False, True]),
        "age": Numeric(0, 100, missing=True),
        "note": Categorical(["", "x\ny", "NA"]),
    },
    classes=["no", "yes"],
    label="ill",
)
CSV = '\ufeffextra,zip,kids,rich,age,note,ill\n1,001,1,true,,"",no\n2,002,0.0,False,7,"x\ny",yes\n3,,,,NA,NA,yes\n'


def test_csv_is_parsed_by_the_schema(tmp_path):
    (tmp_path / "f.csv").write_text(CSV, encoding="utf-8")
    X, y = read_file(tmp_path / "f.csv", FILE)
    assert X.column_names == list(FILE.names)
    table = read_table(X, FILE)
    assert table.codes("zip").tolist() == [0, 1, 2]
    assert table.codes("kids").tolist() == [1, 0, 2]
    assert table.codes("rich").tolist() == [1, 0, 2]
    assert table.codes("note").tolist() == [0, 1, 2]
    np.testing.assert_array_equal(table.numeric("age"), [np.nan, 7, np.nan])
    assert read_labels(y, FILE).tolist() == [0, 1, 1]
    assert X.column("zip").to_pylist() == ["001", "002", None]


def test_the_label_may_be_left_out(tmp_path):
    (tmp_path / "f.csv").write_text("a\n1\n")
    schema = Schema({"a": Numeric(0, 1)}, classes=[0])
    X, y = read_file(tmp_path / "f.csv", schema, with_label=False)
    assert y is None
    assert X.num_rows == 1
    with pytest.raises(SchemaError, match="does not name the label"):
        read_file(tmp_path / "f.csv", schema)


def test_parquet_is_read_by_name(tmp_path):
    schema = Schema({"b.c": Categorical(["x"]), "a": Numeric(0, 9)}, target=(0, 1), label="t")
    pq.write_table(pa.table({"t": [0.5], "a": [3], "b.c": ["x"], "d": [1]}), tmp_path / "f.parquet")
    X, y = read_file(tmp_path / "f.parquet", schema)
    assert X.column_names == ["b.c", "a"]
    assert read_table(X, schema).numeric("a").tolist() == [3]
    assert read_targets(y, schema).tolist() == [0.5]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.txt", b"", "must be a .csv, .csv.gz"),
        ("gone.csv", None, "no such file"),
        ("f.csv", b"", "no header"),
        ("f.csv", b"a,il\n1,no\n", "missing: 'ill'; did you mean 'il'"),
        ("f.csv", b"a,ill\nx,no\n", "column 'a' of .* has fields that are not a number"),
        ("f.csv", b"a,ill\n1,\xff\xfe\n", "column 'ill' of .* not UTF-8 text"),
        ("f.csv", b"a,ill\n1,no,2\n", "not valid CSV"),
        ("f.parquet", b"not parquet", "not a readable Parquet"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    schema = Schema({"a": Numeric(0, 1)}, classes=["no"], label="ill")
    with pytest.raises(SchemaError, match=message):
        read_file(tmp_path / name, schema)


def test_reading_warns_about_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(pd.DataFrame(ROWS), SCHEMA)
        table.numeric("age"), table.codes("sex"), table.codes("kids"), read_labels(["no"], SCHEMA)


# -- derived features ---------------------------------------------------------------------------------------------

DERIVED = Schema(
    {
        "ab": Numeric(0, 9, mean_of=["a", "b"]),
        "c": Numeric(0, 9),
        "ac": Numeric(0, 9, missing=True, mean_of=["a", "c"]),
    },
    classes=[0, 1],
)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_mean_is_computed_from_columns_by_name_in_any_order(make):
    table = read_table(make({"c": [1, 3], "b": [4.0, 0.0], "z": ["", ""], "a": [2, 5]}), DERIVED)
    assert table.numeric("ab").tolist() == [3.0, 2.5]
    assert table.numeric("c").tolist() == [1.0, 3.0]
    assert table.numeric("ac").tolist() == [1.5, 4.0]


def test_an_array_has_the_columns_that_are_read_each_once():
    assert DERIVED.columns == ("a", "b", "c")
    table = read_table(np.array([[2, 4, 1], [5, 0, 3]]), DERIVED)
    assert table.matrix is None
    assert table.numeric("ab").tolist() == [3.0, 2.5]
    with pytest.raises(SchemaError, match="expecting 3"):
        read_table(np.zeros((2, 4)), DERIVED)


def test_a_missing_value_makes_a_mean_missing_where_that_is_allowed():
    table = read_table(np.array([[2, 4, np.nan], [5, 0, 3]]), DERIVED)
    assert np.isnan(table.numeric("ac")).tolist() == [True, False]
    with pytest.raises(SchemaError, match="'c'"):
        table.numeric("c")
    with pytest.raises(SchemaError, match="'b'"):
        read_table(np.array([[2, np.nan, 1.0]]), DERIVED).numeric("ab")


def test_a_column_that_a_mean_needs_must_be_there():
    with pytest.raises(SchemaError, match="'b'"):
        read_table(pd.DataFrame({"a": [1], "c": [1]}), DERIVED)


def test_files_are_read_for_derived_features_too(tmp_path):
    (tmp_path / "t.csv").write_text("b,a,y,c\n4,2,1,1\n0,5,0,3\n")
    schema = Schema(DERIVED.features, classes=[0, 1], label="y")
    X, y = read_file(tmp_path / "t.csv", schema)
    assert read_table(X, schema).numeric("ab").tolist() == [3.0, 2.5]
    assert y.to_pylist() == [1, 0]
