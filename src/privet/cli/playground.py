"""``privet playground``: what epsilon does to a model and to one person, on a page of this machine."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.facts import for_programs
from privet.cli.screen import say, working
from privet.errors import PrivetError

if TYPE_CHECKING:
    from privet.report.draws import Draws

REFUSED = (
    "these records may be private, and every model that the playground shows would be one more release of them. Leave "
    "DATA out to play on records that are drawn from the schema, or say --public if everybody may see these"
)


def playground(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", exists=True, dir_okay=False, help="Public records, with --public."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The public schema, as TOML.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Everybody may see the records of DATA.")] = False,
    n_records: Annotated[
        int | None, typer.Option(min=50, max=200_000, help="How many records to learn from; by default 20,000, or all.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; by default any free port.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Move epsilon and see what it does: to accuracy and to one person.

    A page on this machine, for nobody else. It plays on the public census
    data that ship with Privet or, with --schema, on records that nobody is
    in, drawn from the schema. Never on private records.

    Examples:

        privet playground
        privet playground --schema people.toml --n-records 900
    """
    what = "drawing records that nobody is in" if data is None and schema else "reading the records"
    say(f"Starting: loading Privet, {what} and preparing the page. That takes some seconds.")
    from privet.report.playground import Playground

    with working("Preparing"):
        room = Playground(_draws(data, schema, public, n_records), port)
    say(f"The playground is at\n\n    {room.address}\n\nfor this machine alone. Ctrl-C ends it.")
    if for_programs():
        print(json.dumps({"address": room.address}), flush=True)  # now: it runs until it is stopped
    if browser:
        webbrowser.open(room.address)
    try:
        room.run()
    except KeyboardInterrupt:
        say("\nClosed.")


def _draws(data: Path | None, schema: Path | None, public: bool, n_records: int | None = None) -> Draws:
    from privet.report.draws import Draws
    from privet.schema import Schema

    if data is None:
        if public:
            raise typer.BadParameter("--public is about DATA, which was not given.")
        if schema is not None:
            return Draws.synthetic(Schema.from_toml(schema), n_records)
        from privet.datasets import load_adult

        X, y, known = load_adult()
        words = "US census data of 1994, which are public: who earns more than 50,000 dollars?"
        return Draws(X, y, known, words, n_records)
    if schema is None:
        raise typer.BadParameter("give --schema: what is public about DATA (privet schema draft).")
    if not public:
        raise PrivetError(REFUSED)
    from privet.tables.table import read_file

    known = Schema.from_toml(schema)
    X, y = read_file(data, known)
    words = f"The records of {data.name}, which you said are public."
    return Draws(X, y.to_numpy(zero_copy_only=False), known, words, n_records)
