"""Exact laws of what a learner predicts, on tables small enough to follow every answer, and attacks that know them.

A table is how often each kind of record occurs: two binary features and a label, eight kinds. A law is the probability
of every vector of predictions at the four points, so expected accuracies are facts and not estimates.
"""

from functools import cache
from itertools import product

import numpy as np

from privet import Categorical, Ledger, MemoryCurator, Schema
from privet.audit.exact import outputs

AB = Categorical(["a", "b"], other=False)
SCHEMA = Schema({"s": AB, "t": AB}, classes=["n", "y"])
POINTS = np.array(list(product("ab", "ab")), dtype=object)
KINDS = [(i, label) for i in range(4) for label in ("n", "y")]


class ExactLearner:
    """An estimator of the project whose laws are computed, and remembered, for every table that is asked about."""

    def __init__(self, estimator, window=(-2, 6)):
        self.estimator, self.window = estimator, window
        self.law = cache(self._law)

    def _law(self, counts):
        X = np.array([POINTS[i] for (i, _), n in zip(KINDS, counts) for _ in range(n)], dtype=object).reshape(-1, 2)
        y = [label for (_, label), n in zip(KINDS, counts) for _ in range(n)]

        def run(mechanisms):
            ledger = Ledger(1e9, delta=self.estimator.delta)
            curator = MemoryCurator(X, y, SCHEMA, ledger=ledger, mechanisms=mechanisms)
            return tuple(self.estimator.fit_curator(curator).predict(POINTS).tolist())

        law = outputs(run, self.window)
        return tuple(law), np.exp(list(law.values()))

    def accuracies(self, counts, truth):
        """The accuracy of every vector of predictions at the points, and its probability."""
        vectors, chances = self.law(tuple(counts))
        return np.array([np.mean([a == b for a, b in zip(vector, truth)]) for vector in vectors]), chances

    def chances(self, counts, truth):
        """The probability that each point is predicted as ``truth`` says."""
        vectors, chances = self.law(tuple(counts))
        right = np.array([[a == b for a, b in zip(vector, truth)] for vector in vectors])
        return chances @ right

    def accuracy(self, counts, truth):
        values, chances = self.accuracies(counts, truth)
        return float(values @ chances)

    def weakest(self, counts, truth):
        return float(self.chances(counts, truth).min())


def guaranteed(values, chances, guarantee, distance):
    """The certificate of a law that is known: the integral of ``worst`` of the chance to be above t."""
    order = np.argsort(values)
    values, chances = values[order], chances[order]
    above = np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)  # the chance to be at least each value
    return float(np.diff(values, prepend=0.0) @ guarantee.worst(above, distance))


def neighbours(counts):
    """All tables with one record more or one fewer."""
    for i in range(len(counts)):
        yield (*counts[:i], counts[i] + 1, *counts[i + 1 :])
        if counts[i]:
            yield (*counts[:i], counts[i] - 1, *counts[i + 1 :])


def random_attack(counts, distance, rng):
    for _ in range(distance):
        options = list(neighbours(counts))
        counts = options[rng.integers(len(options))]
    return counts


def concentrated_attack(counts, distance, rng):
    """All steps the same: records of one kind added, or taken away as long as there are some."""
    i, sign = int(rng.integers(len(counts))), int(rng.choice([-1, 1]))
    return (*counts[:i], max(0, counts[i] + sign * distance), *counts[i + 1 :])


def greedy_attack(counts, distance, cost):
    """The worst single step, again and again, by the exact cost."""
    for _ in range(distance):
        counts = min([counts, *neighbours(counts)], key=cost)
    return counts
