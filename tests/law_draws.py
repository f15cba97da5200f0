"""Published steps drawn as the papers print them: what the exact laws of ``privet.audit.claims`` are compared with."""

import math
import os
from dataclasses import dataclass
from functools import cache, singledispatch

import numpy as np

from cut_mechanisms import CutMechanisms
from privet.audit.claims import baselines, diprime, federated, hidden, privatree, topdown
from privet.audit.claims.claim import Law, log_laplace_above, yes_or_no
from privet.audit.scripted import SELECTION_LAWS, log_at_least
from privet.curators.memory import MemoryCurator
from privet.privacy.fixed_point import ONE
from privet.privacy.mechanisms import SeededMechanisms
from privet.privacy.noise_shares import geometric_shares, skellam_shares
from privet.privacy.samplers import half_negative_binomial


class Drawing:
    """A release that the statistical engine can run: called with a table it gives one draw."""

    def __init__(self, law):
        self.law = law

    def __call__(self, X, y):
        return draw(self.law, X, y, _generator(os.getpid()))


@cache
def _generator(process):
    """One for each process, from the operating system: a worker never repeats its parent's numbers."""
    return np.random.default_rng()


class Watched(MemoryCurator):
    """``told`` are all answers to ``question``, in the order in which they were given."""

    def __init__(self, X, y, schema, question):
        super().__init__(X, y, schema)
        self.told = []
        self._question = question

    def open(self):
        desk = super().open()
        ask = getattr(desk, self._question)

        def heard(*question, **options):
            answers = ask(*question, **options)
            self.told += answers.values()
            return answers

        setattr(desk, self._question, heard)
        return desk


@dataclass(frozen=True)
class JointLabel(Law):
    """A label chosen by correct counts inside the computation, by the plain reference of its coins.

    The exact law leaves out that the noise is cut, which moves it by less than 2^-60.
    """

    mechanism: str = "permute_and_flip"
    epsilon: float = 1.0

    def log_law(self, X, y):
        law = SELECTION_LAWS[self.mechanism](np.bincount(y, minlength=2), 1 / self.epsilon)
        return dict(enumerate(law.tolist()))


@dataclass(frozen=True)
class JointCount(Law):
    """The number of records with noise drawn inside the computation. The attacker asks whether it is at least 1."""

    epsilon: float = 1.0

    def log_law(self, X, y):
        return yes_or_no(log_at_least(1 - len(y), 1 / self.epsilon))


@dataclass(frozen=True)
class DealtCount(JointCount):
    """The same with noise that three servers deal, as one of them sees it: it has subtracted its own."""


@dataclass(frozen=True)
class LeafMean(Law):
    """The mean of a leaf of N targets in [-1, 1] with Laplace(2 / (N * epsilon)); is it above ``threshold``?"""

    threshold: float
    epsilon: float = 1.0

    def scale(self, y):
        return 2 / (len(y) * self.epsilon)

    def log_law(self, X, y):
        return yes_or_no(log_laplace_above(self.threshold - y.mean(), self.scale(y)))


@singledispatch
def draw(law, X, y, rng):
    """One run of the step."""
    raise NotImplementedError(type(law).__name__)


@draw.register
def _(law: baselines.SmoothLabel, X, y, rng):
    return int(rng.random() < math.exp(law.log_law(X, y)[1]))


@draw.register
def _(law: baselines.NoisySizeSensitivity, X, y, rng):
    noisy = int(SeededMechanisms(rng).geometric(np.array([len(y)]), 1 / law.epsilon)[0])
    if noisy < law.threshold:
        return -1
    return int(rng.choice(2, p=np.exp(law.choice(X, y, noisy))))


@draw.register
def _(law: diprime.ParallelMedians, X, y, rng):
    errors = []
    for column in X.T:
        chances, error = law.medians(column, y)
        errors.append(error[rng.choice(len(chances), p=np.exp(chances))])
    return int(rng.choice(len(errors), p=np.exp(law.attribute(errors))))


@draw.register
def _(law: LeafMean, X, y, rng):
    return bool(y.mean() + rng.laplace(scale=law.scale(y)) > law.threshold)


@draw.register
def _(law: diprime.GapsBetweenRecords, X, y, rng):
    ends, chances = law.gaps(X)
    gap = rng.choice(len(chances), p=np.exp(chances))
    return bool(law.low < rng.uniform(ends[gap], ends[gap + 1]) <= law.high)


@draw.register
def _(law: federated.BoundsSeen, X, y, rng):
    curator = Watched(X, y, law.schema(X), "owner_sum")
    law.estimator().fit_curator(curator)
    (bounds,) = curator.told
    return int((bounds > law.threshold * ONE).sum())


@draw.register
def _(law: federated.GammaShares, X, y, rng):
    one, other = rng.gamma(law.shape, 1 / law.epsilon, size=2)
    return bool(abs(len(y) + one - other - law.count) <= law.width)


@draw.register
def _(law: federated.GeometricShares, X, y, rng):
    noise = geometric_shares(law.unknown, 1 / law.epsilon, law.of).sum()
    return int(np.clip(len(y) + noise - law.count, -law.reach, law.reach))


@draw.register
def _(law: federated.SkellamShares, X, y, rng):
    return int(len(y) + skellam_shares(law.unknown, law.scale, law.of).sum() - law.count)


@draw.register
def _(law: hidden.Prediction, X, y, rng):
    return law.predicted(X, y, CutMechanisms(rng))


@draw.register
def _(law: hidden.CutExponents, X, y, rng):
    chances = law.log_law(X, y)
    return int(rng.choice([*chances], p=np.exp([*chances.values()])))


@draw.register
def _(law: hidden.PoissonSample, X, y, rng):
    kept = np.array([rng.binomial(len(y), law.rate)])
    return bool(SeededMechanisms(rng).geometric(kept, 1 / law.epsilon)[0] >= 1)


@draw.register
def _(law: JointLabel, X, y, rng):
    return CutMechanisms(rng).select(law.mechanism, [np.bincount(y, minlength=2)], [1 / law.epsilon])[0]


@draw.register
def _(law: JointCount, X, y, rng):
    return bool(CutMechanisms(rng).geometric(np.array([len(y)]), 1 / law.epsilon)[0] >= 1)


@draw.register
def _(law: DealtCount, X, y, rng):
    up, up_too, down, down_too = half_negative_binomial(4, 1 / law.epsilon, 2**20)
    return bool(len(y) + up + up_too - down - down_too >= 1)


@draw.register
def _(law: privatree.FeaturesInParallel, X, y, rng):
    noisy = SeededMechanisms(rng).geometric(privatree.tables(X, y), 1 / law.epsilon)
    return int(np.argmin(privatree.impurity(np.maximum(noisy, 0).T)))


@draw.register
def _(law: topdown.ReleasedMaximum, X, y, rng):
    noisy = topdown.correct_counts(X, y) + rng.laplace(scale=law.scale, size=X.shape[1])
    return bool(noisy.max() <= law.threshold)


@draw.register
def _(law: topdown.CountsSeen, X, y, rng):
    curator = Watched(X, y, topdown.binary(1), "tally")
    law.estimator().fit_curator(curator)
    by_both, by_label, by_side = curator.told[:3]
    side = 1  # of the only function, that value 1 is on: it asks whether the value is 0
    return bool(by_both[side, 1] > 0 and by_label[0, 1] > 0 and by_side[side] > 0)
