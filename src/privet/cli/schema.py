"""``privet schema``: what is public about data, drafted from a file, and whether a file fits it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from privet.cli.facts import for_programs
from privet.cli.files import check_output
from privet.cli.options import Data, DataFiles, Force, SchemaFile, StrictData
from privet.cli.screen import REFUSED, say, warn, working
from privet.disk import write_whole
from privet.errors import SchemaError
from privet.schema_file import nearest

schemas = typer.Typer(no_args_is_help=True, help="Write down what is public about your data.")


FitSchema = Annotated[
    Path | None,
    typer.Option("--schema", exists=True, dir_okay=False, help="The public schema, as TOML (schema draft)."),
]
FitLabel = Annotated[
    str | None, typer.Option("--label", help="Without --schema: the column to predict, to write a draft of a schema.")
]

PUBLIC = """A fit needs a schema: what is public about the table.

  numbers     the range that they can have        age: 0 to 110
  categories  the values that there can be        ward: surgery, medicine, maternity
  the label   its classes, or its range           readmitted: no, yes
  people      whose row it is, if one person      patient_id
              can have several

All of it may appear in the model, so it must not come from the records: take
it from a codebook, a form or a law. Nothing was spent."""


def without_schema(data: Path | None, label: str | None, force: bool) -> SchemaError:
    """What to say to somebody who wants to fit without a schema; with the label's name, a draft is written, too."""
    if data is None or label is None:
        begin = f"privet schema draft {data or 'SOME.csv'} --label COLUMN -o schema.toml"
        return SchemaError(f"{PUBLIC}\n\nBegin with a draft:\n  {begin}")
    from privet.tables.draft import draft_toml

    path = Path(f"{data.name.partition('.')[0]}.schema.toml")  # not beside the data: that folder may be shared
    if path.exists() and not force:
        return SchemaError(f"{path} is there already: confirm its fields, and use --schema {path}. Nothing was spent.")
    target = check_output(path, force, data)
    write_whole(target, draft_toml(data, label).encode())
    return SchemaError(
        f"{PUBLIC}\n\nWrote a draft, {path}, that you alone can read: it quotes your records, so keep it as "
        "confidential as they are. Open it in a text editor. Look every field up, correct it, delete its line "
        f"'inferred = true', and use --schema {path} in place of --label"
    )


@schemas.command()
def draft(
    data: Data,
    label: Annotated[str | None, typer.Option(help="The column to predict; without it, columns are listed.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A TOML file; by default the screen.")] = None,
    force: Force = False,
) -> None:
    """Draft a schema from a file: a start, to be confirmed field by field.

    A draft quotes ranges and values of your records, so keep it as
    confidential as the data. Look each field up in public documentation,
    correct it, and delete its line "inferred = true". While one is left,
    receipts are void.

    Example:

        privet schema draft people.csv --label income -o people.toml
    """
    from privet.schema import Schema
    from privet.tables.draft import DECIMAL_COMMA, draft_toml, listed
    from privet.tables.table import column_names

    if label is None:
        raise SchemaError(
            f"which column is to be predicted? Say --label COLUMN; {data} has {listed(column_names(data))}"
        )
    target = None if output is None else check_output(output, force, data, suffixes=(".toml",))
    with working("Reading the data"):
        text = draft_toml(data, label)
    known = Schema.from_toml(text)
    say(schema=known.to_dict(), unconfirmed=known.unconfirmed, file=output)
    if target is None:
        if not for_programs():
            sys.stdout.write(text)
        return
    write_whole(target, text.encode())
    say(f"Wrote {output}. Next: edit it, then privet schema check {data} --schema {output}")
    warn(f"{output} is as confidential as the data: confirm each field and delete its line 'inferred = true'")
    if DECIMAL_COMMA in text:
        warn(
            "some columns have numbers with a decimal comma, and came out as categories: write points, and draft again"
        )


@schemas.command()
def check(data: DataFiles, schema: SchemaFile, strict: StrictData = False) -> None:
    """Check that the values in files fit the schema.

    It names columns with many values that are not listed or outside their
    range. It also names columns where a value differs from a listed one only
    by capitals or spaces: "F" for "f". The output depends on the records, so
    only the holder of the records may see it. fit says the same before it
    spends anything, if it runs in a terminal. Without the label's column,
    rows are checked as rows to predict. Exits with 1 if a column does not
    fit.

    Example:

        privet schema check people.csv --schema people.toml
        privet schema check 'visits/*.parquet' --schema visits.toml
    """
    from privet.cli.checks import warn_of_draft
    from privet.schema import Schema
    from privet.tables.files import find_files
    from privet.tables.misfit import check_files, refuse
    from privet.tables.table import column_names

    public = Schema.from_toml(schema)
    warn_of_draft(public)
    with working("Reading the data"):
        present = column_names(find_files(data)[0])
        labelled = public.label in present
        found = check_files(data, public if labelled else replace(public, label=None))
    if strict:
        refuse(found)
    fine = (
        f"{' '.join(data)} fits {schema}: no column has many values that it does not allow, or one that differs from a "
        "listed value only by capitals or spaces."
    )
    say("\n".join(map(str, found)) or fine, fits=not found, misfits=found, labelled=labelled)
    if public.label is not None and not labelled:
        hint = nearest(public.label, set(present) - set(public.columns))
        say(f"There is no label, column {public.label!r}{hint}: these rows can be predicted, not learned from.")
    if found:
        raise typer.Exit(REFUSED)
