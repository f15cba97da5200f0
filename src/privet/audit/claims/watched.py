"""A curator that notes what it has told in answer to one kind of question."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.curators.desk import Desk
from privet.curators.memory import MemoryCurator
from privet.schema import Schema


class Watched(MemoryCurator):
    """``told`` are all answers to ``question``, in the order in which they were given."""

    def __init__(self, X: Any, y: Any, schema: Schema, question: str) -> None:
        super().__init__(X, y, schema)
        self.told: list[np.ndarray] = []
        self._question = question

    def open(self) -> Desk:
        desk = super().open()
        ask = getattr(desk, self._question)

        def heard(*question: Any, **options: Any) -> Any:
            answers = ask(*question, **options)
            self.told += answers.values()
            return answers

        setattr(desk, self._question, heard)
        return desk
