"""Tasks on workers never raise, since Dask would log what they were given; what is wrong comes back in safe words."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from privet import Numeric, Schema
from privet.curators.partitions import Partition
from privet.curators.worker import Ask, Behind, Failed, IdsOf, Load, add, described, digest_of, digest_of_ids
from privet.tables.files import FilePart, Files

SCHEMA = Schema({"a": Numeric(0, 9)}, classes=[0, 1], label="out", person="who")
DATA = pd.DataFrame({"a": np.arange(20) % 10, "out": np.arange(20) % 2, "who": [f"p{i // 2}" for i in range(20)]})


def test_a_partition_is_read_from_a_frame_or_a_file_alike(tmp_path):
    pq.write_table(pa.Table.from_pandas(DATA), tmp_path / "t.parquet")
    files = Files(tmp_path, SCHEMA)
    part = FilePart(files, files.stretches[0])
    weights = np.tile(np.array([1, 0], dtype=np.uint8), 10)
    both = [Load(SCHEMA, weights)(own) for own in (DATA, part)]
    assert described(both[0]) == described(both[1])
    assert both[0].records.n == 10
    assert [IdsOf("who")(own).to_pylist() for own in (DATA, part)] == [DATA["who"].tolist()] * 2


def test_what_is_wrong_comes_back_without_a_value(tmp_path):
    failed = Load(SCHEMA, None)(DATA.assign(a="SECRET"))
    assert isinstance(failed, Failed)
    assert "'a'" in failed.message
    assert "SECRET" not in failed.message
    broken = Load(SCHEMA, None)("SECRET")
    assert "TypeError" in broken.message
    assert "SECRET" not in broken.message
    assert described(failed) is failed
    assert Ask(0, b"", "fit", 0, [], ("n_rows", 0))(failed) is failed
    assert "KeyError" in IdsOf("nobody")(DATA).message


def test_a_partition_that_is_not_what_it_was_is_refused():
    first, other = Load(SCHEMA, None)(DATA), Load(SCHEMA, None)(DATA.assign(out=1))
    log, question = [("everything", 0)], ("n_rows", 0)
    assert Ask(0, digest_of(first), "fit", 0, log, question)(first) == 20
    assert "not what was there before" in Ask(0, digest_of(first), "fit", 0, log, question)(other).message
    assert Ask(3, digest_of(other), "fit", 1, [], question)(other).partitions == (3,)
    close = Load(SCHEMA, None)(DATA.assign(a=DATA["a"] + 1e-9))  # in the same cells of the schema's own grid
    assert np.array_equal(first.records.own.cells[0], close.records.own.cells[0])
    assert "not what was there before" in Ask(0, digest_of(first), "fit", 0, log, question)(close).message


def test_weights_are_never_put_on_other_persons_records():
    """A frame after a shuffle may have its rows in another order when it is computed again."""
    ids, weights = digest_of_ids(IdsOf("who")(DATA)), np.ones(20, dtype=np.uint8)
    assert Load(SCHEMA, weights, ids)(DATA.copy()).records.n == 20
    for other in (DATA.iloc[::-1], DATA.assign(who=DATA["who"].tolist()[::-1]), DATA.iloc[:19]):
        failed = Load(SCHEMA, weights, ids)(other)
        assert isinstance(failed, Failed)
        assert "in another order" in failed.message


def test_counts_are_added_unless_somebody_failed_or_is_behind():
    counts = np.array([1, 2])
    assert add(counts, counts).tolist() == [2, 4]
    assert add(counts).tolist() == [1, 2]
    assert add(Behind([1]), counts, Behind([4, 5])).partitions == (1, 4, 5)
    assert add(Behind([1]), Failed("why"), counts).message == "why"


def test_what_is_shown_of_tasks_has_no_records():
    shown = [repr(own) for own in (Load(SCHEMA, None), Partition(None), Ask(0, b"", "f", 0, [], ("n_rows", 0)))]
    assert not any("p1" in own for own in shown)
