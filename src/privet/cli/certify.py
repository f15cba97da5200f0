"""``privet certify``: what a private model guarantees if some of its training records are poisoned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.facts import for_programs
from privet.cli.files import check_output
from privet.cli.options import Force, Settings
from privet.cli.screen import say, warn, working
from privet.disk import whole_file, write_whole
from privet.errors import PrivetError

if TYPE_CHECKING:
    import numpy as np

TEST_SHARE = 0.2
SPLIT_SEED = 0  # public: which records are for testing is no secret
POINTS = 24  # of a plot

StandIn = Annotated[
    bool, typer.Option("--stand-in", help="Certify on the public census data that ship with Privet, instead of DATA.")
]


def certify(
    epsilon: Annotated[float, typer.Option(help="The privacy budget of one model.")],
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", exists=True, dir_okay=False, help="Training records: CSV or Parquet."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The public schema, as TOML.")
    ] = None,
    poison: Annotated[
        str, typer.Option(help="How many poisoned records: shares or numbers, with commas.")
    ] = "0.1%,0.5%,1%",
    stand_in: StandIn = False,
    public: Annotated[bool, typer.Option("--public", help="These records are public: no warning is needed.")] = False,
    test: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Test records; by default a fifth of DATA is kept for that."),
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The delta, of models that take one.")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Which model; privet models lists them.")] = None,
    settings: Settings = None,
    trigger: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="A backdoor's trigger, with --target; may be given several times."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class that the trigger should cause.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="How many models are trained; more models can certify more.")] = 1000,
    confidence: Annotated[float, typer.Option(help="The confidence that all guarantees hold together.")] = 0.99,
    beside: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="A released model, to show its private score beside the certificate."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default all cores.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Reproducible noise, for research.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the certificate, as .png, .svg or .pdf.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the certificate as a section for an HTML page.")] = None,
    force: Force = False,
) -> None:
    """Certify a private model against poisoned training records.

    Trains the model many times on DATA. Whatever an attacker adds, removes or
    changes: it says how accurate the model stays on average over trainings,
    and how many test records most of many models still label correctly. It
    says nothing about one model that was released.

    A certificate is itself a release: it costs as many models as it trains,
    and it shows how they do on the test records. So certify on public
    records like yours, or keep the certificate as confidential as your own
    records.

    Examples:

        privet certify --stand-in --epsilon 0.01
        privet certify people.csv --schema people.toml --epsilon 0.01 \\
            --poison 0.1%,0.5%,1% --plot certificate.png
    """
    if stand_in == (data is not None):
        raise typer.BadParameter("give DATA with --schema, or --stand-in for the census data that ship with Privet.")
    if (trigger is None) != (target is None):
        raise typer.BadParameter("a backdoor has both: --trigger COLUMN=VALUE and --target CLASS.")
    inputs = [path for path in (data, schema, test) if path is not None]
    drawing = None if plot is None else _drawing(plot, force, inputs)
    page = None if html is None else check_output(html, force, *inputs, suffixes=(".html", ".htm"))
    with working("Reading the data"):
        from privet.robustness import certify as run
        from privet.robustness.certify import units_of
        from privet.robustness.warned import listening

        X, y, X_test, y_test, known = _records(data, schema, test)
        learner = _learner(known, epsilon, delta, model, settings)
        backdoor = None if trigger is None else _backdoor(trigger, str(target), known)
    asked = [amount.strip() for amount in poison.split(",") if amount.strip()]
    with listening(warn):
        found = run(
            learner,
            *(X, y, X_test, y_test),
            [*asked, *(_between(asked, units_of(learner, X, y)) if drawing else [])],
            backdoor=backdoor,
            runs=runs,
            confidence=confidence,
            random_state=seed,
            n_jobs=jobs,
        )
    shown = replace(found, rows=found.rows[: 2 * len(asked)])
    if drawing is not None:
        from privet.robustness.plot import plot_certificate

        with whole_file(drawing) as part:
            plot_certificate(found, part, drawing.suffix)
    if page is not None:
        from privet.robustness.section import section

        write_whole(page, section(shown).encode())
    say(shown.statement, **json.loads(shown.to_json()))
    if not for_programs():
        _table(shown.table())
    if beside is not None:
        say("\n" + _score(beside))
    if stand_in:
        say("\nThese numbers are of the census data. Your records would give others.")
    elif not public:
        warn(shown.warning + " Without such records, --stand-in certifies on the census data.")


def _score(path: Path) -> str:
    """What a released model's own private score is, and what it is not."""
    from privet.algorithms.model_file import load

    evaluation = load(path).evaluation_
    if evaluation is None:
        return f"{path} has no private score: fit(X, y, holdout=0.2) in Python keeps records for one."
    return (
        f"{path} has a private score: accuracy {evaluation.accuracy}, with 95% confidence. It is an "
        "estimate of that one model's accuracy, now. No certificate follows from it."
    )


