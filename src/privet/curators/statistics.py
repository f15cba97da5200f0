"""What an owner computes on its own records alone, for sums over owners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.privacy.sensitivity import least_impurities, least_spreads
from privet.questions.grid import Grid
from privet.questions.linear_maps import grouped
from privet.questions.split import Split


def owner_statistics(histograms: np.ndarray, grid: Grid, tables: Sequence[Split], *, classes: bool) -> np.ndarray:
    """The least impurity of every table, from the exact histograms of one owner's records: one integer for each.

    ``histograms`` are of (..., cells, numbers), the answer of (..., tables). The parts of a numeric feature are in the
    order of its table; of a categorical one, each stands against the rest. ``classes``: cells hold class counts; else
    the number of records and the moments of their targets.
    """
    least = least_impurities if classes else least_spreads
    values = np.empty((*histograms.shape[:-2], len(tables)), dtype=np.int64)
    kinds: dict[tuple[int, bool], list[int]] = {}
    for i, table in enumerate(tables):
        kinds.setdefault((table.n_children, grid.features[table.feature].cuts is not None), []).append(i)
    for (n_parts, ordered), places in kinds.items():  # all tables of a kind at once
        parts = np.empty((*histograms.shape[:-2], len(places), n_parts, histograms.shape[-1]), dtype=np.int64)
        for k, i in enumerate(places):
            feature = tables[i].feature
            cells = histograms[..., grid.offsets[feature] : grid.offsets[feature + 1], :]
            parts[..., k, :, :] = grouped(cells, tables[i])
        values[..., places] = least(parts, ordered)
    return values
