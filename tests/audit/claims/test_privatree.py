"""PrivaTree's claims: features that are taken for parallel."""

import numpy as np
import pytest

from privet.audit.claims import privatree


def test_equal_impurities_compare_equal():
    # (1, 2 | 2, 4) and (2, 4 | 1, 2): the same impurity from different counts, so the lower feature wins.
    one, other = (privatree.impurity([np.array([c]) for c in counts]) for counts in ((1, 2, 2, 4), (2, 4, 1, 2)))
    assert one == other


def test_more_features_cost_more():
    law = privatree.FeaturesInParallel()
    losses = [law.exact_bound(privatree.separated(m)).epsilon for m in (2, 5, 14)]
    assert losses == sorted(losses)
    assert losses[-1] / losses[1] == pytest.approx(13 / 4, rel=0.05)  # linear in the rivals
