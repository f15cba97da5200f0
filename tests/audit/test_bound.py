"""A bound says what it knows and no more: its arithmetic, its confidence and its words."""

import json
import math

import numpy as np
import pytest

from privet.audit import Bound, reach, runs_needed, worst
from privet.audit.bound import exceeds, highest, log_odds, lowest
from privet.errors import PrivetError


def bound(epsilon, proven=1.0, **kwargs):
    return Bound(epsilon, 1 - 1e-6, "statistical", "root is 'age'", 1000, proven, **kwargs)


def test_a_bound_above_what_was_proven_is_a_violation():
    assert bound(1.1).violated
    assert not bound(1.0).violated
    assert not bound(5.0, proven=None).violated


def test_rounding_is_no_violation():
    assert not bound(1 + 1e-12).violated


def test_one_rule_says_what_is_more_than_proven():
    assert exceeds(1.1, 1.0)
    assert exceeds(math.inf, 1.0)
    assert not exceeds(100 * (1 + 1e-12), 100)
    assert not exceeds(math.inf, math.inf)


def test_a_bound_is_the_same_after_json():
    for one in (bound(0.5), bound(math.inf), bound(0.1, proven=math.inf, delta=1e-6, pairs=7)):
        assert Bound.from_dict(json.loads(one.to_json())) == one


def test_a_bound_in_words_says_how_sure_it_is():
    assert "1 - 1e-06" in str(bound(0.5))
    assert "within 1 promised" in str(bound(0.5))
    assert "MORE THAN 1 promised" in str(bound(1.5))


def test_what_was_found_at_least_is_rounded_down():
    assert "is at least 0.6666 (" in str(bound(2 / 3))


def test_the_worst_is_the_largest():
    assert worst([bound(0.1), bound(0.7), bound(0.3)]).epsilon == 0.7


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("n", [10, 200])
def test_intervals_miss_as_rarely_as_they_say(p, n):
    # Not drawn: the chance of each number of hits is computed.
    from scipy.stats import binom

    hits, alpha = np.arange(n + 1), 0.01
    chances = binom.pmf(hits, n, p)
    assert chances[lowest(hits, n, alpha) > p].sum() <= alpha
    assert chances[highest(hits, n, alpha) < p].sum() <= alpha


def test_intervals_end_at_zero_and_one():
    assert lowest(0, 10, 0.01) == 0
    assert highest(10, 10, 0.01) == 1


def test_more_runs_show_more():
    assert log_odds(50, 100, 10, 100, 0.01) < log_odds(500, 1000, 100, 1000, 0.01) < math.log(5)


def test_delta_takes_away_from_the_event():
    assert log_odds(500, 1000, 10, 1000, 0.01, delta=0.2) < log_odds(500, 1000, 10, 1000, 0.01)
    assert log_odds(500, 1000, 10, 1000, 0.01, delta=0.6) == -math.inf


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0, 8.0])
def test_the_runs_needed_are_the_fewest_that_reach(epsilon):
    n = runs_needed(epsilon)
    assert reach(n) > epsilon >= reach(n - 1)


def test_a_confidence_of_one_is_refused():
    with pytest.raises(PrivetError, match="below 1"):
        runs_needed(1.0, alpha=0.0)


@pytest.mark.parametrize("kwargs", [{"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 1.0}, {"delta": -0.1}])
def test_numbers_that_make_no_sense_are_refused(kwargs):
    with pytest.raises(PrivetError, match=next(iter(kwargs))):
        runs_needed(**{"epsilon": 1.0, **kwargs})
    with pytest.raises(PrivetError):
        reach(-1 if "epsilon" in kwargs else 10, delta=kwargs.get("delta", 0.0))
