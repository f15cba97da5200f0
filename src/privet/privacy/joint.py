"""Noise that nobody knows: drawn by three servers on secret shares, and choices made inside the computation.

Programs over the share-array interface (``shares``); which engine runs them makes no difference to the law. What
is opened is the private answer alone: the number of the winner, or a count with its noise. Laws and their deltas are in
``truncated_geometric``. Algorithms 12 and 13 of paper 003 (Laplace and exponential) are ``geometric`` and the
exponential ``select``, with two repairs: no logarithm or exponential is computed in fixed point, whose rounding voids a
proof, because geometric coins have the exact chances; and the printed scan of algorithm 13, which compares with the
scores instead of the cumulated weights and returns the last candidate that fits, is a choice among tries
(``cut.entrants``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.privacy.samplers import half_negative_binomial
from privet.privacy.truncated_geometric import (
    SEED_BITS,
    CoinTable,
    Drawn,
    check_law,
    coin_chunks,
    cut_bits,
    cut_choice,
    cut_tally,
    entrants,
    generator_coins,
    seed_of,
)
from privet.shares.engine import Bits, Engine, Secret

SERVERS = 3

RANDOM_BITS = 20
"""Digits of the numbers that a random candidate is drawn by: the law need not be exactly even, nobody's secret."""


class SeededCoins:
    """Fair bits that all servers know: reproducible, for research and tests; the receipt is void."""

    def __init__(self, seed: Any) -> None:
        """``seed`` is whatever NumPy makes a generator of, or a generator."""
        self._coins: CoinTable = generator_coins(np.random.default_rng(seed))

    def bits(self, engine: Engine, planes: int, columns: int) -> Bits:
        return engine.constant_bits(self._coins(planes, columns))