def _drawing(plot: Path, force: bool, inputs: list[Path]) -> Path:
    from privet.audit.plot import require_matplotlib

    require_matplotlib()
    return check_output(plot, force, *inputs, suffixes=(".png", ".svg", ".pdf"))


def _records(data: Path | None, schema: Path | None, test: Path | None) -> tuple[Any, Any, Any, Any, Any]:
    """Training and test records, and their schema."""
    import numpy as np

    from privet.schema import Schema
    from privet.tables.persons import read_persons
    from privet.tables.table import read_file

    if data is None:
        from privet.datasets import load_adult

        X, y, known = load_adult()
        y = np.asarray(y)
    else:
        if schema is None:
            raise typer.BadParameter("give --schema: what is public about DATA (privet schema draft).")
        known = Schema.from_toml(schema)
        if known.classes is None:
            raise PrivetError("certificates are for classes, and this schema has a numeric target")
        X, y = read_file(data, known)
        y = _labels(y)
    if test is not None:
        X_test, y_test = read_file(test, known)
        return X, y, X_test, _labels(y_test), known
    from privet.robustness.attacks.table_edits import rows_of

    persons = read_persons(X, None, known)  # a person's records stay together
    of = np.arange(len(y)) if persons is None else persons
    draws = np.random.default_rng(SPLIT_SEED).permutation(int(of.max(initial=-1)) + 1)
    held_out = np.isin(of, draws[: int(TEST_SHARE * len(draws))])
    kept, held = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if not len(held):
        raise PrivetError("there are too few records to keep some for testing: give --test")
    return rows_of(X, kept), y[kept], rows_of(X, held), y[held], known


def _labels(column: Any) -> np.ndarray:
    import numpy as np

    return np.asarray(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _learner(known: Any, epsilon: float, delta: float | None, model: str | None, settings: list[str] | None) -> Any:
    from privet.algorithms.registry import DEFAULTS, make
    from privet.cli.models import settings as parameters

    given = parameters(settings or ())
    if delta is not None:
        given["delta"] = delta
        model = model or "PrivateForestClassifier"
    return make(model or DEFAULTS[known.task], schema=known, epsilon=epsilon, **given)


def _backdoor(texts: list[str], target: str, known: Any) -> Any:
    from privet.cli.models import settings as parameters
    from privet.robustness.attacks.backdoor import Backdoor

    wanted = next((label for label in known.classes if str(label) == target), None)
    if wanted is None:
        raise PrivetError(f"--target is one of the classes: {', '.join(map(str, known.classes))}")
    trigger = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not equals:
            raise PrivetError(f"--trigger takes COLUMN=VALUE; got {text!r}")
        trigger[column.strip()] = parameters([f"value={value}"])["value"]
    return Backdoor(trigger, wanted)


def _between(asked: list[str], units: int) -> list[int]:
    """Numbers of records, or of persons, from none to the most that were asked about, for a smooth curve."""
    import numpy as np

    from privet.robustness.certificate import levels

    most = max(level.units for level in levels(asked, units))
    return np.unique(np.linspace(0, most, POINTS).astype(int)).tolist()


def _table(lines: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in lines[0]:
        table.add_column(title, justify="right", overflow="fold")
    for line in lines[1:]:
        table.add_row(*line)
    console = Console()
    console.print()
    console.print(table)
