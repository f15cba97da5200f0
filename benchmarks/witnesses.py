"""Every number that docs/theory.md prints, recomputed from first principles.

Run ``python benchmarks/witnesses.py``; it prints the table at the end of that page. Nothing here is
sampled: distributions are enumerated or integrated exactly, ratios are taken between logarithms.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.special import gamma, gammaln, kv


@dataclass(frozen=True)
class Witness:
    """One number: its mark in the text, what it is, its value and how the page prints it."""

    mark: str
    what: str
    value: float
    form: str = ".3f"

    @property
    def printed(self) -> str:
        return format(self.value, self.form)

    @property
    def row(self) -> str:
        return f"| {self.mark} | {self.what} | {self.printed} |"


# -- selection -----------------------------------------------------------------------------------------


def permute_and_flip(scores: Sequence[float], exponent: float) -> np.ndarray:
    """The law of permute-and-flip: ``p_r * integral over u in [0, 1] of prod_{s != r} (1 - u * p_s)``.

    The integrand is a polynomial, so Gauss-Legendre quadrature of that degree is exact.
    """
    q = np.asarray(scores, dtype=float)
    p = np.exp(exponent * (q - q.max()))
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    factors = 1 - np.outer((nodes + 1) / 2, p)
    others = np.stack([np.delete(factors, r, axis=1).prod(axis=1) for r in range(len(p))], axis=1)
    return p * (weights / 2 @ others)


def permute_and_flip_by_orders(scores: Sequence[float], exponent: float) -> np.ndarray:
    """The same law from the mechanism's own words: every order of the candidates, coin by coin."""
    p = [math.exp(exponent * (q - max(scores))) for q in scores]
    law = np.zeros(len(p))
    orders = list(itertools.permutations(range(len(p))))
    for order in orders:
        reached = 1.0
        for r in order:
            law[r] += reached * p[r]
            reached *= 1 - p[r]
    return law / len(orders)


def exponential_mechanism(scores: Sequence[float], exponent: float, base=None) -> np.ndarray:
    q = exponent * np.asarray(scores, dtype=float)
    weight = np.exp(q - q.max()) * (1.0 if base is None else np.asarray(base, dtype=float))
    return weight / weight.sum()


def overshooting_share(steps: int, round_up: bool) -> float:
    """Share of the budgets 1/steps, ..., 1 at which OpenDP's own map charges more than the budget."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    over = 0
    for i in range(1, steps + 1):
        epsilon = i / steps
        scale = math.nextafter(1 / epsilon, math.inf) if round_up else 1 / epsilon
        over += dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale).map(1) > epsilon
    return over / steps


# -- impurities of a child, scaled by its size ---------------------------------------------------------


def gini(counts: Sequence[int]) -> Fraction:
    """n * (1 - sum p^2)."""
    n = sum(counts)
    return Fraction(n * n - sum(c * c for c in counts), n) if n else Fraction(0)


def gini_integer(counts: Sequence[int], bits: int) -> int:
    """The same in fixed point, rounded down."""
    n = sum(counts)
    return ((n * n - sum(c * c for c in counts)) << bits) // n if n else 0


def entropy_slope(cap: int) -> float:
    return 1 + math.log(cap)


def entropy(counts: Sequence[int], cap: float = math.inf, slope: float | None = None) -> float:
    """n * entropy in nats; x ln x is continued above ``cap`` by a line, by default its tangent."""

    def x_log_x(x: float) -> float:
        if x > cap:
            return cap * math.log(cap) + (entropy_slope(cap) if slope is None else slope) * (x - cap)
        return x * math.log(x) if x else 0.0

    return x_log_x(sum(counts)) - sum(x_log_x(c) for c in counts)


def root_gini(counts: Sequence[int], cap: float = math.inf) -> float:
    a, b = (min(c, cap) for c in counts)
    return 2 * math.sqrt(a * b)


def all_counts(classes: int, up_to: int) -> Iterator[tuple[int, ...]]:
    return (c for c in itertools.product(range(up_to + 1), repeat=classes) if sum(c) <= up_to)


def changes(impurity: Callable[[Sequence[int]], float], classes: int, up_to: int) -> list[float]:
    """Every change of a child's impurity when one record joins at most ``up_to`` others."""
    out = []
    for counts in all_counts(classes, up_to):
        for k in range(classes):
            more = [c + (j == k) for j, c in enumerate(counts)]
            out.append(impurity(more) - impurity(counts))
    return out


