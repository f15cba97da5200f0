"""Deep Partition Aggregation and Finite Aggregation: robust ensembles without privacy, to compare with.

DPA (Levine and Feizi 2021): a hash of a record decides which of many trees learns from it; the trees vote. A record
added or removed touches one tree, so a prediction holds as long as its lead is more than twice the poisoned records.
Finite Aggregation (Wang, Levine and Feizi 2022) cuts the records into more parts, and each tree learns from several: a
record touches several trees, but which ones limits how an attacker can spend them. Both certify each prediction of the
ensemble at hand, with certainty. Neither protects anybody's records.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from privet.errors import PrivetError


@dataclass(eq=False, repr=False)
class FiniteAggregationClassifier(ClassifierMixin, BaseEstimator):
    """``n_parts`` times ``spread`` trees without privacy, each on ``spread`` of as many parts of the records.

    With ``spread=1`` it is Deep Partition Aggregation. Records are arrays of numbers (categories as codes). Which part
    a record is in follows from its features alone, whatever others are around it, in any order. Labels are not hashed,
    so a changed label stays in its part and counts once; any other change is two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 4))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = FiniteAggregationClassifier(n_parts=100).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), bool((model.radii(X) >= 10).mean() > 0.5)
    (True, True)
    """

    n_parts: int = 1000
    spread: int = 1
    max_depth: int = 4

    def fit(self, X: Any, y: Any) -> Self:
        """Train every tree on its parts; one whose parts are empty votes for the first class."""
        X, y = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y)
        if self.n_parts < 1 or self.spread < 1:
            raise PrivetError("n_parts and spread are whole numbers of at least 1.")
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_trees = self.n_parts * self.spread
        part_of = parts_of(X, n_trees)
        order = np.argsort(part_of, kind="stable")
        ends = np.searchsorted(part_of[order], np.arange(n_trees + 1))
        rows = [order[start:end] for start, end in itertools.pairwise(ends)]
        self.trees_of_part_ = _trees_of_parts(n_trees, self.spread)
        parts_of_tree: list[list[int]] = [[] for _ in range(n_trees)]
        for part, trees in enumerate(self.trees_of_part_):
            for tree in trees:
                parts_of_tree[tree].append(part)
        self.trees_ = [self._tree(X, labels, np.concatenate([rows[part] for part in own])) for own in parts_of_tree]
        return self

    def _tree(self, X: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> DecisionTreeClassifier | None:
        """Deterministic: records in the order of their values, so that their order in the table plays no part."""
        if not len(rows):
            return None
        rows = rows[np.lexsort((labels[rows], *X[rows].T))]
        return DecisionTreeClassifier(max_depth=self.max_depth, random_state=0).fit(X[rows], labels[rows])

    def votes(self, X: Any) -> np.ndarray:
        """The vote of every tree, as numbers of classes, for every row."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        found = np.zeros((len(X), len(self.trees_)), dtype=np.int16)
        for i, tree in enumerate(self.trees_):
            if tree is not None:
                found[:, i] = tree.classes_[tree.tree_.predict(X).argmax(axis=1)]
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes; of equal ones the first."""
        return self.classes_[self._counts(self.votes(X)).argmax(axis=1)]

    def radii(self, X: Any) -> np.ndarray:
        """For each row how many records may be added or removed, any of them, without changing its prediction."""
        return self.radii_of_votes(self.votes(X))

    def radii_of_votes(self, votes: np.ndarray) -> np.ndarray:
        """The same from votes.

        A poisoned part can turn the votes of its trees to a rival. That gains 2 on the lead for each tree that voted
        for the winner, and 1 for each that voted for another class. The parts that gain most come first; the radius is
        how many of them the smallest lead survives.
        """
        counts = self._counts(votes)
        winner = counts.argmax(axis=1)
        radii = np.full(len(votes), np.iinfo(np.int64).max)
        for rival in range(len(self.classes_)):
            lead = counts[np.arange(len(votes)), winner] - counts[:, rival] - (rival < winner)
            gains = (votes == winner[:, None]).astype(np.int16) + (votes != rival)
            by_part = gains if self.spread == 1 else gains[:, self.trees_of_part_].sum(axis=2)
            worst = np.cumsum(-np.sort(-by_part, axis=1), axis=1)
            radius = (worst <= lead[:, None]).sum(axis=1)
            radii = np.where(winner == rival, radii, np.minimum(radii, radius))
        return radii

    def _counts(self, votes: np.ndarray) -> np.ndarray:
        return np.stack([(votes == k).sum(axis=1) for k in range(len(self.classes_))], axis=1)

    def certified_accuracy(self, X: Any, y: Any, distances: Any) -> np.ndarray:
        """The share of rows that are labelled correctly whatever records are added or removed, for each distance."""
        votes = self.votes(X)
        right = self.classes_[self._counts(votes).argmax(axis=1)] == np.asarray(y)
        radii = self.radii_of_votes(votes)
        return np.array([(right & (radii >= distance)).mean() for distance in np.atleast_1d(distances)])


def parts_of(X: np.ndarray, n_parts: int) -> np.ndarray:
    """The part of each record, by a hash of its bytes alone."""
    X = X + 0.0  # one zero, not two
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in X)
    return np.array([int.from_bytes(digest, "little") % n_parts for digest in digests], dtype=np.int64)


def _trees_of_parts(n_trees: int, spread: int) -> np.ndarray:
    """Which trees learn from each part: the part's number and ``spread - 1`` fixed, random steps from it.

    The steps are different, so each part is in as many trees as each tree has parts.
    """
    steps = np.zeros(spread, dtype=np.int64)
    if spread > 1:
        steps[1:] = np.random.default_rng(0).choice(np.arange(1, n_trees), spread - 1, replace=False)
    return (np.arange(n_trees)[:, None] + steps) % n_trees
