"""How far a long piece of work is: a bar on stderr where that is a terminal, or a function of the caller's."""

from __future__ import annotations

import sys
import time
from typing import Any, Self


class Progress:
    """``show`` is None (a bar if stderr is a terminal), True, False, or a function of (share done, note).

    ``total`` is a number of steps, or, if it is a float, the moment on the monotonic clock when time is up.
    """

    def __init__(self, show: Any, title: str, total: float) -> None:
        self._tell = show if callable(show) else None
        self._timed, self._total, self._start, self._done = isinstance(total, float), total, time.monotonic(), 0.0
        self._note = ""
        self._bar: Any = None
        if show is True or (show is None and sys.stderr.isatty()):
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(title, total=1.0, note="")

    @property
    def share(self) -> float:
        if self._timed:
            return min(1.0, (time.monotonic() - self._start) / max(1e-9, self._total - self._start))
        return min(1.0, self._done / max(1, self._total))

    def advance(self, steps: float) -> None:
        self._done += steps
        self._show()

    def note(self, text: str) -> None:
        self._note = text
        self._show()

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self.share, note=self._note)
        if self._tell is not None:
            self._tell(self.share, self._note)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
