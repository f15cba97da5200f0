"""``--json``: what a command has found, for another program. The same for all commands.

A command says sentences to people (``screen.say``), each with the facts that are in it. With ``--json`` sentences are
left out, and the facts are one JSON object on stdout when the command ends. Warnings and errors stay on stderr, exit
codes are the same, and a command that fails prints no object. Programs that run for long have ``--log json`` instead.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

import typer

_gathered: dict[str, Any] | None = None  # a process runs one command


def for_programs() -> bool:
    """Whether facts are wanted, and no sentences."""
    return _gathered is not None


def gather(facts: Mapping[str, Any]) -> None:
    if _gathered is not None:
        _gathered.update(facts)


@contextmanager
def told() -> Iterator[None]:
    """While a command runs: its facts are printed when it ends, also where its answer is the exit code."""
    global _gathered
    _gathered = None
    try:
        yield
        _tell()
    except typer.Exit:
        _tell()
        raise
    finally:
        _gathered = None


def _tell() -> None:
    if _gathered:
        print(json.dumps(plain(_gathered), indent=1, allow_nan=False))


def add_options(group: Any) -> None:
    """Give ``--json`` to every command below, but those that run for long and have ``--log``."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            add_options(command)
        elif not {"--json", "--log"} & {name for own in command.params for name in own.opts}:
            command.params.append(_option())


def _begin(wanted: bool) -> None:
    global _gathered
    if wanted:
        _gathered = {}


Json = Annotated[
    bool,
    typer.Option(
        "--json", callback=_begin, expose_value=False, help="The result as one JSON object, for other programs."
    ),
]


@cache
def _option() -> Any:
    """As Typer makes it from a command of its own: how an option is constructed changes with its versions."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(as_json: Json = False) -> None: ...

    return next(own for own in typer.main.get_command(app).params if "--json" in own.opts)


def plain(value: Any) -> Any:
    """A value as JSON has it; what is infinite as a word.

    >>> plain({"epsilon": Fraction(1, 2), "cost": math.inf, "parts": (1, "a")})
    {'epsilon': 0.5, 'cost': 'infinity', 'parts': [1, 'a']}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Fraction):
        return "infinity" if value == math.inf else None if value != value else float(value)
    return plain(value.item()) if hasattr(value, "item") else str(value)
