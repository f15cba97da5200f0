"""What a program that runs for long says, on its screen: plain lines, or JSON lines with times for other programs.

No line has a value of a record in it: lines are made of names, numbers of questions, budgets and addresses. What may
quote records, the traceback of an error, goes to a file of its operator's alone (``programs.errors_in``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.programs import errors_in
from privet.cli.screen import say, visible, warn

if TYPE_CHECKING:
    from privet.privacy.receipt import Receipt

SOON = 30
"""Days before the end of a certificate from which on a program says so when it starts."""

Status = dict[str, Any]


class LogForm(StrEnum):
    """How a program says what it does."""

    plain = "plain"
    json = "json"


Log = Annotated[LogForm, typer.Option("--log", help="How messages are written: plain, or json lines.")]
Metrics = Annotated[
    int | None,
    typer.Option(
        min=0, max=2**16 - 1, help="Health, Prometheus metrics and a page at this port, for this machine alone."
    ),
]


class Speaker(logging.Handler):
    """Says what a program does; as a handler of logs it also says warnings, without what led to them."""

    def __init__(self, name: str, form: LogForm) -> None:
        super().__init__(logging.WARNING)
        self._name, self._form = name, form
        self.last = ""

    def __call__(self, said: str) -> None:
        self._say("info", said)

    def received(self, receipt: Receipt, where: str) -> None:
        """A new model's receipt, and where the model is: all of it for people, one line for programs."""
        from privet.cli.checks import say_received
        from privet.privacy.amounts import show

        if self._form is LogForm.json:
            self(f"{where} It cost epsilon {show(receipt.spent)}.")
        else:
            say_received(receipt, where)

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.levelname.lower(), record.getMessage())

    def _say(self, level: str, said: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.last = f"{now} {said}"
        if self._form is LogForm.json:
            print(json.dumps({"time": now, "level": level, "name": self._name, "event": visible(said)}), flush=True)
        elif level == "info":
            say(said)
        else:
            warn(said)


@contextmanager
def speaking(
    path: Path,
    form: LogForm,
    metrics: int | None,
    errors: Path,
    live: Callable[[], Status] = dict,
) -> Iterator[Speaker]:
    """Run a program: what it says, its errors in a file, and its page, health and metrics if there is a port for them.

    ``path`` is its member's own file; ``live`` is what only the running program knows.
    """
    from privet.cli.roles import status_of
    from privet.consortium.monitor import Monitor, token_in

    speaker, logger = Speaker(path.stem, form), logging.getLogger("privet")
    with ExitStack() as stack:
        stack.enter_context(errors_in(errors))
        logger.addHandler(speaker)
        stack.callback(logger.removeHandler, speaker)
        if metrics is not None:
            token = path.with_suffix(".token")

            def status() -> Status:
                return {**status_of(path), **live(), "last event": speaker.last}

            monitor = stack.enter_context(closing(Monitor(metrics, status, token_in(token))))
            speaker(f"health, metrics and a page at http://127.0.0.1:{monitor.port}/; the token is in {token}")
        for each in status_of(path)["certificates"]:
            if each["days"] < SOON:
                logger.warning("the certificate of %s is valid for %s more days: renew it", each["name"], each["days"])
        yield speaker
