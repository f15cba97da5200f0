"""Warnings of many fits on the same records: each kind is said once, and how many models it is true of."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from privet.errors import BudgetWarning

_NUMBER = re.compile(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?")


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """Whatever warns of a budget in here is told to ``hear``, in words; all other warnings go where they always go."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        show = warnings.showwarning

        def shown(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, BudgetWarning):
                hear(str(message))
            else:
                show(message, category, *where, **more)

        warnings.showwarning = shown
        yield


@dataclass
class Warned:
    """What fits have warned of: the first words of each kind, and how many models have said so.

    Words that differ in their numbers alone are of one kind: each model has a noisy count of its own.
    """

    first: dict[str, str] = field(default_factory=dict)
    models: dict[str, int] = field(default_factory=dict)

    def hear(self, words: str) -> None:
        self._add(words, 1)

    def join(self, other: Self) -> None:
        for kind, words in other.first.items():
            self._add(words, other.models[kind])

    def _add(self, words: str, models: int) -> None:
        kind = _NUMBER.sub("0", words)
        self.first.setdefault(kind, words)
        self.models[kind] = self.models.get(kind, 0) + models

    def said(self, runs: int) -> list[str]:
        """A sentence for each kind, of so many models in all."""
        return [f"{self.models[kind]} of {runs} models warn: {words}" for kind, words in self.first.items()]
