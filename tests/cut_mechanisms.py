"""The law of joint draws, drawn in plain: the reference that servers' draws are compared with, coin by coin."""

import numpy as np

from privet.privacy.truncated_geometric import (
    SEED_BITS,
    coin_chunks,
    cut_choice,
    cut_tally,
    entrants,
    generator_coins,
    seed_of,
)


class CutMechanisms:
    """The mechanisms of a curator that draw as ``privacy/joint.py`` does, from a generator's bits.

    It asks for the same tables of bits in the same order: with the same bits, both choose alike.
    """

    reproducible = True

    def __init__(self, generator):
        self.generator = generator
        self._coins = generator_coins(generator)
        self._public = None

    def select(self, mechanism, scores, scales):
        vectors = list(scores)
        drawn = [cut_choice(mechanism, len(score), scale) for score, scale in zip(vectors, scales)]
        noises = self._noise(drawn, scales)
        if self._public is None:
            self._public = np.random.default_rng(seed_of(self._coins(SEED_BITS, 1)))
        return [_winner(mechanism, score, noise, self._public) for score, noise in zip(vectors, noises)]

    def geometric(self, values, scale):
        (noise,) = self._noise([cut_tally(values.size, scale)], [scale])
        return values + (noise[: values.size] - noise[values.size :]).reshape(values.shape)

    def _noise(self, drawn, scales):
        """Cut geometric numbers: digit by digit, words of fair bits against the thresholds, highest place first."""
        coins = []
        for places in coin_chunks(drawn, scales):
            words = self._coins(*places.shape)
            below, level = np.zeros_like(words[0]), np.ones_like(words[0])
            for word, place in zip(words[::-1], places[::-1]):
                below |= level & ~word & place
                level &= word == place
            coins.append(below)
        ends = np.cumsum([each.bits * each.draws for each in drawn])[:-1]
        return [
            (table.reshape(each.bits, each.draws).astype(np.int64) << np.arange(each.bits)[:, None]).sum(axis=0)
            for each, table in zip(drawn, np.split(np.concatenate(coins), ends))
        ]


def _winner(mechanism, scores, noise, public):
    taking_part = entrants(mechanism, len(scores), len(noise), public)
    if mechanism == "report_noisy_max":
        noise = noise[: len(scores)] - noise[len(scores) :]
    return int(taking_part[np.argmax(scores[taking_part] + noise)])
