"""Laws of published steps: they are laws, and what is drawn follows them."""

import math
from collections import Counter

import numpy as np
import pytest

from claims_by_key import claim
from law_draws import Drawing, draw
from privet.audit.claims import CLAIMS, Law
from privet.audit.claims.claim import alike, binary, joined, log_laplace_above, yes_or_no
from privet.audit.scripted import log_at_least, log_not
from privet.privacy.laws import log_geometric

LAWS = [entry.key for entry in CLAIMS if isinstance(entry.subject(), Law)]
SLOW = ("diprime-medians", "federated-bounds", "topdown-noisy", "topdown-local")
"""Their own files draw from them, on smaller tables."""


@pytest.mark.parametrize("key", LAWS)
def test_a_law_adds_up_to_one(key):
    law, pair = claim(key).subject(), claim(key).witness()
    for table in (pair.one, pair.other):
        assert np.logaddexp.reduce(list(law.log_law(*table).values())) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=pytest.mark.slow) if key in ("hidden-sound-values", "hidden-leaves-only") else key
        for key in LAWS
        if not key.startswith(SLOW)
    ],
)
def test_draws_follow_the_law(key):
    law, pair, rng = claim(key).subject(), claim(key).witness(), np.random.default_rng(5)
    n = 250 if key == "hidden-sound-thresholds" else 1000  # each draw is a fit; the other ways to branch are slow tests
    for table in (pair.one, pair.other):
        drawn, log_law = Counter(draw(law, *table, rng) for _ in range(n)), law.log_law(*table)
        assert drawn.keys() <= log_law.keys()
        for output, log_p in log_law.items():
            p = math.exp(log_p)
            assert abs(drawn[output] - n * p) <= 5 * math.sqrt(n * p * (1 - p)) + 5


def test_a_worker_draws_numbers_of_its_own():
    law, pair = claim("federated-shares-5-1").subject(), claim("federated-shares-5-1").witness()
    assert Drawing(law)(*pair.one) in (True, False)


@pytest.mark.parametrize("p", [0.0, 1e-300, 0.3, 0.5, 0.7, 1.0])
def test_an_event_and_its_opposite_add_up_to_one(p):
    law = yes_or_no(math.log(p) if p else -math.inf)
    assert math.exp(law[True]) + math.exp(law[False]) == pytest.approx(1, abs=1e-15)


def test_a_rare_event_does_not_round_its_opposite_to_certainty():
    assert log_not(-1e-20) == pytest.approx(math.log(1e-20))


def test_tails_of_noise_are_sums_of_what_is_beyond():
    for k in (-3, 0, 1, 4):
        beyond = np.exp(log_geometric(np.arange(k, k + 400), 2.0)).sum()
        assert math.exp(log_at_least(k, 2.0)) == pytest.approx(beyond, abs=1e-12)
        assert math.exp(log_laplace_above(k, 2.0)) + math.exp(log_laplace_above(-k, 2.0)) == pytest.approx(1)


def test_the_tables_of_a_pair_differ_in_the_record_that_joins():
    pair = joined(np.array([[1, 2]]), np.array([0]), [3, 4], 1)
    assert [table.tolist() for table in pair.other] == [[[1, 2], [3, 4]], [0, 1]]


def test_records_are_alike_but_for_the_one_that_joins():
    pair = alike(2, 3, value=1, label=1)
    assert [table.tolist() for table in pair.other] == [[[0, 0, 0], [0, 0, 0], [1, 1, 1]], [0, 0, 1]]
    assert len(binary(3).names) == 3
