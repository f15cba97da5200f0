"""Models fitted again and again on records that are public or that nobody is in, to see what noise does to them.

Never on private records: each fit, each accuracy, would be one more release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from privet.algorithms.explained import subject_of
from privet.algorithms.private_forest import PrivateForestClassifier
from privet.algorithms.private_forest_regressor import PrivateForestRegressor
from privet.algorithms.private_tree import PrivateTreeClassifier
from privet.algorithms.private_tree_regressor import PrivateTreeRegressor
from privet.algorithms.quote import fit_apart
from privet.algorithms.stand_in import stand_in
from privet.errors import PrivetError
from privet.report.page import facts_of
from privet.schema import Schema

TEST_SHARE = 0.2
SPLIT_SEED = 0  # public, as the records are
SYNTHETIC, SYNTHETIC_TEST = 20_000, 5_000
MOST_RECORDS = 200_000
KEPT = 256  # draws that are not fitted again
SIZES = (1_000, 5_000, 20_000, 100_000)

Maker = Callable[[Schema, float, int], Any]


@dataclass(frozen=True)
class Method:
    """A way of learning that can be tried; ``deep``: whether a depth makes a difference to it."""

    title: str
    make: Maker
    deep: bool = True


CLASSES = {
    "tree": Method("One tree, with labels", lambda s, e, d: PrivateTreeClassifier(s, epsilon=e, max_depth=d)),
    "counts": Method(
        "One tree, with noisy counts",
        lambda s, e, d: PrivateTreeClassifier(s, epsilon=e, max_depth=d, leaves="counts"),
    ),
    "boosting": Method(
        "Boosting: curves that add up",
        lambda s, e, d: PrivateForestClassifier(s, epsilon=e, method="boosting", progress=False),
        deep=False,
    ),
}
TARGETS = {
    "tree": Method("One tree", lambda s, e, d: PrivateTreeRegressor(s, epsilon=e, max_depth=d)),
    "boosting": Method(
        "Boosting: curves that add up",
        lambda s, e, d: PrivateForestRegressor(s, epsilon=e, method="boosting", progress=False),
        deep=False,
    ),
}


@dataclass(frozen=True)
class Wish:
    """What is to be fitted. ``draw`` tells draws of the noise apart."""

    method: str
    epsilon: float
    depth: int
    records: int
    draw: int


class Draws:
    """Fits on one public table: a part of it to learn from, the rest to score on."""

    def __init__(self, X: Any, y: Any, schema: Schema, source: str, n_records: int | None = None) -> None:
        """``n_records``: how many are learned from, of a table that has more."""
        n = len(y)
        order = np.random.default_rng(SPLIT_SEED).permutation(n)
        held = max(1, int(TEST_SHARE * n))
        if n < 50:
            raise PrivetError("there are too few records to play with: it takes at least 50")
        self.schema, self.source = schema, source
        self._X, self._y = X, np.asarray(y)
        self._learn, self._test = order[held:][: n_records or MOST_RECORDS], order[:held]
        if len(self._learn) < (n_records or 0):
            raise PrivetError(f"there are {len(self._learn):,} records to learn from, and --n-records asks for more")
        self.methods = CLASSES if schema.classes is not None else TARGETS
        self._kept = lru_cache(KEPT)(self._fitted)

    @classmethod
    def synthetic(cls, schema: Schema, n_records: int | None = None) -> Draws:
        """On a table that nobody is in, drawn from the schema: so many to learn from, and enough to score on."""
        n = SYNTHETIC if n_records is None else n_records
        X, y, _ = stand_in(schema, max(-(-n * 5 // 4), n + SYNTHETIC_TEST, 5 * SYNTHETIC_TEST))
        words = (
            "Made-up records, drawn from the schema: evenly spread values, and a made-up rule for the label. "
            "This is one made-up table, and another would look different."
        )
        return cls(X, y, schema, words, n)

    @property
    def sizes(self) -> list[int]:
        """From how many records it can be learned."""
        whole = len(self._learn)
        return [*(size for size in SIZES if size < whole), whole]

    @property
    def baseline(self) -> float:
        """The score of what knows nothing: the commonest class, or the mean."""
        if self.schema.classes is None:
            return 0.0
        return float(np.unique(self._y[self._test], return_counts=True)[1].max() / len(self._test))

    def fit(self, wish: Wish) -> dict[str, Any]:
        """The model, its score on records that it did not learn from, and what noise did, as plain data."""
        if wish.method not in self.methods:
            raise PrivetError(f"there is no method {wish.method!r}")
        if not 1e-4 <= wish.epsilon <= 1e4 or not 1 <= wish.depth <= 10 or wish.records not in self.sizes:
            raise PrivetError("epsilon, depth or records are outside of what the playground offers")
        return self._kept(wish)

    def _fitted(self, wish: Wish) -> dict[str, Any]:
        model = self.methods[wish.method].make(self.schema, wish.epsilon, wish.depth)
        rows = self._learn[: wish.records]
        ids = np.arange(len(rows)) if self.schema.person is not None else None
        fit_apart(model, self._X.take(rows), self._y[rows], ids, wish.draw)
        facts = facts_of(subject_of(model))
        return {
            "score": round(float(model.score(self._X.take(self._test), self._y[self._test])), 5),
            "model": facts["model"],
            "noise": _noise(facts["budget"]["groups"]),
        }


def _noise(groups: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Every kind of question once, with what noise did to its answers: of several depths the deepest."""
    return [list(pair) for pair in {group["asked"]: group["noise"] for group in groups}.items()]
