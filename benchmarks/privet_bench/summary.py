"""What many runs say together: places, wins and losses, average ranks with critical differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range

from privet_bench.experiment import BETTER, canonical
from privet_bench.store import Mean, Row, mean

Means = dict[tuple[str, str, str], dict[str, Mean]]
"""By set, setting and measure: the mean of each method."""


def means(rows: Sequence[Row]) -> Means:
    groups: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault((row.set, row.setting, row.measure), {}).setdefault(row.method, []).append(row)
    return {key: {m: found for m, r in own.items() if (found := mean(r))} for key, own in groups.items()}


def at(known: Means, measure: str, epsilon: float) -> dict[str, dict[str, Mean]]:
    """Of one measure at one epsilon, by set."""
    setting = canonical({"epsilon": epsilon})
    return {name: own for (name, where, what), own in known.items() if (where, what) == (setting, measure)}


def place(own: Mapping[str, Mean], ours: str, rivals: Sequence[str], measure: str) -> str:
    """Whether ours is first, level within one standard error of the difference, or behind; empty without a rival."""
    mine, others = own.get(ours), [own[name] for name in rivals if name in own]
    if mine is None or not others:
        return ""
    best = max(others, key=lambda other: BETTER[measure] * other.value)
    lead = BETTER[measure] * (mine.value - best.value)
    error = math.hypot(*(e for e in (mine.error, best.error) if not math.isnan(e)))
    return "first" if lead >= 0 else "level" if -lead <= error else "behind"


@dataclass(frozen=True)
class Ranks:
    """The average rank of each method over the sets that all of them have, and what difference is not chance."""

    average: dict[str, float]
    sets: int
    critical: float
    """Nemenyi's, at 5%: methods whose ranks are closer than this are not told apart."""


def ranks(tables: Sequence[Mapping[str, Mean]], methods: Sequence[str], measure: str) -> Ranks | None:
    whole = [own for own in tables if all(name in own for name in methods)]
    if len(whole) < 2 or len(methods) < 2:
        return None
    each = [rankdata([-BETTER[measure] * own[name].value for name in methods]) for own in whole]
    k, n = len(methods), len(whole)
    critical = studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))
    return Ranks(dict(zip(methods, np.mean(each, axis=0).tolist())), n, float(critical))
