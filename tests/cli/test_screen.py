"""What people see: one line for an error, an exit code for each kind, and no word that may quote a record."""

import re

import pytest
import typer
from typer.testing import CliRunner

from every_command import call, commands
from privet.cli import app as cli
from privet.cli.screen import BUG, REFUSED, WRONG_USE, Group, fold, visible
from privet.errors import (
    BudgetError,
    CapabilityError,
    FederatedError,
    LeakError,
    MpcError,
    PrivetError,
    ReceiptError,
    RunEndedError,
    SchemaError,
)

SECRET = "Zebedee-7f3a"


def failing(error, **env):
    app = typer.Typer(cls=Group)

    @app.callback()
    def group():
        pass

    @app.command()
    def go():
        raise error

    return CliRunner().invoke(app, ["go"], env={"NO_COLOR": "1", "TERM": "dumb", **env})


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (BudgetError, REFUSED),
        (LeakError, REFUSED),
        (ReceiptError, REFUSED),
        (MpcError, REFUSED),
        (RunEndedError, REFUSED),
        (FederatedError, REFUSED),
        (SchemaError, WRONG_USE),
        (CapabilityError, WRONG_USE),
        (PrivetError, WRONG_USE),
    ],
)
def test_an_error_of_ours_keeps_its_lines_and_its_kind_is_the_exit_code(kind, code):
    result = failing(kind("Do this\nnext."))
    assert result.exit_code == code
    assert result.stderr == "error: Do this\nnext.\n"


def test_of_an_error_that_was_not_foreseen_only_its_place_is_shown(monkeypatch):
    monkeypatch.delenv("PRIVET_DEBUG", raising=False)
    for error in (KeyError(SECRET), ValueError(SECRET), OSError(SECRET)):
        result = failing(error)
        assert result.exit_code == BUG
        assert SECRET not in result.output
        assert type(error).__name__ in result.stderr
        assert "test_screen.py:" in result.stderr


def test_who_asks_for_it_sees_the_whole_error():
    assert isinstance(failing(KeyError(SECRET), PRIVET_DEBUG="1").exception, KeyError)


def test_a_file_that_cannot_be_used_is_named():
    result = failing(PermissionError(13, "Permission denied", "people.csv"))
    assert result.exit_code == WRONG_USE
    assert result.stderr == "error: people.csv: Permission denied\n"


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\r"])
def test_a_strangers_text_cannot_move_the_cursor_or_turn_the_reading_direction(character):
    shown = visible(f"a{character}b")
    assert character not in shown
    assert shown.isprintable()


def test_newlines_tabs_and_other_scripts_stay():
    assert visible("a\n\tß 木 é") == "a\n\tß 木 é"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_folded_lines_fit_keep_all_words_and_stand_under_their_indent(width):
    line = "|   |   colour is one of: " + ", ".join(f"colour{i}" for i in range(30))
    folded = fold(line, width)
    assert folded.replace("|", "").split() == line.replace("|", "").split()
    others = folded.split("\n")[1:]
    assert others
    assert all(other.startswith("|   |       ") for other in others)
    assert max(map(len, others)) <= max(width, 28)


def test_a_line_that_fits_is_left_alone():
    assert fold("x" * 80, 80) == "x" * 80


def test_all_that_is_missing_is_said_at_once():
    said = " ".join(CliRunner().invoke(cli, ["fit"]).output.split())
    assert "Missing: DATA..., --epsilon, --output / -o." in said


@pytest.mark.parametrize(("option", "value"), [("--epsilon", "0,5"), ("--holdout", "20%")])
def test_a_number_that_is_none_is_said_in_plain_words(option, value):
    said = CliRunner().invoke(cli, ["fit", "a.csv", "-o", "m.json", "--epsilon", "1", option, value]).output
    assert re.search("is not a number. Write a number such as 0.5", " ".join(said.replace("│", " ").split()))


def test_who_gives_no_epsilon_is_told_how_to_choose_one():
    done = CliRunner().invoke(cli, ["fit", "d.csv", "-o", "m.json"], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == 2
    said = "".join(c for c in done.stderr if c not in "│\n╭╮╰╯─")
    assert "privet plan --schema SCHEMA.toml" in " ".join(said.split())


def test_every_argument_and_option_says_what_it_is():
    """Click 8.5 and older versions of Typer together lost what was said of arguments."""
    unsaid = [(path, own.name) for path, command in commands() for own in command.params if not own.help]
    assert not unsaid
    assert "Training records: CSV or Parquet." in call(["certify", "--help"]).stdout
