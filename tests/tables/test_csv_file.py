"""CSV files are read by the schema, whole or as a stream, alike; errors name the column and no value."""

import gzip

import pyarrow as pa
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.tables import csv_file
from privet.tables.csv_file import as_schema, csv_batches, csv_columns, csv_header, csv_types, empty_is_missing

SCHEMA = Schema(
    {"n": Numeric(0, 9), "code": Categorical(["001", "002"]), "big": Categorical([2**60, 2**60 + 1])},
    classes=[False, True],
    label="out",
    person="who",
)
NAMES = ["n", "code", "big", "who", "out"]


def write(path, rows):
    path.write_text("\n".join(["who,n,code,big,out", *rows]) + "\n")
    return path


@pytest.fixture
def file(tmp_path):
    return write(
        tmp_path / "t.csv", [f"{i},{i % 10},{'001' if i % 2 else ''},{2**60 + i % 2},true" for i in range(500)]
    )


def test_a_stream_has_what_the_whole_has(file, monkeypatch):
    types = csv_types(file, SCHEMA, NAMES)
    whole = as_schema(csv_columns(file, types), SCHEMA)
    monkeypatch.setattr(csv_file, "BLOCK", 1024)
    batches = [as_schema(batch, SCHEMA) for batch in csv_batches(file, types)]
    assert len(batches) > 5
    assert pa.Table.from_batches(batches).equals(whole.combine_chunks()) or pa.Table.from_batches(batches) == whole
    assert whole.column("code").null_count == 250
    assert whole.column("big").to_pylist()[:2] == [2**60, 2**60 + 1]


def test_ids_are_text_and_other_columns_what_the_schema_says(file):
    types = csv_types(file, SCHEMA, [*NAMES])
    kinds = [pa.float64(), pa.string(), pa.int64(), pa.string(), pa.bool_()]
    assert types == dict(zip(NAMES, kinds))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("7,SECRET,001,1,true", "column 'n' of .* not a number"),
        ("7,1,001,1,SECRET", "column 'out' of .* not true or false"),
        ("7,1,001", "more or fewer fields"),
    ],
)
def test_a_wrong_field_is_told_by_its_column(tmp_path, bad, message):
    file = write(tmp_path / "t.csv", ["1,1,001,1,true", bad])
    types = csv_types(file, SCHEMA, NAMES)
    for read in (lambda: csv_columns(file, types), lambda: list(csv_batches(file, types))):
        with pytest.raises(SchemaError, match=message) as error:
            read()
        assert "SECRET" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__context__ is None


def test_a_header_has_each_name_once(tmp_path):
    (tmp_path / "t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(SchemaError, match="several columns of the same name"):
        csv_header(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(SchemaError, match="no header line"):
        csv_header(tmp_path / "t.csv")


def test_an_empty_table_has_no_batches(tmp_path):
    file = write(tmp_path / "t.csv", [])
    assert list(csv_batches(file, csv_types(file, SCHEMA, NAMES))) == []


def test_empty_text_becomes_missing():
    assert empty_is_missing(pa.array(["", "a"])).to_pylist() == [None, "a"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_separators_encodings_and_compression_are_recognised(tmp_path, delimiter, encoding, suffix):
    path = tmp_path / f"t{suffix}"
    text = "\n".join(delimiter.join(row) for row in (["who", '"a,b;c"', "n"], ["ä", '"x,y;z"', "1.5"], ["ß", "w", "2"]))
    (gzip.open if suffix.endswith("gz") else open)(path, "wb").write(text.encode(encoding))
    assert csv_header(path) == ["who", "a,b;c", "n"]
    types = {"who": pa.string(), "a,b;c": pa.string(), "n": pa.float64()}
    wanted = {"who": ["ä", "ß"], "a,b;c": ["x,y;z", "w"], "n": [1.5, 2.0]}
    assert csv_columns(path, types).to_pydict() == wanted
    assert pa.Table.from_batches(list(csv_batches(path, types))).to_pydict() == wanted


def test_what_cannot_be_recognised_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(SchemaError, match="UTF-16 without a mark"):
        csv_header(path)
    path.write_text("a;b\n1,5;2\n")
    with pytest.raises(SchemaError, match=r"'a'.*decimal points, not commas"):
        csv_columns(path, {"a": pa.float64(), "b": pa.float64()})