class JointMechanisms:
    """What a curator of secret shares needs: choices and noisy counts.

    Fair bits are drawn by all servers together and known to none, unless ``coins`` are given.
    ``law`` "cut": geometric numbers made of joint coins. "dealt": each server adds a share of noise of its own, such
    that the shares of any two are the whole noise; cheap in messages and a fifth wider.
    """

    generator = None

    def __init__(self, engine: Engine, coins: SeededCoins | None = None, law: str = "cut") -> None:
        check_law(law)
        self.engine = engine
        self._coins = coins
        self.reproducible = coins is not None
        self.law = law
        self._orders: np.random.Generator | None = None

    @property
    def noise_factor(self) -> float:
        """The variance of a count's noise, over what was paid for: three dealt shares are half as much again."""
        return 1.5 if self.law == "dealt" else 1.0

    def _bits(self, planes: int, columns: int) -> Bits:
        if self._coins is None:
            return self.engine.random_bits(planes, columns)
        return self._coins.bits(self.engine, planes, columns)

    def drawn_choice(self, mechanism: str, candidates: int, scale: float) -> Drawn:
        """How a choice will be drawn. Dealt shares are wider than geometric: no coin of the exponential mechanism."""
        drawn = cut_choice(mechanism, candidates, scale)
        return _dealt(drawn, scale) if self.law == "dealt" and mechanism != "exponential" else drawn

    def drawn_tally(self, cells: int, scale: float) -> Drawn:
        drawn = cut_tally(cells, scale)
        return _dealt(drawn, scale) if self.law == "dealt" else drawn

    def sum_bits(self, scale: float, most: int) -> int:
        """How many bits noisy counts need, none of which is above ``most`` without its noise."""
        return max(self.drawn_tally(1, scale).bits + 3, most.bit_length() + 1) + 1

    def key_bits(self, mechanism: str, spans: Sequence[int], sizes: Sequence[int], scales: Sequence[float]) -> int:
        """How many bits the comparisons of a choice need: public, from the sizes and the spans of the scores."""
        drawn = [self.drawn_choice(mechanism, *each) for each in zip(sizes, scales)]
        widest = max((span + 2 * _most(each)).bit_length() for span, each in zip(spans, drawn))
        return widest + _number_bits(mechanism, drawn) + 2

    # -- choices -----------------------------------------------------------------------------------------------------

    def select(
        self,
        mechanism: str,
        scores: Sequence[Secret],
        lows: Sequence[int],
        spans: Sequence[int],
        scales: Sequence[float],
    ) -> list[int]:
        """For each vector of scores, each in public between low and low + span, the number of the winner.

        Winners are opened, all at once, and nothing else is: which of the entrants, in their public order, has the
        largest score plus noise. An entrant's key is that sum, with its place in the order in the last digits; a
        knock-out finds the largest key, and only its last digits are opened.
        """
        sizes = [score.shape[0] for score in scores]
        bits = self.key_bits(mechanism, spans, sizes, scales)
        self.engine.need(bits)
        drawn = [self.drawn_choice(mechanism, *each) for each in zip(sizes, scales)]
        noises = self._geometric(drawn, scales)
        public = self._public()
        number_bits = _number_bits(mechanism, drawn)
        keys, names = [], []
        for score, low, noise, each in zip(scores, lows, noises, drawn):
            # The order may be known: for each one the choice is private (docs/theory.md, L1).
            taking_part = entrants(mechanism, score.shape[0], noise.shape[0], public)
            noisy = (score - low)[taking_part] + _one_sided(noise.reshape(1, -1), len(taking_part), each).reshape(-1)
            keys.append(noisy * (1 << number_bits) + np.arange(len(taking_part))[::-1])
            names.append(taking_part[::-1])
        best = largest(self.engine, self._table(keys), bits)
        digits = self.engine.open_bits(self.engine.low_bits(best, number_bits))
        numbers = (digits.astype(np.int64) << np.arange(number_bits)[:, None]).sum(axis=0)
        return [int(own[number]) for own, number in zip(names, numbers)]

    def select_hidden(
        self, mechanism: str, scores: Secret, low: int, span: int, scale: float, free: Secret | None = None
    ) -> Secret:
        """For each row of a table of scores the winner, which stays on shares: a row of one 1 and zeros.

        The law of ``select`` and, from the same coins, its winners; nothing is opened but the public order. ``free``,
        a table of 0 and 1, leaves candidates out; each row has at least one. ``mechanism`` "exact" takes the largest
        score, the first of several: no noise, and so no privacy.
        """
        nodes, k = scores.shape
        bits = self.hidden_bits(mechanism, span, k, scale)
        self.engine.need(bits)
        order, noise = np.tile(np.arange(k), (nodes, 1)), None
        if mechanism != "exact":
            drawn = self.drawn_choice(mechanism, k, scale)
            each = self._geometric([drawn] * nodes, [scale] * nodes)
            noise = self.engine.concatenate(each).reshape(nodes, -1)
            public = self._public()
            order = np.stack([entrants(mechanism, k, noise.shape[1], public) for _ in range(nodes)])
        n = order.shape[1]
        place = np.arange(nodes)[:, None] * k + order
        first = (scores - low).reshape(nodes * k)[place.ravel()].reshape(nodes, n)
        if noise is not None:
            first = first + _one_sided(noise, n, drawn)
        keys = first * (1 << _digits(n)) + np.arange(n)[::-1]
        if free is not None:
            keys = (keys + 1) * free.reshape(nodes * k)[place.ravel()].reshape(nodes, n) - 1
        won = self.winners(keys, bits).reshape(nodes * n)
        if mechanism != "exponential":
            return won[np.argsort(place.ravel())].reshape(nodes, k)
        return self._added_up(won, place.ravel(), nodes * k).reshape(nodes, k)

    def _added_up(self, values: Secret, place: np.ndarray, n: int) -> Secret:
        """Each of ``n`` places with the sum of the values that belong there: local."""

        def by_place(rows: np.ndarray) -> np.ndarray:
            sums = np.zeros((n, rows.shape[1]), dtype=np.int64)
            np.add.at(sums, place, rows)
            return sums

        return self.engine.linear(values.reshape(values.shape[0], 1), by_place).reshape(n)

    def draw_hidden(self, nodes: int, candidates: int, free: Secret | None = None) -> Secret:
        """A candidate for each of so many nodes, drawn jointly and known to none: no score, no price.

        The one with the largest of jointly random numbers; of two that are alike, by chance less than one in 2^20 for
        each pair, the first of a public order.
        """
        number_bits = _digits(candidates)
        bits = self.draw_bits(candidates)
        self.engine.need(bits)
        words = self.engine.integers(self._bits(RANDOM_BITS, nodes * candidates))
        drawn = (words * (1 << np.arange(RANDOM_BITS, dtype=np.int64)[:, None])).sum(0).reshape(nodes, candidates)
        keys = drawn * (1 << number_bits) + self._public().permutation(candidates)
        return self.winners(keys if free is None else (keys + 1) * free - 1, bits)

    def draw_bits(self, candidates: int) -> int:
        """How many bits the comparisons of ``draw_hidden`` need."""
        return RANDOM_BITS + _digits(candidates) + 2

    def hidden_bits(self, mechanism: str, span: int, candidates: int, scale: float) -> int:
        """How many bits the comparisons of ``select_hidden`` need."""
        if mechanism == "exact":
            return span.bit_length() + _digits(candidates) + 3
        return self.key_bits(mechanism, [span], [candidates], [scale]) + 1

    def winners(self, table: Secret, bits: int) -> Secret:
        """Where the largest of each row is: a table of 0 and 1. Of equal ones it is the first."""
        return knock_out(self.engine, table, bits)[0]

    def _public(self) -> np.random.Generator:
        """A generator that all servers share, with a jointly drawn seed that is shown to all, once: the orders that it
        draws may be known before, since they are independent of all records and all noise."""
        if self._orders is None:
            self._orders = np.random.default_rng(seed_of(self.engine.open_bits(self._bits(SEED_BITS, 1))))
        return self._orders

    def _table(self, keys: Sequence[Secret]) -> Secret:
        """One row for each choice, filled up with -1, which never wins."""
        width = max(key.shape[0] for key in keys)
        full = [[key, self.engine.constant(np.full(width - key.shape[0], -1))] for key in keys]
        return self.engine.concatenate([part for row in full for part in row]).reshape(len(keys), width)

    # -- noise -------------------------------------------------------------------------------------------------------

    def geometric(self, values: Sequence[Secret], scales: Sequence[float]) -> list[np.ndarray]:
        """Each vector plus two-sided geometric noise of its scale, opened, all at once."""
        sizes = [value.shape[0] for value in values]
        drawn = [self.drawn_tally(*each) for each in zip(sizes, scales)]
        noises = self._geometric(drawn, scales)
        noisy = [value + noise[:n] - noise[n:] for value, noise, n in zip(values, noises, sizes)]
        return np.split(self.engine.open(self.engine.concatenate(noisy)), np.cumsum(sizes)[:-1])

    def _geometric(self, drawn: Sequence[Drawn], scales: Sequence[float]) -> list[Secret]:
        """One-sided geometric numbers, a vector for each drawing."""
        if drawn[0].law == "dealt":
            return self._dealt_numbers(drawn, scales)
        coins = [
            self.engine.integers(below(self._bits(*places.shape), places)).reshape(-1)
            for places in coin_chunks(drawn, scales)
        ]
        tossed = self.engine.concatenate(coins)
        ends = np.cumsum([each.bits * each.draws for each in drawn])
        return [
            (tossed[end - n.bits * n.draws : end].reshape(n.bits, n.draws) * (1 << np.arange(n.bits)[:, None])).sum(0)
            for n, end in zip(drawn, ends)
        ]

    def _dealt_numbers(self, drawn: Sequence[Drawn], scales: Sequence[float]) -> list[Secret]:
        """Each server deals negative binomial numbers of shape 1/2; those of any two add up to geometric ones.

        A server that subtracts its own is left with exactly geometric noise, the third's included. Seen from outside
        the noise has shape 3/2: for a choice, the third's share is an offset that does not depend on the data, which
        costs nothing (docs/theory.md, L1), and for a count it is noise on top.
        """
        sizes = [each.draws // SERVERS for each in drawn]
        of_scale, cuts = np.repeat(scales, sizes), np.repeat([each.bits for each in drawn], sizes)
        own = np.empty(len(of_scale), dtype=np.int64)
        for scale, bits in set(zip(of_scale.tolist(), cuts.tolist())):
            here = (of_scale == scale) & (cuts == bits)
            own[here] = half_negative_binomial(int(here.sum()), scale, 2**bits)
        dealt = [
            self.engine.input(own if self.engine.party == server else None, server, own.shape)
            for server in range(SERVERS)
        ]
        numbers = dealt[0] + dealt[1] + dealt[2]
        return [numbers[end - n : end] for n, end in zip(sizes, np.cumsum(sizes))]


def _number_bits(mechanism: str, drawn: Sequence[Drawn]) -> int:
    """How many digits the place of an entrant has."""
    most = max(each.draws if mechanism == "exponential" else each.candidates for each in drawn)
    return _digits(most)


def _digits(n: int) -> int:
    """How many binary digits the numbers below ``n`` have."""
    return max(1, (n - 1).bit_length())


def _one_sided(noise: Secret, n: int, drawn: Drawn) -> Secret:
    """Noise of ``n`` entrants in each row, none of it negative: of report-noisy-max, two numbers each, moved up."""
    return noise if noise.shape[1] == n else noise[:, :n] - noise[:, n:] + _most(drawn)


GROUP, LAST_GROUP = 8, 16
"""Candidates of a knock-out meet all others of their group at once: more comparisons than two by two, in far fewer
rounds. So many or fewer are the last group."""


def knock_out(engine: Engine, table: Secret, bits: int) -> tuple[Secret, Secret]:
    """Where the largest of each row is, as 0 and 1, and what it is; of equal ones the first.

    A group takes one comparison of all pairs, and lg(group) + 1 multiplications.
    """
    rows, k = table.shape
    if k == 1:
        return engine.constant(np.ones((rows, 1), dtype=np.int64)), table.reshape(-1)
    size = k if k <= LAST_GROUP else GROUP
    groups = -(-k // size)
    if groups * size > k:
        filler = engine.constant(np.full((rows, groups * size - k), -(1 << (bits - 2))))
        table = engine.concatenate([table, filler], axis=1)
    grouped = table.reshape(rows * groups, size)
    first = _first_of_all(engine, grouped, bits)
    best = engine.dot(first, grouped, 1).reshape(rows, groups)
    if groups == 1:
        return first, best.reshape(-1)
    among, largest = knock_out(engine, best, bits)
    marks = first.reshape(rows, groups, size) * among.reshape(rows, groups, 1)
    return marks.reshape(rows, groups * size)[:, :k], largest


def _first_of_all(engine: Engine, table: Secret, bits: int) -> Secret:
    """Where the first of the largest of each row is, by comparing all with all."""
    n = table.shape[1]
    low, high = np.triu_indices(n, 1)
    less = engine.less(table[:, low], table[:, high], bits)
    pair = np.zeros((n, n), dtype=np.int64)
    pair[low, high] = pair[high, low] = np.arange(len(low))
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    later = (others < np.arange(n)[:, None]).astype(np.int64)  # whoever comes later must be larger
    wins = less[:, pair[np.arange(n)[:, None], others].ravel()] * (2 * later.ravel() - 1) + (1 - later.ravel())
    return engine.product(wins.reshape(table.shape[0], n, n - 1))


def largest(engine: Engine, table: Secret, bits: int) -> Secret:
    """The largest of each row."""
    if table.shape[1] == 2:  # one comparison and one multiplication, as many rounds and half the products
        return engine.maximum(table[:, 0], table[:, 1], bits)
    return knock_out(engine, table, bits)[1]


def _most(drawn: Drawn) -> int:
    """More than any noise of a drawing can be."""
    return (SERVERS if drawn.law == "dealt" else 1) << drawn.bits


def _dealt(drawn: Drawn, scale: float) -> Drawn:
    """The same numbers dealt by every server."""
    draws = SERVERS * drawn.draws
    return Drawn("dealt", cut_bits(scale, draws), draws, drawn.candidates)


def below(words: Bits, digits: np.ndarray) -> Bits:
    """1 where a word (a column, its places as planes, the lowest first) is below a public number.

    Neighbouring runs of places are joined two by two: the higher one decides unless it is level. lg(places) rounds, two
    bits for each place.
    """
    engine = words.engine
    less, level = ~words & digits, ~(words ^ digits)
    while less.planes > 1:
        n = less.planes // 2 * 2
        low, high, rest = slice(0, n, 2), slice(1, n, 2), slice(n, None)
        joined = engine.stack([level[high], level[high]]) & engine.stack([less[low], level[low]])
        less = engine.stack([less[high] ^ joined[: n // 2], less[rest]])
        level = engine.stack([joined[n // 2 :], level[rest]])
    return less
