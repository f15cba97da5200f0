"""What the programs between machines have in common."""

from __future__ import annotations

import logging
import os
import signal

import pytest

from privet.cli.programs import errors_in, stop_when_told


def test_a_program_that_is_told_to_stop_ends_as_if_it_was_interrupted():
    before = signal.getsignal(signal.SIGTERM)
    try:
        stop_when_told()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


# -- the log of a program that holds data: whole tracebacks, for its owner alone, and nothing after its end -----------


def test_the_file_has_the_traceback_and_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "state" / "errors.log"

    @errors_in(path)
    def program():
        logging.getLogger("privet.party").info("refused")
        raise KeyError("age")

    with pytest.raises(KeyError):
        program()
    text = path.read_text()
    assert "privet.party INFO refused" in text
    assert "Traceback" in text
    assert "KeyError: 'age'" in text
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
        assert path.parent.stat().st_mode & 0o077 == 0


def test_a_second_start_keeps_what_was_logged_before(tmp_path):
    for said in ("one", "two"):
        with errors_in(tmp_path / "errors.log"):
            logging.getLogger("privet.owner").error(said)
    logging.getLogger("privet.owner").info("three")
    text = (tmp_path / "errors.log").read_text()
    assert text.index("one") < text.index("two")
    assert "three" not in text
