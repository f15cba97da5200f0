"""``privet report``: one page about a model, for those who approve it and those who use it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.files import check_output
from privet.cli.options import Force
from privet.cli.screen import say, working
from privet.disk import write_whole
from privet.errors import PrivetError

if TYPE_CHECKING:
    from privet.explain.subject import Subject

LARGEST_CERTIFICATE = 2**24


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="A model file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes: a file that ends in .html.")],
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", exists=True, dir_okay=False, help="Say what this ledger has left.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="What privet certify --json wrote, to show beside the model."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a page about a model: what it is, promises, cost and can do.

    One file that needs no network: open it in a browser, send it, print it.
    It draws the tree or the terms, follows records that you type, shows
    where the budget went, and how good the model is if that was measured.
    Everything in it was released with the model: it costs nothing.

    Examples:

        privet report model.json -o report.html
        privet report model.json -o report.html --ledger people.ledger
    """
    inputs = [path for path in (model, ledger_file, certificate) if path is not None]
    target = check_output(output, force, *inputs, suffixes=(".html", ".htm"))
    with working("Drawing"):
        from privet.report.page import report_page
        from privet.robustness.certificate import Certificate

        subject = _subject(model)
        found = None if certificate is None else Certificate.from_json(_text(certificate))
        left = "" if ledger_file is None else _left(ledger_file, subject)
        page = report_page(subject, ledger=left, certificate=found)
    write_whole(target, page.encode(), mode=0o666)
    say(f"Wrote {output}, {len(page.encode()) / 1024:.0f} KB: open it in a browser.")


def _subject(path: Path) -> Subject:
    """A model that was checked, or what is public of a hidden one."""
    from privet.algorithms.explained import subject_of
    from privet.algorithms.model_file import load
    from privet.strict_json import loads_strict

    try:
        hidden = str(loads_strict(path.read_text(encoding="utf-8")).get("format", "")).startswith("privet-hidden")
    except (ValueError, RecursionError, AttributeError):
        hidden = False  # ``load`` says what is wrong with it
    return _hidden(path) if hidden else subject_of(load(path))


def _hidden(path: Path) -> Subject:
    from privet.consortium.servers.store import read_public
    from privet.explain.subject import Subject
    from privet.privacy.receipt import Receipt
    from privet.schema import Schema

    public = read_public(path)
    receipt = Receipt.from_dict(public["receipt"])
    receipt.verify()
    params = {name: value for name, value in public["params"].items() if name != "random_state"}
    source = f"hidden model {public['id']}, depth {public['depth']}, held by three servers"
    return Subject(
        str(public.get("model", "a hidden model")),
        Schema.from_dict(public["schema"]),
        None,
        receipt,
        None,
        source,
        params,
    )


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST_CERTIFICATE:
        raise PrivetError(f"{path} is larger than any certificate")
    return path.read_text(encoding="utf-8")


def _left(path: Path, subject: Subject) -> str:
    """What a ledger has left, in words, and whether it knows this release."""
    from privet.privacy.amounts import show
    from privet.privacy.ledger import Ledger

    kept = Ledger.open(path).file
    assert kept is not None
    parts = []
    for own in kept.cohorts():
        left = show(max(kept.in_epsilon(own.left), 0)) if own.left > 0 else "0"
        name = "" if len(kept.cohorts()) == 1 else f" of cohort {own.name}"
        parts.append(f"epsilon {left} of {show(own.limit)} is left{name}")
    known = any(line.released and line.released == subject.receipt.released for line in kept.lines())
    listed = (
        "lists this release" if known else "does NOT list this release: it was learned without it, or is an older copy"
    )
    return f"In the ledger of {kept.records}, {'; '.join(parts)}. That ledger {listed}."
