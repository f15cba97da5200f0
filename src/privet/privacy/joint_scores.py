"""The scores of ``scores.py`` on secret shares: the same integers, so the same proofs.

``tests/privacy/test_joint_scores.py`` compares each with ``Score.of`` on many tables, small ones exhaustively.
"""

from __future__ import annotations

import numpy as np

from privet.errors import CapabilityError
from privet.privacy.fixed_point import FRACTION_BITS, ONE
from privet.privacy.joint import largest
from privet.privacy.scores import CorrectCount, Gini, Mixed, Score
from privet.shares.engine import Engine, Secret

JOINT_SCORES = (CorrectCount, Gini, Mixed)


def check_joint(score: Score) -> None:
    """Raise CapabilityError for a score that is not computed on shares."""
    if type(score) not in JOINT_SCORES:
        names = ", ".join(kind.__name__ for kind in JOINT_SCORES)
        raise CapabilityError(f"On secret shares scores are one of {names}; {type(score).__name__} needs logarithms or "
                              "roots. Choose another criterion, or a curator that sees counts.")  # fmt: skip


def score_range(score: Score, most: int) -> tuple[int, int]:
    """The smallest and the largest value for up to ``most`` records: public, so that comparisons know their width."""
    return (0, most) if type(score) is CorrectCount else (-ONE * most, 0)


def score_bits(score: Score, most: int) -> int:
    """How many bits the numbers on the way to a score may have, their sign included."""
    return (most.bit_length() if type(score) is CorrectCount else 2 * most.bit_length() + FRACTION_BITS) + 1


def joint_scores(engine: Engine, score: Score, children: Secret, most: int) -> Secret:
    """``score.of(children)`` for shares of shape (candidates, children, classes); each candidate has at most ``most``
    records in all.

    A correct count takes comparisons to find each child's largest class; an impurity also one multiplication for all
    squares and one whole division for each child.
    """
    check_joint(score)
    engine.need(score_bits(score, most))
    if type(score) is CorrectCount:
        return _largest_class(engine, children, most).sum(axis=1)
    n = children.sum(axis=2)
    weight = ONE if type(score) is Gini else score.weight  # type: ignore[attr-defined]
    worth = None
    if weight:
        numbers = engine.concatenate([children, n.reshape(*n.shape, 1)], axis=2)
        squares = numbers * numbers
        impure = (squares[:, :, -1] - squares[:, :, :-1].sum(axis=2)) * weight
        some = n + engine.less(n, engine.constant(np.ones(n.shape, dtype=np.int64)), most.bit_length() + 2)
        halves = 1 if type(score) is Gini else 2
        worth = floor_divide(
            engine,
            impure.reshape(-1),
            (some * halves).reshape(-1),
            (weight * most // halves + 1).bit_length(),
            (most * halves).bit_length(),
        ).reshape(*n.shape)
    if weight < ONE:
        errors = (n - _largest_class(engine, children, most)) * (ONE - weight)
        worth = errors if worth is None else worth + errors
    assert worth is not None
    return worth.sum(axis=1) * -1


def _largest_class(engine: Engine, children: Secret, most: int) -> Secret:
    """The largest count of each child."""
    n, width, classes = children.shape
    return largest(engine, children.reshape(n * width, classes), most.bit_length() + 1).reshape(n, width)


def floor_divide(engine: Engine, dividend: Secret, divisor: Secret, quotient_bits: int, divisor_bits: int) -> Secret:
    """dividend // divisor, element by element, for 0 <= dividend < divisor * 2^quotient_bits.

    In public, 1 <= divisor < 2^divisor_bits. Restoring division, two places of the quotient at a time after the first,
    from the highest: what remains is compared with the shifted divisor, twice and three times it, all at once, and one
    multiplication takes the right one away. Two and a half rounds for each place.
    """
    remainder, quotient = dividend, engine.constant(np.zeros(dividend.shape, dtype=np.int64))
    for place, times in _places(quotient_bits):
        # What remains is below (times + 1) shifted divisors, so comparisons get narrower from place to place.
        shifted = divisor * (1 << place)
        bits = divisor_bits + place + (times + 1).bit_length()
        left, multiples = (engine.concatenate([own.reshape(1, -1)] * times) for own in (remainder, shifted))
        fits = engine.less(left, multiples * np.arange(1, times + 1)[:, None], bits) * -1 + 1
        digit = fits.sum(0)
        remainder = remainder - digit * shifted
        quotient = quotient + digit * (1 << place)
    return quotient


def _places(quotient_bits: int) -> list[tuple[int, int]]:
    """Each step of a division: its lowest place, and the largest digit that it finds. The first, whose numbers are the
    widest, has one place."""
    tops = range(quotient_bits - 2, -1, -2)
    first = [(quotient_bits - 1, 1)] if quotient_bits else []
    return first + [(max(top - 1, 0), 3 if top else 1) for top in tops]
