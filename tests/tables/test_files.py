"""Files are found, opened and read a stretch at a time; what is wrong with one is said with its name and no value."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.tables import files as module
from privet.tables.files import FilePart, Files, cores, find_files, names_files, naming, training_columns

SCHEMA = Schema({"a": Numeric(0, 9), "c": Categorical(["x", "y"])}, classes=[0, 1], label="out")


def table(n=10, start=0):
    rows = np.arange(start, start + n)
    return pa.table({"unused": rows, "out": rows % 2, "c": np.where(rows % 3, "x", "y"), "a": rows % 10 / 1.0})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    pq.write_table(table(5), tmp_path / "1.parquet", row_group_size=2)
    pq.write_table(table(4, start=5), tmp_path / "2.pq")
    table(3, start=9).to_pandas().to_csv(tmp_path / "deep" / "3.csv", index=False)
    (tmp_path / "_SUCCESS.csv").write_text("")
    (tmp_path / "notes.txt").write_text("not a table")
    return tmp_path


def test_folders_patterns_and_lists_name_files_in_order(folder):
    every = [folder / "1.parquet", folder / "2.pq", folder / "deep" / "3.csv"]
    assert find_files(folder) == every
    assert find_files(f"{folder}/**/*.c*v") == [folder / "_SUCCESS.csv", every[2]]
    assert find_files([every[1], str(every[0])]) == [every[1], every[0]]
    assert names_files(folder)
    assert names_files([str(folder)])
    assert not any(names_files(X) for X in ([], [[1]], np.zeros((1, 1)), table()))


@pytest.mark.parametrize(
    ("where", "message"),
    [("*.nothing", "no file matches"), ("gone.parquet", "no such file"), ("notes.txt", "must be a .csv"), (".", None)],
)
def test_what_is_not_there_is_said(folder, where, message, tmp_path):
    if message is None:
        (tmp_path / "empty").mkdir()
        where, message = "empty", "has no .parquet or .csv"
    with pytest.raises(SchemaError, match=message):
        find_files(folder / where)


def test_files_without_a_record_are_one_stretch_of_none(tmp_path):
    """So whoever adds up what stretches come to has numbers to add, of the right shape."""
    for name in ("0.parquet", "1.parquet"):
        pq.write_table(table(0), tmp_path / name)
    files = Files(tmp_path, SCHEMA)
    (stretch,) = files.stretches
    assert (stretch.n, files.n, files.size) == (0, 0, 0)
    (batch,) = files.batches(stretch, ["out", "a"])
    assert (batch.column_names, len(batch), len(files.some()), len(files.column("a"))) == (["out", "a"], 0, 0, 0)
    assert len(FilePart(files, stretch).read(["a"])) == 0


def test_a_file_that_is_given_twice_is_refused_under_any_name(folder):
    os.link(folder / "1.parquet", folder / "other.parquet")
    for twice in ([folder, folder / "2.pq"], [folder / "1.parquet", folder / "other.parquet"]):
        with pytest.raises(SchemaError, match="given twice"):
            find_files(twice)


@pytest.mark.parametrize("together", [1, 4, 2**18])
def test_stretches_have_all_records_once_in_order(folder, together, monkeypatch):
    monkeypatch.setattr(module, "STRETCH", together)
    files = Files(folder, SCHEMA)
    assert files.n == 12
    batches = [batch for stretch in files.stretches for batch in files.batches(stretch, ["a"])]
    assert pa.concat_tables(batches).column("a").to_pylist() == [row % 10 / 1.0 for row in range(12)]
    assert [s.start for s in files.stretches] == [0, *np.cumsum([s.n for s in files.stretches])][:-1]
    assert files.size == sum(stretch.size for stretch in files.stretches) > 0
    assert files.column("a").to_pylist() == [row % 10 / 1.0 for row in range(12)]


def test_only_the_columns_of_the_schema_are_read(folder):
    files = Files(folder, SCHEMA)
    assert next(files.batches(files.stretches[0])).column_names == ["a", "c", "out"] == training_columns(SCHEMA)
    assert set(files.some().column_names) == {"a", "c", "out"}


def test_a_large_row_group_comes_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2048)
    pq.write_table(table(5000), tmp_path / "one.parquet")
    files = Files(tmp_path, SCHEMA)
    assert [len(batch) for batch in files.batches(files.stretches[0])] == [1024] * 4 + [904]


def test_files_that_change_while_they_are_read_are_refused(folder):
    files = Files(folder, SCHEMA)
    pq.write_table(table(6), folder / "1.parquet")
    with pytest.raises(SchemaError, match=r"1.parquet has changed"):
        next(files.batches(files.stretches[0]))


def test_a_file_that_is_swapped_for_one_of_the_same_size_and_time_is_refused(folder):
    files, path = Files(folder, SCHEMA), folder / "1.parquet"
    part, state = FilePart(files, files.stretches[0]), path.stat()
    (folder / "other").write_bytes(path.read_bytes())
    (folder / "other").replace(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(SchemaError, match=r"1.parquet has changed"):
        next(files.batches(files.stretches[0]))
    assert len(part.read(["a"]))  # another machine may have another number for the same file


def test_a_file_that_changes_during_the_last_batch_is_refused(folder):
    files, path = Files(folder, SCHEMA), folder / "1.parquet"
    batches = files.batches(files.stretches[0])
    next(batches)
    os.utime(path)
    with pytest.raises(SchemaError, match=r"1.parquet has changed"):
        list(batches)


def test_what_is_wrong_comes_with_the_name_of_the_file(folder):
    (folder / "2.pq").write_bytes(b"PAR1 nothing")
    with pytest.raises(SchemaError, match=r"2.pq is not a readable Parquet file"):
        Files(folder, SCHEMA)
    pq.write_table(table().drop(["a"]), folder / "2.pq")
    with pytest.raises(SchemaError, match=r"2.pq: columns that the schema names are missing: 'a'"):
        Files(folder, SCHEMA)
    with pytest.raises(SchemaError, match=r"2.pq: wrong"), naming(folder / "2.pq"):
        raise SchemaError("wrong")


def test_a_column_of_two_types_is_no_column(folder):
    other = table().set_column(1, "out", pa.array(["a"] * 10))
    pq.write_table(other, folder / "2.pq")
    with pytest.raises(SchemaError, match=r"2.pq: column 'out' has another type"):
        Files(folder, SCHEMA).column("out")


def test_a_csv_file_leaves_nothing_in_the_scratch_folder(folder, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    files = Files(folder / "deep", SCHEMA, scratch=scratch)
    assert list(scratch.iterdir()) == []
    assert pd.DataFrame(files.column("a").to_pandas()).shape == (3, 1)


def test_a_schema_without_a_label_is_for_prediction_alone(folder):
    unlabelled = Schema(SCHEMA.features, classes=[0, 1])
    with pytest.raises(SchemaError, match="label"):
        Files(folder, unlabelled)
    assert Files(folder, unlabelled, columns=unlabelled.columns).n == 12


def test_there_is_a_core():
    assert cores() >= 1
