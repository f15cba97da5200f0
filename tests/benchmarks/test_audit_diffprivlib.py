"""diffprivlib, driven in an environment of its own where there is one."""

from pathlib import Path

import numpy as np
import pytest

import audit_diffprivlib as diffprivlib
from privet.errors import PrivetError

PYTHON = Path(__file__).parents[2] / ".venv-diffprivlib/bin/python"


def test_rows_inserted_in_front_move_every_chunk():
    pair = diffprivlib.moving_chunks(10)

    def majorities(y):
        chunk = (np.arange(len(y)) // (len(y) / 10)).astype(int)  # as RandomForestClassifier does it
        return [y[chunk == j].mean() > 0.5 for j in range(9)]

    assert all(a != b for a, b in zip(majorities(pair.one[1]), majorities(pair.other[1])))


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.is_file(), reason="no environment for diffprivlib: make audit-diffprivlib")
@pytest.mark.parametrize("entry", diffprivlib.claims(PYTHON), ids=lambda entry: entry.key)
def test_diffprivlib(entry):
    assert entry.attack().verdict == ("holds" if entry.holds else "caught")


def test_a_python_without_it_is_named_with_what_to_try(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o700)
    with pytest.raises(PrivetError, match="import diffprivlib"):
        diffprivlib.DiffprivlibTree(python)(np.zeros((2, 1)), np.array([0, 1]))


def test_one_record_more_tips_the_balance():
    pair = diffprivlib.balanced(6)
    assert (pair.one[1].mean(), pair.other[1].mean() > 0.5) == (0.5, True)
