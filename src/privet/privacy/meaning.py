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

WEAK, NOTHING = 5.0, 20.0
"""From these epsilons on a promise is weak, and is none."""

LEAST_RECORDS = 4.0
"""n * epsilon below this: noise is a quarter of all records or more, in a single count that has the whole budget."""


def guess_rate(epsilon: float, delta: float = 0.0) -> float:
    """The largest chance that a guess at membership is right, if it was even before.

    >>> [round(guess_rate(epsilon), 3) for epsilon in (0, 0.1, 1, 10)]
    [0.5, 0.525, 0.731, 1.0]
    """
    apart = math.exp(-epsilon)
    return min(1.0, (1 + delta * apart) / (1 + apart))


def in_words(epsilon: float, delta: float = 0.0, who: str = "person") -> str:
    """One sentence for people."""
    rate = 100 * guess_rate(epsilon, delta)
    right = f"is right in at most {rate:.1f}% of cases" if rate < 99.95 else "may practically always be right"
    guess = f"a guess whether one {who} was in the records, with even chances before, {right}"
    unless = f", except with probability {delta:g}" if delta else ""
    return f"epsilon {epsilon:g}: {guess}; odds grow at most {_times(epsilon)}{unless}."


def warnings_about(epsilon: float, delta: float = 0.0, n_records: float | None = None) -> list[str]:
    """Plain words where a budget is too small to learn anything, or promises nothing; from public numbers alone."""
    found = []
    if epsilon >= NOTHING:
        found.append(
            f"epsilon {epsilon:g} promises nothing: odds that a person is in the records may grow {_times(epsilon)}. "
            "Usual are 0.1 to 1."
        )
    elif epsilon > WEAK:
        found.append(f"epsilon {epsilon:g} is a weak promise: odds may grow {_times(epsilon)}. Usual are 0.1 to 1.")
    known = 1e6 if n_records is None else n_records
    if epsilon * known < LEAST_RECORDS:
        shown = f"{known:,.0f} records" if n_records is not None else "even a million records"
        found.append(
            f"epsilon {epsilon:g} is too small to learn anything: noise of about {short(1 / epsilon)} records hides "
            f"whatever {shown} could show."
        )
    if n_records and delta * n_records >= 1:
        found.append(
            f"delta {delta:g} is too large for {n_records:,.0f} records: it would allow to publish one of them as it "
            "is. Take far less than one over their number."
        )
    return found


def warn_about(budget: Fraction, delta: Any, n_records: float | None) -> None:
    """Warn before a fit, from public numbers alone; a promise that is merely weak is the user's choice."""
    epsilon = as_float(budget)
    if epsilon >= NOTHING or epsilon * (1e6 if n_records is None else float(n_records)) < LEAST_RECORDS:
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


def _times(epsilon: float) -> str:
    return f"{short(math.exp(epsilon))} times" if epsilon < 20 else f"about 10^{epsilon / math.log(10):.3g} times"
