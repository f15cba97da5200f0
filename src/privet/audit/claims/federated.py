"""Federated histograms with budget saving: the bounds' budget, and noise shares when somebody colludes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import quad  # type: ignore[import-untyped]
from scipy.special import gamma, kv  # type: ignore[import-untyped]

from privet.audit.claims.claim import Claim, Law, LogLaw, alike, events_of, model, yes_or_no
from privet.audit.claims.privet import kinds
from privet.audit.scripted import log_at_least
from privet.privacy.amounts import exact
from privet.privacy.fixed_point import ONE
from privet.privacy.laws import log_geometric_shares, log_skellam
from privet.privacy.mechanisms import scale_for
from privet.privacy.sensitivity import least_impurities
from privet.privacy.zcdp import ratio_for, rho_within
from privet.schema import Numeric, Schema


@dataclass(frozen=True)
class BoundsSeen(Law):
    """Budget saving by the estimator (Algorithm 6), as the coordinator sees it: a noisy bound for every feature.

    The attacker counts the features whose bound is above ``threshold``. Half of ``epsilon`` is for the leaves, the
    other half for one node.
    """

    threshold: float
    variant: str = "published"
    epsilon: float = 2.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        (event,) = events_of(self.estimator(), X, y, self.schema(X), "owner sum")
        law = np.ones(1)
        for bound in least_impurities(np.stack([_by_value(column, y) for column in X.T])):
            above = math.exp(log_at_least(math.floor(self.threshold * ONE) + 1 - int(bound), event.scale))
            law = np.convolve(law, [1 - above, above])
        return dict(enumerate(np.log(law).tolist()))

    def schema(self, X: np.ndarray) -> Schema:
        return Schema({f"f{j}": Numeric(0, 1, integer=True) for j in range(X.shape[1])}, classes=[0, 1])

    def estimator(self) -> Any:
        return _stump(epsilon=self.epsilon, variant=self.variant, save_budget=True)


@dataclass(frozen=True)
class GammaShares(Law):
    """A count plus ``parties`` differences of Gamma(1/parties) shares, less those that the colluders know.

    The attacker asks whether the result is within ``width`` of ``count``.
    """

    parties: int
    colluders: int
    count: int
    width: float
    epsilon: float = 0.1

    @property
    def shape(self) -> float:
        return (self.parties - self.colluders) / self.parties

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        centre = abs(self.count - len(y))
        return yes_or_no(math.log(self._mass(centre - self.width, centre + self.width)))

    def _mass(self, low: float, high: float) -> float:
        """The probability of noise in an interval: its density is |x|^v K_v(epsilon |x|), v = shape - 1/2, scaled."""
        v, epsilon = self.shape - 0.5, self.epsilon
        factor = epsilon * (epsilon / 2) ** v / (math.sqrt(math.pi) * gamma(self.shape))

        def density(x: float) -> float:
            return factor * abs(x) ** v * kv(v, epsilon * abs(x))

        if low < 0 < high:
            return quad(density, low, 0)[0] + quad(density, 0, high)[0]
        return quad(density, low, high)[0]


@dataclass(frozen=True)
class GeometricShares(Law):
    """A count of ``parties``, as colluders see it: plus the shares of all who are neither colluding nor missing.

    ``of`` shares make up the noise (``Terms.of``). The attacker sees the number itself, cut at ``reach`` around
    ``count``.
    """

    parties: int
    colluders: int
    missing: int
    of: int
    count: int = 5
    reach: int = 30
    epsilon: float = 0.1

    @property
    def unknown(self) -> int:
        """How many shares the attacker does not know."""
        return self.parties - self.colluders - self.missing

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        shift = len(y) - self.count
        far = self.reach + math.ceil(40 / self.epsilon)
        seen = np.arange(-far, far + 1)
        log_p = log_geometric_shares(seen - shift, 1 / self.epsilon, self.unknown / self.of)
        cut = np.clip(seen, -self.reach, self.reach)
        return {k: float(np.logaddexp.reduce(log_p[cut == k])) for k in range(-self.reach, self.reach + 1)}


@dataclass(frozen=True)
class SkellamShares(GeometricShares):
    """The same with shares of Skellam noise, as a tally of one table has it, for ``epsilon`` at ``delta``; not cut."""

    epsilon: float = 1.0
    delta: float = 1e-6

    @property
    def scale(self) -> float:
        rho = rho_within(exact(self.epsilon), exact(self.delta), True)
        return scale_for(1, ratio_for("skellam_shares", rho))

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        far = math.ceil(12 * self.scale)
        seen = np.arange(-far, far + 1)
        log_p = log_skellam(seen - (len(y) - self.count), self.scale, self.unknown / self.of)
        return dict(zip(seen.tolist(), log_p.tolist()))


def _by_value(column: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Class counts of the values 0 and 1 of a feature."""
    return np.array([[((column == value) & (y == label)).sum() for label in (0, 1)] for value in (0, 1)])


