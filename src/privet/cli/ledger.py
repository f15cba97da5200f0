"""``privet ledger``: what may be spent on a set of records, what was, and by whom."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.facts import for_programs
from privet.cli.screen import say, warn

if TYPE_CHECKING:
    from privet.privacy.ledger import Ledger

ledger = typer.Typer(no_args_is_help=True, help="Add up what is spent on a set of records.")

File = Annotated[Path, typer.Argument(metavar="LEDGER", dir_okay=False, help="The ledger's file.")]
Total = Annotated[str, typer.Option(metavar="NUMBER", help="The most that all releases together may cost.")]
FIT_LEDGER = "Charge this ledger, and refuse a fit that may cost more than it has left."
NO_LEDGER = "No ledger adds up what these records cost (--ledger FILE): each fit adds its epsilon."
FIT_COHORT = "With --ledger: the cohort of the records in DATA; may be given several times. By default all cohorts pay."


@ledger.command()
def new(
    file: File,
    epsilon: Total,
    records: Annotated[str, typer.Option(help="Which records the ledger is for, in words.")],
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The delta of the limit, if releases have a delta.")
    ] = None,
    cohort: Annotated[str, typer.Option(help="A name for the records that there are now.")] = "first",
    spent: Annotated[
        str, typer.Option(metavar="NUMBER", help="Epsilon (without delta) that was spent on them before.")
    ] = "0",
) -> None:
    """Make a ledger for a set of records.

    Make one ledger for one set of records, and let every release from these
    records charge it. Then its limit is the promise to the people in them.

    Example:

        privet ledger new patients.ledger --epsilon 1 --records "ward 3"
    """
    from privet.privacy.ledger import Ledger

    before = Fraction(0) if _is_zero(spent) else _number(spent)
    made = Ledger.create(
        file, _number(epsilon), None if delta is None else _number(delta), records=records, cohort=cohort, spent=before
    )
    say(f"Ledger of {made}.", **_plain(made))


@ledger.command()
def show(
    file: File,
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODEL]...", exists=True, dir_okay=False, help="Models to look up in the ledger."),
    ] = None,
) -> None:
    """Show what was spent, by whom and for which release, and what is left.

    With models, says whether each is listed. If one is not (exit 1), the
    file is an older copy, or the model was learned without this ledger.
    Of scores of a test set, which have a receipt of their own, too: the
    ledger may be the test set's.

    Example:

        privet ledger show patients.ledger model.json
    """
    from privet.privacy.amounts import show as amount
    from privet.privacy.ledger import Ledger
    from privet.privacy.ledger_file import BEFORE
    from privet.privacy.meaning import together

    opened = Ledger.open(file)
    kept = opened.file
    assert kept is not None
    lines = kept.lines()
    if for_programs():
        say(**_plain(opened))
    else:
        say(f"{kept.records}: what is spent on {opened.unit or 'them (rows or persons: the first fit decides)'}")
        for own in kept.cohorts():
            left = amount(max(kept.in_epsilon(own.left) if own.left > 0 else Fraction(0), Fraction(0)))
            name = "" if len(kept.cohorts()) == 1 else f"cohort {own.name}: "
            delta = f", delta {amount(kept.delta)}" if kept.delta else ""
            say(f"{name}epsilon {left} left of {amount(own.limit)}{delta}", style="bold")
            if own.spent > 0:
                say(f"  {together(float(kept.in_epsilon(own.spent)), float(kept.delta or 0))}")
        for line in lines:
            cost = f"epsilon {amount(kept.in_epsilon(line.amount))}"
            of = f"  of {', '.join(line.cohorts)}" if len(kept.cohorts()) > 1 else ""
            release = f"  release {line.released[:12]}" if line.released else ""
            named = line.released or line.what == BEFORE
            state = "" if named else "  NO RELEASE NOTED: stopped, failed, or not a model's file"
            if not line.settled:
                state = "  NOT SETTLED: it still runs, or was killed, and counts in full"
            say(f"{line.number:4}  {line.began}  {line.who}@{line.host}  {line.what}  {cost}{of}{release}{state}")
    releases: dict[str, list[int]] = {}
    for line in lines:
        releases.setdefault(line.released, []).append(line.number)
    _find(models or (), releases, file)


@ledger.command()
def limit(
    file: File,
    epsilon: Total,
    cohort: Annotated[str | None, typer.Option(help="The cohort whose limit changes; by default all.")] = None,
) -> None:
    """Change a limit. What was spent stays spent, and the file notes who changed it.

    Example:

        privet ledger limit patients.ledger --epsilon 2
    """
    from privet.privacy.ledger import Ledger

    opened = Ledger.open(file)
    assert opened.file is not None
    before = {own.name: own.limit for own in opened.file.cohorts()}
    opened.file.set_limit(_number(epsilon), cohort)
    if any(own.limit > before[own.name] for own in opened.file.cohorts()):
        warn("a larger limit is a weaker promise to the people in the records: they should know")
    if any(own.left < 0 for own in opened.file.cohorts()):
        warn("more than this limit was spent already: this promise was not kept, and no more fits are allowed")
    say(f"Ledger of {opened}.", **_plain(opened))


@ledger.command("cohort")
def add_cohort(
    file: File,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The cohort's name, such as the year of enrolment.")],
    epsilon: Total,
) -> None:
    """Add records that were in no release so far, with a separate limit.

    A record is in one cohort for good, by a rule about that record alone
    (the year of enrolment), and never moves. Then new records have their
    whole budget, and a model of old and new records charges both cohorts.

    Example:

        privet ledger cohort patients.ledger 2025 --epsilon 1
        privet fit new.csv --schema s.toml --epsilon 0.5 -o m.json \\
            --ledger patients.ledger --cohort 2025
    """
    from privet.privacy.ledger import Ledger

    opened = Ledger.open(file)
    assert opened.file is not None
    opened.file.add_cohort(name, _number(epsilon))
    say(f"Ledger of {Ledger.open(file, cohorts=[name])}.", **_plain(opened))


@contextmanager
def interruptible(charged: Ledger | None, not_made: str) -> Iterator[None]:
    """While records are asked: the person who stops it with Ctrl-C is told what was ``not_made``, and what it cost."""
    try:
        yield
    except KeyboardInterrupt:
        words = f"{not_made}, and nothing was released."
        if charged is not None and charged.file is not None:
            from privet.privacy.amounts import show as amount

            spent = charged.file.in_epsilon(charged.root.spent)
            words += f" The ledger has charged {f'epsilon {amount(spent)} for answers' if spent else 'nothing'} so far."
        raise KeyboardInterrupt(words) from None


def _find(models: Sequence[Path], releases: dict[str, list[int]], file: Path) -> None:
    """Say on which lines each model is: several, where two fits happened to release the same tree.

    Scores of a test set have a receipt of their own, which the ledger of the test set may have paid for: then the model
    need not be listed there.
    """
    from privet.algorithms.model_file import load
    from privet.errors import BudgetError

    for path in models:
        model = load(path)
        scores = None if model.evaluation_ is None else model.evaluation_.privacy_
        of_model = releases.get(model.privacy_.released, [])
        of_scores = [] if scores is None else releases.get(scores.released, [])
        if not of_model and not of_scores:
            raise BudgetError(
                f"{file} does not list {path}: the model was learned without this ledger, or the file is an older copy "
                "of the ledger and does not know what was spent since"
            )
        say(f"{path} is line {_either(of_model)}." if of_model else f"The model in {path} is not listed here.")
        if scores is not None:
            listed = f"line {_either(of_scores)}" if of_scores else "not listed here"
            say(f"The scores in {path}, which have a receipt of their own, are {listed}.")


def _either(lines: Sequence[int]) -> str:
    return " or ".join(map(str, lines))


def _plain(opened: Any) -> dict[str, Any]:
    kept = opened.file
    lines = [{**vars(line), "amount": str(line.amount), "cohorts": list(line.cohorts)} for line in kept.lines()]
    cohorts = [{"name": own.name, "limit": str(own.limit), "spent": str(own.spent)} for own in kept.cohorts()]
    fields = ("cohort", "before", "after", "who", "host", "at")
    return {
        "records": kept.records,
        "unit": opened.unit,
        "delta": str(kept.delta),
        "currency": "rho" if kept.delta else "epsilon",
        "cohorts": cohorts,
        "lines": lines,
        "limits": [dict(zip(fields, change)) for change in kept.changes()],
    }


def _number(text: str) -> Fraction:
    """An exact fraction: 0.1 is one tenth."""
    from privet.privacy.amounts import exact

    return exact(text, "a budget")


def _is_zero(text: str) -> bool:
    try:
        return math.isclose(float(text), 0, abs_tol=0)
    except ValueError:
        return False
