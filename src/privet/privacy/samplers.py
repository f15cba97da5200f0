"""Exact samplers that OpenDP lacks, from the operating system's randomness."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from privet.errors import LeakError
from privet.values import decimals

WORD = 16  # binary digits of a uniform number that are drawn at a time


def draw_salt(generator: np.random.Generator | None = None) -> str:
    """What a draw by hashes of keys begins with, new for each draw: 128 bits, in hex.

    From a generator beside the one that noise is drawn from, so that noise is the same with and without such draws.
    """
    if not isinstance(generator, np.random.Generator):
        return secrets.token_hex(16)
    return generator.spawn(1)[0].bytes(16).hex()


def draw_parts(
    n_records: int,
    n_parts: int,
    generator: np.random.Generator | None = None,
    random_bytes: Callable[[int], bytes] | None = None,
) -> np.ndarray:
    """For each record, independently, one of ``n_parts`` with equal probability.

    Independent draws are what makes the parts' costs parallel (docs/theory.md): dealing the rows out in order
    or in equal chunks would let one inserted record move others from part to part.
    """
    if generator is not None:
        return generator.integers(n_parts, size=n_records)
    return _uniform(n_records, n_parts, random_bytes)


def draw_below(
    limits: np.ndarray,
    generator: np.random.Generator | None = None,
    random_bytes: Callable[[int], bytes] | None = None,
) -> np.ndarray:
    """For each limit, independently, a whole number from 0 to below it, all with equal probability."""
    if generator is not None:
        return generator.integers(limits, size=len(limits))
    limits = limits.astype(np.uint64)
    drawn, missing = np.zeros(len(limits), dtype=np.uint64), np.arange(len(limits))
    while len(missing):
        words = np.frombuffer((random_bytes or os.urandom)(8 * len(missing)), dtype=np.uint64)
        own = limits[missing]
        drawn[missing] = words % own
        # The last words, where fewer are left than a limit, would make some numbers more likely than others.
        missing = missing[words - words % own > np.uint64(2**64 - 1) - (own - np.uint64(1))]
    return drawn.astype(np.int64)


def survivors(gaps: np.ndarray, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
    """The numbers of those whose coin, of chance exactly exp(-gap) for a whole gap >= 0, comes up.

    A coin comes up if a uniform number in [0, 1) is below its chance. Both are compared by 16 binary digits;
    in the one case in 2^16 where these are equal, by the next 16, and so on. So the chance is exact, and
    nearly always two bytes of randomness decide: randomness is what coins cost most.
    """
    words = np.frombuffer(random_bytes(WORD // 8 * len(gaps)), dtype=np.uint16)
    thresholds = _first_digits()[np.minimum(gaps, WORD)]
    up = (words < thresholds) | (gaps == 0)
    for i in np.flatnonzero((words == thresholds) & (gaps != 0)):
        up[i] = _below(int(gaps[i]), random_bytes)
    return np.flatnonzero(up)


def _below(gap: int, random_bytes: Callable[[int], bytes]) -> bool:
    """Whether more digits of a uniform number are below those of exp(-gap), the first word being equal."""
    place = 1
    while (digits := _digits_of_exp(gap, place)) == (word := int.from_bytes(random_bytes(WORD // 8), "little")):
        place += 1
    return word < digits


@cache
def _first_digits() -> np.ndarray:
    """The first word of exp(-gap) for the gaps up to its length; beyond, exp(-gap) < 2^-gap: its digits are zero."""
    return np.array([_digits_of_exp(k, 0) if k else 0 for k in range(WORD + 1)], dtype=np.uint16)


@lru_cache(maxsize=1024)
def _digits_of_exp(gap: int, place: int) -> int:
    """Word number ``place`` of the binary digits after the point of exp(-gap)."""
    if gap > WORD * (place + 1):  # exp(-gap) < 2^-gap: these digits are all zero
        return 0
    with decimals(60 + WORD * (place + 1) + gap):
        return int(Decimal(-gap).exp() * 2 ** (WORD * (place + 1))) % 2**WORD


def one_sided_geometric(
    n: int, numerator: int, denominator: int, random_bytes: Callable[[int], bytes] = os.urandom
) -> np.ndarray:
    """``n`` independent whole numbers k >= 0, each with P(k) = (1 - a) a^k, a = exp(-denominator / numerator).

    Exact and vectorised: OpenDP's sampler takes some ten microseconds for each number, this one less than one. Count
    in steps of ratio exp(-1 / numerator): such a number is some whole units of ``numerator`` steps, each time one more
    with chance 1/e, and a rest below one unit with chances in proportion to exp(-rest / numerator), which is drawn
    evenly and kept with that chance. ``denominator`` steps to a point: that keeps it geometric (Canonne, Kamath and
    Steinke, 2020).
    """
    # Whole units: in one long row of coins of chance 1/e, the runs of those that come up.
    fails = np.array([-1])
    n_coins = 0
    while len(fails) <= n:
        more = 2 * (n + 1 - len(fails)) + 16
        came_up = np.zeros(more, dtype=bool)
        came_up[survivors(np.ones(more, dtype=np.int64), random_bytes)] = True
        fails = np.concatenate([fails, n_coins + np.flatnonzero(~came_up)])
        n_coins += more
    whole = np.diff(fails[: n + 1]) - 1
    rest = np.zeros(n if numerator == 1 else 0, dtype=np.int64)
    while len(rest) < n:
        drawn = _uniform(2 * (n - len(rest)) + 16, numerator, random_bytes)
        rest = np.concatenate([rest, drawn[_below_one_survives(drawn, numerator, random_bytes)]])
    return (whole * numerator + rest[:n]) // denominator


def _below_one_survives(gaps: np.ndarray, unit: int, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """Coins of chance exp(-g), g = gap / unit in [0, 1): in a row of coins of chances g/1, g/2, ... the first to fail
    is an odd one. (The k-th is the first to fail with chance g^(k-1)/(k-1)! - g^k/k!.)
    """
    up = np.zeros(len(gaps), dtype=bool)
    alive, k = np.arange(len(gaps)), 1
    while len(alive):
        tossed = _uniform(len(alive), unit * k, random_bytes) < gaps[alive]
        up[alive[~tossed]] = k % 2 == 1
        alive, k = alive[tossed], k + 1
    return up


def half_negative_binomial(n: int, scale: float, cut: int) -> np.ndarray:
    """``n`` independent whole numbers below ``cut``, negative binomial of shape 1/2: two of them add up to a geometric
    number with P(k) proportional to exp(-k / scale).

    A geometric number k is kept with chance C(2k, k) / 4^k, which is P(k) of shape 1/2 over P(k) of shape 1, but for a
    constant. The chance is compared with 64 binary digits of a uniform number, and where these are too close to call
    with 64 more; what is then still open, a chance of 2^-100, counts as not kept.
    """
    numerator, denominator = scale.as_integer_ratio()
    kept = np.empty(0, dtype=np.int64)
    while len(kept) < n:
        drawn = one_sided_geometric(2 * (n - len(kept)) + 64, numerator, denominator)
        words = np.frombuffer(os.urandom(8 * len(drawn)), dtype=np.uint64)
        uniform, chance = words / 2.0**64, _central(drawn)
        keep = uniform < chance
        for i in np.flatnonzero(np.abs(uniform - chance) < 1e-11):
            more = int(words[i]) << 64 | int.from_bytes(os.urandom(8), "little")
            keep[i] = more < int(_central_exact(int(drawn[i])) * 2**128)
        kept = np.concatenate([kept, drawn[keep & (drawn < cut)]])
    return kept[:n]


_CENTRAL = np.cumprod(np.concatenate([[1.0], (2 * np.arange(64) + 1) / (2 * np.arange(64) + 2)]))


def _central(k: np.ndarray) -> np.ndarray:
    """C(2k, k) / 4^k within 1e-13 of its size: a table, and beyond it Stirling's series."""
    x = np.maximum(k, 64).astype(float)
    series = np.exp(-1 / (8 * x) + 1 / (192 * x**3) - 1 / (640 * x**5)) / np.sqrt(np.pi * x)
    return np.where(k <= 64, _CENTRAL[np.minimum(k, 64)], series)


