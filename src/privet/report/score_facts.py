"""A private evaluation as plain data for pages: scores with intervals, calibration, the ROC curve, errors, groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privet.evaluate.evaluation import TOO_WIDE, Evaluation
from privet.evaluate.intervals import Estimate, Z

SHARE_DIGITS = 3
SHARES = ("accuracy", "AUC", "AUC by bins")


def score_facts(found: Evaluation) -> dict[str, Any]:
    """All that is drawn of an evaluation."""
    facts: dict[str, Any] = {
        "n": [found.size.value, found.size.low, found.size.high],
        "who": "records" if found.weight == 1 else "persons",
        "summary": [[name, *_scored(name, own)] for name, own in found.summary.items()],
        "by": found.by,
        "groups": [[name, round(max(own.n, 0.0)), *_known(own, _first(own))] for name, own in found.by_group.items()],
        "own": found.privacy_ is not None,
    }
    if found.classes is None:
        return facts | {"errors": _errors(found)}
    says_chances = len(found.classes) != 2 or "AUC" in found.summary
    return facts | {
        "common": [found.baseline[0], *_share(found.baseline[1])],
        "recall": [[str(label), *_known(found, found.recall(label))] for label in found.classes],
        "precision": [[str(label), *_known(found, found.precision(label))] for label in found.classes],
        "calibration": _calibration(found) if says_chances else [],
        "of": str(found.classes[1]) if len(found.classes) == 2 else "the predicted class",
        "roc": roc(found) if "AUC" in found.summary else [],
    }


def _first(found: Evaluation) -> Estimate:
    return next(iter(found.summary.values()))


def _estimate(own: Estimate) -> list[float]:
    return [_brief(own.value), _brief(own.low), _brief(own.high)]


def _share(own: Estimate) -> list[float]:
    """Rounded as the answers say it, so that no number has two forms on one page."""
    shown = own.outward(SHARE_DIGITS)
    return [shown.value, shown.low, shown.high]


def _scored(name: str, own: Estimate) -> list[float]:
    return _share(own) if name in SHARES else _estimate(own)


def _known(found: Evaluation, own: Estimate) -> list[float | None]:
    """A share whose interval says something; three blanks where noise hides it, so that nothing is drawn."""
    hidden = found.classes is not None and own.high - own.low > TOO_WIDE
    return [None, None, None] if hidden else [*(_estimate(own) if found.classes is None else _share(own))]


def _brief(number: float) -> float:
    return float(f"{number:.5g}")


def _calibration(found: Evaluation) -> list[list[float | None]]:
    """What is said, what is so (with its interval), and how many; bins in which noise is all that there is are out.

    Where noise hides what is so there are three blanks.
    """
    noise = math.sqrt(found.variance) / found.weight
    return [[_brief(said), *_known(found, own), round(n)] for said, own, n in found.calibration if n > 2 * noise]


def roc(found: Evaluation) -> list[list[float]]:
    """[share of the first class, share of the second, half width of a 95% band of the latter], from the strictest on.

    Of records with a score above each bin's lower end; counts below zero are taken as zero, so that curves only rise.
    """
    table = found.counts.sum(axis=0) / found.weight
    order = np.argsort(-found.marks, kind="stable")
    counts = np.maximum(table[order], 0.0)
    first, second = (np.concatenate([[0.0], np.cumsum(counts[:, k])]) for k in (0, 1))
    n0, n1 = max(first[-1], 1e-9), max(second[-1], 1e-9)
    shares = second / n1
    variance = found.variance * len(found.counts) / found.weight**2
    cells = np.arange(len(counts) + 1)
    # The share's noise is that of the counts above less its part of the noise of all.
    noise = variance * (cells * (1 - shares) ** 2 + (len(counts) - cells) * shares**2) / n1**2
    band = Z * np.sqrt(shares * (1 - shares) / n1 + noise)
    return [[_brief(x), _brief(y), _brief(b)] for x, y, b in zip(first / n0, shares, band)]


def _errors(found: Evaluation) -> list[list[float]]:
    """[from, to, about how many] of each bin of prediction less target."""
    ends = found.marks.tolist()
    counts = (found.counts.sum(axis=0) / found.weight)[:, 0]
    return [[_brief(a), _brief(b), round(float(n), 1)] for a, b, n in zip([ends[0], *ends], [*ends, ends[-1]], counts)]
