"""The ``privet`` command: thin functions over the library, one for each thing to do.

Exit codes: 0 done, 1 refused (a budget, a receipt that does not add up, a void one under --strict), 2 wrong use,
3 a bug in Privet. Heavy imports wait inside the commands, so that ``privet --help`` is quick. Docstrings are what the
help shows, line by line, so they are no wider than a small terminal.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from privet.cli.audit import audit
from privet.cli.certify import certify
from privet.cli.databases import KEY, TABLE, fit_table
from privet.cli.evaluate import By, Holdout, evaluate, groups_by, say_scores
from privet.cli.export import export
from privet.cli.federated import federated
from privet.cli.files import ROWS, check_output, rows_to
from privet.cli.ledger import FIT_COHORT, FIT_LEDGER, NO_LEDGER, interruptible, ledger
from privet.cli.mpc import mpc
from privet.cli.options import (
    EPSILON_HELP,
    DataFiles,
    Force,
    Output,
    Rows,
    Settings,
    StrictData,
    checked_epsilon,
)
from privet.cli.plan import plan
from privet.cli.playground import playground
from privet.cli.report import report
from privet.cli.schema import FitLabel, FitSchema, schemas, without_schema
from privet.cli.screen import Group, say, warn, working

app = typer.Typer(
    name="privet",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(schemas, name="schema")
app.add_typer(ledger, name="ledger")
app.add_typer(mpc, name="mpc")
app.add_typer(federated, name="federated")
app.command()(plan)


Model = Annotated[
    Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="A model that privet fit wrote.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse (exit 1) if the receipt is void or promises nothing.")]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Reproducible noise, for research only: it makes the receipt void.")
]


@app.callback()
def privet(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=lambda wanted: _version(wanted), help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Decision trees with differential privacy, and a receipt for what they cost.

    A first look:

        privet demo
        privet playground

    With your own data, after confirming each field of people.toml:

        privet schema draft people.csv --label income -o people.toml
        privet ledger new people.ledger --epsilon 1 --records "people.csv"
        privet fit people.csv --schema people.toml --epsilon 0.5 -o model.json \\
            --holdout 0.2 --ledger people.ledger --strict
        privet show model.json
        privet report model.json -o report.html
        privet verify model.json
        privet predict model.json new.csv -o predictions.csv

    To attack the privacy promises of Privet and of other libraries:

        privet audit --claims

    What a model guarantees against poisoned records:

        privet certify --stand-in --epsilon 0.01

    Exit codes: 0 done, 1 refused, 2 wrong use, 3 a bug in Privet.
    """


def _version(wanted: bool) -> None:
    if wanted:
        from privet import __version__

        print(f"privet {__version__}")
        raise typer.Exit


@app.command()
def demo(
    epsilon: Annotated[float, typer.Option(callback=checked_epsilon, help=EPSILON_HELP)] = 0.1,
    seed: Seed = None,
    write: Annotated[Path | None, typer.Option(help="Also write the data as a .csv or .parquet file, to try.")] = None,
    force: Force = False,
) -> None:
    """Learn a private tree on the census data that ships with Privet.

    Its accuracy is shown beside that of a tree that is not private.

    Examples:

        privet demo --epsilon 0.05
        privet demo --write people.csv
    """
    from privet.cli.demo import run

    run(epsilon, seed, None if write is None else check_output(write, force, suffixes=ROWS))