def _central_exact(k: int) -> Fraction:
    """The same: exactly up to 4096, within 2^-100 of its size beyond."""
    if k <= 4096:
        return Fraction(math.comb(2 * k, k), 4**k)
    with decimals(60):
        x = Decimal(k)
        series = -1 / (8 * x) + 1 / (192 * x**3) - 1 / (640 * x**5) + 17 / (14336 * x**7)
        return Fraction((series - (_PI * x).ln() / 2).exp())


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def _uniform(n: int, below: int, random_bytes: Callable[[int], bytes] | None = None) -> np.ndarray:
    """``n`` independent whole numbers, each equally likely to be any from 0 to ``below`` - 1."""
    width = 4 if below <= 2**32 else 8
    words_in_all = 2 ** (8 * width)
    limit = words_in_all - words_in_all % below  # words from here on are drawn again, so that no number is favoured
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        words = np.frombuffer((random_bytes or os.urandom)(width * (n - len(drawn))), dtype=f"u{width}")
        kept = words if limit == words_in_all else words[words < limit]
        drawn = np.concatenate([drawn, (kept % below).astype(np.int64)])
    return drawn


# -- joint quantiles -------------------------------------------------------------------------------------------------


def joint_quantiles(
    counts: np.ndarray,
    spacings: Sequence[int],
    weights: np.ndarray,
    scale: float,
    random_bytes: Callable[[int], bytes] = os.urandom,
) -> list[int]:
    """Cut points by the joint exponential mechanism: one for every spacing but the last, in order, repeats allowed.

    ``counts`` are the records of the cells, ``weights`` the public weight of each cut between two of them. Cuts
    i_1 <= i_2 <= ... are drawn with a chance proportional to exp(score / scale) times their base measure: the score is
    that of ``JointQuantiles(spacings)``, and the measure the product of the weights, divided by r! for a cut that is
    named r times. (With weights as widths, that is how much of all ordered points falls into these cells.) This is the
    law of Gillenwater, Joseph and Kulesza (2021) on public cells; the work is that of the cells, not of the records.

    The law is exact, although sums of so many terms can only be floats. Floats merely *propose*: ``_Sums`` bounds the
    weight of all ways to continue from above, with room for rounding, and cuts are proposed one after another by whole
    numbers in proportion to these bounds, or rejected with what is left. A proposal's chance is thus a known fraction,
    at least its exact weight times a constant, and a last coin, tossed in exact arithmetic, makes it that weight.
    Whatever rounding does, no other law can come out: where a bound did not hold, the draw would stop with an error. It
    holds because the room, ``_ROOM``, is a hundred times the rounding: large numbers, the scores, stay whole, and the
    floats are logarithms of sums relative to their largest term. Fewer than one proposal in a million is rejected.
    """
    sums = _Sums(counts, spacings, weights, scale)
    while True:
        cuts = sums.propose(random_bytes)
        if cuts is not None:
            return cuts


