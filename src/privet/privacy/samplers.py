"""Exact samplers that OpenDP lacks, from the operating system's randomness."""

from __future__ import annotations

import os

import numpy as np

from privet.privacy.mechanisms import Mechanisms, SeededMechanisms


def draw_parts(n_records: int, n_parts: int, mechanisms: Mechanisms) -> np.ndarray:
    """For each record, independently, one of ``n_parts`` with equal probability.

    Independent draws are what makes the parts' costs parallel (docs/theory.md): dealing the rows out in order or in
    equal chunks would let one inserted record move others from part to part.
    """
    if isinstance(mechanisms, SeededMechanisms):
        return mechanisms.generator.integers(n_parts, size=n_records)
    drawn = np.empty(0, dtype=np.int64)
    limit = 2**32 - 2**32 % n_parts  # words from here on are drawn again, so that every part is equally likely
    while len(drawn) < n_records:
        words = np.frombuffer(os.urandom(4 * (n_records - len(drawn))), dtype=np.uint32).astype(np.int64)
        drawn = np.concatenate([drawn, words[words < limit] % n_parts])
    return drawn
