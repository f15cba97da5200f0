"""No data move a sum by more than its constant, and with a smaller constant some would.

Each search goes over all data of a small size. A search that finds the constant itself shows that it cannot be
lowered by a single unit; where it is larger than what any data reach, the test says by how much.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import ReceiptError
from privet.privacy import scores
from privet.privacy import sensitivity as s
from small_counts import all_counts, one_more

# -- owners' least impurities --------------------------------------------------------------------------------


def test_no_record_moves_a_least_impurity_by_more_than_one_nor_down():
    """All tables of two and three parts with up to 3 records of each of two or three classes in each."""
    for data in (all_counts(12, 1, 3), all_counts(6, 2, 2), all_counts(3, 3, 2), all_counts(2, 2, 3)):
        before = s.least_impurities(data)
        change = np.concatenate([s.least_impurities(more) - before for more in one_more(data)])
        assert change.min() >= 0
        assert change.max() <= s.least_impurity_sensitivity(1) == s.ONE


def test_the_constant_of_a_least_impurity_cannot_be_lowered():
    """The first record of its class among many others; half of Gini's 2 (N-1)/N, rounded down."""
    many = np.array([[[10**6, 0]]])
    assert s.least_impurities(many + np.array([0, 1])) - s.least_impurities(many) == s.ONE - 1


def test_a_least_impurity_is_the_least_over_all_thresholds_the_trivial_one_too():
    parts = np.array([[3, 1], [0, 4], [2, 2]])

    def impurity(side):
        n, ones = side.sum(), side[:, 1].sum()
        return Fraction(int(ones * (n - ones)), int(n)) if n else Fraction(0)

    least = min(impurity(parts[:k]) + impurity(parts[k:]) for k in range(4))
    assert abs(Fraction(int(s.least_impurities(parts)), s.ONE) - least) < Fraction(2, s.ONE)
    assert s.least_impurities(np.zeros((5, 3, 2), dtype=np.int64)).tolist() == [0] * 5


def moments_of(records, n_parts):
    """(n, sum t, sum t^2) of every part, from (part, target) pairs."""
    cells = np.zeros((n_parts, 3), dtype=np.int64)
    for part, target in records:
        cells[part] += [1, target, target * target]
    return cells


