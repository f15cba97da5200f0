"""How many records: the theorem's formula, by hand and in its limits."""

import math

import pytest

from privet.algorithms.sample_size import sample_size
from privet.errors import PrivetError


def by_hand(alpha, gamma, h, error, delta, m, b, k=1, noisy_counts=False):
    """The three terms of the proof in plain floats."""
    zeta = gamma**2 * error / (48 * m * math.log2(2 / error))
    of_leaf = alpha * b / 2
    weights = math.log(8 * k * m / delta) * 2 * k / (zeta * of_leaf)
    leaves = math.log(4 * k * (m + 1) / delta) * 8 * k * (m + 1) / (error * alpha)
    chance = delta / (2 * (2 * m + 1))
    c = 40 * math.log(h / chance) / (of_leaf / 2 * zeta)
    if noisy_counts:
        c = 60 * math.log(3 * k * h / chance) * k * h / (of_leaf / 2 * zeta)
    n = 2 * (c / math.log(2)) * math.log(c / math.log(2))
    assert n >= c * math.log2(n)  # what the proof needs of a node's size
    return max(weights, leaves, 2 * m / error * n)


@pytest.mark.parametrize("entities", [1, 4])
@pytest.mark.parametrize(
    ("alpha", "gamma", "h", "error", "delta", "m"),
    [(1.0, 0.25, 100, 0.1, 0.05, 8), (0.1, 0.1, 427, 0.1, 0.01, 512), (8.0, 0.5, 2, 1.0, 1.0, 1)],
)
def test_it_is_the_formula_of_the_proof(alpha, gamma, h, error, delta, m, entities):
    known = {"epsilon": alpha, "advantage": gamma, "functions": h, "error": error, "delta": delta, "max_nodes": m}
    args = (alpha, gamma, h, error, delta, m)
    uniform = sample_size(**known, entities=entities)
    assert uniform == pytest.approx(by_hand(*args, 1 / m, entities), rel=1e-12, abs=1)
    assert isinstance(uniform, int)
    assert sample_size(**known, entities=entities, split="noisy_counts") == pytest.approx(
        by_hand(*args, 1 / m, entities, noisy_counts=True), rel=1e-12, abs=1
    )
    if m < 100:
        assert sample_size(**known, budget="decay") == pytest.approx(by_hand(*args, 2.0**-m), rel=1e-12, abs=1)


def test_one_split_of_an_easy_problem_by_hand():
    """M = 1, error 1, gamma 1/2, alpha 4, delta 1, two functions: zeta = 1/192, alpha' = 2, chance 1/6."""
    c = 40 * math.log(12) * 192 / math.log(2)
    assert sample_size(epsilon=4, advantage=0.5, functions=2, error=1, delta=1, max_nodes=1) == math.ceil(
        4 * c * math.log(c)
    )


def test_more_of_anything_good_needs_fewer_records():
    easy = {"epsilon": 1.0, "advantage": 0.3, "functions": 50, "error": 0.2, "delta": 0.1, "max_nodes": 16}
    n = sample_size(**easy)
    harder = {"epsilon": 0.5, "advantage": 0.2, "functions": 500, "error": 0.1, "delta": 0.01, "max_nodes": 32}
    for name, value in harder.items():
        assert sample_size(**{**easy, name: value}) > n
    assert sample_size(**easy, split="noisy_counts", entities=2) > sample_size(**easy, split="noisy_counts")
    assert sample_size(**easy, budget="decay") > n


def test_numbers_that_no_float_holds_are_numbers_too():
    assert sample_size(epsilon=1e-9, advantage=1e-3, functions=10, max_nodes=2000, budget="decay") > 10**600


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"advantage": 0.6}, "advantage"),
        ({"error": 0}, "error"),
        ({"delta": 2}, "delta"),
        ({"functions": 0}, "functions"),
        ({"entities": 1.5}, "entities"),
        ({"split": "local_rnm"}, "noisy_counts"),
        ({"budget": lambda depth: 0.5 if depth == 1 else 0}, "share"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(PrivetError, match=message):
        sample_size(**{"epsilon": 1.0, "advantage": 0.2, "functions": 10, **wrong})