def joint_quantile_score(counts: Sequence[int], spacings: Sequence[Fraction]) -> Fraction:
    n = sum(counts)
    return -sum((abs(c - p * n) for c, p in zip(counts, spacings, strict=True)), Fraction(0))


def quantile_range(level: Fraction, values: int, up_to: int) -> Fraction:
    """Largest spread of the changes of -abs((1-a)L - aR) over thresholds, over all small data sets."""
    widest = Fraction(0)
    for data in all_counts(values, up_to):
        n, left = sum(data), list(itertools.accumulate(data))[:-1]
        score = [-abs(left_n - level * n) for left_n in left]
        for v in range(values):
            after = [-abs(left_n + (v <= t) - level * (n + 1)) for t, left_n in enumerate(left)]
            moves = [b - a for a, b in zip(score, after, strict=True)]
            widest = max(widest, max(moves) - min(moves))
    return widest


# -- our tree, end to end ------------------------------------------------------------------------------

CELLS = list(itertools.product((0, 1), repeat=3))  # two binary features, one binary label
LAST = [(f, a, b) for f in (0, 1) for a in (0, 1) for b in (0, 1)]


def joint_tree_law(data: Sequence[int], split: float, last: float, bits: int = 20) -> np.ndarray:
    """Law of a depth-two tree: the root by Gini, each child by (split, labels) jointly."""

    def counts(rows: Sequence[int], f: int, side: int) -> list[int]:
        return [sum(m for m, c in zip(rows, CELLS, strict=True) if c[f] == side and c[2] == y) for y in (0, 1)]

    root_scores = [-sum(gini_integer(counts(data, f, s), bits) for s in (0, 1)) for f in (0, 1)]
    root = permute_and_flip(root_scores, split / 2 ** (bits + 1))
    law = []
    for f in (0, 1):
        children = []
        for side in (0, 1):
            rows = [m if c[f] == side else 0 for m, c in zip(data, CELLS, strict=True)]
            scores = [counts(rows, g, 0)[a] + counts(rows, g, 1)[b] for g, a, b in LAST]
            children.append(permute_and_flip(scores, last))
        law.append(root[f] * np.outer(*children).ravel())
    return np.concatenate(law)


def joint_tree_neighbours_loss(data: Sequence[int], split: float, last: float) -> float:
    """Largest exact privacy loss between one data set and all that have one record more."""
    law = np.log(joint_tree_law(data, split, last))
    more = ([m + (j == k) for j, m in enumerate(data)] for k in range(len(CELLS)))
    return max(float(np.abs(np.log(joint_tree_law(d, split, last)) - law).max()) for d in more)


def joint_tree_loss(split: float, last: float, up_to: int) -> float:
    """Largest exact privacy loss over all neighbouring data sets with at most ``up_to`` records."""
    laws = {d: np.log(joint_tree_law(d, split, last)) for d in all_counts(len(CELLS), up_to)}
    worst = 0.0
    for data, law in laws.items():
        for k in range(len(CELLS)):
            more = tuple(m + (j == k) for j, m in enumerate(data))
            if more in laws:
                worst = max(worst, float(np.abs(laws[more] - law).max()))
    return worst


# -- parts drawn by row order --------------------------------------------------------------------------


