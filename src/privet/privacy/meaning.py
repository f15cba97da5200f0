"""What an epsilon means for one person: how much better a guess becomes that they are in the records.

Somebody knows everything but whether one person's records were there, and sees the release. If the chances were even
before, the guess is right with probability at most (e^epsilon + delta) / (1 + e^epsilon): for every test the sum of its
two error rates is at least 2 (1 - delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015). Whatever they were, odds
are multiplied by at most e^epsilon, except with probability delta.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

from privet.errors import BudgetWarning
from privet.privacy.amounts import checked_delta
from privet.rounding import at_most, digits_for, rounded_up

WEAK, NOTHING = 3.0, 10.0
"""From these epsilons on a promise is weak (a guess may be right in 95% of cases), and is none (in 99.995%)."""

MOSTLY_NOISE = 100.0
"""n * epsilon, of the n records that are learned from: below this a model may be mostly noise, whoever makes it."""


CERTAIN = "100%"
MOST_DIGITS = 5
"""After the point of a rate in percent."""


def guess_rate(epsilon: float, delta: float = 0.0) -> float:
    """The largest chance that a guess at membership is right, if it was even before.

    >>> [round(guess_rate(epsilon), 3) for epsilon in (0, 0.1, 1, 10)]
    [0.5, 0.525, 0.731, 1.0]
    """
    apart = math.exp(-epsilon)
    return min(1.0, (1 + delta * apart) / (1 + apart))


def in_words(epsilon: float, delta: float = 0.0, who: str = "person") -> str:
    """One sentence for people."""
    rate = percent(guess_rate(epsilon, delta))
    right = f"is right in at most {rate} of cases" if rate != CERTAIN else "may practically always be right"
    guess = f"a guess whether one {who} was in the records, with even chances before, {right}"
    unless = f", except with probability {delta:g}" if delta else ""
    return f"epsilon {epsilon:g}: {guess}; odds grow at most {_times(epsilon)}{unless}."


def together(epsilon: float, delta: float = 0.0) -> str:
    """What all releases from the same records promise, in a few words.

    >>> together(0.9)
    'together epsilon 0.9: a guess is right in at most 71.1% of cases'
    """
    return f"together epsilon {epsilon:g}: a guess is right in at most {percent(guess_rate(epsilon, delta))} of cases"


def percent(rate: float) -> str:
    """A rate that guesses have at most: rounded up, with as many digits as it takes to tell it from a coin's and from
    certainty.

    >>> [percent(guess_rate(epsilon)) for epsilon in (0, 1e-4, 0.1, 0.5, 1, 10, 50)]
    ['50.0%', '50.003%', '52.5%', '62.3%', '73.2%', '99.996%', '100%']
    """
    for digits in range(1, MOST_DIGITS + 1):
        up = rounded_up(100 * rate, digits)
        if round(100 * rate, digits) not in (50, 100) and up < 100:
            return f"{up:.{digits}f}%"
    if rate >= 0.75:
        return CERTAIN
    return "50.0%" if rate <= 0.5 else f"{rounded_up(100 * rate, MOST_DIGITS):.{MOST_DIGITS}f}%"


def promise_in_words(epsilon: float, delta: float = 0.0, who: str = "person") -> str:
    """What a model's epsilon means, and whether that is much: one line, said after a fit."""
    weak = " This promises nothing." if epsilon >= NOTHING else " This is a weak promise." if epsilon >= WEAK else ""
    return in_words(epsilon, delta, who) + weak


def warnings_about(epsilon: float, delta: float = 0.0, n_records: float | None = None) -> list[str]:
    """Plain words where a budget is too small to learn anything, or promises nothing; from public numbers alone."""
    found = []
    if epsilon >= NOTHING:
        found.append(
            f"epsilon {epsilon:g} promises nothing: odds that a person is in the records may grow {_times(epsilon)}. "
            "Usual epsilons are 0.1 to 1."
        )
    elif epsilon >= WEAK:
        found.append(
            f"epsilon {epsilon:g} is a weak promise: odds may grow {_times(epsilon)}. Usual epsilons are 0.1 to 1."
        )
    found += too_few(epsilon, n_records)
    if n_records and delta * n_records >= 1:
        found.append(
            f"delta {delta:g} is too large for {n_records:,.0f} records: it would allow publishing one of "
            "them unchanged. Take far less than one over the number of records."
        )
    return found


def too_few(epsilon: float, n_records: float | None, noise: float | None = None) -> list[str]:
    """A word where n * epsilon is too small to learn anything; without a number of records, where a million are.

    A number that a fit has measured is a noisy one: ``noise`` is the scale of its noise.
    """
    known = 1e6 if n_records is None else max(float(n_records), 0.0)
    if epsilon * known >= MOSTLY_NOISE:
        return []
    product = f"n * epsilon is {short(epsilon * known)}, and below {MOSTLY_NOISE:g} a model may be mostly noise"
    if n_records is None:
        shown = f"even a million records: {product}"
    elif noise is None:
        shown = f"about {known:,.0f} records: {product}"
    elif known < noise:
        shown = "so few records that noise hides their number: a model may be mostly noise"
    else:
        shown = f"about {known:,.0f} records (a noisy count): {product}"
    return [f"epsilon {epsilon:g} is too small to learn much from {shown}. More records help, or a larger epsilon."]


def warn_about(budget: Fraction, delta: Any, n_records: float | None) -> None:
    """Warn before a fit, from public numbers alone; a promise that is merely weak is the user's choice."""
    epsilon = as_float(budget)
    if epsilon >= NOTHING or too_few(epsilon, n_records):
        for words in warnings_about(epsilon, float(checked_delta(delta)) if delta else 0.0, n_records):
            warnings.warn(words, BudgetWarning, stacklevel=4)


def as_float(budget: Fraction) -> float:
    """A budget as a float that is neither 0 nor infinite, however small or large it is."""
    return float(min(max(budget, Fraction(1, 10**300)), Fraction(10**300)))


def short(amount: float) -> str:
    """A number with as many digits as matter.

    >>> short(1361.1), short(0.01234), short(5e12)
    ('1,361', '0.0123', '5e+12')
    """
    return f"{amount:,.0f}" if 100 <= amount < 1e9 else f"{amount:.3g}"


def short_at_most(amount: float) -> str:
    """The same of what is at most so large: rounded up.

    >>> short_at_most(22026.47), short_at_most(1.6487), short_at_most(2.7)
    ('22,027', '1.65', '2.7')
    """
    return short(rounded_up(amount, 0 if 100 <= amount < 1e9 else digits_for(amount, 3)))


def _times(epsilon: float) -> str:
    if epsilon < 0.005:
        return f"by {short_at_most(100 * math.expm1(epsilon))}%"
    if epsilon < 20:
        return f"{short_at_most(math.exp(epsilon))} times"
    return f"about 10^{at_most(epsilon / math.log(10), 3)} times"
