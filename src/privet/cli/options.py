"""Arguments and options that several commands take, each described once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path, typer.Argument(metavar="DATA", exists=True, dir_okay=False, help="A CSV file with a header, or Parquet.")
]
DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...", help="CSV files with a header, or Parquet, of any size; folders; 'folder/*.parquet'."
    ),
]
Config = Annotated[
    Path, typer.Argument(metavar="CONFIG", exists=True, dir_okay=False, help="Your settings file, NAME.toml.")
]
Epsilon = Annotated[float, typer.Option(help="The privacy budget of this model.")]
Consortium = Annotated[
    Path, typer.Argument(metavar="CONSORTIUM", exists=True, dir_okay=False, help="Any member's consortium file.")
]
Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Also a dry run with the other members: connections, versions, clocks, budgets. Nobody pays."
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the model goes, as JSON.")]
Rows = Annotated[
    Path | None, typer.Option("--output", "-o", help="A .csv or .parquet file; by default CSV on the screen.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output files if they exist.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model; may be given several times."),
]
SignedModel = Annotated[
    Path | None,
    typer.Option("--model", exists=True, dir_okay=False, help="The model that the receipt should belong to."),
]
Days = Annotated[int, typer.Option(min=1, help="How long the certificate is valid.")]
SchemaFile = Annotated[
    Path, typer.Option("--schema", exists=True, dir_okay=False, help="The public schema, as TOML (schema draft).")
]
StrictData = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse (exit 2) columns with many values that do not fit, or with one that differs from a listed value "
        "only by capitals or spaces.",
    ),
]
EPSILON_HELP = "The privacy budget. Smaller is more private; 0.1 to 1 is usual."


def checked_epsilon(epsilon: float) -> float:
    if epsilon is not None and not 0 < epsilon < math.inf:  # Typer calls this with None where none is needed
        raise typer.BadParameter("epsilon must be a finite number greater than zero, such as 0.1.")
    return epsilon
