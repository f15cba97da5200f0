"""Zero-concentrated differential privacy: costs that add up more slowly, for whoever accepts a small delta.

A mechanism is rho-zCDP (Bun and Steinke 2016) if, for all orders alpha > 1, the Renyi divergence of order alpha between
its outputs on neighbouring data is at most rho * alpha. Costs add along a path and are shared by disjoint parts, as
epsilons are (docs/theory.md, L2). What each mechanism costs, with r = sensitivity / scale:

- Gaussian noise, r by the L2 sensitivity: r^2 / 2 (Canonne, Kamath and Steinke 2020, Theorem 4, for integers);
- Skellam noise, r by the L2 sensitivity, at whole orders alpha: r^2 / 2 + 9 r^4 / 8 (below);
- the exponential mechanism, that is Gumbel noise, r by the range of lemma L1: r^2 / 8 (Cesar and Rogers 2021);
- every r-DP mechanism: r^2 / 2 (Bun and Steinke 2016, Proposition 1.4).

The sum is converted once, by Canonne, Kamath and Steinke 2020, Corollary 13: rho-zCDP is (epsilon, delta)-DP for

    epsilon = alpha rho + ln(1 - 1/alpha) - (ln(delta) + ln(alpha)) / (alpha - 1)      and any alpha > 1.

Every alpha gives a true statement, so the search for a good one needs no care; its value is then rounded up. All of it
is decimal arithmetic of a fixed precision, so that a stranger's computer finds the same number.

Skellam noise of variance m on integers with sensitivities D1 (L1) and D2 (L2) has, for whole alpha > 1, a divergence of
order alpha of at most alpha D2^2 / (2 m) + ((2 alpha - 1) D2^2 + 6 D1) / (4 m^2) (Agarwal, Kairouz and Liu 2021,
Theorem 3.5). Integers have D1 <= D2^2, so the second term is at most (2 alpha + 5) D2^2 / (4 m^2), and with alpha >= 2
at most 9 alpha D2^2 / (8 m^2). With D2 >= 1 that is 9 alpha r^4 / 8. What is proven for whole orders alone is converted
at whole orders alone (``whole``), and so is every sum that it is a part of.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.errors import BudgetError
from privet.values import decimal_context, decimals

DIGITS = 9
"""An epsilon at a delta is rounded up to so many digits after the point."""

SHARES = {"exponential": 8}
"""r^2 over this is the rho of a mechanism, over 2 that of any other."""

WHOLE = frozenset({"skellam_shares"})
"""Mechanisms whose rho holds for whole orders; it is r^2 / 2 + 9 r^4 / 8."""

_SKELLAM = Fraction(9, 8)

_DECIMAL = decimal_context(40)
_SLACK = Decimal(10) ** -20  # far above what rounding to 40 digits can add up to, far below the digits shown
_GRID = np.exp(np.linspace(-3, 2, 2_000))
_STEPS = 30
_GOLDEN = Decimal("0.6180339887498948482")


def rho_of(mechanism: str, ratio: Fraction) -> Fraction:
    """What a mechanism costs at sensitivity over scale.

    >>> rho_of("gaussian", Fraction(1, 10)), rho_of("exponential", Fraction(1, 10))
    (Fraction(1, 200), Fraction(1, 800))
    """
    square = ratio * ratio
    if mechanism in WHOLE:
        return square / 2 + _SKELLAM * square * square
    return square / SHARES.get(mechanism, 2)


def ratio_for(mechanism: str, rho: Fraction) -> Fraction:
    """The largest sensitivity over scale that costs at most ``rho``, rounded down.

    >>> rho_of("gaussian", ratio_for("gaussian", Fraction(1, 7))) <= Fraction(1, 7)
    True
    """
    if mechanism in WHOLE:  # x / 2 + 9 x^2 / 8 = rho, for x the square of the ratio
        return _root(4 * rho / (1 + _root(1 + 18 * rho, up=True)))
    return _root(rho * SHARES.get(mechanism, 2))


def _root(square: Fraction, up: bool = False) -> Fraction:
    """The square root, rounded down or up in the last of some 64 digits."""
    bits = 64 + max(0, square.denominator.bit_length() - square.numerator.bit_length()) // 2
    return Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator) + up, 1 << bits)


@lru_cache(maxsize=256)
def epsilon_at(rho: Fraction, delta: Fraction, whole: bool = False) -> Fraction:
    """An epsilon with which ``rho``-zCDP is (epsilon, ``delta``)-DP, rounded up; with ``whole``, at a whole order.

    >>> float(epsilon_at(Fraction(1, 50), Fraction(1, 10**6)))
    0.899935268
    """
    _check(delta)
    if rho == 0:
        return Fraction(0)
    with decimals(40):
        return _converted(rho, delta, whole)


def _converted(rho: Fraction, delta: Fraction, whole: bool) -> Fraction:
    # Without the small terms the best alpha - 1 is sqrt(ln(1/delta) / rho); searched around that, by its logarithm.
    middle = _DECIMAL.divide(_DECIMAL.ln(_DECIMAL.divide(-_DECIMAL.ln(_decimal(delta)), _decimal(rho))), 2)
    low, high = middle - 3, middle + 2
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = _bound(rho, delta, a), _bound(rho, delta, b)
    for _ in range(_STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = _bound(rho, delta, a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = _bound(rho, delta, b)
    best = min(at_a, at_b)
    if whole:
        order = max(2, 1 + int(_DECIMAL.exp((low + high) / 2)))
        best = min(_bound(rho, delta, _DECIMAL.ln(Decimal(near - 1))) for near in (order, order + 1))
    epsilon = max(best + _SLACK, Decimal(0))
    return Fraction(epsilon.quantize(Decimal(1).scaleb(-DIGITS), rounding=ROUND_CEILING))


def _bound(rho: Fraction, delta: Fraction, log_excess: Decimal) -> Decimal:
    """The epsilon of Corollary 13 at alpha = 1 + exp(log_excess), to nearly 40 digits."""
    excess = _DECIMAL.exp(log_excess)
    alpha = _DECIMAL.add(1, excess)
    first = _DECIMAL.multiply(alpha, _decimal(rho))
    second = _DECIMAL.subtract(_DECIMAL.ln(excess), _DECIMAL.ln(alpha))
    third = _DECIMAL.divide(_DECIMAL.add(_DECIMAL.ln(_decimal(delta)), _DECIMAL.ln(alpha)), excess)
    return _DECIMAL.subtract(_DECIMAL.add(first, second), third)


def _decimal(value: Fraction) -> Decimal:
    return _DECIMAL.divide(Decimal(value.numerator), Decimal(value.denominator))


@lru_cache(maxsize=256)
def rho_within(epsilon: Fraction, delta: Fraction, whole: bool = False) -> Fraction:
    """The largest rho, nearly, that ``epsilon_at`` converts to at most ``epsilon`` at ``delta``.

    >>> epsilon_at(rho_within(Fraction(1), Fraction(1, 10**6)), Fraction(1, 10**6)) <= 1
    True
    """
    _check(delta)
    # Floats find it but for the last digits; the exact conversion has the last word.
    low, high = 0.0, float(epsilon) + 1
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _roughly(middle, float(delta), whole) <= epsilon else (low, middle)
    for digits in range(12, 3, -1):
        rho = Fraction(round(Fraction(low) * (1 - Fraction(1, 10**digits)) * 2**60), 2**60)
        if rho > 0 and epsilon_at(rho, delta, whole) <= epsilon:
            return rho
    raise BudgetError("This epsilon and delta allow no answer at all. Raise one of them.")


def _roughly(rho: float, delta: float, whole: bool) -> float:
    """``epsilon_at`` in floats, over a grid of alphas."""
    excess = math.sqrt(-math.log(delta) / max(rho, 1e-300)) * _GRID
    if whole:
        excess = np.maximum(1.0, np.rint(excess))
    alpha = 1 + excess
    return float((alpha * rho + np.log(excess / alpha) - (math.log(delta) + np.log(alpha)) / excess).min())


def _check(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise BudgetError("delta must be between 0 and 1, both excluded: about one over ten times the records or less.")
