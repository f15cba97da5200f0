"""How far a long piece of work is: told to whoever asked, shown where somebody looks, silent elsewhere."""

import io
import sys
import time

import pytest

from privet.progress import Progress


def test_a_function_is_told_the_share_and_the_note():
    told = []
    with Progress(lambda share, note: told.append((share, note)), "working", 4) as progress:
        progress.advance(1)
        progress.note("half")
        progress.advance(1)
    assert told == [(0.25, ""), (0.25, "half"), (0.5, "half")]


def test_the_share_never_exceeds_one_and_no_steps_are_no_division_by_zero():
    progress = Progress(False, "working", 2)
    progress.advance(5)
    assert progress.share == 1
    nothing = Progress(False, "working", 0)
    assert nothing.share == 0


def test_a_moment_on_the_clock_counts_time_and_not_steps(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = Progress(False, "working", 110.0)
    progress.advance(1000)
    assert progress.share == 0
    now[0] = 105.0
    assert progress.share == pytest.approx(0.5)
    now[0] = 200.0
    assert progress.share == 1


@pytest.mark.parametrize("show", [None, False])
def test_nothing_is_drawn_where_nobody_looks(monkeypatch, show):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress(show, "working", 2) as progress:
        progress.advance(1)
    assert screen.getvalue() == ""


def test_a_bar_goes_to_stderr_with_its_note(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Progress(True, "attacking", 2) as progress:
        progress.note("papers")
        progress.advance(1)
    assert "attacking" in screen.getvalue()
    assert "papers" in screen.getvalue()
