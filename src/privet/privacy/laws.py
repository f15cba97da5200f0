"""The mechanisms' exact laws, in log space: what the samplers are tested against and audits compute with."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


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


def log_geometric(k: np.ndarray | int, scale: float) -> np.ndarray:
    """Log-probability of two-sided geometric noise ``k``: (1-a)/(1+a) a^|k| with a = exp(-1/scale)."""
    return np.log(np.tanh(1 / (2 * scale))) - np.abs(k) / scale


def log_geometric_tail(k: int, scale: float) -> float:
    """Log-probability of two-sided geometric noise of at least ``k`` >= 1: a^k / (1 + a)."""
    return float(-k / scale - np.log1p(np.exp(-1 / scale)))
