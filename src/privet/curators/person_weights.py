"""One person, one vote: how the records of each person share that person's weight.

A person weighs ``unit.weight`` in all, W. A person's k records that count have W // k each, and one more for the first
W mod k of them in an order that is drawn for that person alone. Of a person with more than ``unit.records`` the first
so many in that order count. So what a person's records weigh depends on that person and on draws of their own, and
adding or removing a person leaves all others as they are (docs/theory.md, L5).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privet.privacy.samplers import draw_below
from privet.privacy.unit import Unit


def person_weights(
    persons: np.ndarray,
    unit: Unit,
    generator: np.random.Generator | None = None,
    random_bytes: Callable[[int], bytes] | None = None,
) -> np.ndarray:
    """What each record weighs, uint8; 0 for those beyond the cap. ``persons`` numbers the records' persons from 0 on.

    Nothing is drawn for a person whose records all count the same.
    """
    counts = np.bincount(persons)
    starts = np.cumsum(counts) - counts
    rows = np.argsort(persons, kind="stable")  # each person's records together
    counted = np.minimum(counts, unit.records)
    more = unit.weight % np.maximum(counted, 1)
    places = np.where(counts > unit.records, unit.records, more)
    for place in range(int(places.max(initial=0))):
        drawing = np.flatnonzero(places > place)
        here = starts[drawing] + place
        there = here + draw_below(counts[drawing] - place, generator, random_bytes)
        rows[here], rows[there] = rows[there], rows[here]
    own = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(rows)) - starts[own]
    each = unit.weight // np.maximum(counted, 1)
    weights = np.zeros(len(rows), dtype=np.uint8)
    weights[rows] = np.where(rank < counted[own], each[own] + (rank < more[own]), 0)
    return weights