def tally_distance(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> int:
    """L1 distance of the per-part class tallies: the privacy loss of noisy tallies, in units of epsilon."""
    return sum(
        abs(part_before.count(k) - part_after.count(k))
        for part_before, part_after in zip(before, after, strict=True)
        for k in (0, 1)
    )


def round_robin_distance(n: int) -> int:
    rows = [i % 2 for i in range(n)]
    more = [1, *rows]
    return tally_distance([rows[0::2], rows[1::2]], [more[0::2], more[1::2]])


def equal_chunks_distance(parts: int, size: int) -> int:
    rows = [0] * (parts * size - 1)
    for j in range(parts - 1):
        rows[(j + 1) * size - 1] = j % 2  # the record that one insertion pushes over the boundary
    more = [1, *rows]

    def cut(r: list[int]) -> list[list[int]]:
        return [r[j * size : (j + 1) * size] for j in range(parts)]

    return tally_distance(cut(rows), cut(more))


# -- PrivaTree -----------------------------------------------------------------------------------------


def cut_geometric(count: int, epsilon: float, reach: int) -> np.ndarray:
    """Law of max(0, count + two-sided geometric noise); mass above count + reach is put there."""
    alpha = math.exp(-epsilon)
    law = np.zeros(count + reach + 1)
    for value in range(1, count + reach):
        law[value] = (1 - alpha) / (1 + alpha) * alpha ** abs(value - count)
    law[0] = alpha**count / (1 + alpha)
    law[-1] = alpha**reach / (1 + alpha)
    return law


@cache
def noisy_gini_law(cells: tuple[int, ...], epsilon: float, reach: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Values and law of the weighted-average Gini of one binary split, from four noisy cells.

    ``cells`` is (left class 0, left class 1, right class 0, right class 1). Each value is one correctly
    rounded quotient of integers below 2^53, so equal rationals compare equal and different ones differ.
    """
    laws = [cut_geometric(c, epsilon, reach) for c in cells]
    a, b, c, d = np.meshgrid(*(np.arange(len(p)) for p in laws), indexing="ij", sparse=True)
    left, right = a + b, c + d
    above = a * b * np.maximum(right, 1) + c * d * np.maximum(left, 1)
    below = np.maximum(left, 1) * np.maximum(right, 1) * np.maximum(left + right, 1)
    values, index = np.unique((above / below).ravel(), return_inverse=True)
    joint = np.einsum("i,j,k,l->ijkl", *laws).ravel()
    return values, np.bincount(index.ravel(), weights=joint)


def log_last_wins(last: tuple[int, ...], others: tuple[int, ...], features: int, epsilon: float) -> float:
    """ln P(the last feature has the strictly smallest noisy Gini); ties go to a lower feature."""
    values, law = noisy_gini_law(last, epsilon)
    other_values, other_law = noisy_gini_law(others, epsilon)
    at_least = np.append(np.cumsum(other_law[::-1])[::-1], 0.0)
    above = at_least[np.searchsorted(other_values, values, side="right")]
    live = (law > 0) & (above > 0)
    terms = np.log(law[live]) + (features - 1) * np.log(above[live])
    return float(np.logaddexp.reduce(terms))


def privatree_loss(features: int, epsilon: float = 1.0, rows: int = 12) -> float:
    before = log_last_wins((rows, 0, 0, rows), (rows, 0, 0, rows), features, epsilon)
    after = log_last_wins((rows, 0, 0, rows + 1), (rows, 1, 0, rows), features, epsilon)
    return after - before


def privatree_leaf_budget(depth: int, n: int, error: float) -> float:
    """Two classes: the exact worst error of one leaf is g * exp(-eps * g) / 2 at its worst gap g = 1/eps."""
    return 2**depth / (2 * math.e * n * error)


def privatree_equation_7(depth: int, n: int, error: float, classes: int = 2) -> float:
    p = np.linspace(1e-6, 1, 200_001)
    bound = 2 * np.log(1 / p) * (1 - (1 - (1 - p) ** classes) / (classes * p))
    return 2**depth * float(bound.max()) / (n * error)


def noisy_size_loss(noisy_size: float, epsilon: float) -> float:
    """Permute-and-flip on mean Gini, sensitivity read off a noisy size: one record, then a second.

    One record: every split is pure. The second record has the other class; candidate 0 separates the two,
    candidate 1 does not. Exponent epsilon / (2 * sensitivity) with sensitivity 1 / noisy_size.
    """
    exponent = epsilon * noisy_size / 2
    before = permute_and_flip([0, 0], exponent)[1]
    after = permute_and_flip([0, -float(gini([1, 1])) / 2], exponent)[1]
    return math.log(before / after)


# -- DP-TopDown ----------------------------------------------------------------------------------------


def released_maximum_loss(candidates: int, budget: float) -> float:
    """Laplace(2 * Delta / budget), Delta = 1; every score falls from q to q - 1; event: maximum <= q - 1."""
    scale = 2 / budget

    def log_cdf(x: float) -> float:  # Laplace, x <= 0
        return math.log(0.5) + x / scale

    return candidates * (log_cdf(0.0) - log_cdf(-1.0))


def noisy_counts_factor(functions: int, alpha: float = 1.0) -> float:
    """Printed scale functions / (3 * alpha); for each function a record is in one cell of three tables."""
    scale = functions / (3 * alpha)
    tables = 3
    return functions * tables * (1 / scale) / alpha


def gain(cells: Sequence[int], impurity: Callable[[float], float]) -> float:
    """Gain of a binary split; cells as in ``noisy_gini_law``."""
    n = sum(cells)
    if not n:
        return 0.0
    left, right = cells[0] + cells[1], cells[2] + cells[3]
    total = impurity((cells[1] + cells[3]) / n)
    for size, ones in ((left, cells[1]), (right, cells[3])):
        if size:
            total -= size / n * impurity(ones / size)
    return total


def root_gini_jump(m: int) -> float:
    """m records, the only class-1 record alone in its child; remove it."""

    def g(q: float) -> float:
        return 2 * math.sqrt(q * (1 - q))

    return gain((m - 1, 0, 0, 1), g) - gain((m - 1, 0, 0, 0), g)


def largest_gain_change(impurity: Callable[[float], float], bound: Callable[[int], float], up_to: int) -> float:
    """Largest change of the gain over its claimed bound at m = the larger size, over all small data."""
    worst = 0.0
    for cells in all_counts(4, up_to - 1):
        m = sum(cells) + 1
        if m < 2:
            continue
        for k in range(4):
            more = [c + (j == k) for j, c in enumerate(cells)]
            worst = max(worst, abs(gain(more, impurity) - gain(cells, impurity)) / bound(m))
    return worst


def gini_4(q: float) -> float:
    return 4 * q * (1 - q)


def bits_entropy(q: float) -> float:
    return -sum(x * math.log2(x) for x in (q, 1 - q) if x > 0)


# -- federated -----------------------------------------------------------------------------------------


def gamma_shares_loss(shape: float, epsilon: float) -> float:
    """Exact epsilon of the difference of two Gamma(shape, rate=epsilon) variables against a shift of 1.

    The density is proportional to |x|^v K_v(epsilon * |x|), v = shape - 1/2, log-convex on each side for
    shape <= 1, so the largest ratio is between 0 and 1; for shape <= 1/2 it is infinite at 0.
    """
    order = shape - 0.5
    if order <= 0:
        return math.inf
    at_zero = 2 ** (order - 1) * gamma(order)
    return math.log(at_zero / (epsilon**order * kv(order, epsilon)))


def negative_binomial(r: float, alpha: float, reach: int) -> np.ndarray:
    k = np.arange(reach + 1)
    return np.exp(gammaln(r + k) - gammaln(r) - gammaln(k + 1) + k * math.log(alpha) + r * math.log1p(-alpha))


def discrete_shares_loss(shape: float, epsilon: float) -> float:
    """Exact epsilon of the difference of two negative binomials with that total shape, on the integers."""
    law = negative_binomial(shape, math.exp(-epsilon), int(40 / epsilon))
    difference = [float(law[: len(law) - d] @ law[d:]) for d in range(int(10 / epsilon))]
    return float(np.abs(np.diff(np.log(difference))).max())


def discrete_shares_error(shares: int, epsilon: float) -> float:
    """Largest pointwise distance of the sum of that many shares from two-sided geometric noise."""
    alpha = math.exp(-epsilon)
    reach = int(40 / epsilon)
    one = negative_binomial(1 / shares, alpha, reach)
    share = np.convolve(one, one[::-1])
    total = share
    for _ in range(shares - 1):
        total = np.convolve(total, share)
    middle = len(total) // 2
    at = np.arange(-reach, reach + 1)
    want = (1 - alpha) / (1 + alpha) * alpha ** np.abs(at)
    return float(np.abs(total[middle - reach : middle + reach + 1] - want).max())


def bounds_factor(features: int, proportion: float, sensitivity: float) -> float:
    """Algorithm 6 as printed: noise for 5/4, the whole bounds budget for each feature, in node budgets."""
    per_bound = proportion * sensitivity / 1.25
    return features * per_bound + (1 - proportion)


# -- hidden trees --------------------------------------------------------------------------------------

Row = tuple[int, int, int]


def best_attribute(rows: Sequence[Row]) -> int:
    """Exact root: the largest correct count, the lower attribute on a tie."""
    score = []
    for f in (0, 1):
        cells = Counter((r[f], r[2]) for r in rows)
        score.append(sum(max(cells[v, 0], cells[v, 1]) for v in (0, 1)))
    return score.index(max(score))


def laplace_label_one(counts: Sequence[int], epsilon: float) -> float:
    """P(label 1 wins) when both class counts get Laplace(1/epsilon)."""
    t = epsilon * abs(counts[1] - counts[0])
    smaller_wins = (2 + t) / 4 * math.exp(-t)
    return 1 - smaller_wins if counts[1] > counts[0] else smaller_wins


def hidden_prediction(rows: Sequence[Row], query: Sequence[int], epsilon: float) -> float:
    f = best_attribute(rows)
    leaf = Counter(r[2] for r in rows if r[f] == query[f])
    return laplace_label_one((leaf[0], leaf[1]), epsilon)


def hidden_tree(a: int, epsilon: float) -> tuple[float, float]:
    """P(prediction 1 for the query (0, 0)) before and after one row joins."""
    rows: list[Row] = [(0, 1, 0)] * a + [(1, 0, 1)] * a
    return hidden_prediction(rows, (0, 0), epsilon), hidden_prediction([*rows, (1, 1, 0)], (0, 0), epsilon)


def poisson_amplified(rate: float, epsilon: float) -> float:
    return math.log1p(rate * math.expm1(epsilon))


def algorithm_13(cumulative: Sequence[float], u: float, downwards: bool = False) -> int:
    """The oblivious scan, with the comparison against p_i; upwards it is as printed."""
    index = 0
    order = range(1, len(cumulative) + 1)
    for i in reversed(order) if downwards else order:
        index = i if u * cumulative[-1] <= cumulative[i - 1] else index
    return index


def algorithm_13_last(weights: Sequence[float], steps: int = 1000, downwards: bool = False) -> float:
    """Share of a fine grid of u on which the scan returns the last index."""
    cumulative = list(itertools.accumulate(weights))
    hits = [algorithm_13(cumulative, (i + 0.5) / steps, downwards) == len(weights) for i in range(steps)]
    return sum(hits) / steps


def clipped_exponential(scores: Sequence[float], epsilon: float) -> np.ndarray:
    """Exponents epsilon * (q - max) / 2, those below -5 set to weight zero."""
    s = epsilon * (np.asarray(scores, dtype=float) - max(scores)) / 2
    weight = np.where(s < -5, 0.0, np.exp(s))
    return weight / weight.sum()


# -- DiPriMe -------------------------------------------------------------------------------------------


def candidate_medians(k: int, eps_s: float, eps_a: float, gap: int = 6, size: int = 40_000) -> tuple[float, float]:
    """ln P(attribute K is chosen) before and after one record joins; K - 1 equal attributes beside it.

    Equal attributes take the values 0, 1/2 and 1; the target is 1 exactly where the value is 1. A median
    above 1/2 separates the target exactly, one below does not. Attribute K has one split only, with
    a squared error between the two. The new record has value 0 in the equal attributes. Exponential
    mechanism with the published exponents, eps_s * q / 2 and eps_a * SSE / (2 * R^2).
    """

    def sse(zeros: int, ones: int) -> float:
        return zeros * ones / (zeros + ones) if zeros + ones else 0.0

    def log_chosen(zeros: int) -> float:
        halves = ones = size
        low, high = -abs(zeros - halves - ones), -abs(zeros + halves - ones)
        log_bad, log_good = np.log(exponential_mechanism([low, high], eps_s / 2))
        stray = size // 8  # ones that attribute K sends to the side of the zeros and halves
        own = sse(zeros + halves, stray)
        terms = []
        for good in range(k):
            score = [0.0] * good + [-sse(halves, ones)] * (k - 1 - good) + [-own]
            exponents = eps_a / 2 * np.asarray(score)
            log_pick = exponents[-1] - np.logaddexp.reduce(exponents)
            draws = math.log(math.comb(k - 1, good)) + good * log_good + (k - 1 - good) * log_bad
            terms.append(draws + log_pick)
        return float(np.logaddexp.reduce(terms))

    zeros = size - gap
    return log_chosen(zeros), log_chosen(zeros + 1)


def candidate_medians_loss(k: int, eps_s: float, eps_a: float) -> float:
    before, after = candidate_medians(k, eps_s, eps_a)
    return after - before


def leaf_mean_loss(n: int, x: float, epsilon: float = 1.0, bound: float = 1.0) -> float:
    """Log ratio at x of the published leaf mean, n and n + 1 records with target 0: scale 2B / (n * eps)."""

    def log_density(size: int) -> float:
        scale = 2 * bound / (size * epsilon)
        return -math.log(2 * scale) - abs(x) / scale

    return log_density(n) - log_density(n + 1)


def data_interval_loss(width: float, epsilon: float = 1.0) -> float:
    """Permute-and-flip over the intervals between records: {1/2} against {1/2, 1/2 + width}.

    Event: the split falls between 1/2 and 1/2 + width.
    """
    before = permute_and_flip([-1, -1], epsilon / 2)[1] * width / 0.5
    after = permute_and_flip([-2, 0, -2], epsilon / 2)[1]
    return math.log(after / before)


# -- the table -----------------------------------------------------------------------------------------


# -- baselines -----------------------------------------------------------------------------------------


def smooth_label_loss(lead: int, epsilon: float, factor: float = 1.0) -> float:
    """The minority's label, drawn with log-odds factor * epsilon * exp(lead * epsilon) against it; one lead more."""

    def log_minority(lead: int) -> float:
        return -math.log1p(math.exp(factor * epsilon * math.exp(lead * epsilon)))

    return log_minority(lead) - log_minority(lead + 1)


def noisy_gini_loss(noisy_size: int, epsilon: float) -> float:
    """The exponential mechanism on mean Gini, at the sensitivity 1 - (N/(N+1))^2 - (1/(N+1))^2 of a noisy size N.

    Two records, which both candidates separate; the third leaves candidate 0 with a child of one record and a pair
    of both classes, so its mean impurity is 1/3, and candidate 1 pure.
    """
    n = noisy_size
    sensitivity = 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2
    impurity = float(gini([1, 1])) / 3
    return math.log1p(math.exp(epsilon * impurity / (2 * sensitivity))) - math.log(2)


def witnesses() -> list[Witness]:
    before, after = hidden_tree(100, 0.1)
    deciles = [Fraction(1, 10)] * 10
    return [
        Witness("W1", "entropy slope at N_max = 10: tangent", entropy_slope(10), ".4f"),
        Witness(
            "W2",
            "entropy slope at N_max = 10: last chord, the least monotone one",
            10 * math.log(10) - 9 * math.log(9),
            ".4f",
        ),
        Witness(
            "W3",
            "joint quantiles, deciles: largest change of one score",
            float(abs(joint_quantile_score([1, *[0] * 9], deciles))),
            ".1f",
        ),
        Witness(
            "W4",
            "our tree, budget 1/2 + 1/2, all data of at most 4 records: exact loss",
            joint_tree_loss(0.5, 0.5, 4),
            ".4f",
        ),
        Witness(
            "W5",
            "our tree, budget 1/2 + 1/2, one data set of 180 records: exact loss",
            joint_tree_neighbours_loss((60, 0, 30, 20, 0, 10, 0, 60), 0.5, 0.5),
            ".4f",
        ),
        Witness(
            "W6",
            "two parts by alternate rows, 200 records: loss in units of eps",
            round_robin_distance(200),
            "d",
        ),
        Witness("W7", "ten equal chunks: loss in units of eps", equal_chunks_distance(10, 20), "d"),
        Witness(
            "W8",
            "budgets 0.005 to 1, scale 1/eps: share that overshoots",
            overshooting_share(200, False),
            ".2f",
        ),
        Witness("W9", "the same with the scale rounded up", overshooting_share(200, True), ".0f"),
        Witness("P1", "PrivaTree, eps_node = 1, m = 5: log ratio", privatree_loss(5)),
        Witness("P2", "PrivaTree, eps_node = 1, m = 14: log ratio", privatree_loss(14)),
        Witness("P3", "PrivaTree, eps_node = 1, m = 50: log ratio", privatree_loss(50), ".1f"),
        Witness("P4", "PrivaTree, eps = 1, eps_leaf = 1/2, m = 14: what it costs", 14 * 0.5 + 0.5, ".1f"),
        Witness("P5", "two-sided geometric noise with alpha = 0.1: true eps", math.log(1 / 0.1)),
        Witness("P6", "eps at which alpha = eps would be exact", omega(), ".4f"),
        Witness(
            "P7",
            "leaf budget, depth 4, n = 10000, error 0.01: Eq. 7",
            privatree_equation_7(4, 10_000, 0.01),
            ".4f",
        ),
        Witness(
            "P8",
            "leaf budget, depth 4, n = 10000, error 0.01: needed",
            privatree_leaf_budget(4, 10_000, 0.01),
            ".4f",
        ),
        Witness(
            "P9",
            "sensitivity at a noisy size of 50, true sizes 1 and 2, eps = 1: log ratio",
            noisy_size_loss(50, 1.0),
            ".1f",
        ),
        Witness("T1", "released noisy maximum, k = 10, budget 1: log ratio", released_maximum_loss(10, 1.0), ".1f"),
        Witness("T2", "NoisyCounts: cost over claim", noisy_counts_factor(7), ".0f"),
        Witness("T3", "root-Gini gain, m = 101: change", root_gini_jump(101)),
        Witness("T4", "root-Gini gain, m = 101: claimed sensitivity", 10 / 101),
        Witness(
            "T5",
            "Gini gain, m <= 10: largest change over 20/m",
            largest_gain_change(gini_4, lambda m: 20 / m, 10),
        ),
        Witness(
            "T6",
            "entropy gain, m <= 10: largest change over its bound",
            largest_gain_change(bits_entropy, lambda m: 2 / m * (3 * math.log2(m) + 1), 10),
        ),
        Witness("F1", "gamma shares, K = 5, one colluder, eps = 0.1: true eps", gamma_shares_loss(0.8, 0.1), ".4f"),
        Witness(
            "F2",
            "gamma shares, K = 5, two colluders, eps = 0.1: true eps",
            gamma_shares_loss(0.6, 0.1),
            ".4f",
        ),
        Witness("F3", "gamma shares, K = 4, two colluders: true eps", gamma_shares_loss(0.5, 0.1), ".0f"),
        Witness(
            "F4",
            "integer shares of shape 1/5, one colluder, eps = 0.1: true eps",
            discrete_shares_loss(0.8, 0.1),
            ".4f",
        ),
        Witness(
            "F5",
            "integer shares of shape 1/5, three colluders, eps = 0.1: true eps",
            discrete_shares_loss(0.4, 0.1),
            ".4f",
        ),
        Witness(
            "F6",
            "four integer shares of shape 1/4, eps = 0.1: true eps",
            discrete_shares_loss(1.0, 0.1),
            ".4f",
        ),
        Witness(
            "F7",
            "three servers, shape 1/2: standard deviation over that of one geometric noise",
            math.sqrt(3 * 0.5),
            ".2f",
        ),
        Witness(
            "F8",
            "Algorithm 6, p = 50, bounds_prop 1/4, sensitivity 1: cost in node budgets",
            bounds_factor(50, 0.25, 1.0),
            ".2f",
        ),
        Witness("F9", "Algorithm 6, the same with sensitivity 5/4", bounds_factor(50, 0.25, 1.25), ".2f"),
        Witness("H1", "hidden tree, a = 100, eps = 0.1: P(1) before", before, ".2e"),
        Witness("H2", "hidden tree, a = 100, eps = 0.1: P(1) after", after, ".4f"),
        Witness("H3", "hidden tree, a = 100, eps = 0.1: log ratio", math.log(after / before), ".2f"),
        Witness("H4", "Poisson sampling, rate 0.2, eps = 1: true eps", poisson_amplified(0.2, 1.0), ".4f"),
        Witness("H5", "five such trees (claimed: 1)", 5 * poisson_amplified(0.2, 1.0), ".4f"),
        Witness(
            "H6",
            "Algorithm 13 scanning upwards: share of draws that return the last index",
            algorithm_13_last([0.7, 0.2, 0.1]),
            ".0f",
        ),
        Witness(
            "H7",
            "the same scanning downwards (weight 0.1)",
            algorithm_13_last([0.7, 0.2, 0.1], downwards=True),
            ".1f",
        ),
        Witness(
            "H8",
            "exponents cut at -5, eps = 1: P(second) at gap 10",
            clipped_exponential([10, 0], 1.0)[1],
            ".4f",
        ),
        Witness(
            "H9",
            "exponents cut at -5, eps = 1: P(second) at gap 11",
            clipped_exponential([11, 0], 1.0)[1],
            ".0f",
        ),
        Witness(
            "D1",
            "five candidate medians, eps_s = 1, eps_a = 0.1 (claimed: 1.1): log ratio",
            candidate_medians_loss(5, 1.0, 0.1),
            ".2f",
        ),
        Witness(
            "D2",
            "ten candidate medians, eps_s = 1, eps_a = 0.1 (claimed: 1.1): log ratio",
            candidate_medians_loss(10, 1.0, 0.1),
            ".2f",
        ),
        Witness(
            "D3",
            "leaf mean of 10 and 11 records, eps = 1, at x = 40: log ratio",
            leaf_mean_loss(10, 40.0),
            ".1f",
        ),
        Witness(
            "D4",
            "permute-and-flip between records, width 1e-6, eps = 1: log ratio",
            data_interval_loss(1e-6),
            ".1f",
        ),
        Witness(
            "B1",
            "label by smooth sensitivity, lead 3 and 4, eps = 1: log ratio",
            smooth_label_loss(3, 1.0),
            ".1f",
        ),
        Witness(
            "B2",
            "the same with half the exponent: log ratio",
            smooth_label_loss(3, 1.0, 0.5),
            ".1f",
        ),
        Witness(
            "B3",
            "Gini sensitivity at a noisy size of 50, true sizes 2 and 3, eps = 1: log ratio",
            noisy_gini_loss(50, 1.0),
            ".1f",
        ),
        Witness(
            "B4",
            "the same at a noisy size of 500: log ratio",
            noisy_gini_loss(500, 1.0),
            ".0f",
        ),
    ]


def omega() -> float:
    """The root of x = exp(-x)."""
    x = 0.5
    for _ in range(100):
        x = math.exp(-x)
    return x


def table() -> str:
    return "\n".join(["| mark | what | value |", "|---|---|---|", *(w.row for w in witnesses())])


if __name__ == "__main__":
    print(table())
