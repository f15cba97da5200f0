"""The name of a lemma, as receipts and messages write it: ``gini``, ``tally(14)``, ``quantile(1/2)``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from privet.values import final

_NUMBER = "0|[1-9][0-9]{0,17}"
_FORM = re.compile(rf"([a-z_]{{1,40}})(?:\(({_NUMBER})(?:/({_NUMBER}))?\))?", re.ASCII)


@final
@dataclass(frozen=True, slots=True)
class Lemma:
    """A lemma and the whole numbers that it is about.

    >>> Lemma.parse("quantile(1/2)")
    Lemma(name='quantile', arguments=(1, 2))
    >>> str(Lemma("tally", (14,)))
    'tally(14)'
    """

    name: str
    arguments: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Lemma:
        """Read a name; ValueError if it has another form."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError("a lemma has a name and at most two whole numbers")
        name, *numbers = match.groups()
        return cls(name, tuple(int(number) for number in numbers if number is not None))

    def __str__(self) -> str:
        return self.name + (f"({'/'.join(map(str, self.arguments))})" if self.arguments else "")