def test_no_target_moves_a_least_spread_by_more_than_one_nor_down():
    """All tables of up to 4 records in two parts, with targets at the ends of the range and between."""
    targets = (0, 1, s.TARGET_ONE // 3, s.TARGET_ONE // 2, s.TARGET_ONE)
    kinds = list(itertools.product(range(2), targets))
    changes = set()
    for n in range(4):
        for records in itertools.combinations_with_replacement(kinds, n):
            before = s.least_spreads(moments_of(records, 2))
            changes |= {int(s.least_spreads(moments_of((*records, more), 2)) - before) for more in kinds}
    assert min(changes) >= 0
    assert 0.7 * s.ONE < max(changes) <= s.ONE


def test_targets_at_the_ends_are_two_classes():
    counts = all_counts(4, 2, 2)
    n, ones = counts.sum(axis=-1), counts[..., 1]
    as_targets = np.stack([n, ones * s.TARGET_ONE, ones * s.TARGET_ONE**2], axis=-1)
    assert np.array_equal(s.least_spreads(as_targets), s.least_impurities(counts))


@given(
    n=st.integers(1, 2**29),
    share=st.fractions(0, 1),
    target=st.sampled_from([0, 1, 2**15, 2**16 - 1, 2**16]),
)
def test_the_spread_of_huge_data_is_exactly_monotone(n, share, target):
    total = int(share * n * s.TARGET_ONE)
    before, after = (
        int(s.least_spreads(np.array([[size, amount, 0]]))) for size, amount in ((n, total), (n + 1, total + target))
    )
    assert 0 <= after - before <= s.ONE


def test_sums_over_owners_never_exceed_what_one_threshold_leaves():
    """The bound that saves budget: the owners' own best thresholds together beat any threshold for all of them."""
    owners = all_counts(2, 2, 2, 2)  # two owners, two parts, two classes
    together = s.least_impurities(owners.sum(axis=1))
    assert (s.least_impurities(owners).sum(axis=1) <= together + 2).all()  # two owners' floors


@pytest.mark.parametrize(("tables", "sensitivity"), [(0, 1), (1, 1), (2, 2), (50, 50)])
def test_a_tally_costs_one_for_each_table(tables, sensitivity):
    assert s.tally_sensitivity(tables) == s.proven(f"tally({tables})") == sensitivity
    assert s.proven("tally") == 1


def test_a_record_is_in_one_cell_of_each_table():
    """Three features with 2, 3 and 4 cells: every record changes three of the nine counts, by 1."""
    for record in itertools.product(range(2), range(3), range(4)):
        tables = [np.eye(n, dtype=int)[cell] for n, cell in zip((2, 3, 4), record)]
        assert np.concatenate(tables).sum() == s.tally_sensitivity(3)


@pytest.mark.parametrize(("tables", "sensitivity"), [(0, 1), (1, 1), (2, 2), (50, 50)])
def test_two_target_sums_cost_one_unit_for_each_table(tables, sensitivity):
    lemma = f"target_tally({tables})"
    assert s.target_tally_sensitivity(tables) == s.proven(lemma) == sensitivity * s.TARGET_ONE
    assert s.proven("target_tally") == s.TARGET_ONE


@pytest.mark.parametrize("name", ["tally", "target_tally", "least_impurity"])
def test_by_l2_many_tables_cost_the_root_of_their_number(name):
    one = int(s.proven(name))
    for tables in (1, 2, 3, 14, 10**4):
        euclidean = s.proven(f"euclidean_{name}({tables})")
        assert one * one * tables <= euclidean**2 < one * one * tables * (1 + 2**-30)  # rounded up, and hardly
    assert s.proven(f"euclidean_{name}") == one


def test_what_a_record_changes_is_no_longer_than_the_euclidean_lemmas_say():
    """All records of three features; all targets in steps. One less in the constant is too small."""
    for record in itertools.product(range(2), range(3), range(4)):
        change = np.concatenate([np.eye(n, dtype=int)[cell] for n, cell in zip((2, 3, 4), record)])
        length = math.isqrt(int(change @ change))
        assert change @ change == 3 <= s.euclidean_sensitivity("tally", 3) ** 2
        assert length < s.euclidean_sensitivity("tally", 3)
    longest = 0
    for target in range(0, s.TARGET_ONE + 1, 2**10):
        longest = max(longest, target**2 + (s.TARGET_ONE - target) ** 2)
    assert longest == s.TARGET_ONE**2
    owners = all_counts(2, 2, 2)
    for part, label in itertools.product(range(2), range(2)):
        more = owners.copy()
        more[:, part, label] += 1
        assert (np.abs(s.least_impurities(more) - s.least_impurities(owners)) <= s.ONE).all()


MALFORMED = [
    *("", " ", "gini()", "gini(1)", "Gini", "gini ", "gini\n", "mixed", "mixed(257)", "mixed(1/2)", "mixed(-1)"),
    *("entropy", "entropy(0)", "entropy(99999999999999999)", "entropy(1e3)", "entropy(٣)", "root_gini(0)"),
    *("root_gini(999999999999999999)", "squared_error(0)", "squared_error(999999999999999999)", "tally(1/2)"),
    *("tally(-1)", "tally(" + "9" * 19 + ")", "peek(1)", "quantile(1)", "quantile(0/0)", "quantile(3/2)"),
    *("quantile(1/999999999999999999)", "joint_quantiles(0/5)", "joint_quantiles(3/5)", "joint_quantiles(1)"),
    *(
        "joint_quantiles(0/0)",
        "correct_count(1)",
        "correct_count(1)(2)",
        "clipped_gradient_norm(1/2)",
        "tally(01)",
        "__class__",
        "tally_sensitivity",
        "(" * 10**5,
    ),
]


@pytest.mark.parametrize("lemma", MALFORMED, ids=lambda lemma: lemma[:30])
def test_a_malformed_lemma_is_a_receipt_error(lemma):
    with pytest.raises(ReceiptError):
        s.proven(lemma)


names = st.sampled_from([*s.SUMS, *(s.EUCLIDEAN + name for name in s.SUMS), *s._OTHERS, *scores.SCORES, "GINI", ""])
numbers = st.integers(-1, 10**18).map(str)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(), st.builds("{}({}/{})".format, names, numbers, numbers), st.builds("{}({})".format, names, numbers)
    )
)
def test_any_other_name_gives_a_constant_or_a_receipt_error(lemma):
    with contextlib.suppress(ReceiptError):
        assert s.proven(lemma) >= (0 if lemma == "peek" else 1)


def test_a_lemmas_name_never_builds_a_table(monkeypatch):
    monkeypatch.setattr(scores, "_entropy_table", None)
    assert s.proven("entropy(16777216)") > 0
    with pytest.raises(ReceiptError):
        s.proven("entropy(100000000000000000)")
