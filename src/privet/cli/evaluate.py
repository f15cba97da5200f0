"""``privet evaluate``: how a model does on a test set, told privately; and what ``privet fit --holdout`` says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.files import check_output
from privet.cli.ledger import NO_LEDGER, interruptible
from privet.cli.options import DataFiles, Force
from privet.cli.screen import say, working

if TYPE_CHECKING:
    from privet.evaluate.evaluation import Evaluation
    from privet.schema import Schema

Holdout = Annotated[
    float | None,
    typer.Option(help="The share of the records that are kept out of learning and score the model, such as 0.2."),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="FEATURE",
        help="Also score each group of a feature with categories, or of a number with cuts, age=30,60.",
    ),
]


def groups_by(by: str | None) -> str | dict[str, list[float]] | None:
    """What ``--by`` says: a feature, or a feature with cuts."""
    if by is None or "=" not in by:
        return by
    name, _, cuts = by.partition("=")
    try:
        return {name: [float(cut) for cut in cuts.split(",")]}
    except ValueError:
        raise typer.BadParameter("cuts are numbers with commas between them, such as age=30,60.") from None


def held_out(holdout: float | None, by: str | None, schema: Schema) -> dict[str, Any]:
    """What a training is told of both; raises, before anybody is connected, for what makes no sense."""
    from privet.algorithms.held_out import Holdout

    groups = groups_by(by)
    Holdout.of(holdout, groups, schema)
    return {"holdout": holdout, "by": groups}


def say_scores(scores: Evaluation | None) -> None:
    if scores is not None:
        say(f"Scores\n{scores}\n", scores=scores.to_dict(), summary=scores.summary)


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="A model file.")],
    data: DataFiles,
    epsilon: Annotated[float, typer.Option(help="What the scores may cost the test records.")],
    by: By = None,
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", dir_okay=False, help="Charge the ledger of the test records.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the model, with its scores and their receipt.")
    ] = None,
    force: Force = False,
) -> None:
    """Tell privately how good a model is on a separate test set.

    One noisy table of the test records costs epsilon of these; all scores
    follow from it, with 95% intervals. On the records that the model was
    learned from the epsilons add up, and the scores flatter it: there,
    use privet fit --holdout.

    Examples:

        privet evaluate model.json test.csv --epsilon 0.5
        privet evaluate model.json test.csv --epsilon 0.5 --by age=30,60 -o scored.json
    """
    from contextlib import nullcontext

    from privet.cli.checks import receipt_facts
    from privet.tables.files import find_files

    if not 0 < epsilon < math.inf:
        raise typer.BadParameter("epsilon must be a finite number greater than zero, such as 0.1.")
    target = None if output is None else check_output(output, force, model, *find_files(data))
    with working("Loading"):
        from privet.algorithms.model_file import load
        from privet.privacy.ledger import Ledger
        from privet.tables.misfit import tell_misfits

        learned = load(model)
        charged = None if ledger_file is None else Ledger.open(ledger_file)
    tell_misfits(data, None, learned.schema_)
    with interruptible(charged, "No scores were told"), charged or nullcontext():
        scores = learned.evaluate(data, epsilon=epsilon, by=groups_by(by))  # says how far it has read
    say_scores(scores)
    assert scores.privacy_ is not None
    say(f"Receipt\n{scores.privacy_}", privacy=receipt_facts(scores.privacy_))
    say(NO_LEDGER if charged is None else f"Ledger of {charged}.")
    if target is not None:
        learned.evaluation_ = scores
        learned.save(target, overwrite=True)
        say(f"Wrote {output}: the model with these scores.", file=output)
