"""A published claim, what it is really worth, and what an attack on its witness finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from privet.algorithms.registry import model_class
from privet.audit.bound import Bound, exceeds
from privet.audit.claims.law import Law
from privet.audit.exact import WINDOW, exact_bound
from privet.audit.pair import Pair
from privet.audit.scripted import TooManyTranscripts, Window
from privet.audit.statistical import statistical_bound


@dataclass(frozen=True)
class Claim:
    """One variant of one paper.

    ``subject`` makes what is attacked: a ``Law``, which is the published step on plain data, or an estimator, once
    there is one. ``witness`` makes the pair of neighbouring tables on which it is attacked. ``claimed`` is what the
    paper says the release costs, ``proven`` what it costs by our own proof (docs/theory.md), infinity if nothing finite
    bounds it on all tables; ``why`` says how they come apart, or why the claim holds. Of an estimator's noisy numbers
    the exact engine sees what is in ``window``; what is not ours, or has too many transcripts, is run ``runs`` times on
    each table.
    """

    paper: str
    key: str
    variant: str
    subject: Callable[[], Any]
    witness: Callable[[], Pair]
    why: str
    claimed: float = 1.0
    proven: float = 1.0
    window: Window = WINDOW
    runs: int = 10_000

    @property
    def holds(self) -> bool:
        return self.proven <= self.claimed

    def attack(self, progress: Any = False) -> Outcome:
        """The bound on the witness: exact wherever probabilities can be computed."""
        subject, pair = self.subject(), self.witness()
        if isinstance(subject, Law):
            return Outcome(self, subject.exact_bound(pair, self.proven))
        if hasattr(subject, "fit_curator"):
            try:
                return Outcome(self, exact_bound(subject, pair, proven=self.proven, window=self.window))
            except TooManyTranscripts:
                pass
        bound = statistical_bound(subject, pair, runs=self.runs, progress=progress)
        return Outcome(self, replace(bound, proven=self.proven))


def model(name: str, **params: Any) -> Any:
    """A registered estimator, with an epsilon of 1 unless another is given."""
    return model_class(name)(**{"epsilon": 1.0} | params)


@dataclass(frozen=True)
class Outcome:
    """What an attack on a claim found."""

    claim: Claim
    bound: Bound

    @property
    def verdict(self) -> str:
        """``caught``: more than claimed. ``holds``: proven, and nothing found. ``missed``: false, and nothing found.

        ``BROKEN`` is what must never be: more than is proven, so that a proof or the code is wrong.
        """
        if exceeds(self.bound.epsilon, self.claim.proven):
            return "BROKEN"
        if exceeds(self.bound.epsilon, self.claim.claimed):
            return "caught"
        return "holds" if self.claim.holds else "missed"

    @property
    def expected(self) -> bool:
        return self.verdict in ("caught", "holds")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinity as a word, since JSON has none."""
        claim = self.claim
        return {
            "key": claim.key,
            "paper": claim.paper,
            "variant": claim.variant,
            "claimed": claim.claimed,
            "proven": "infinity" if claim.proven == math.inf else claim.proven,
            "why": claim.why,
            "bound": self.bound.to_dict(),
            "verdict": self.verdict,
        }
