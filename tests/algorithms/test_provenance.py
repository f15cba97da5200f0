"""Where a model file says it comes from."""

import json
import re

import numpy as np
import pytest

import privet
from privet import Numeric, PrivateTreeClassifier, Schema
from privet.algorithms.model_file import from_dict, to_dict
from privet.algorithms.provenance import Provenance
from privet.errors import PrivetError

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
X, Y = np.linspace(0, 1, 100)[:, None], np.repeat(["no", "yes"], 50)


def test_a_saved_model_has_a_day_a_version_and_a_note_and_still_verifies(tmp_path):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y)
    model.save(tmp_path / "m.json", note="approved by the board")
    again = privet.load(tmp_path / "m.json")
    assert re.fullmatch(r"saved \d{4}-\d\d-\d\d by Privet \S+: approved by the board", str(again.provenance_))
    assert again.verify()
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    again.save(tmp_path / "again.json", note="withdrawn", overwrite=True)
    assert privet.load(tmp_path / "again.json").provenance_ == again.provenance_.noted("withdrawn")
    assert not hasattr(again.fit(X, Y), "provenance_")


def test_a_model_that_was_never_saved_has_none_so_that_servers_agree_on_it():
    plain = to_dict(PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y))
    assert "provenance" not in plain
    assert not hasattr(from_dict(json.loads(json.dumps(plain))), "provenance_")


@pytest.mark.parametrize(
    "odd",
    [{}, [], "x", {"date": "today", "version": "1", "note": ""}, {"date": "2020-01-01", "version": 1, "note": ""}],
)
def test_a_provenance_that_is_none_is_refused(odd):
    with pytest.raises(PrivetError, match="provenance"):
        Provenance.read(odd)
