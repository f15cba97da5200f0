"""The mechanisms' exact laws, in log space: what the samplers are tested against and audits compute with."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np

from privet.privacy.scores import JointQuantiles


def log_permute_and_flip(scores: np.ndarray, scale: float) -> np.ndarray:
    """Log-probabilities of permute-and-flip (noisy max with exponential noise).

    With p_j = exp((q_j - max q) / scale), candidate r wins with probability p_r * integral over u in [0, 1]
    of the product over j != r of (1 - p_j u). The integrand is a polynomial of degree k - 1, which
    Gauss-Legendre quadrature with k/2 points integrates exactly; all terms are positive.

    >>> np.exp(log_permute_and_flip(np.array([0, 0]), 1.0)).round(12).tolist()
    [0.5, 0.5]
    """
    log_p = (scores - scores.max()) / scale
    points, weights = _gauss_legendre(len(scores) // 2 + 1)
    u, log_w = (points + 1) / 2, np.log(weights / 2)
    with np.errstate(divide="ignore"):
        log_terms = np.log1p(-np.exp(log_p)[:, None] * u)
    log_others = log_terms.sum(axis=0) - log_terms
    return log_p + np.logaddexp.reduce(log_others + log_w, axis=1)


@lru_cache(maxsize=64)
def _gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(n)


def log_exponential(scores: np.ndarray, scale: float) -> np.ndarray:
    """Log-probabilities of the exponential mechanism (noisy max with Gumbel noise).

    >>> np.exp(log_exponential(np.array([0, 0, 0, 0]), 3.0)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    log_p = (scores - scores.max()) / scale
    return log_p - np.logaddexp.reduce(log_p)


def log_report_noisy_max(scores: np.ndarray, scale: float) -> np.ndarray:
    """Log-probabilities of report-noisy-max with two-sided geometric noise on integer scores, ties broken evenly.

    With noise of ratio a = exp(-1 / scale) and a fresh uniform number u for ties, r wins at v = q_r + Z_r with chance
    P(r) = sum over v of P(Z = v - q_r) times the integral over u in [0, 1] of the product over s != r of
    P(q_s + Z_s + u_s <= v + u). Each factor is linear in u, so Gauss-Legendre quadrature integrates it exactly. Between
    two neighbouring scores the summand is a polynomial in a^v: whole numbers are summed in blocks of less than half a
    scale by Gauss quadrature for sums, to all digits of a float; few numbers, one by one. All terms are positive. What
    is left out, beyond 45 scales on both sides, is below a float's precision.

    >>> np.exp(log_report_noisy_max(np.array([0, 0]), 1.0)).round(12).tolist()
    [0.5, 0.5]
    """
    return np.array(_report_noisy_max(tuple((scores - scores.max()).tolist()), scale))


@lru_cache(maxsize=4096)
def _report_noisy_max(gaps: tuple[int, ...], scale: float) -> np.ndarray:
    """The same for scores below the best one; kept, because an audit asks for the same law again and again."""
    if len(gaps) == 1:
        return np.zeros(1)
    q = np.array(gaps, dtype=np.float64)
    v, log_weights = _sum_points(np.unique(q), scale, block=scale * min(0.5, 4 / len(q)))
    # The product hardly changes with u where the noise is wide: few points are then enough for all digits.
    enough = 4 if scale > 16 * len(q) else 8 if scale > len(q) else len(q)
    points, weights = _gauss_legendre(min(len(q) // 2 + 1, enough))
    u, log_w = (points + 1) / 2, np.log(weights / 2)
    step = -np.expm1(-1 / scale)
    log_one_plus_a = np.log1p(np.exp(-1 / scale))
    log_p = np.full(len(q), -np.inf)
    for some in np.array_split(np.arange(len(v)), max(1, len(v) * len(q) * len(u) // 4_000_000)):
        with np.errstate(over="ignore"):
            ahead = np.clip((v[some] - q[:, None]) / scale, -1e300, 1e300)
        log_at = np.log(step) - log_one_plus_a - np.abs(ahead)
        with np.errstate(divide="ignore", over="ignore"):
            below = (-np.maximum(-ahead, 0))[..., None] + np.log(1 - step + u * step) - log_one_plus_a
            above = np.log1p(-np.exp(-np.maximum(ahead, 0) - log_one_plus_a)[..., None] * (1 - u * step))
        log_up_to = np.where(ahead[..., None] < 0, below, above)
        log_others = log_up_to.sum(axis=0) - log_up_to
        terms = log_at + log_weights[some] + np.logaddexp.reduce(log_others + log_w, axis=2)
        log_p = np.logaddexp(log_p, np.logaddexp.reduce(terms, axis=1))
    return log_p


def _sum_points(scores: np.ndarray, scale: float, block: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and log-weights that sum a function over all whole numbers within 45 scales of the scores.

    The function is smooth between two neighbouring ``scores``, which are whole and sorted, and over ``block`` numbers.
    In the middle of a long gap it is constant, or so small there that it does not count: one point stands for all.
    """
    far = np.ceil(45 * scale)
    points, weights = [], []
    for low, high in pairwise([scores[0] - far, *scores, scores[-1] + far + 1]):
        ends = [(low, high)]
        if high - low > 2 * far:
            points.append(np.array([low + far]))
            weights.append(np.array([high - low - 2 * far]))
            ends = [(low, low + far), (high - far, high)]
        for start, end in ends:
            pieces = max(1, int(np.ceil((end - start) / max(block, _NODES))))
            edges = np.floor(np.linspace(start, end, pieces + 1))
            lengths = np.diff(edges)
            for length in np.unique(lengths):
                nodes, of_nodes = _gauss_sum(int(length))
                starts = edges[:-1][lengths == length]
                points.append((starts[:, None] + nodes).ravel())
                weights.append(np.tile(of_nodes, len(starts)))
    return np.concatenate(points), np.log(np.concatenate(weights))


_NODES = 16


@lru_cache(maxsize=256)
def _gauss_sum(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights that sum polynomials of degree 31 over 0, 1, ..., n - 1 exactly.

    The Gauss quadrature of the discrete Chebyshev polynomials, from the eigenvalues of their recurrence (Golub and
    Welsch); for few numbers, the numbers themselves.
    """
    if n <= _NODES:
        return np.arange(n, dtype=float), np.ones(n)
    k = np.arange(1, _NODES)
    side = np.sqrt(k**2 * (1 - (k / n) ** 2) / (4 * (4 * k**2 - 1))) * n
    nodes, vectors = np.linalg.eigh(np.diag(side, 1) + np.diag(side, -1))
    return nodes + (n - 1) / 2, n * vectors[0] ** 2


def log_joint_quantiles(
    counts: np.ndarray, score: JointQuantiles, weights: np.ndarray, scale: float
) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All ordered cuts that joint quantiles may choose, repeats included, and their log-probabilities: for tiny grids.

    >>> cuts, log_p = log_joint_quantiles(np.zeros(3, int), JointQuantiles((1, 1, 1)), np.ones(2), 1.0)
    >>> cuts, np.exp(log_p).round(12).tolist()
    ([(0, 0), (0, 1), (1, 1)], [0.25, 0.5, 0.25])
    """
    cuts = list(combinations_with_replacement(range(len(weights)), len(score.spacings) - 1))
    up_to = np.cumsum(counts)
    below = np.array([[0, *up_to[list(each)], up_to[-1]] for each in cuts])
    repeats = [math.prod(math.factorial(each.count(cut)) for cut in set(each)) for each in cuts]
    log_measure = np.log(weights)[np.array(cuts)].sum(axis=1) - np.log(repeats)
    scores = score.of(np.diff(below, axis=1))
    log_p = (scores - scores.max()) / scale + log_measure
    return cuts, log_p - np.logaddexp.reduce(log_p)


def log_geometric(k: np.ndarray | int, scale: float) -> np.ndarray:
    """Log-probability of two-sided geometric noise ``k``: (1-a)/(1+a) a^|k| with a = exp(-1/scale)."""
    return np.log(np.tanh(1 / (2 * scale))) - np.abs(k) / scale


def log_geometric_shares(k: np.ndarray | int, scale: float, shape: float) -> np.ndarray:
    """Log-probability of ``k`` as the sum of shares of two-sided geometric noise that are ``shape`` of the whole.

    The difference of two negative binomial numbers of this shape and ratio a = exp(-1/scale): the sum over x >= 0 of
    P(x) P(x + |k|). What is left out, beyond 45 scales, is below a float's precision.

    >>> bool(np.allclose(log_geometric_shares(np.arange(9), 2.0, 1.0), log_geometric(np.arange(9), 2.0)))
    True
    """
    k = np.abs(np.asarray(k, dtype=np.int64))
    x = np.arange(math.ceil(45 * scale) + 2)
    log_p = np.array([math.lgamma(shape + j) - math.lgamma(j + 1) for j in range(len(x) + int(k.max(initial=0)))])
    log_p += shape * math.log(-math.expm1(-1 / scale)) - math.lgamma(shape) - np.arange(len(log_p)) / scale
    return _of_differences(log_p, x, k)


def log_skellam(k: np.ndarray | int, scale: float, shape: float = 1.0) -> np.ndarray:
    """Log-probability of ``k`` as the sum of shares of Skellam noise that are ``shape`` of the whole.

    The difference of two Poisson numbers of mean m = shape * scale^2 / 2: the sum over x >= 0 of P(x) P(x + |k|). What
    is left out is below a float's precision.

    >>> bool(np.isclose(np.exp(log_skellam(np.arange(-60, 61), 3.0)).sum(), 1))
    True
    """
    k = np.abs(np.asarray(k, dtype=np.int64))
    mean = shape * scale**2 / 2
    reach = 40 * math.sqrt(mean) + 60
    x = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach))
    first, last = int(x[0]), int(x[-1]) + int(k.max(initial=0))
    log_p = np.array([j * math.log(mean) - mean - math.lgamma(j + 1) for j in range(first, last + 1)])
    # Terms are largest where x (x + k) = m^2, which is below the mean: the window reaches far enough down for that.
    return _of_differences(log_p, x - first, k)


def _of_differences(log_p: np.ndarray, x: np.ndarray, k: np.ndarray) -> np.ndarray:
    """The logarithm, for each k, of the sum over x of p(x) p(x + k)."""
    return np.array([np.logaddexp.reduce(log_p[x] + log_p[x + j]) for j in k.ravel()]).reshape(k.shape)


def log_gaussian(k: np.ndarray | float, scale: float) -> np.ndarray:
    """Log-probability of discrete Gaussian noise ``k``: proportional to exp(-k^2 / (2 scale^2))."""
    if scale > 10:  # the sum is the integral, but for a relative error of 2 exp(-2 pi^2 scale^2)
        log_total = np.log(np.sqrt(2 * np.pi) * scale)
    else:
        reach = np.arange(1, 500)
        log_total = np.log1p(2 * np.exp(-(reach**2) / (2 * scale**2)).sum())
    return -(np.asarray(k, dtype=float) ** 2) / (2 * scale**2) - log_total


def log_geometric_tail(k: int, scale: float) -> float:
    """Log-probability of two-sided geometric noise of at least ``k`` >= 1: a^k / (1 + a)."""
    return float(-k / scale - np.log1p(np.exp(-1 / scale)))


def log_gaussian_tail(k: int, scale: float) -> float:
    """Log-probability of discrete Gaussian noise of at least ``k`` >= 1.

    Narrow noise is added up. Of wide noise the sum is the integral from k - 1/2 on and a first correction (Euler and
    Maclaurin), but for a relative error of about (k / scale^2)^4.
    """
    if scale <= 100:
        return float(np.logaddexp.reduce(log_gaussian(np.arange(k, k + math.ceil(40 * scale) + 2), scale)))
    from scipy.special import log_ndtr  # type: ignore[import-untyped]

    edge = k - 0.5
    log_tail = float(log_ndtr(-edge / scale))
    slope = edge / scale**2 * math.exp(float(log_gaussian(edge, scale)) - log_tail)
    return log_tail + math.log1p(-slope / 24)
