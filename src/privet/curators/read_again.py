"""Records of files whose cells are kept nowhere: each stretch is read again for every question.

For a machine that has too little disk for a byte for each record and feature. In memory are labels, weights and the row
numbers of nodes, and the cells of as many stretches as are read at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.curators.file_records import Whose, each_stretch, pieces
from privet.curators.partitions import Entry, Partition, entries_for
from privet.curators.records import Binned, Block, check_size
from privet.privacy.unit import Unit
from privet.questions.grid import Grid, public_grid
from privet.tables.files import Files, Stretch


class StretchRecords:
    """The records of one stretch. All that could be wrong with them is found when it is made."""

    persons: np.ndarray | None = None

    def __init__(self, files: Files, stretch: Stretch, weights: np.ndarray | None) -> None:
        self.schema = files.schema
        self._files, self._stretch, self._weights = files, stretch, weights
        labels = [piece.labels for piece in self._pieces(public_grid(self.schema))]
        self.labels = np.concatenate(labels)
        self.targets = self.labels if self.schema.classes is None else None
        own = None if weights is None else weights[stretch.start : stretch.start + stretch.n]
        self.weights = None if own is None else own[own > 0]
        self.n = self.n_persons = len(self.labels)

    @property
    def own(self) -> Binned:
        return self.binned(public_grid(self.schema))

    def binned(self, grid: Grid) -> Binned:
        parts = [piece.own for piece in self._pieces(grid)]
        narrow = np.concatenate([part.narrow.cells for part in parts])
        wide = np.concatenate([part.wide.cells for part in parts])
        return Binned(Block(parts[0].narrow.features, narrow), Block(parts[0].wide.features, wide))

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        binned = self.binned(grid)
        columns = [binned.column(f) for f in features]  # none, of a model that is one leaf
        return np.array(columns, dtype=np.uint16).reshape(len(features), self.n).T

    def _pieces(self, grid: Grid) -> Any:
        return pieces(self._files, self._stretch, grid, self._weights)


class ReadAgain:
    """The stretches of files (``partitions.Partitions``)."""

    def __init__(self, files: Files, whose: Whose, progress: Any = None) -> None:
        self._files = files
        self.n_persons = whose.n_persons
        self.persons: list[np.ndarray] | None = None
        if whose.persons is not None and whose.weights is not None:
            counted = [(slice(s.start, s.start + s.n), whose.weights) for s in files.stretches]
            self.persons = [whose.persons[place][weights[place] > 0] for place, weights in counted]

        def read(stretch: Stretch) -> Partition:
            return Partition(StretchRecords(files, stretch, whose.weights), keep=False)

        self._partitions = list(each_stretch(files, progress, read))
        n = sum(own.records.n for own in self._partitions)
        check_size(max(self.n_persons * Unit.of(files.schema).weight, n), files.schema)

    def each(self, fit: str, log: Sequence[Entry], question: Entry) -> list[Any]:
        return list(self._answers(fit, log, question))

    def total(self, fit: str, log: Sequence[Entry], question: Entry) -> np.ndarray:
        answers = self._answers(fit, log, question)
        total = next(answers)
        for own in answers:
            total = total + own
        return np.asarray(total)

    def _answers(self, fit: str, log: Sequence[Entry], question: Entry) -> Any:
        def ask(_: Stretch, number: int) -> Any:
            return self._partitions[number].ask(fit, 0, entries_for(log, number), question)

        return each_stretch(self._files, False, ask, range(len(self._partitions)))
