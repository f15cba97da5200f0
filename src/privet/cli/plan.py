"""``privet plan``: what a fit would do with its budget, and which budget to take, before any record is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.evaluate import Holdout
from privet.cli.files import check_output
from privet.cli.options import EPSILON_HELP, Force, SchemaFile, Settings, checked_epsilon
from privet.cli.screen import say, warn, working
from privet.errors import PrivetError


def plan(
    schema: SchemaFile,
    n_records: Annotated[
        int,
        typer.Option(min=1, help="A round figure of how many records there are. The fit still counts them privately."),
    ],
    epsilon: Annotated[
        float | None, typer.Option(callback=checked_epsilon, help=f"{EPSILON_HELP} Not needed with --choose.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="What to learn; privet models lists them.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="The largest depth: short for --set max_depth=N.")
    ] = None,
    leaves: Annotated[
        str | None, typer.Option(metavar="KIND", help="labels or counts: short for --set leaves=KIND.")
    ] = None,
    settings: Settings = None,
    holdout: Holdout = None,
    choose: Annotated[bool, typer.Option("--choose", help="Try other epsilons, too, from 0.01 to 10.")] = False,
    public: Annotated[
        Path | None,
        typer.Option("--public", exists=True, dir_okay=False, help="Public records, to try --choose on."),
    ] = None,
    class_shares: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="With --choose: how common each class is, in the order of the schema, if that is public, such as "
            "0.88,0.12. Else all alike.",
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="With --choose: how often each epsilon is tried.")] = 5,
    plot: Annotated[Path | None, typer.Option(help="With --choose: draw the result, as .png, .svg or .pdf.")] = None,
    force: Force = False,
) -> None:
    """Show what a fit would do with its budget, before anything is spent.

    How deep, which questions, what each costs and how large its noise is.
    With --choose also how accurate it is at other epsilons, and what each
    means for one person. It reads no private record: the model is tried on
    records drawn from the schema, or on public ones.

    Examples:

        privet plan --schema people.toml --n-records 10000 --epsilon 0.5 --holdout 0.2
        privet plan --schema people.toml --n-records 10000 --choose
    """
    from privet.algorithms.choosing import EPSILONS
    from privet.algorithms.registry import DEFAULTS, make
    from privet.cli.checks import labelled, warn_of_draft
    from privet.cli.models import settings as parameters

    if any(given is not None for given in (public, plot, class_shares)) and not choose:
        raise typer.BadParameter("--public, --plot and --class-shares belong to --choose.")
    if epsilon is None and not choose:
        raise typer.BadParameter("give --epsilon, such as 0.5; or --choose, which tries several.")
    target = None if plot is None else check_output(plot, force, suffixes=(".png", ".svg", ".pdf"))
    known = labelled(schema)
    name = model or DEFAULTS[known.task]
    warn_of_draft(known)
    short = {"max_depth": max_depth, "leaves": leaves}
    given = parameters([*(f"{own}={value}" for own, value in short.items() if value is not None), *(settings or ())])
    if epsilon is not None:
        show_quote(make(name, schema=known, epsilon=epsilon, **given), n_records, holdout)
    if choose:
        tried = sorted({*EPSILONS, *([] if epsilon is None else [epsilon])})
        learned = max(1, round(n_records * (1 - (holdout or 0))))
        shares = None if class_shares is None else _shares(class_shares)
        tried_model = make(name, schema=known, epsilon=tried[0], **given)
        show_epsilons(tried_model, learned, tried, public, shares, runs, target)


def show_quote(model: Any, n_records: int, holdout: float | None) -> None:
    """How deep, how often, what each answer costs and how large its noise is."""
    with working("Trying it on made-up records"):
        quote = model.quote(n_records, holdout)
    head, *rest = str(quote).split("\n")
    say(head, style="bold", quote=quote)
    for line in rest:
        if line.startswith("WARNING: "):
            warn(line.removeprefix("WARNING: "))
        else:
            say(line)


def show_epsilons(
    model: Any,
    n_records: int,
    epsilons: Sequence[float],
    data: Path | None,
    class_shares: list[float] | None,
    runs: int,
    plot: Path | None,
) -> None:
    """How well a model does at each epsilon on public records, or on some that nobody is in; as text and as a plot."""
    from privet.algorithms.choosing import as_text, scores_by_epsilon

    score = "accuracy" if model.schema.classes is not None else "R^2"
    with working("Trying each epsilon"):
        public_records = _public(data, model.schema)
        points = scores_by_epsilon(
            model, n_records, epsilons, public=public_records, class_shares=class_shares, runs=runs
        )
    stand_in = f"{n_records:,} made-up records, drawn from the schema: a guide, since your records differ"
    public = f"{n_records:,} of the public records of {data}"
    say(f"\nLearned from {stand_in if data is None else public}; {runs} runs")
    if class_shares is not None:
        say("Classes: " + ", ".join(f"{own} {share:.0%}" for own, share in zip(model.schema.classes, class_shares)))
    say(as_text(points, score), score=score, epsilons=points)
    if data is None:
        say(
            "Read the shape, not the height. A made-up label follows a simple rule in nine records of ten. Real ones "
            "are often harder to predict, and the curve may then flatten at a larger epsilon."
        )
    if data is None and model.schema.classes is not None and class_shares is None:
        say(
            "These stand-ins have equally many records of each class. If one of your classes is rare, accuracy will "
            "look better than it is: say how common each is (--class-shares 0.9,0.1), and look at how much of each "
            "class is found."
        )
    if plot is not None:
        from privet.disk import whole_file
        from privet.report.epsilon_plot import plot_epsilons

        with whole_file(plot) as part:
            plot_epsilons(points, part, score, kind=plot.suffix[1:])
        say(f"Drew {plot}.", plot=plot)


def _shares(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError:
        raise typer.BadParameter("--class-shares takes numbers such as 0.88,0.12, one for each class.") from None


def _public(data: Path | None, schema: Any) -> tuple[Any, Any] | None:
    if data is None:
        return None
    from privet.tables.table import read_file

    X, y = read_file(data, schema)
    if y is None:
        raise PrivetError("public records need their labels: name the label's column in the schema")
    return X, y