_NOT_A_BOUND = "A bound on a sum did not hold. Nothing was answered; please report this."
_UNIT = 2**62
_ROOM = 2.0**-30
_BEYOND = np.int64(2**61)  # a cost that no cuts have: theirs are below 2^60


class _Sums:
    """The weight of all beginnings of a set of cuts, as bounds from above.

    Cuts are drawn in order; costs are minus scores. ``reach[j]`` is about the beginnings whose j-th point is the first
    at its cut, ``stay[j]`` about those whose j-th point is the last there, cut by cut. Both are pairs (cost, log): no
    such beginning costs less than ``cost``, a whole number, and together they weigh at most exp(log - cost / scale).
    """

    def __init__(self, counts: np.ndarray, spacings: Sequence[int], weights: np.ndarray, scale: float) -> None:
        self._below = np.cumsum(counts[:-1], dtype=np.int64)
        self._n, self._spacings, self._whole = int(counts.sum()), list(spacings), sum(spacings)
        self._weights, self._scale = weights, scale
        if 2 * self._whole * self._n >= 1 << 60 or not (weights > 0).all() or len(weights) != len(counts) - 1:
            raise LeakError("Joint quantiles need fewer records or coarser probabilities, and a weight for every cut.")
        self._log_weights = np.log(weights)
        later = np.tri(len(weights), k=-1, dtype=bool)
        self._later = np.where(later, 0.0, -math.inf)
        between = self._whole * (self._below[:, None] - self._below)
        self._between = {  # the cost of two cuts (row after column), by the spacing that there should be
            spacing: np.where(later, np.abs(between - spacing * self._n), _BEYOND) for spacing in set(spacings[1:-1])
        }
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first = np.abs(self._whole * self._below - self._spacings[0] * self._n)
            self._reach = [(first, np.zeros(len(weights)))]
            self._runs = [self._shared(0)]
            self._stay = [self._total(*self._runs[0])]
            for j in range(1, len(spacings) - 1):
                self._reach.append(self._all_arrivals(j))
                self._runs.append(self._shared(j))
                self._stay.append(self._total(*self._runs[j]))
            self._end = self._total(*self._endings())

    def _arrivals(self, j: int, at: slice) -> tuple[np.ndarray, np.ndarray]:
        """For these cuts (rows) that point ``j`` may be the first at, from every cut before it (columns)."""
        cost, log = self._stay[j - 1]
        costs = self._between[self._spacings[j]][at, : at.stop] + cost[: at.stop]
        return np.minimum(costs, _BEYOND, out=costs), log[: at.stop] + self._later[at, : at.stop]

    def _all_arrivals(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Bounds for all cuts, in blocks that a cache holds."""
        blocks = [slice(a, min(a + 64, len(self._weights))) for a in range(0, len(self._weights), 64)]
        costs, logs = zip(*(self._total(*self._arrivals(j, at)) for at in blocks))
        return np.concatenate(costs), np.concatenate(logs)

    def _shared(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """For every cut (rows), the points that share it with point ``j``: 1, 2, ... (columns), itself the last."""
        costs, logs, empty = [], [], 0
        for r in range(1, j + 2):
            cost, log = self._reach[j - r + 1]
            costs.append(cost + empty)
            logs.append(log + r * self._log_weights - math.lgamma(r + 1))
            empty += self._spacings[j - r + 1] * self._n
        return np.minimum(np.stack(costs, axis=1), _BEYOND), np.stack(logs, axis=1)

    def _endings(self) -> tuple[np.ndarray, np.ndarray]:
        """For every cut (columns) that the last point may be at, with the records beyond it."""
        cost, log = self._stay[-1]
        rest = self._whole * (self._n - self._below) - self._spacings[-1] * self._n
        return np.minimum(cost + np.abs(rest), _BEYOND)[None], log[None]

    def _total(self, costs: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds for the sum of every row: its least cost, and the logarithm of what the terms come to beside that."""
        least = costs.min(axis=1)
        terms = (least[:, None] - costs) / self._scale
        terms += logs
        top = np.maximum(terms.max(axis=1), -np.finfo(float).max)  # a sum of nothing has a logarithm of minus infinity
        terms -= top[:, None]
        return least, np.log(np.exp(terms, out=terms).sum(axis=1)) + top + _ROOM

    def propose(self, random_bytes: Callable[[int], bytes]) -> list[int] | None:
        """Cuts, from the last to the first, drawn with their chance; or None."""
        proposal = _Proposal(self._scale, random_bytes)
        j, cuts = len(self._stay) - 1, []
        cut = proposal.pick(self._endings(), self._end)
        while cut is not None:
            at = slice(cut, cut + 1)
            others = proposal.pick([terms[at] for terms in self._runs[j]], [bound[at] for bound in self._stay[j]])
            if others is None:
                return None
            r = others + 1
            cuts += [cut] * r
            weight, unit = float(self._weights[cut]).as_integer_ratio()
            proposal.weigh(weight**r, unit**r * math.factorial(r))
            j -= r
            if j < 0:
                cuts.reverse()
                (cost,), (log,) = self._end
                return cuts if proposal.accept(self._cost(cuts) - int(cost), Fraction(float(log))) else None
            cut = proposal.pick(self._arrivals(j + 1, at), [bound[at] for bound in self._reach[j + 1]])
        return None

    def _cost(self, cuts: list[int]) -> int:
        """Minus the score of these cuts."""
        below = [0, *(int(self._below[cut]) for cut in cuts), self._n]
        between = zip(below[:-1], below[1:], self._spacings)
        return sum(abs(self._whole * (after - before) - spacing * self._n) for before, after, spacing in between)


class _Proposal:
    """A choice in steps, and its exact weight over the chance with which it was proposed."""

    def __init__(self, scale: float, random_bytes: Callable[[int], bytes]) -> None:
        self.chance = (1, 1)  # as a fraction; not in lowest terms, which would take longer than all else
        self._scale, self._random_bytes = scale, random_bytes

    def weigh(self, numerator: int, denominator: int) -> None:
        """Multiply the chance by a fraction."""
        self.chance = self.chance[0] * numerator, self.chance[1] * denominator

    def pick(self, terms: Sequence[np.ndarray], total: Sequence[np.ndarray]) -> int | None:
        """One of the terms (a single row) by its share of what bounds their sum; None with the chance that is left."""
        shares = self._shares(terms, total)
        ends = np.cumsum(shares)
        if not 0 < ends[-1] <= _UNIT:
            raise LeakError(_NOT_A_BOUND)
        word = int.from_bytes(self._random_bytes(8), "little") >> 2
        picked = int(np.searchsorted(ends, word, side="right"))
        if picked == len(ends):
            return None
        self.weigh(_UNIT, int(shares[picked]))
        return picked

    def _shares(self, terms: Sequence[np.ndarray], total: Sequence[np.ndarray]) -> np.ndarray:
        """Every term's share of the bound, in parts of 2^62 and rounded up: 0 only for what cannot be."""
        (costs,), (logs,) = terms
        (cost,), (log,) = total
        with np.errstate(over="ignore"):  # a term of no weight at all
            shares = np.exp(logs - (costs - cost) / self._scale - log + _ROOM / 8)
        return np.where(costs < _BEYOND, shares * _UNIT + 1, 0).astype(np.int64)

    def accept(self, gap: int, log: Fraction) -> bool:
        """The last coin: the exact weight of what was picked, over what it was proposed with."""
        return _coin(-gap / Fraction(self._scale) - log, *self.chance, self._random_bytes)


def _coin(exponent: Fraction, numerator: int, denominator: int, random_bytes: Callable[[int], bytes]) -> bool:
    """Whether a coin of chance exactly exp(exponent) * numerator / denominator comes up.

    A uniform number is compared with the chance by its first 64 binary digits, and by 64 more as long as these and the
    decimals that the chance was computed to leave it open.
    """
    word, bits = 0, 0
    while True:
        word, bits = word << 64 | int.from_bytes(random_bytes(8), "little"), bits + 64
        digits = bits // 3 + 40
        with decimals(digits):
            power = Decimal(exponent.numerator) / Decimal(exponent.denominator)
            chance = power.exp() * Decimal(numerator) / Decimal(denominator)
            # An exponent is right to ``digits`` digits, and so is every operation.
            wrong = chance.scaleb(max(power.adjusted(), 0) + 3 - digits) + Decimal(10) ** -400_000
            if chance - wrong > 1:
                raise LeakError(_NOT_A_BOUND)
            low, high = Decimal(word) / 2**bits, Decimal(word + 1) / 2**bits
            if high <= (chance - wrong) * (1 - Decimal(10) ** (2 - digits)):
                return True
            if low >= (chance + wrong) * (1 + Decimal(10) ** (2 - digits)):
                return False
