"""No data move a score by more than its constant, and with a smaller constant some would.

Each search goes over all data of a small size. A search that finds the constant itself shows that it cannot be
lowered by a single unit; where it is larger than what any data reach, the test says by how much.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import LeakError
from privet.privacy import scores as s
from privet.privacy.fixed_point import ONE
from privet.privacy.sensitivity import proven
from small_counts import all_counts, one_more

F = Fraction
WEIGHTS = (0, 1, 100, 128, 255, 256)
CLASS_SCORES = [
    s.Gini(),
    *map(s.Mixed, WEIGHTS),
    *map(s.Entropy, (1, 2, 3, 5, 1000)),
    *map(s.RootGini, (1, 2, 3, 4, 7)),
    s.CorrectCount(),
]
by_lemma = pytest.mark.parametrize("score", CLASS_SCORES, ids=lambda score: score.lemma)


def changes(score, data):
    return np.concatenate([score.of(more) - score.of(data) for more in one_more(data)])


def classes_of(score):
    return 2 if isinstance(score, s.RootGini) else 3


def sign(score):
    """A count grows when a record comes in, an impurity too, and its score is minus the impurity."""
    return 1 if isinstance(score, s.CorrectCount) else -1


@pytest.mark.parametrize("most", [1, 2, 256])
def test_a_record_adds_to_every_model_at_most_what_a_prediction_is_worth(most):
    """All tables of up to four records in three cells, whatever a record in each cell is worth."""
    score = s.Worth(most)
    worths = list(itertools.product({0, most // 2, most}, repeat=3))
    largest = 0
    for counts in itertools.product(range(4), repeat=3):
        before = np.array([score.of(np.array(counts) * worth) for worth in np.array(worths)])
        for cell in range(3):
            more = np.array(counts) + (np.arange(3) == cell)
            change = np.array([score.of(more * worth) for worth in np.array(worths)]) - before
            assert change.min() >= 0  # all in one direction, so the range is the largest change
            largest = max(largest, int(change.max()))
    assert largest == score.sensitivity == proven(score.lemma)


# -- scores of class counts ----------------------------------------------------------------------------------


@by_lemma
def test_no_record_moves_a_class_score_by_more_than_its_constant_nor_the_other_way(score):
    """One child of up to 12 per class, two and three children together: counts cross the smaller caps."""
    one_child = all_counts(12, 1, classes_of(score))
    two_children = all_counts(3, 2, 3) if classes_of(score) == 3 else all_counts(6, 2, 2)
    for data in (one_child, two_children, all_counts(4, 3, 2)):
        change = sign(score) * changes(score, data)
        assert change.min() >= 0
        assert change.max() <= score.sensitivity


@pytest.mark.parametrize("score", [*map(s.Entropy, (1, 2, 3, 5)), s.CorrectCount(), s.Mixed(0)], ids=lambda x: x.lemma)
def test_small_data_reach_the_constant_exactly(score):
    assert np.abs(changes(score, all_counts(12, 1, 3))).max() == score.sensitivity


@pytest.mark.parametrize("score", [s.Gini(), *map(s.Mixed, WEIGHTS)], ids=lambda score: score.lemma)
def test_large_data_reach_the_constants_that_are_only_limits(score):
    """2(N-1)/N stays below 2, but on the grid of 2^-8 a nearly pure child of 2,000 records reaches the limit."""
    large = np.arange(500, 4_000)
    data = np.concatenate([np.stack([large, np.full_like(large, k), 0 * large], axis=-1) for k in range(4)])[:, None]
    change = -changes(score, data)
    assert change.min() >= 0
    assert change.max() == score.sensitivity


@pytest.mark.parametrize("cap", range(1, 30))
def test_root_gini_is_tight_up_to_the_rounding_of_its_root(cap):
    """Reached exactly where 2^8 * 2 * sqrt(cap) is whole, missed by one unit where it is rounded up."""
    score = s.RootGini(cap)
    largest = np.abs(changes(score, all_counts(cap + 2, 1, 2))).max()
    assert largest == math.isqrt(4 * ONE**2 * cap)
    assert score.sensitivity - largest == (math.isqrt(cap) ** 2 != cap)


@by_lemma
def test_all_candidates_of_a_node_move_in_one_direction_within_the_constant(score):
    """Two binary features and the class: all data of up to four records, both splits and the unsplit node."""
    kinds = list(itertools.product((0, 1), (0, 1), (0, 1)))

    def scores(records):
        counts = np.zeros((3, 2, 2), dtype=np.int64)
        for a, b, label in records:
            counts[0, a, label] += 1
            counts[1, b, label] += 1
            counts[2, 0, label] += 1  # not to split is to send all to one child
        return score.of(counts)

    known = {}
    for n in range(6):
        for records in itertools.combinations_with_replacement(kinds, n):
            known[records] = scores(records)
    for records, before in known.items():
        if len(records) < 5:
            for kind in kinds:
                change = known[tuple(sorted((*records, kind)))] - before
                assert change.max() - change.min() <= score.sensitivity
                assert (sign(score) * change >= 0).all()


@by_lemma
def test_an_attribute_with_a_child_for_each_value_moves_with_the_others(score):
    """A feature of three values and one of two, with the class: the three-way split, both binary ones, and no split."""
    kinds = list(itertools.product((0, 1, 2), (0, 1), (0, 1)))

    def scores(records):
        counts = np.zeros((4, 3, 2), dtype=np.int64)
        for a, b, label in records:
            for candidate, child in enumerate((a, b, a > 0, 0)):
                counts[candidate, int(child), label] += 1
        return score.of(counts)

    known = {
        records: scores(records) for n in range(5) for records in itertools.combinations_with_replacement(kinds, n)
    }
    for records, before in known.items():
        if len(records) < 4:
            for kind in kinds:
                change = known[tuple(sorted((*records, kind)))] - before
                assert change.max() - change.min() <= score.sensitivity
                assert (sign(score) * change >= 0).all()


@by_lemma
def test_empty_children_change_nothing(score):
    data = all_counts(3, 2, 2)
    filled = np.concatenate([data, np.zeros_like(data)], axis=1)
    assert (score.of(filled) == score.of(data)).all()


def test_a_labelled_split_of_three_children_counts_a_record_or_does_not():
    def scores(children):
        return children[:, 0, :, None, None] + children[:, 1, None, :, None] + children[:, 2, None, None, :]

    data = all_counts(2, 3, 2)
    for more in one_more(data):
        assert set(np.unique(scores(more) - scores(data))) == {0, 1}


def test_a_labelled_split_counts_a_record_or_does_not():
    """The correct count of (split, left label, right label): 0 or 1 more, for all pairs of labels at once."""

    def scores(children):
        return children[:, 0, :, None] + children[:, 1, None, :]

    data = all_counts(2, 2, 3)
    for more in one_more(data):
        assert set(np.unique(scores(more) - scores(data))) == {0, 1}


# -- fixed point ----------------------------------------------------------------------------------------------

big = st.integers(0, 2**27 - 2)


@st.composite
def huge_children(draw, most=5):
    """Class counts of one child, together less than 2^27 - 1: small ones, large ones, and the largest there can be."""
    n = draw(st.integers(2, most))
    counts, room = [], 2**27 - 2
    for _ in range(n):
        counts.append(min(room, draw(st.one_of(st.integers(0, 5), big, st.just(room)))))
        room -= counts[-1]
    return np.array([draw(st.permutations(counts))], dtype=np.int64)


@settings(max_examples=150, deadline=None)
@given(huge_children(), st.integers(0, 4), st.integers(0, 256))
def test_the_floors_of_huge_counts_are_exact_and_exactly_monotone(child, k, weight):
    more = child.copy()
    more[0, k % child.shape[1]] += 1
    for score in (s.Gini(), s.Mixed(weight)):
        for data in (child, more):
            c = [int(x) for x in data[0]]
            n = sum(c)
            g = F(n * n - sum(x * x for x in c), max(n, 1))
            if isinstance(score, s.Gini):
                expected = math.floor(256 * g)
            else:
                expected = (256 - weight) * (n - max(c)) + math.floor(weight * g / 2)
            assert score.of(data) == -expected
        assert 0 <= score.of(child) - score.of(more) <= score.sensitivity


@settings(max_examples=150, deadline=None)
@given(huge_children(), st.integers(0, 4), st.sampled_from([1, 2, 10, 999, 10**5]))
def test_entropy_of_huge_counts_is_exactly_monotone_below_at_and_above_its_cap(child, k, cap):
    score = s.Entropy(cap)
    near = np.minimum(child, cap + 2) - (child > cap) * np.arange(child.shape[1])
    for data in (child, np.maximum(near, 0)):
        more = data.copy()
        more[0, k % child.shape[1]] += 1
        assert 0 <= score.of(data) - score.of(more) <= score.sensitivity


@settings(max_examples=150, deadline=None)
@given(huge_children(2), st.integers(0, 1), st.integers(1, 2**22))
def test_the_integer_root_of_huge_counts_is_exact_and_exactly_monotone(child, k, cap):
    score = s.RootGini(cap)
    more = child.copy()
    more[0, k] += 1
    for data in (child, more):
        a, b = (min(int(x), cap) for x in data[0])
        assert score.of(data) == -math.isqrt(4 * 256**2 * a * b)
    assert 0 <= score.of(child) - score.of(more) <= score.sensitivity


@pytest.mark.parametrize("cap", [1, 2, 3, 10, 1000, 10**6])
def test_the_entropy_table_is_convex_and_close_to_the_entropy(cap):
    table = s._entropy_table(cap)
    steps = np.diff(table)
    assert steps[0] == 0
    assert (np.diff(steps) >= 0).all()
    assert steps[-1] <= s.Entropy(cap).sensitivity <= math.ceil(256 * (1 + math.log(cap))) + 1
    x = np.arange(1, cap + 1)
    excess = table[1:] - 256 * x * np.log(x)
    assert (excess > -1e-3).all()  # every step is rounded up, by less than 1
    assert (excess <= x).all()


# -- squared error -----------------------------------------------------------------------------------------------


def moments(counts):
    """(n, sum, sum of squares) of targets 0, 1, ... with these counts; one child."""
    t = np.arange(counts.shape[-1])
    return np.stack([counts.sum(axis=-1), counts @ t, counts @ t**2], axis=-1)[:, None]


@pytest.mark.parametrize(("span", "bound"), [(1, 40), (2, 16), (3, 9), (5, 3)])
def test_no_target_moves_the_squared_error_by_more_than_the_square_of_the_span(span, bound):
    score = s.SquaredError(span)
    data = all_counts(bound, span + 1)
    change = np.concatenate([score.of(moments(data)) - score.of(moments(more)) for more in one_more(data)])
    assert change.min() >= 0
    assert change.max() <= score.sensitivity
    if span < 3:
        assert change.max() == score.sensitivity


@pytest.mark.parametrize("span", [3, 5, 100, 1000])
def test_large_data_reach_the_square_of_the_span(span):
    """Many zeros and a single one have a fractional error that is nearly 1; then comes the other end of the range."""
    score = s.SquaredError(span)
    n = 100 * span * span
    before = np.array([[[n, 1, 1]]])
    after = before + np.array([1, span, span * span])
    assert score.of(before) - score.of(after) == score.sensitivity


targets = st.lists(st.integers(0, 1000), max_size=30)


@settings(max_examples=150, deadline=None)
@given(st.lists(targets, min_size=1, max_size=3))
def test_the_squared_error_is_the_floor_of_the_exact_one(children):
    data = np.array([[[len(c), sum(c), sum(t * t for t in c)] for c in children]])
    exact = [F(sum(t * t for t in c)) - F(sum(c) ** 2, max(len(c), 1)) for c in children]
    assert s.SquaredError(1000).of(data) == -sum(map(math.floor, exact))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**31 - 2), st.data())
def test_the_squared_error_of_huge_data_is_exact(n, data):
    span = 30_000
    low, high = sorted((data.draw(st.integers(0, span)), data.draw(st.integers(0, span))))
    k = data.draw(st.integers(0, n))
    n, total, squares = n, k * low + (n - k) * high, k * low * low + (n - k) * high * high
    exact = squares - F(total * total, max(n, 1))
    assert s.SquaredError(span).of(np.array([[[n, total, squares]]])) == -math.floor(exact)


# -- quantiles: not monotone, so all candidates at once ------------------------------------------------------------


def range_of_changes(before, after):
    change = after - before
    return (change.max(axis=-1) - change.min(axis=-1)).max()


def sides(cells):
    """L and R of every cut point between the cells."""
    left = np.cumsum(cells, axis=-1)[:, :-1]
    return np.stack([left, cells.sum(axis=-1, keepdims=True) - left], axis=-1)


@pytest.mark.parametrize(
    ("p", "data"),
    [
        *((F(p), all_counts(4, 5)) for p in ("1/2", "1/3", "2/3", "1/4", "2/5")),
        *((F(p), all_counts(11, 4)) for p in ("1/10", "9/10", "3/10")),
    ],
    ids=str,
)
def test_the_candidates_of_a_quantile_part_by_no_more_than_rho_and_by_rho(p, data):
    score = s.Quantile(p.numerator, p.denominator)
    found = max(range_of_changes(score.of(sides(data)), score.of(sides(more))) for more in one_more(data))
    assert found == score.sensitivity


@pytest.mark.parametrize("p", [0, 1])
def test_the_ends_of_the_range_pay_twice_what_they_need(p):
    score = s.Quantile(p, 1)
    data = all_counts(4, 4)
    found = max(range_of_changes(score.of(sides(data)), score.of(sides(more))) for more in one_more(data))
    assert 2 * found == score.sensitivity


def gaps(cells, cuts):
    """Counts between cut points, for every non-decreasing choice of ``cuts`` of them."""
    up_to = np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), np.cumsum(cells, axis=-1)], axis=-1)
    last = cells.shape[-1]
    chosen = itertools.combinations_with_replacement(range(1, last), cuts)
    return np.stack([np.diff(up_to[:, [0, *at, last]], axis=-1) for at in chosen], axis=1)


@pytest.mark.parametrize(
    ("spacings", "bound", "cells"),
    [((1, 1), 4, 4), ((1, 2), 4, 4), ((3, 1), 5, 4), ((1, 1, 1), 3, 5), ((1, 2, 1), 3, 5), ((1, 1, 2), 3, 5),
     ((1, 1, 1, 1), 2, 6), ((3, 1, 1), 6, 4)],
    ids=str,
)  # fmt: skip
def test_no_record_moves_joint_quantiles_by_more_than_delta_nor_parts_them_by_more_than_rho(spacings, bound, cells):
    """The change of one candidate reaches Delta = 2 (1 - min p), and rho reaches 2 Delta."""
    score = s.JointQuantiles(spacings)
    whole, smallest = sum(spacings), min(spacings)
    data = all_counts(bound, cells)
    m = len(spacings) - 1
    before = score.of(gaps(data, m))
    after = [score.of(gaps(more, m)) for more in one_more(data)]
    assert max(np.abs(x - before).max() for x in after) == 2 * (whole - smallest)
    rho = max(range_of_changes(before, x) for x in after)
    assert rho == score.sensitivity == 4 * (whole - smallest)


def test_one_joint_quantile_is_twice_the_quantile():
    cells = all_counts(5, 4)
    assert (s.JointQuantiles((1, 2)).of(gaps(cells, 1)) == 2 * s.Quantile(1, 3).of(sides(cells))).all()


def test_joint_quantiles_are_exact():
    spacings, counts = (1, 4, 5), (3, 0, 8)
    shares = [F(x, sum(spacings)) for x in spacings]
    exact = -sum(abs(n - p * sum(counts)) for n, p in zip(counts, shares))
    assert s.JointQuantiles(spacings).of(np.array(counts)) == 10 * exact


def test_deciles_cost_what_the_table_of_lemmas_says():
    assert F(s.JointQuantiles((1,) * 10).sensitivity, 10) == 2 * F("1.8")


# -- guards --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [s.Gini(), s.Mixed(128)], ids=lambda score: score.lemma)
def test_counts_that_would_overflow_gini_are_refused(score):
    half = 2**26
    assert score.of(np.array([[half, half - 1]])) < 0
    for counts in ([half, half], [2**27, 0], [2**40, 1]):
        with pytest.raises(LeakError, match="134 million"):
            score.of(np.array([counts]))


@pytest.mark.parametrize(
    ("score", "children"),
    [
        (s.Entropy(1000), [[2**52, 2**52]]),
        (s.SquaredError(2**30), [[4, 0, 0]]),
        (s.SquaredError(1), [[2**31, 0, 0]]),
        (s.SquaredError(2**15), [[2**31, 0, 0], [2**31, 0, 0]]),
        (s.Quantile(1, 2**30), [2**32, 0]),
        (s.JointQuantiles((1, 2**29)), [2**32, 0]),
    ],
    ids=lambda x: getattr(x, "lemma", ""),
)
def test_counts_that_would_overflow_other_scores_are_refused(score, children):
    with pytest.raises(LeakError, match="overflow"):
        score.of(np.array(children))


@pytest.mark.parametrize(
    "make",
    [
        *(lambda w=w: s.Mixed(w) for w in (-1, 257, 10**30)),
        *(lambda c=c: s.Entropy(c) for c in (0, -1, 2**24 + 1, 10**17)),
        *(lambda c=c: s.RootGini(c) for c in (0, -1, 2**22 + 1)),
        *(lambda c=c: s.SquaredError(c) for c in (0, -1, 2**30 + 1)),
        *(lambda p=p: s.Quantile(*p) for p in ((0, 0), (-1, 2), (3, 2), (1, -2), F(0.1).as_integer_ratio())),
        *(lambda p=p: s.JointQuantiles(p) for p in ((), (1,), (1, 0), (2, -1), (2**30, 1))),
        lambda: s.RootGini(4).of(np.zeros((2, 3), dtype=np.int64)),
    ],
)
def test_a_parameter_without_a_proof_is_refused(make):
    with pytest.raises(LeakError):
        make()


@pytest.mark.parametrize("value", [0.5, "1", None])
def test_a_parameter_that_is_no_integer_is_refused(value):
    for score in (s.Mixed, s.Entropy, s.RootGini, s.SquaredError):
        with pytest.raises(TypeError):
            score(value)


def test_a_numpy_parameter_cannot_overflow_the_constant():
    assert s.SquaredError(np.int32(2**30)).sensitivity == 2**60
    assert s.Quantile(np.int8(1), np.int8(2)) == s.MEDIAN
    assert s.JointQuantiles((np.int8(100), np.int8(100))).sensitivity == 400


@by_lemma
def test_a_node_without_records_or_candidates_has_a_score(score):
    k = classes_of(score)
    assert score.of(np.zeros((2, k), dtype=np.int64)) == 0
    assert score.of(np.zeros((0, 2, k), dtype=np.int64)).shape == (0,)


# -- lemmas by name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "score",
    [
        *CLASS_SCORES,
        s.SquaredError(7),
        s.SquaredError(2**30),
        s.Quantile(1, 3),
        s.MEDIAN,
        s.JointQuantiles((1, 2, 1)),
        s.GradientNorm(2),
    ],
    ids=lambda score: score.lemma,
)
def test_a_lemmas_name_gives_its_scores_constant_back(score):
    assert proven(score.lemma) == score.sensitivity > 0


ASKABLE = [
    s.Worth(256),
    *CLASS_SCORES,
    s.SquaredError(7),
    s.Quantile(1, 3),
    s.MEDIAN,
    s.GradientNorm(0),
    s.GradientNorm(12),
]
ASKABLE += [s.ResidualNorm(1), s.ResidualNorm(s.TARGET_ONE)]


@pytest.mark.parametrize("score", ASKABLE, ids=lambda score: score.lemma)
def test_every_score_of_a_choice_is_built_from_its_lemma_alone(score):
    again = s.score_of(score.lemma)
    assert again == score
    assert type(again) is type(score)


def test_every_kind_of_score_has_a_name():
    assert {type(score) for score in ASKABLE} == set(s.SCORES.values())


class Text(str):
    """Is read as one lemma and shown as another."""


@pytest.mark.parametrize(
    "lemma",
    [
        *(
            "",
            "gini()",
            "gini(1)",
            "mixed",
            "mixed(257)",
            "mixed(1/2)",
            "quantile(1)",
            "quantile(3/2)",
            "clipped_gradient_norm",
        ),
        *(
            "clipped_gradient_norm(1/2)",
            "clipped_gradient_norm(99999999)",
            "residual_norm",
            "residual_norm(0)",
            "residual_norm(65537)",
            "joint_quantiles(1/4)",
            "tally(1)",
            "peek",
            "Gini",
            "mixed(01)",
        ),
        *(Text("gini"), b"gini", None, ("gini",), s.Gini()),
    ],
    ids=repr,
)
def test_another_name_is_no_score(lemma):
    with pytest.raises(LeakError):
        s.score_of(lemma)


@pytest.mark.parametrize("score", [*ASKABLE, s.JointQuantiles((1, 1))], ids=lambda score: score.lemma)
def test_what_a_score_computes_cannot_be_replaced(score):
    assert not hasattr(score, "__dict__")
    for name in ("of", "sensitivity", "lemma", "monotone", "anything"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(score, name, None)
        with pytest.raises(AttributeError):
            object.__setattr__(score, name, None)
    with pytest.raises(TypeError, match="final"):
        type("Spy", (type(score),), {})


class Liar(int):
    def __index__(self):
        return 1

    __int__ = __index__

    def __le__(self, other):
        return True

    __ge__ = __le__


def test_parameters_are_copied_into_plain_integers():
    assert s.Mixed(Liar(200)).lemma == "mixed(200)"
    with pytest.raises(LeakError):
        s.Mixed(Liar(1000))
    for kept in (s.Entropy(Liar(5)).cap, *s.JointQuantiles([Liar(2), Liar(3)]).spacings):
        assert type(kept) is int