@app.command()
def fit(
    data: DataFiles,
    epsilon: Annotated[float, typer.Option(callback=checked_epsilon, help=EPSILON_HELP)],
    output: Output,
    schema: FitSchema = None,
    label: FitLabel = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to learn; privet models lists them. By default one private tree, for classes or for numbers.",
        ),
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="The largest depth: short for --set max_depth=N.")
    ] = None,
    leaves: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="labels: most accurate predictions. counts: noisy counts, real probabilities. "
            "Short for --set leaves=KIND.",
        ),
    ] = None,
    n_records: Annotated[
        int | None,
        typer.Option(
            min=0, help="About how many records there are, if that is public; otherwise some budget measures it."
        ),
    ] = None,
    settings: Settings = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help=TABLE)] = None,
    key: Annotated[str | None, typer.Option(metavar="COLUMN", help=KEY)] = None,
    holdout: Holdout = None,
    by: By = None,
    ledger_file: Annotated[Path | None, typer.Option("--ledger", dir_okay=False, help=FIT_LEDGER)] = None,
    cohorts: Annotated[list[str] | None, typer.Option("--cohort", help=FIT_COHORT)] = None,
    note: Annotated[
        str, typer.Option(help="A note that is kept in the model's file, and is shown on its report.")
    ] = "",
    seed: Seed = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a void receipt or an epsilon that promises nothing (exit 1), and data "
            "that do not fit the schema (exit 2).",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Learn a private model and write it, with its receipt, to a file.

    It shows no training accuracy, on purpose: that would be one more look
    at the records, and nobody has paid for it. --holdout keeps some records
    out of learning and scores the model on them, at no extra epsilon. Every
    fit on the same records costs its epsilon again: --ledger adds this up.

    Examples:

        privet fit people.csv --schema people.toml --epsilon 0.5 -o model.json
        privet fit people.csv --schema people.toml --epsilon 0.5 -o model.json \\
            --model PrivateTreeClassifier --set max_depth=3 --set leaves=counts
        privet fit people.csv --schema people.toml --epsilon 0.5 -o model.json \\
            --holdout 0.2 --by sex
        privet fit 'visits/*.parquet' --schema visits.toml --epsilon 0.5 -o model.json
        privet fit clinic.duckdb --table visits --schema visits.toml --epsilon 0.5 \\
            -o model.json
    """
    from privet.algorithms.registry import DEFAULTS, make
    from privet.cli.checks import labelled, refuse_nothing, refuse_void, say_received, warn_of_draft
    from privet.cli.models import settings as parameters
    from privet.cli.models import summary
    from privet.errors import BudgetWarning
    from privet.privacy.ledger import Ledger
    from privet.tables.files import find_files

    if strict:
        refuse_nothing(epsilon)
    if schema is None:
        raise without_schema(find_files(data)[0] if table is None else None, label, force)
    if label is not None:
        raise typer.BadParameter("--label is for a draft: the schema names the label's column.")
    if cohorts and ledger_file is None:
        raise typer.BadParameter("--cohort belongs to --ledger.")
    if key is not None and table is None:
        raise typer.BadParameter("--key belongs to --table.")
    files = find_files(data) if table is None else [Path(own) for own in data if Path(own).exists()]
    target = check_output(output, force, *files, schema)
    charged = None if ledger_file is None else Ledger.open(ledger_file, cohorts)
    public = labelled(schema)
    model = model or DEFAULTS[public.task]
    short = {"max_depth": max_depth, "leaves": leaves, "n_records": n_records}
    given = [f"{name}={value}" for name, value in short.items() if value is not None]
    params = parameters([*given, *(settings or ())])
    if strict or charged is not None:
        refuse_void(public.unconfirmed, seed, params, "--strict" if strict else "--ledger")
    warn_of_draft(public)  # not only at the end, below everything else

    with working("Loading"):
        from privet.algorithms.advice import boosting_instead
        from privet.privacy.meaning import too_few, warnings_about
        from privet.tables.misfit import refuse_misfits

        random_state = seed if table is None else None  # a curator draws its own noise
        learner = make(model, schema=public, epsilon=epsilon, random_state=random_state, **params)
    learned = None if n_records is None else n_records * (1 - (holdout or 0))
    for words in warnings_about(epsilon, float(learner.delta or 0), learned):
        warn(words)
    warnings.simplefilter("ignore", BudgetWarning)  # it was said
    scored = {"holdout": holdout, "by": groups_by(by)}
    if strict and table is None:
        refuse_misfits(data, None, public)
    with interruptible(charged, "No model was written"), charged or nullcontext():
        if table is None:
            learner.fit(data, **scored)  # says how far it has read
        else:
            with working(f"Learning: {model}"):
                fit_table(learner, data, table, key, seed, **scored)
    learner.save(target, note, overwrite=True)
    say(summary(learner), style="bold", model=model, file=output)
    say_scores(learner.evaluation_)
    say_received(
        learner.privacy_,
        f"Wrote {output}. Read it: privet show {output}. For approval: privet report {output}. Check it: privet verify "
        f"{output}.",
    )
    if n_records is None and learner.n_records_ is not None:  # by a noisy answer of the fit
        noise = learner.privacy_.events[0].scale / learner.privacy_.weight
        for words in too_few(epsilon, learner.n_records_, noise):
            warn(words)
    if better := boosting_instead(learner, learner.n_records_):
        say(better)
    say(NO_LEDGER if charged is None else f"Ledger of {charged}.", ledger=None if charged is None else str(charged))


@app.command("models")
def list_models(
    model: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The name of a model, to explain it in full.")
    ] = None,
) -> None:
    """List the models that fit and audit know, or explain one of them.

    Example:

        privet models PrivateTreeClassifier
    """
    from privet.cli.models import show

    show(model)


@app.command()
def predict(
    model: Model,
    data: DataFiles,
    output: Rows = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column with the probability of each class.")] = False,
    id_column: Annotated[
        str | None, typer.Option("--id", help="A column of DATA to pass through, such as an id.")
    ] = None,
    strict: StrictData = False,
    force: Force = False,
) -> None:
    """Predict a class, or a number, for each record of files, in their order.

    This costs the training records nothing: the tree is public. The
    label's column need not be there. Files may be of any size.

    Examples:

        privet predict model.json new.csv --id patient -o predictions.parquet
        privet predict model.json 'visits/*.parquet' -o predictions.parquet
    """
    from privet.tables.files import find_files

    files, target = find_files(data), None
    if output is not None:
        target = check_output(output, force, model, *files, suffixes=ROWS)
    with working("Loading"):
        from privet.algorithms.model_file import load
        from privet.cli.predictions import predictions

        tree = load(model)
    rows_to(target, predictions(tree, files, id_column, proba=proba, strict=strict))


@app.command()
def show(model: Model) -> None:
    """Show a model's rules and its receipt, and re-check the receipt.

    Example:

        privet show model.json
    """
    from privet.algorithms.model_file import load, to_dict
    from privet.cli.checks import check_model, say_paid_scores, warn_if_void
    from privet.cli.models import ODD, summary

    tree = load(model)
    say(summary(tree), style="bold", **to_dict(tree))
    say(str(getattr(tree, "provenance_", "")))
    if hasattr(tree, "chosen_"):
        say(str(tree.chosen_))
    odd = "" if tree.privacy_.void else f"{ODD}\n\n"
    say(f"\nRules\n{tree.export_text()}\n\n{odd}Receipt\n{tree.privacy_}\n")
    say_scores(tree.evaluation_)
    say_paid_scores(tree.evaluation_)
    check_model(tree)
    warn_if_void(tree.privacy_)


@app.command()
def verify(model: Model, strict: Strict = False) -> None:
    """Recompute a receipt: each answer's cost from its noise, then the sum.

    Needs no data. Of the file it believes only the list of answers.
    It cannot see whether the machine that trained the model did what the
    list says.

    Example:

        privet verify model.json --strict
    """
    from privet.algorithms.model_file import read
    from privet.cli.checks import (
        check_model,
        receipt_facts,
        refuse_nothing,
        refuse_void_scores,
        say_checked,
        say_paid_scores,
        say_promise,
    )
    from privet.errors import ReceiptError
    from privet.explain.coverage import not_looked_into
    from privet.privacy.amounts import show as amount

    tree = read(model)  # whatever its receipt says: that is checked here, answer by answer
    receipt = tree.privacy_
    if receipt.void:
        say(f"VOID: no guarantee holds, even if the costs below add up: {'; '.join(receipt.void)}\n", style="bold red")
    say_checked(receipt)
    check_model(tree)
    n = len(receipt.events)
    say(
        f"\n{n} {'answer costs' if n == 1 else 'answers cost'} no more than {'it was' if n == 1 else 'they were'} "
        "charged: each cost was computed again from its noise (--json lists them). Costs of answers about the "
        "same records add up. Where parts have no record in common, only the part that costs most counts.",
        verified=True,
        answers=n,
        privacy=receipt_facts(receipt),
    )
    say(not_looked_into(receipt), not_looked_into=not_looked_into(receipt))
    if receipt.spent != receipt.claimed:
        say(f"{amount(receipt.spent)} was spent, {amount(receipt.claimed)} claimed.")
    say_paid_scores(tree.evaluation_)
    if strict:
        refuse_void_scores(tree.evaluation_)
    if not receipt.void:
        delta = f", delta {amount(receipt.delta)}," if receipt.delta else ""
        say(
            f"The receipt adds up: epsilon {amount(receipt.epsilon)}{delta} for {receipt.unit} ({receipt.neighbours}).",
            style="bold green",
        )
        say_promise(receipt)
        if strict:
            refuse_nothing(float(receipt.epsilon))
        return
    say("The receipt adds up, but it is VOID: no guarantee holds.", style="bold red")
    for reason in receipt.void:
        say(f"  {reason}")
    if strict:
        raise ReceiptError("the receipt is void, and --strict asks for one that is not")


app.command()(audit)
app.command()(evaluate)
app.command()(report)
app.command()(playground)
app.command()(certify)
app.command()(export)


def main() -> None:
    """What the installed command runs."""
    for stream in (sys.stdout, sys.stderr):
        # A category in a script that the terminal cannot show must not end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
