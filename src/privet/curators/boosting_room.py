"""Rooms whose records have scores: boosting adds released functions to them and asks for sums of gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.curators.room import CountingRoom
from privet.privacy.residuals import RESIDUAL_POINTS
from privet.privacy.scores import GradientNorm, Quantile, ResidualNorm
from privet.questions.candidates import Candidates
from privet.questions.levels import Levels
from privet.questions.products import Products
from privet.questions.split import Split, Table
from privet.questions.tally import Step, Tally


class BoostingRoom(CountingRoom):
    """Everything that can be asked of records that are counted in one place and have scores."""

    def check_scored(self, nodes: Sequence[Any]) -> None:
        """Raise, before anything is charged, where the scores of these nodes' records cannot be told.

        It follows from how the nodes were made, and never from records: the refusal is the same for all tables.
        """

    @abstractmethod
    def advance(self, steps: Sequence[tuple[Any, Step]]) -> None:
        """Add what steps say to the scores of nodes' records."""

    @abstractmethod
    def gradients(self, held: Any, output: int, tables: Sequence[Table]) -> np.ndarray:
        """Exact sums of gradients over the parts of tables, one table below the other: int64, (parts, 1).

        Of a numeric target they are residuals, and instead of a class ``output`` is what they are clamped to.
        """

    @abstractmethod
    def gradients_and_hessians(self, held: Any, output: int, tables: Sequence[Table | Levels]) -> np.ndarray:
        """Exact sums of ``gradient_pairs`` over the parts of tables, one table below the other: int64, (parts, 2).

        Of a numeric target they are sums of ``residual_pairs``, as above.
        """

    @abstractmethod
    def residual_counts(self, held: Any, points: np.ndarray) -> np.ndarray:
        """How many targets are so far from their scores, up or down, in units of 1 / ``TARGET_ONE`` of the schema's
        range: int64, (points + 1,)."""

    def residual_quantiles(self, held: Any, scores: Sequence[Quantile], scales: Sequence[float]) -> list[int]:
        counts, alike = self.residual_counts(held, RESIDUAL_POINTS), np.ones(len(RESIDUAL_POINTS))
        return [int(size) for size in sorted(self._cuts(counts, RESIDUAL_POINTS, alike, scores, scales))]

    def _gradient_tables(self, held: Any, tally: Tally) -> np.ndarray:
        # Every record is in one part of a table that has one.
        everything = Split(0, bytes(self._cells().features[0].n_cells))
        tables = tally.parted_by or (everything,)
        return self.gradients_and_hessians(held, tally.clamp if tally.measure == "residual" else tally.output, tables)

    def _gradient_scores(self, held: Any, options: Candidates, score: GradientNorm | ResidualNorm) -> np.ndarray:
        assert isinstance(options.splits, Products)
        output = score.output if isinstance(score, GradientNorm) else score.clamp
        sums = self.gradients(held, output, options.splits.tables)
        return score.of(options.splits.rows(sums))[options.indices]
