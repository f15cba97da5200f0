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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the page goes; by default beside MODEL, as .html.")
    ] = None,
    ledger_file: Annotated[
        Path | None, typer.Option("--ledger", exists=True, dir_okay=False, help="Say what this ledger has left.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="What privet certify --json wrote, to show beside the model."),
    ] = None,
    consortium: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A consortium's file: check a hidden model's signatures."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a page about a model: what it is, promises and cost, and how good it is.

    One file that needs no network: open it in a browser, send it, print it.
    It draws the tree or the terms, follows records that you type, shows
    where the budget went, and how good the model is if that was measured.
    Everything in it was released with the model: it costs nothing.

    Examples:

        privet report model.json
        privet report model.json -o report.html --ledger people.ledger
    """
    output = output or model.with_suffix(".html")
    inputs = [path for path in (model, ledger_file, certificate) if path is not None]
    target = check_output(output, force, *inputs, suffixes=(".html", ".htm"))
    with working("Drawing"):
        from privet.algorithms.model_file import mode_of
        from privet.report.page import left_in, report_page
        from privet.robustness.certificate import Certificate

        subject = _subject(model, consortium)
        found = None if certificate is None else Certificate.from_json(_text(certificate))
        left = None if ledger_file is None else left_in(ledger_file, subject)
        page = report_page(subject, ledger=left, certificate=found)
    write_whole(target, page.encode(), mode=mode_of(subject.receipt, subject.evaluation))
    size = len(page.encode())
    say(f"Wrote {output}, {size / 1024:.0f} KB: open it in a browser.", file=output, bytes=size)


def _subject(path: Path, consortium: Path | None) -> Subject:
    """A model that was checked, or what is public of a hidden one."""
    from privet.algorithms.explained import subject_of
    from privet.algorithms.model_file import load
    from privet.strict_json import loads_strict

    try:
        hidden = str(loads_strict(path.read_text(encoding="utf-8")).get("format", "")).startswith("privet-hidden")
    except (ValueError, RecursionError, AttributeError):
        hidden = False  # ``load`` says what is wrong with it
    if hidden:
        return _hidden(path, consortium)
    if consortium is not None:
        raise PrivetError("--consortium is for hidden models: privet mpc verify checks other signatures")
    return subject_of(load(path))


def _hidden(path: Path, consortium: Path | None) -> Subject:
    from privet.consortium.servers.store import read_public
    from privet.evaluate.evaluation import Evaluation
    from privet.explain.coverage import check_hidden
    from privet.explain.subject import Subject
    from privet.privacy.receipt import Receipt
    from privet.schema import Schema

    public = read_public(path)
    receipt, schema = Receipt.from_dict(public["receipt"]), Schema.from_dict(public["schema"])
    receipt.verify()
    scored = Evaluation.from_dict(public["evaluation"]) if "evaluation" in public else None
    check_hidden(schema, receipt, None if scored is None else scored.to_dict())
    params = {name: value for name, value in public["params"].items() if name != "random_state"}
    if consortium is None:
        signed = "their signatures were NOT checked (privet report --consortium)"
    else:
        _check_signatures(path, consortium)
        signed = f"who have signed it, by the certificates in {consortium.name}"
    source = f"hidden model {public['id']}, depth {public['depth']}, held by three servers; {signed}"
    return Subject(
        str(public.get("model", "a hidden model")),
        schema,
        None,
        receipt,
        scored,
        source,
        params,
    )


def _check_signatures(path: Path, consortium: Path) -> None:
    """Raise unless the three servers of a consortium have signed what is public of a hidden model."""
    from privet.consortium.consortium_file import SERVER, Consortium
    from privet.consortium.servers.commitments import check
    from privet.errors import ReceiptError
    from privet.strict_json import object_of

    words = object_of(path.read_bytes(), ReceiptError(f"{path} is no hidden model."))
    check(words, [server.certificate for server in Consortium.read(consortium).of(SERVER)])


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST_CERTIFICATE:
        raise PrivetError(f"{path} is larger than any certificate")
    return path.read_text(encoding="utf-8")
