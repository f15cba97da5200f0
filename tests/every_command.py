"""What tests of the whole command share: every command with its path, and a small schema."""

from functools import cache
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner

from privet.cli import app

SCHEMA = """
[label]
name = "ill"
classes = ["no", "yes"]

[features.age]
low = 0
high = 110

[features.ward]
values = ["a", "b"]
"""


@cache
def whole_command():
    """Made once: Typer's own runner makes it for every call, which takes longer than most calls."""
    return get_command(app)


def call(words):
    """Run ``privet`` with these words in this process."""
    with patch("typer.testing._get_command", lambda app: whole_command()):
        return CliRunner().invoke(app, words, prog_name="privet")


def commands(command=None, path=()):
    """``(path, command)`` of everything that can be called."""
    command = command or whole_command()
    if not hasattr(command, "commands"):
        return [(path, command)]
    return [found for name, own in command.commands.items() for found in commands(own, (*path, name))]


def reference():
    """Every command with its arguments and options, as Markdown: what docs/command-line.md ends with.

    Commands that ``federated`` and ``mpc`` share are told once.
    """
    told = {}
    for path, command in sorted(commands()):
        first, _, _ = (command.help or "").partition("\n\n")
        rows = [f"| {_names(own)} | {(own.help or '').replace('|', chr(92) + '|')} |" for own in command.params]
        body = "\n".join([" ".join(first.split()), "", "| | |", "|---|---|", *rows])
        told.setdefault(body, []).append(" ".join(("privet", *path)))
    return (
        "\n\n".join(f"### {', '.join(f'`{name}`' for name in names)}\n\n{body}" for body, names in told.items()) + "\n"
    )


def _names(own):
    if not own.opts[0].startswith("-"):
        return f"`{own.metavar or own.human_readable_name.upper()}`"
    kinds = ", ".join(f"`{name}`" for name in [*own.opts, *own.secondary_opts])
    return f"{kinds}, required" if own.required else kinds


MARK = "<!-- Below: python tests/every_command.py docs/command-line.md -->\n"

if __name__ == "__main__":
    import sys
    from pathlib import Path

    page = Path(sys.argv[1])
    page.write_text(page.read_text().partition(MARK)[0] + MARK + "\n" + reference())
