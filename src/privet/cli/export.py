"""``privet export``: a model for places where Privet is not installed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privet.cli.files import check_output
from privet.cli.options import Force
from privet.cli.screen import say, working


class ExportForm(StrEnum):
    """What a model can be exported to."""

    SQL = "sql"
    ONNX = "onnx"
    SKLEARN = "sklearn"
    PYTHON = "python"


ENDINGS = {ExportForm.SQL: ".sql", ExportForm.ONNX: ".onnx", ExportForm.SKLEARN: ".pkl", ExportForm.PYTHON: ".py"}


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="A model file.")],
    to: Annotated[ExportForm, typer.Option(help="The form: a query, an ONNX file, a pickled pipeline, a Python file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where it goes; by default beside MODEL, as .sql and so on.")
    ] = None,
    table: Annotated[str, typer.Option(help="SQL: the table that the query reads.")] = "records",
    dialect: Annotated[str, typer.Option(help="SQL: duckdb, postgres, sqlite, spark, snowflake, bigquery.")] = "duckdb",
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="SQL: a column beside the prediction, such as an id.")
    ] = None,
    force: Force = False,
) -> None:
    """Export a model for places where Privet is not installed.

    It predicts what privet predict does, and costs nothing: the model is
    public. A pickled pipeline runs code when it is loaded, as every pickle
    does: load only your own.

    Examples:

        privet export model.json --to sql --table patients --keep id -o predict.sql
        privet export model.json --to python -o model.py
        privet export model.json --to onnx -o model.onnx
    """
    output = output or model.with_suffix(ENDINGS[to])
    target = check_output(output, force, model)
    if to is not ExportForm.SQL and (keep or table != "records" or dialect != "duckdb"):
        raise typer.BadParameter("--table, --dialect and --keep belong to --to sql.")
    with working("Loading"):
        from privet.algorithms.model_file import load, mode_of
        from privet.disk import write_whole

        learned = load(model)
    if to is ExportForm.SQL:
        from privet.export.sql import to_sql

        content = to_sql(learned, table, dialect=dialect, keep=keep or ()).encode()
    elif to is ExportForm.ONNX:
        from privet.export.onnx import to_onnx

        content = to_onnx(learned)
    elif to is ExportForm.SKLEARN:
        import pickle

        from privet.export.sklearn import to_sklearn

        content = pickle.dumps(to_sklearn(learned))
    else:
        from privet.export.python import to_python

        content = to_python(learned).encode()
    write_whole(target, content, mode=mode_of(learned.privacy_))
    say(f"Wrote {output}.", file=output, form=to.value)
