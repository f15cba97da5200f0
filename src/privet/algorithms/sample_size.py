"""How many records DP-TopDown needs: Theorem 3 of paper 001 with the constants of its proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privet.algorithms.parameters import check_whole, is_number
from privet.algorithms.private_split import shares
from privet.errors import PrivetError
from privet.privacy.amounts import exact
from privet.values import decimals

LN2 = Decimal(2).ln()


def sample_size(
    *,
    epsilon: float,
    advantage: float,
    functions: int,
    error: float = 0.1,
    delta: float = 0.05,
    max_nodes: int = 512,
    budget: str | Callable[[int], Any] = "uniform",
    entities: int = 1,
    split: str = "rnm",
) -> int:
    """So many records are enough for a training error of ``error``, except with a chance of ``delta``.

    The theorem is about the printed algorithm with entropy, two classes, and half of the budget for the leaves. It
    assumes that the splitting class is a weak learner: on every distribution of records one of its ``functions``
    questions predicts the class better than chance by ``advantage``. And ``max_nodes`` must be as many splits as the
    algorithm without noise needs, (1/error)^(c log(1/error) / advantage^2), of which the paper does not give the
    constant. The result is a worst case over all data of that kind, so it is large: practice needs far less.

    With ``entities`` k data holders weights and leaf labels are sums of k noisy counts (Corollary 16). ``split`` is
    how a node finds its split: ``"rnm"`` in one place, ``"noisy_counts"`` at the k holders.

    In the symbols of the proof, with b the smallest share of the budget that a depth has and zeta the accuracy that
    every private answer must reach,

        alpha' = alpha b / 2        zeta = gamma^2 error / (48 M lg(2 / error))

    and the number is the largest of what weights, leaf labels and splits need:

        ln(8 k M / delta) 2 k / (zeta alpha')
        ln(4 k (M + 1) / delta) 8 k (M + 1) / (error alpha)
        (2 M / error) N(zeta, alpha' / 2, delta / (2 (2 M + 1)))

    The proof lets a split's accuracy follow from m >= c lg(m); N = 2 c' ln(c') with c' = c / ln 2 is enough for that
    (its Lemma 13 is about natural logarithms), where c = 40 ln(|H| / d) / (a z) for report-noisy-max with arguments
    z, a, d of N, and 60 ln(3 k |H| / d) k |H| / (a z) for noisy counts. The recurrence's logarithm, lg, is binary, as
    the entropy's is.

    >>> f"{sample_size(epsilon=1.0, advantage=0.25, functions=100, max_nodes=8):.1e}"
    '3.9e+13'
    """
    _check(error=error, delta=delta, advantage=advantage)
    for name, value in {"functions": functions, "entities": entities, "max_nodes": max_nodes}.items():
        check_whole(name, value)
    if split not in ("rnm", "noisy_counts"):
        raise PrivetError(f"split must be 'rnm' or 'noisy_counts'; got {split!r}.")
    b = min(shares(budget, max_nodes))
    if b == 0:
        raise PrivetError("Every depth up to max_nodes needs a share of the budget: a path may be that long.")
    with decimals(50):
        alpha, smallest = _decimal(exact(epsilon)), _decimal(exact(epsilon) * b / 2)
        err, d, gamma = (_decimal(exact(value)) for value in (error, delta, advantage))
        m, k, h = (Decimal(int(value)) for value in (max_nodes, entities, functions))
        zeta = gamma**2 * err / (48 * m * (2 / err).ln() / LN2)
        weights = (8 * k * m / d).ln() * 2 * k / (zeta * smallest)
        leaves = (4 * k * (m + 1) / d).ln() * 8 * k * (m + 1) / (err * alpha)
        chance = d / (2 * (2 * m + 1))
        if split == "rnm":
            c = 40 * (h / chance).ln() / (smallest / 2 * zeta)
        else:
            c = 60 * (3 * k * h / chance).ln() * k * h / (smallest / 2 * zeta)
        c /= LN2
        splits = 2 * m / err * 2 * c * c.ln()
        return math.ceil(max(weights, leaves, splits))


def _check(**rates: float) -> None:
    for name, value in rates.items():
        most = 0.5 if name == "advantage" else 1
        if not (is_number(value) and 0 < value <= most):
            raise PrivetError(f"{name} must be above 0 and at most {most:g}; got {value!r}.")


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
