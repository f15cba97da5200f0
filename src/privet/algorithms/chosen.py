"""Which of several candidates a search chose, in the winner's file: the list was public, the choice is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privet.errors import PrivetError
from privet.strict_json import is_text

_MOST, _LONGEST = 1000, 10_000
_NONE = "This model file does not say which candidates there were, and which was chosen."


@dataclass(frozen=True)
class Chosen:
    """``candidates`` as they were given, in their order; ``winner`` is the number of the one that was chosen.

    The receipt's digest covers this with the model.
    """

    candidates: tuple[str, ...]
    winner: int

    def __post_init__(self) -> None:
        texts = all(is_text(own) and len(own) <= _LONGEST for own in self.candidates)
        if not texts or not 1 <= len(self.candidates) <= _MOST or type(self.winner) is not int:
            raise PrivetError(_NONE)
        if not 0 <= self.winner < len(self.candidates):
            raise PrivetError(_NONE)

    @classmethod
    def read(cls, data: Any) -> Chosen:
        if not isinstance(data, dict) or set(data) != {"candidates", "winner"}:
            raise PrivetError(_NONE)
        if not isinstance(data["candidates"], list):
            raise PrivetError(_NONE)
        return cls(tuple(data["candidates"]), data["winner"])

    def to_dict(self) -> dict[str, Any]:
        return {"candidates": list(self.candidates), "winner": self.winner}

    def __str__(self) -> str:
        others = [own for i, own in enumerate(self.candidates) if i != self.winner]
        if not others:
            return f"There was one candidate, {self.candidates[0]}."
        return f"A private choice took {self.candidates[self.winner]} and not {' or '.join(others)}."
