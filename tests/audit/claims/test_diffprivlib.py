"""diffprivlib, driven in an environment of its own where there is one."""

import numpy as np
import pytest

from privet.audit.claims import diffprivlib
from privet.errors import PrivetError


def test_rows_inserted_in_front_move_every_chunk():
    pair = diffprivlib.moving_chunks(10)

    def majorities(y):
        chunk = (np.arange(len(y)) // (len(y) / 10)).astype(int)  # as RandomForestClassifier does it
        return [y[chunk == j].mean() > 0.5 for j in range(9)]

    assert all(a != b for a, b in zip(majorities(pair.one[1]), majorities(pair.other[1])))


@pytest.mark.slow
@pytest.mark.skipif(diffprivlib.interpreter() is None, reason="no environment for diffprivlib: make audit-diffprivlib")
@pytest.mark.parametrize("entry", diffprivlib.CLAIMS, ids=lambda entry: entry.key)
def test_diffprivlib(entry):
    assert diffprivlib.unavailable() is None
    assert entry.attack().verdict == ("holds" if entry.holds else "caught")


def test_without_its_environment_diffprivlib_is_skipped_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".venv-diffprivlib/bin").mkdir(parents=True)
    (tmp_path / ".venv-diffprivlib/bin/python").touch()  # of whoever owns the folder: not to be run
    monkeypatch.delenv(diffprivlib.VARIABLE, raising=False)
    diffprivlib.unavailable.cache_clear()
    assert "make audit-diffprivlib" in diffprivlib.unavailable()
    diffprivlib.unavailable.cache_clear()


@pytest.mark.parametrize("named", ["", "python3", "/no/such/python"])
def test_only_a_full_path_to_a_file_is_run(monkeypatch, named):
    monkeypatch.setenv(diffprivlib.VARIABLE, named)
    assert diffprivlib.interpreter() is None
    diffprivlib.unavailable.cache_clear()
    with pytest.raises(PrivetError, match="no environment"):
        diffprivlib.DiffprivlibTree()(np.zeros((2, 1)), np.array([0, 1]))
    diffprivlib.unavailable.cache_clear()


def test_one_record_more_tips_the_balance():
    pair = diffprivlib.balanced(6)
    assert (pair.one[1].mean(), pair.other[1].mean() > 0.5) == (0.5, True)
