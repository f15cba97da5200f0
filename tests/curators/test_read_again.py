"""Where the disk is short, stretches are read again for every question, and the answers stay those of memory."""

import numpy as np
import pandas as pd
import pytest

from privet import Numeric, PrivateTreeClassifier, Schema, SchemaError
from privet.curators.file_records import Whose
from privet.curators.read_again import ReadAgain, StretchRecords
from privet.curators.records import Records
from privet.questions.grid import even_grid
from privet.tables import files as reading
from privet.tables.files import Files
from rooms import hold

SCHEMA = Schema({"a": Numeric(0, 1), "b": Numeric(0, 9)}, classes=[0, 1], label="out", person="who")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "STRETCH", 100)
    rng = np.random.default_rng(0)
    n = 500
    data = pd.DataFrame({"a": rng.random(n), "b": rng.integers(0, 10, n)})
    data = data.assign(out=(data["b"] > 4).astype(int), who=rng.integers(0, 10, n))
    data.to_parquet(tmp_path / "t.parquet", row_group_size=60)
    return data


def test_a_stretch_has_its_records_without_keeping_cells(tmp_path, data):
    files = Files(tmp_path, SCHEMA)
    weights = (np.arange(500) % 3).astype(np.uint8)
    stretch = files.stretches[1]
    place = slice(stretch.start, stretch.start + stretch.n)
    found, part = StretchRecords(files, stretch, weights), data[place][weights[place] > 0]
    memory = Records(part, part["out"], Schema(SCHEMA.features, classes=[0, 1]))
    np.testing.assert_array_equal(found.labels, memory.labels)
    np.testing.assert_array_equal(found.weights, weights[place][weights[place] > 0])
    grid = even_grid(SCHEMA, 300)
    for f in (0, 1):
        np.testing.assert_array_equal(found.own.column(f), memory.own.column(f))
    np.testing.assert_array_equal(found.cells(grid, [1, 0])[:, 1], found.binned(grid).column(0))


def test_all_stretches_are_asked_and_added_up(tmp_path, data):
    files = Files(tmp_path, SCHEMA)
    again = ReadAgain(files, Whose(files, np.random.default_rng(0)))
    log = [("everything", 0)]
    sizes = again.each("fit", log, ("n_rows", 0))
    assert len(sizes) == len(files.stretches) == len(again.persons)
    assert [len(own) for own in again.persons] == sizes
    assert again.total("fit", log, ("totals", [0])).sum() == 10 * 20  # ten persons, each of whom counts as twenty


def test_files_that_change_during_a_fit_end_it(tmp_path, data):
    make = hold("files on a full disk", data, data["out"], SCHEMA)
    curator = make()
    (path,) = {stretch.file.path for stretch in curator._again._files.stretches[-1:]}
    data[:10].to_parquet(path)
    with pytest.raises(SchemaError, match="has changed"):
        PrivateTreeClassifier(epsilon=1.0).fit_curator(curator)
