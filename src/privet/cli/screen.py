"""What people see: plain lines on stdout, progress, warnings and errors on stderr, colour only on a terminal."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
import traceback
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperGroup

from privet.cli import facts
from privet.errors import BudgetError, FederatedError, LeakError, MpcError, PrivetError, ReceiptError

# Typer's base of everything wrong with a command line; older versions have it from click, newer ones bring their own.
UsageError: Any = typer.BadParameter.__bases__[0]

REFUSED, WRONG_USE, BUG, INTERRUPTED = 1, 2, 3, 130

# Text from a stranger's model must not move the cursor, colour the screen or turn the reading direction.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NO_NUMBER = re.compile("is not a valid (float|int).*|Input should be a valid (number|integer).*")
_ADVANCE = re.compile(r"[| ]*")


class Group(TyperGroup):
    """Turns errors into one line on stderr and an exit code. No message that may quote a record gets out."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        facts.add_options(self)
        _describe_arguments(self)

    def invoke(self, ctx: Any) -> Any:
        try:
            with facts.told():
                return super().invoke(ctx)
        except PrivetError as error:
            refusal = isinstance(error, BudgetError | FederatedError | LeakError | MpcError | ReceiptError)
            raise fail(str(error), REFUSED if refusal else WRONG_USE) from None
        except UsageError as error:
            raise _plainer(error) from None
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise  # Typer has its own way with these
        except KeyboardInterrupt as error:
            raise fail(f"interrupted. {error}".rstrip(), INTERRUPTED) from None
        except OSError as error:
            if error.strerror is None:
                raise _bug(error) from None
            where = f"{error.filename}: " if error.filename else ""
            raise fail(f"{where}{error.strerror}", WRONG_USE) from None
        except Exception as error:
            if os.environ.get("PRIVET_DEBUG"):
                raise
            raise _bug(error) from None


def _describe_arguments(group: Any) -> None:
    """Give the arguments of every command the words that they were declared with.

    Since click 8.5 arguments have words of their own, and older versions of Typer leave these empty over theirs.
    """
    for command in group.commands.values():
        if hasattr(command, "commands"):
            _describe_arguments(command)
        elif silent := [own for own in command.params if own.param_type_name == "argument" and not own.help]:
            declared = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
            for own in silent:
                own.help = next((said.help for said in get_args(declared[own.name])[1:] if said.help), None)


def fail(message: str, code: int) -> typer.Exit:
    """Print an error in red, its lines as they are; returns what to raise."""
    _print(f"error: {message}", "bold red", stderr=True)
    return typer.Exit(code)


def _plainer(error: Any) -> Any:
    """Wrong use in plain words: all that is missing at once, and how a number is written."""
    if type(error).__name__ == "MissingParameter" and error.ctx is not None:
        # What was given is read first, so whatever has no value yet is missing.
        unset = [own for own in error.ctx.command.params if own.required and own.name not in error.ctx.params]
        words = f"Missing: {', '.join(map(_named, unset))}."
        if any(own.name == "epsilon" for own in unset):
            from privet.algorithms.parameters import NO_EPSILON

            words += f" {NO_EPSILON[0].upper()}{NO_EPSILON[1:]}"
        return UsageError(words, ctx=error.ctx)
    if isinstance(error, typer.BadParameter) and error.param and (found := _NO_NUMBER.search(error.message)):
        like = "a whole number such as 3" if "int" in found[0] else "a number such as 0.5, with a point and without a %"
        value, where = error.message[: found.start()] or "this ", _named(error.param)
        return UsageError(f"Invalid value for {where}: {value}is not a number. Write {like}.", ctx=error.ctx)
    return error


def _named(own: Any) -> str:
    return " / ".join(own.opts) if own.opts[0].startswith("-") else str(own.metavar or own.name)


def _bug(error: Exception) -> typer.Exit:
    # Only where it happened: an exception's own words may hold a value of a record.
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return fail(
        f"unexpected {type(error).__name__} at {where}. This is a bug in Privet. Its message is withheld, since it may "
        "quote your records; PRIVET_DEBUG=1 shows it.",
        BUG,
    )


def say(text: str = "", style: str = "", **found: Any) -> None:
    """Print for people, or with ``--json`` keep the facts for a program.

    On a terminal long lines are folded under their own indent; elsewhere they stay whole.
    """
    facts.gather(found)
    if text and not facts.for_programs():
        _print(text, style, stderr=False)


def warn(text: str) -> None:
    _print(f"warning: {text}", "yellow", stderr=True)


def working(what: str) -> AbstractContextManager[Any]:
    """A spinner on stderr while something takes its time; nothing at all where stderr is not a terminal."""
    from rich.console import Console

    return Console(stderr=True).status(f"{what} ...")


def _print(text: str, style: str, *, stderr: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=stderr)
    text = visible(text)
    if console.is_terminal:
        text = "\n".join(fold(line, console.width) for line in text.split("\n"))
    console.print(Text(text, style=style), soft_wrap=True)


def visible(text: str) -> str:
    r"""Control characters spelt out, newlines and tabs kept.

    >>> print(visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def fold(line: str, width: int) -> str:
    """Break a long line between words, and indent what follows below its first word.

    >>> print(fold("|   animal is one of: aardvark, bee, cat", 27))
    |   animal is one of:
    |       aardvark, bee, cat
    """
    if len(line) <= width:
        return line
    indent = _ADVANCE.match(line)[0]  # type: ignore[index]
    return "\n".join(
        textwrap.wrap(line, max(width, len(indent) + 20), subsequent_indent=indent + "    ", break_on_hyphens=False)
    )
