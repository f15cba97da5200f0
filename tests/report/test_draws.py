"""Draws of the noise on public records."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.errors import PrivetError
from privet.report.draws import Draws, Wish

FEATURES = {"a": Numeric(0, 1), "b": Categorical(["x", "y"])}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])


@pytest.fixture(scope="module")
def draws():
    return Draws.synthetic(SCHEMA)


def wish(**changes):
    return Wish(**{"method": "counts", "epsilon": 1.0, "depth": 2, "records": 1000, "draw": 0} | changes)


def test_draws_differ_and_come_back(draws):
    first, again, other = (
        draws.fit(wish(epsilon=0.05)),
        draws.fit(wish(epsilon=0.05)),
        draws.fit(wish(epsilon=0.05, draw=1)),
    )
    assert first is again
    assert first["model"] != other["model"]
    assert 0 <= first["score"] <= 1
    assert all(noise for _, noise in first["noise"])


def test_more_epsilon_is_more_accurate_and_beats_knowing_nothing(draws):
    assert draws.fit(wish(epsilon=100, records=draws.sizes[-1]))["score"] > draws.baseline + 0.1


@pytest.mark.parametrize("method", ["tree", "counts", "boosting"])
def test_every_method_draws(draws, method):
    assert draws.fit(wish(method=method))["model"]["kind"] in ("tree", "boosted")


def test_targets_persons_and_numbers():
    draws = Draws.synthetic(Schema(FEATURES, target=(0, 1), person="who"))
    assert draws.baseline == 0
    for method in draws.methods:
        assert draws.fit(wish(method=method, epsilon=5, records=draws.sizes[-1]))["score"] > 0


@pytest.mark.parametrize(
    "bad", [{"method": "x"}, {"epsilon": 0}, {"epsilon": float("nan")}, {"depth": 99}, {"records": 7}]
)
def test_what_is_not_offered_is_refused(draws, bad):
    with pytest.raises(PrivetError):
        draws.fit(wish(**bad))


def test_too_few_records_are_refused():
    with pytest.raises(PrivetError, match="at least 50"):
        Draws(np.zeros((10, 2)), ["no"] * 10, SCHEMA, "")
