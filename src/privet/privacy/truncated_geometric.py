"""Geometric noise made of coins, cut at a power of two: what servers can draw jointly, and what that costs in delta.

The binary digits of a geometric number with P(z) proportional to a^z, a = exp(-1/scale), are independent: a^z is the
product of a^(2^i) over the digits that are 1, so digit i is 1 with chance 1 / (1 + exp(2^i / scale)). Servers that
hold shares can draw such coins by comparing jointly random words with public thresholds (``joint.py``). Two things are
not exact then, and both are stated as delta: digits from ``bits`` on are left out, and a chance is rounded to
``DIGITS`` binary places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.errors import LeakError, ReceiptError
from privet.values import decimals

DIGITS = 96
"""Binary places of a coin's chance."""

SURE_BITS = 64
"""What is cut off, or not decided in the end, has a chance of at most 2^-64 in every choice or noisy count."""

DELTA_UNIT = 2**256
"""Deltas are rounded up to whole multiples of 1 / DELTA_UNIT: exact sums stay small."""

CHUNK = 2**20
"""So many coins are tossed at once: a table of their words is some hundred megabytes at most."""

CoinTable = Callable[[int, int], np.ndarray]
"""Fair bits, so many planes by so many columns."""


def cut_bits(scale: float, draws: int = 1) -> int:
    """How many binary digits so many geometric numbers keep: any has more with a chance of at most 2^-64."""
    return max(1, math.ceil(math.log2(scale * (math.log(draws) + SURE_BITS * math.log(2)))))


def tries(candidates: int) -> int:
    """How often the exponential mechanism tries: one of them never is with a chance of at most 2^-64."""
    return math.ceil(SURE_BITS * math.log(2) * candidates) if candidates > 1 else 1


@lru_cache(maxsize=256)
def thresholds(scale: float, bits: int) -> tuple[int, ...]:
    """Digit i is 1 if a word of ``DIGITS`` fair bits is below thresholds[i]: its chance, rounded to the nearest."""
    with decimals(80):
        unit = 1 / Decimal(scale)
        return tuple(int((2**DIGITS / (1 + (2**i * unit).exp())).to_integral_value()) for i in range(bits))


@lru_cache(maxsize=256)
def threshold_digits(scale: float, bits: int) -> np.ndarray:
    """The thresholds' binary places, the lowest first: a table of places by digits of the noise."""
    words = np.array(thresholds(scale, bits), dtype=object)
    return np.array([(words >> place) & 1 for place in range(DIGITS)], dtype=bool)