def shares_cost(parties: int, colluders: int, epsilon: float = 0.1) -> float:
    """The exact epsilon of the honest shares for one record: ln f(0) / f(1) of their density, shape above 1/2."""
    v = (parties - colluders) / parties - 0.5
    return math.log(2 ** (v - 1) * gamma(v) / (epsilon**v * kv(v, epsilon)))


_claim = partial(Claim, "Federated histograms")
_stump = partial(model, "HistogramTreeClassifier", max_depth=1, n_bins=2)
_any_rows = partial(alike, 5)
_first_of_its_class = partial(alike, 100, 50, label=1)
_TOLERATED = ((5, 1, 0), (5, 2, 1))  # of so many parties how many collude, and how many drop out

CLAIMS = (
    _claim(
        "federated-bounds",
        "HistogramTreeClassifier, published, saving, 50 features",
        partial(BoundsSeen, threshold=100 / 101),
        _first_of_its_class,
        "A record enters every feature's bound, and each is paid with the whole of the bounds' budget.",
        claimed=2.0,
        proven=11.75,
    ),
    _claim(
        "federated-bounds-sound",
        "HistogramTreeClassifier, sound, saving, 50 features",
        partial(BoundsSeen, threshold=100 / 101, variant="sound"),
        _first_of_its_class,
        "The bounds' budget is shared by the features.",
        claimed=2.0,
        proven=2.0,
    ),
    *(
        _claim(
            f"federated-histograms-{variant}",
            f"HistogramTreeClassifier, {variant}",
            partial(_stump, variant=variant, leaves="labels"),
            partial(kinds, 1, (2, 0, 0, 0), 3),
            "Algorithm 5: histograms share the node's budget, and leaves have their own. The claim holds.",
            window=window,
        )
        for variant, window in (("sound", (0, 2)), ("published", (0, 1)))
    ),
    *(
        _claim(
            f"federated-shares-{parties}-{colluders}",
            f"noise shares, {colluders} of {parties} collude",
            partial(GammaShares, parties, colluders, count=5, width=width),
            _any_rows,
            "Colluders subtract their own shares; what is left has a peak that Laplace noise has not.",
            claimed=0.1,
            proven=proven,
        )
        for parties, colluders, width, proven in ((5, 1, 1e-5, shares_cost(5, 1)), (4, 2, 1e-9, math.inf))
    ),
    *(
        _claim(
            f"federated-our-shares-{parties}-{colluders}-{missing}",
            f"our noise shares, {colluders} of {parties} collude, {missing} missing",
            partial(GeometricShares, parties, colluders, missing, parties - colluders - missing),
            _any_rows,
            "Shares are calibrated to the parties that neither collude nor drop out: theirs alone are the noise.",
            claimed=0.1,
            proven=0.1,
        )
        for parties, colluders, missing in _TOLERATED
    ),
    *(
        _claim(
            f"federated-skellam-{parties}-{colluders}-{missing}",
            f"our shares of Skellam noise, delta 1e-6, {colluders} of {parties} collude, {missing} missing",
            partial(SkellamShares, parties, colluders, missing, parties - colluders - missing),
            _any_rows,
            "Skellam noise divides as geometric noise does; what it costs comes with a delta.",
        )
        for parties, colluders, missing in _TOLERATED
    ),
)
