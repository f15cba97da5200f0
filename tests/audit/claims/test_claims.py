"""The table of claims: what fails on paper is caught, what is sound survives, and no bound passes its proof."""

import math

import pytest

from claims_by_key import claim
from privet.audit.claims import CLAIMS

KEYS = [
    # Counted, not computed: thousands of fits.
    pytest.param(entry.key, marks=pytest.mark.slow) if entry.key == "topdown-private-size" else entry.key
    for entry in CLAIMS
]


NUMBERS = {
    "privatree-features-5": (2.263, 5e-4),
    "privatree-features-14": (7.151, 5e-4),
    "privatree-early-stop": (math.inf, 0),
    "topdown-maximum": (5.0, 1e-9),
    "topdown-noisy-counts": (9.0, 1e-9),
    "topdown-local-rnm": (4.5, 1e-9),
    "federated-bounds": (10 * 253 / 256, 1e-9),
    "federated-bounds-sound": (0.25 * 253 / 256, 1e-9),
    "federated-shares-5-1": (0.2699, 2e-4),
    "hidden-leaves-only": (8.90, 5e-3),
    "hidden-cut-exponents": (math.inf, 0),
    "hidden-sampling": (0.2954, 5e-5),
    "diprime-medians-5": (3.98, 5e-3),
    "diprime-medians-10": (8.96, 5e-3),
    "diprime-gaps": (13.4, 0.05),
    "dpgdf-label": (math.exp(4) - math.exp(3), 1e-6),
    "dpgdf-published": (math.inf, 0),
    "bdpt-published": (math.inf, 0),
}
"""Of the theory page, and how exactly it says them."""


@pytest.mark.parametrize("key", KEYS)
def test_what_fails_on_paper_is_caught_what_holds_survives_and_no_bound_passes_its_proof(key, finding):
    """One test for each claim, so that each is attacked once, whichever process runs it."""
    assert finding(key).verdict == ("holds" if claim(key).holds else "caught")
    assert not finding(key).bound.violated
    if key in NUMBERS:
        epsilon, tolerance = NUMBERS[key]
        assert finding(key).bound.epsilon == pytest.approx(epsilon, abs=tolerance)


def test_the_numbers_of_the_theory_page_are_those_of_claims():
    assert NUMBERS.keys() <= {entry.key for entry in CLAIMS}


def test_keys_are_unique():
    keys = [entry.key for entry in CLAIMS]
    assert len(set(keys)) == len(keys)


def test_a_claim_is_found_by_its_key():
    assert all(claim(entry.key) is entry for entry in CLAIMS)
    with pytest.raises(KeyError):
        claim("nobody-claims-this")
