"""Every fit draws noise of its own: an estimator whose copies repeat each other is refused."""

import random
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from privet import Numeric, PrivateTreeClassifier, Schema
from privet.audit import Pair, attack_membership, release_of, statistical_bound
from privet.audit.release import FAILED
from privet.errors import PrivetError

PAIR = Pair((np.zeros((2, 1)), [0, 1]), (np.zeros((3, 1)), [0, 1, 1]))


class Noisy:
    """A noisy count, from whatever ``draw`` gives."""

    def fit(self, X, y):
        self.value_ = len(y) + self.draw()
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


class Holds(Noisy):
    def __init__(self, generator):
        self.source = {"inner": [generator]}

    def draw(self):
        return self.source["inner"][0].random()


class Given(Noisy, BaseEstimator):
    def __init__(self, noise=None):
        self.noise = noise

    def draw(self):
        return self.noise.random()


class Makes(Noisy, BaseEstimator):
    """Its constructor makes a generator, so each copy has a fresh one."""

    def __init__(self):
        self.noise = np.random.default_rng()

    def draw(self):
        return self.noise.random()


class Counts(Noisy):
    """A generator of its own making, that no type gives away."""

    def __init__(self):
        self.state = 1

    def draw(self):
        self.state = self.state * 48271 % (2**31 - 1)
        return self.state


GENERATORS = [np.random.default_rng, np.random.RandomState, random.Random]


@pytest.mark.parametrize("holder", [Holds, Given])
@pytest.mark.parametrize("generator", GENERATORS)
def test_an_estimator_that_holds_a_generator_is_refused(holder, generator):
    with pytest.raises(PrivetError, match="holds a random generator"):
        statistical_bound(holder(generator()), PAIR, runs=1000)
    with pytest.raises(PrivetError, match="holds a random generator"):
        attack_membership(holder(generator()), np.zeros((50, 1)), np.arange(50) % 2, records=30, targets=5)


def test_copies_that_repeat_the_noise_are_refused_whatever_it_comes_from():
    with pytest.raises(PrivetError, match="fresh copies of Counts all give the same"):
        statistical_bound(Counts(), PAIR, runs=1000)


def test_a_generator_that_each_copy_makes_for_itself_is_allowed():
    release = release_of(Makes(), PAIR)
    release.check_copies(PAIR.one)
    assert release(*PAIR.one) != release(*PAIR.one)


def test_many_fits_of_an_audit_are_no_reason_to_warn():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    release = release_of(PrivateTreeClassifier(schema, epsilon=1, n_records=100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            assert FAILED not in release(np.arange(100)[:, None] / 99, [0, 1] * 50)
