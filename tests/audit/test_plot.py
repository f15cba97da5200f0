"""The picture of audits: every mark has a row and its label, and infinity has a place."""

from __future__ import annotations

import math
import sys

import pytest

from privet.audit.plot import BROKEN, CAUGHT, WITHIN, Mark, plot
from privet.errors import PrivetError

MARKS = [
    Mark("sound", 1.0, 1.0, 0.97),
    Mark("sound too", 1.0, 1.0, 0.96),
    Mark("five", 1.0, 5.0, 2.263),
    Mark("fourteen", 1.0, 14.0, 7.151),
    Mark("no bound at all", 0.1, math.inf, 8.9),
    Mark("certain", 1.0, math.inf, math.inf),
    Mark("certain as well", 1.0, math.inf, math.inf),
    Mark("nothing found", 1.0, 1.0, 0.0),
]


def test_colours_tell_the_verdict():
    assert [Mark("", 1.0, 5.0, found).color for found in (1.0, 2.0, 6.0)] == [WITHIN, CAUGHT, BROKEN]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_is_drawn(tmp_path, suffix):
    path = tmp_path / f"audit.{suffix}"
    plot(MARKS, path)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_every_label_is_drawn(tmp_path):
    plot(MARKS, tmp_path / "audit.svg")
    drawn = (tmp_path / "audit.svg").read_text()
    assert all(f"<!-- {mark.label} -->" in drawn for mark in MARKS)


def test_one_mark_is_enough(tmp_path):
    plot(MARKS[:1], tmp_path / "audit.png")


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(PrivetError, match="nothing to draw"):
        plot([], tmp_path / "audit.png")


def test_a_missing_matplotlib_is_explained(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PrivetError, match=r"pip install 'privet\[report\]'"):
        plot(MARKS, tmp_path / "audit.png")