# -- what it costs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """How noise that is not exact was drawn: ``law`` "cut" or "dealt", the digits kept (of dealt numbers, at least so
    many), and how many numbers.

    ``candidates`` is the number of candidates of a choice, 1 for a tally; ``str`` of it is what a receipt says.
    """

    law: str
    bits: int
    draws: int
    candidates: int

    def __str__(self) -> str:
        return f"{self.law}({self.bits},{self.draws},{self.candidates})"

    @classmethod
    def of(cls, text: str) -> Drawn:
        law, _, numbers = text.removesuffix(")").partition("(")
        try:
            drawn = cls(law, *map(int, numbers.split(",")))
        except (TypeError, ValueError):
            raise ReceiptError("A receipt does not say how its noise was drawn.") from None
        sensible = 1 <= drawn.bits <= 64 and 1 <= drawn.candidates <= drawn.draws < 2**63
        if law not in ("cut", "dealt") or not sensible or str(drawn) != text:
            raise ReceiptError("A receipt does not say how its noise was drawn.")
        return drawn

    def delta(self, mechanism: str, sensitivity: Fraction, scale: float) -> Fraction:
        """The delta of one answer, rounded up; with it, the answer costs epsilon = sensitivity / scale and no more.

        Write c = exp(-2^bits / scale), what a geometric number is cut with.

        *Noisy counts.* The difference of two cut numbers has P(k) proportional to a^|k| - a^(2N - |k|), N = 2^bits.
        Moving one count by 1 costs 1/scale and delta_1 = the sum of the excesses P(k) - P(k+1)/a over k >= 0, which is
        a^(N-1) (1-a) / (1 - a^N). Moving ``sensitivity`` counts by 1 is a chain of such steps: the deltas add up,
        each times the factors e^(1/scale) of those after it, to (e^epsilon - 1) c / (1 - c).

        *Permute-and-flip, report-noisy-max.* Given all other noise (for the latter also its own negative part), a
        candidate wins if its number is at least some t, with chance (a^t - c) / (1 - c); on the neighbour at least t +
        rho, at worst. P - e^epsilon P' is at most (e^epsilon - 1) c / (1 - c), also where t + rho is beyond the cut.
        Add this up over the candidates.

        *Exponential mechanism.* The same over tries instead of candidates (``entrants``), whichever of them were
        drawn: add up over the tries.

        *Rounded chances* move each coin by at most 2^-(DIGITS + 1), counted twice to cover the rounding of the
        thresholds themselves: what moves the law by tau in total variation costs (1 + e^epsilon) tau.

        *Dealt noise* is exact up to the cut, where no number is expected to arrive, and 2^-100 for a sampler that
        decides by so many digits: total variation.
        """
        with decimals(60):
            epsilon = Decimal(sensitivity.numerator) / sensitivity.denominator / Decimal(scale)
            c = (-(2**self.bits) / Decimal(scale)).exp()
            if epsilon > 600 or c >= Decimal("0.5"):
                return Fraction(1)
            grown = epsilon.exp()
            moved = Decimal(self.draws * self.bits) / 2**DIGITS if self.law == "cut" else Decimal(0)
            if self.law == "dealt":
                moved += self.draws * (c + Decimal(2) ** -100)
                cut = Decimal(0)
            else:
                contestants = self.draws if mechanism == "exponential" else self.candidates
                cut = contestants * (grown - 1) * c / (1 - c)
            delta = (cut + (1 + grown) * moved) * (1 + Decimal(10) ** -40)
            return min(Fraction(1), Fraction(math.ceil(delta * DELTA_UNIT) + 1, DELTA_UNIT))


def cut_choice(mechanism: str, candidates: int, scale: float) -> Drawn:
    """How a choice is drawn."""
    if mechanism == "exponential":
        n = tries(candidates)
        return Drawn("cut", cut_bits(scale, n), n, candidates)
    draws = 2 * candidates if mechanism == "report_noisy_max" else candidates
    return Drawn("cut", cut_bits(scale, draws), draws, candidates)


def cut_tally(cells: int, scale: float) -> Drawn:
    """How noisy counts are drawn: two numbers for each cell.

    Their delta is that of the counts that one record moves, so the digits do not depend on how many cells there are:
    tallies that are drawn together are drawn as each one's receipt says.
    """
    return Drawn("cut", cut_bits(scale), 2 * cells, 1)


def entrants(mechanism: str, candidates: int, draws: int, public: np.random.Generator) -> np.ndarray:
    """Who takes part in a choice, in a public order that breaks ties: the largest score plus noise wins.

    For the exponential mechanism these are ``tries``: candidates drawn evenly, over and over, each with noise of its
    own. Permute-and-flip over them visits them in a random order and takes the first whose coin exp(-gap / scale) comes
    up; that is how the exponential mechanism is drawn by rejection, unless the best candidate is not among the tries.
    What matters more: whoever knows the tries and sees which one won sees permute-and-flip over a public list, in which
    candidates come several times, and that is private (docs/theory.md, L1). If instead the first accepted try won, a
    winner would tell whoever knows the order that no candidate tried before it was the best.
    """
    return public.integers(candidates, size=draws) if mechanism == "exponential" else public.permutation(candidates)


def coin_chunks(drawn: Sequence[Drawn], scales: Sequence[float]) -> Iterator[np.ndarray]:
    """The thresholds' places of all coins, numbers within digits within drawings, some columns at a time."""
    tables = [threshold_digits(scale, each.bits) for each, scale in zip(drawn, scales)]
    of_column = np.repeat(np.arange(sum(each.bits for each in drawn)), [n.draws for n in drawn for _ in range(n.bits)])
    table = np.concatenate(tables, axis=1)
    for start in range(0, len(of_column), CHUNK):
        yield table[:, of_column[start : start + CHUNK]]


SEED_BITS = 128
"""A public order of candidates comes from so many jointly drawn bits that are shown to all."""


def seed_of(bits: np.ndarray) -> int:
    return int.from_bytes(np.packbits(bits.ravel()).tobytes(), "big")


def generator_coins(generator: np.random.Generator) -> CoinTable:
    """Fair bits that anyone with the seed knows: for research and tests."""

    def coins(planes: int, columns: int) -> np.ndarray:
        drawn = np.frombuffer(generator.bytes((planes * columns + 7) // 8), dtype=np.uint8)
        return np.unpackbits(drawn, count=planes * columns).reshape(planes, columns).astype(bool)

    return coins


def check_law(law: str) -> None:
    if law not in ("cut", "dealt"):
        raise LeakError(f"Servers draw noise by 'cut' coins or 'dealt' shares, not by {law!r}.")
