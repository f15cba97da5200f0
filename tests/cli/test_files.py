"""Output files: whole or not at all, never over something by accident, and for their owner's eyes."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet.cli.files import check_output, rows_to
from privet.disk import whole_file
from privet.errors import PrivetError


def test_an_interrupted_file_disappears(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "out.csv") as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    @whole_file(path)
    def fails():
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="middle"):
        fails()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_only_the_owner_may_read_what_may_say_something_about_records(tmp_path):
    with whole_file(tmp_path / "draft.toml") as part:
        part.write_text("ranges of the records")
    assert (tmp_path / "draft.toml").stat().st_mode & 0o077 == 0


def test_what_cannot_or_must_not_be_written_is_found_before_any_work(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("age")
    assert check_output(tmp_path / "new.csv", False, data, suffixes=(".csv",)) == tmp_path / "new.csv"
    assert check_output(data, True) == data
    (tmp_path / "link.csv").symlink_to(data)
    for path, force, message in (
        (tmp_path / "new.txt", False, "must end in .csv"),
        (tmp_path / "none" / "new.csv", False, "there is no folder"),
        (tmp_path, True, "must end in"),
        (data, True, "also read by this command"),
        (tmp_path / "link.csv", True, "also read by this command"),
    ):
        with pytest.raises(PrivetError, match=message):
            check_output(path, force, data, suffixes=(".csv",))
    with pytest.raises(PrivetError, match="--force overwrites"):
        check_output(data, False)
    with pytest.raises(PrivetError, match="not a file"):
        check_output(tmp_path, True)


@pytest.mark.parametrize(
    ("texts", "written"),
    [
        (["yes", "no"], "label\nyes\nno\n"),
        (["a,b", "no"], '"label"\n"a,b"\n"no"\n'),
        (['say "x"', "no"], '"label"\n"say ""x"""\n"no"\n'),
        (["two\nlines", "no"], '"label"\n"two\nlines"\n"no"\n'),
        (["", "no"], '"label"\n""\n"no"\n'),
    ],
)
def test_csv_has_quotes_only_if_a_text_needs_them(tmp_path, texts, written):
    rows_to(tmp_path / "out.csv", [pa.table({"label": texts})])
    assert (tmp_path / "out.csv").read_text() == written


def test_the_suffix_says_the_format_and_rows_go_to_the_file_alone(tmp_path, capfd):
    table = pa.table({"label": ["a,b"], "p": [0.25]})
    rows_to(tmp_path / "out.parquet", [table[:1], table[1:]])
    assert pq.read_table(tmp_path / "out.parquet").equals(table)
    assert capfd.readouterr().out.startswith("Wrote 1 rows to ")
    rows_to(None, [table[:1], table[1:]])
    assert capfd.readouterr().out.splitlines()[0] == '"label","p"'
