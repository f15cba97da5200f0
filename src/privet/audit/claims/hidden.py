"""Hidden trees in MPC, on plain data with the same law: what a prediction shows, whoever holds the shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privet.audit.claims.claim import Claim, Law, LogLaw, alike, binary, joined, model, yes_or_no
from privet.audit.exact import outputs
from privet.audit.pair import Pair
from privet.audit.scripted import log_at_least


@dataclass(frozen=True)
class Prediction(Law):
    """One prediction of a ``HiddenTreeClassifier`` of depth 1, grown in the open by the law of the hidden one.

    All that a user of a hidden tree sees are predictions; what comes out is the one for ``query``.
    """

    variant: str = "sound"
    epsilon: float = 1.0
    branches: str = "values"
    query: tuple[int, ...] = (0, 0)

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        return outputs(lambda mechanisms: self.predicted(X, y, mechanisms))

    def predicted(self, X: np.ndarray, y: np.ndarray, mechanisms: Any) -> int:
        from privet.curators.memory import MemoryCurator
        from privet.privacy.ledger import Ledger

        labels = "report_noisy_max" if self.variant == "published" else "permute_and_flip"
        shape = {"max_depth": 1, "branches": self.branches}
        tree = model("HiddenTreeClassifier", epsilon=self.epsilon, variant=self.variant, labels=labels, **shape)
        schema = binary(X.shape[1])
        tree.fit_curator(MemoryCurator(X, y, schema, ledger=Ledger(math.inf), mechanisms=mechanisms))
        return int(tree.predict(np.array([self.query]))[0])


@dataclass(frozen=True)
class CutExponents(Law):
    """A label by the exponential mechanism, weight 0 where the exponent is below -5 (algorithm 13's input)."""

    epsilon: float = 1.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        counts = np.bincount(y, minlength=2)
        exponents = self.epsilon * (counts - counts.max()) / 2
        exponents[exponents < -5] = -math.inf
        weights = exponents - np.logaddexp.reduce(exponents)
        return {label: weight for label, weight in enumerate(weights.tolist()) if weight > -math.inf}


@dataclass(frozen=True)
class PoissonSample(Law):
    """Each record kept with probability ``rate``, then a count with two-sided geometric noise (claim D.1).

    The attacker asks whether the noisy count is at least 1.
    """

    rate: float = 0.2
    epsilon: float = 1.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        n, above = len(y), 0.0
        for kept in range(n + 1):
            share = math.comb(n, kept) * self.rate**kept * (1 - self.rate) ** (n - kept)
            above += share * math.exp(log_at_least(1 - kept, 1 / self.epsilon))
        return yes_or_no(math.log(above))


def two_perfect_attributes(rows: int = 200) -> Pair:
    """Both attributes are perfect, and they disagree about (0, 0); the row that joins speaks for the second."""
    y = np.repeat([0, 1], rows // 2)
    return joined(np.column_stack([y, 1 - y]), y, np.array([1, 1]), 0)


_claim = partial(Claim, "Hidden trees")

CLAIMS = (
    _claim(
        "hidden-leaves-only",
        "noise at the leaves only, 200 rows",
        partial(Prediction, "published", 0.1),
        two_perfect_attributes,
        "A prediction recombines the shares: the exact structure shows. The loss grows with the rows.",
        claimed=0.1,
        proven=math.inf,
    ),
    *(
        _claim(
            f"hidden-sound-{branches}",
            f"HiddenTreeClassifier, sound, {branches}",
            partial(Prediction, "sound", 1.0, branches),
            partial(two_perfect_attributes, 20),
            "Hidden choices are private choices, so predictions are functions of private answers.",
        )
        for branches in ("values", "thresholds")
    ),
    _claim(
        "hidden-cut-exponents",
        "exponents below -5 cut to zero",
        CutExponents,
        partial(alike, 10),
        "One record more, and a label becomes impossible.",
        proven=math.inf,
    ),
    _claim(
        "hidden-sampling",
        "Poisson sampling at 0.2 (claim D.1)",
        PoissonSample,
        partial(alike, 0),
        "Sampling at rate g turns epsilon into ln(1 + g (e^epsilon - 1)), which is more than g * epsilon.",
        claimed=0.2,
        proven=math.log1p(0.2 * math.expm1(1)),
    ),
)
