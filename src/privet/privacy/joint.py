"""Noise that nobody knows: drawn by three servers on secret shares, and choices made inside the computation.

Programs over the share-array interface (``mpc/engine.py``); which engine runs them makes no difference to the law. What
is opened is the private answer alone: the number of the winner, or a count with its noise. Laws and their deltas are in
``cut.py``. Algorithms 12 and 13 of paper 003 (Laplace and exponential mechanism in MPC) are ``geometric`` and the
exponential ``select``, with two repairs: no logarithm or exponential is computed in fixed point, whose rounding voids a
proof, because geometric coins have the exact chances; and the printed scan of algorithm 13, which compares with the
scores instead of the cumulated weights and returns the last candidate that fits, is a search for the first try that is
accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privet.mpc.engine import Bits, Engine, Secret
from privet.privacy.cut import (
    SEED_BITS,
    CoinTable,
    Drawn,
    check_law,
    coin_chunks,
    cut_bits,
    cut_choice,
    cut_tally,
    generator_coins,
    seed_of,
)
from privet.privacy.samplers import half_negative_binomial

SERVERS = 3


class Coins(Protocol):
    """Where fair bits come from."""

    reproducible: bool

    def bits(self, engine: Engine, planes: int, columns: int) -> Bits: ...


class JointCoins:
    """Drawn by all servers together and known to none."""

    reproducible = False

    def bits(self, engine: Engine, planes: int, columns: int) -> Bits:
        return engine.random_bits(planes, columns)


class SeededCoins:
    """Known to all servers: reproducible, for research and tests; the receipt is void."""

    reproducible = True

    def __init__(self, generator: np.random.Generator) -> None:
        self._coins: CoinTable = generator_coins(generator)

    def bits(self, engine: Engine, planes: int, columns: int) -> Bits:
        return engine.constant_bits(self._coins(planes, columns))


class JointMechanisms:
    """What a curator of secret shares needs: choices and noisy counts.

    ``law`` "cut": geometric numbers made of joint coins. "dealt": each server adds a share of noise of its own, such
    that the shares of any two are the whole noise; cheap in messages and a fifth wider.
    """

    generator = None

    def __init__(self, engine: Engine, coins: Coins | None = None, law: str = "cut") -> None:
        check_law(law)
        self.engine = engine
        self._coins = coins or JointCoins()
        self.law = law

    @property
    def reproducible(self) -> bool:
        return self._coins.reproducible

    def drawn_choice(self, mechanism: str, candidates: int, scale: float) -> Drawn:
        """How a choice will be drawn. Dealt shares are wider than geometric: no coin of the exponential mechanism."""
        drawn = cut_choice(mechanism, candidates, scale)
        return _dealt(drawn, scale) if self.law == "dealt" and mechanism != "exponential" else drawn

    def drawn_tally(self, cells: int, scale: float) -> Drawn:
        drawn = cut_tally(cells, scale)
        return _dealt(drawn, scale) if self.law == "dealt" else drawn

    def key_bits(self, mechanism: str, spans: Sequence[int], sizes: Sequence[int], scales: Sequence[float]) -> int:
        """How many bits the comparisons of a choice need: public, from the sizes and the spans of the scores."""
        widest = 1
        for span, size, scale in zip(spans, sizes, scales):
            drawn = self.drawn_choice(mechanism, size, scale)
            if mechanism == "exponential":
                widest = max(widest, 2 * drawn.draws.bit_length(), max(span, 1 << drawn.bits).bit_length())
            else:
                widest = max(widest, (span + 2 * _most(drawn)).bit_length())
        return widest + _number_bits(sizes) + 2

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

        Winners are opened, all at once, and nothing else is. Candidates get keys whose largest is the winner's and
        whose last digits say which one it is; a knock-out finds the largest, and only its last digits are opened.
        """
        sizes = [len_of(score) for score in scores]
        bits = self.key_bits(mechanism, spans, sizes, scales)
        self.engine.need(bits)
        drawn = [self.drawn_choice(mechanism, *each) for each in zip(sizes, scales)]
        noises = self._geometric(drawn, scales)
        public = self._public()
        above = [score - low for score, low in zip(scores, lows)]
        if mechanism == "exponential":
            keys = self._tries(above, noises, max(*spans, *(1 << each.bits for each in drawn)), public)
        else:
            keys = [self._noisy(*each, public) for each in zip(above, noises, drawn)]
        number_bits = _number_bits(sizes)
        best = self._largest(self._table([key.first * (1 << number_bits) + key.last for key in keys]), bits)
        digits = self.engine.open_bits(self.engine.low_bits(best, number_bits))
        numbers = (digits.astype(np.int64) << np.arange(number_bits)[:, None]).sum(axis=0)
        return [int(key.names[number]) for key, number in zip(keys, numbers)]

    def _noisy(self, score: Secret, noise: Secret, drawn: Drawn, public: np.random.Generator) -> _Keys:
        """Permute-and-flip; with noise on both sides, twice as many numbers as candidates, report-noisy-max.

        The largest of integer score plus one-sided geometric noise, ties to the first in a fresh random order, is
        exactly permute-and-flip (docs/theory.md, L1). The order may be known: for each order the choice is private.
        """
        k = len_of(score)
        noisy = score + (noise if len_of(noise) == k else noise[:k] - noise[k:] + _most(drawn))
        order = public.permutation(k)
        return _Keys(noisy[order], np.arange(k)[::-1], order[::-1])

    def _tries(
        self, scores: Sequence[Secret], noises: Sequence[Secret], widest: int, public: np.random.Generator
    ) -> list[_Keys]:
        """The exponential mechanism: candidates drawn evenly, in public, until the secret coin exp(-gap / scale) of one
        comes up. Each coin is "geometric noise of at least the gap". All are tossed, and the first wins; which try it
        was is not told, for that depends on all scores.
        """
        tried = [public.integers(len_of(score), size=len_of(noise)) for score, noise in zip(scores, noises)]
        best = self._largest(self._table(scores), widest.bit_length() + 2)
        gaps = [(score * -1 + best[i : i + 1])[which] for i, (score, which) in enumerate(zip(scores, tried))]
        failed = self.engine.less(self._joined(noises), self._joined(gaps), widest.bit_length() + 2)
        keys, start = [], 0
        for score, which in zip(scores, tried):
            n = len(which)
            accepted = failed[start : start + n] * -1 + 1
            keys.append(_Keys(accepted * (1 << n.bit_length()) + np.arange(n)[::-1], which, np.arange(len_of(score))))
            start += n
        return keys

    def _joined(self, vectors: Sequence[Secret]) -> Secret:
        return self.engine.concatenate(vectors) if len(vectors) > 1 else vectors[0]

    def _public(self) -> np.random.Generator:
        """A generator that all servers share, with a fresh, jointly drawn seed that is shown to all."""
        seed = self.engine.open_bits(self._coins.bits(self.engine, SEED_BITS, 1))
        return np.random.default_rng(seed_of(seed))

    def _table(self, keys: Sequence[Secret]) -> Secret:
        """One row for each choice, filled up with -1, which never wins."""
        width = max(len_of(key) for key in keys)
        rows = []
        for key in keys:
            missing = width - len_of(key)
            row = self.engine.concatenate([key, self.engine.constant(np.full(missing, -1))]) if missing else key
            rows.append(row.reshape(1, width))
        return self.engine.concatenate(rows) if len(rows) > 1 else rows[0]

    def _largest(self, table: Secret, bits: int) -> Secret:
        """The largest of each row, by a knock-out: lg(columns) comparisons one after the other."""
        while (n := table.shape[1]) > 1:
            half = n // 2
            winners = self.engine.maximum(table[:, :half], table[:, half : 2 * half], bits)
            table = self.engine.concatenate([winners, table[:, 2 * half :]], axis=1) if n % 2 else winners
        return table.reshape(table.shape[0])

    # -- noise -------------------------------------------------------------------------------------------------------

    def geometric(self, values: Sequence[Secret], scales: Sequence[float]) -> list[np.ndarray]:
        """Each vector plus two-sided geometric noise of its scale, opened, all at once."""
        sizes = [len_of(value) for value in values]
        drawn = [self.drawn_tally(*each) for each in zip(sizes, scales)]
        noises = self._geometric(drawn, scales)
        noisy = [value + noise[:n] - noise[n:] for value, noise, n in zip(values, noises, sizes)]
        return np.split(self.engine.open(self._joined(noisy)), np.cumsum(sizes)[:-1])

    def _geometric(self, drawn: Sequence[Drawn], scales: Sequence[float]) -> list[Secret]:
        """One-sided geometric numbers, a vector for each drawing."""
        if drawn[0].law == "dealt":
            return self._dealt_numbers(drawn, scales)
        coins = []
        for places in coin_chunks(drawn, scales):
            words = self._coins.bits(self.engine, *places.shape)
            coins.append(self.engine.integers(below(words, places)).reshape(places.shape[1]))
        tossed = self._joined(coins)
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


@dataclass(frozen=True)
class _Keys:
    """What a choice compares: ``first``, then in public ``last``, which number of ``names`` it is."""

    first: Secret
    last: np.ndarray
    names: np.ndarray


def _number_bits(sizes: Sequence[int]) -> int:
    return max(1, (max(sizes) - 1).bit_length())


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


def len_of(x: Secret) -> int:
    return x.shape[0]
