"""The compiled tree of the report's simulation is the library's: the same tree without noise, the same law with it."""

import math

import numpy as np
import pytest

from privet import HistogramTreeClassifier
from privet_bench.experiments import federated

pytestmark = pytest.mark.slow  # half a minute to compile, and nothing in the library follows from it

KINDS = [(saving, sound) for saving in (False, True) for sound in (False, True)]


def both(saving, sound, *, epsilon, depth, run, n=250, p=4):
    """The accuracy of the compiled tree and of the library's, on the same records."""
    rng = np.random.default_rng([run, p, n])
    train, test = federated.mixture(n, p, 0.3, rng), federated.mixture(n, p, 0.3, rng)
    noise = np.random.SeedSequence([run, 1])
    compiled = federated.histogram_tree(train, test, epsilon, depth, noise, saving=saving, sound=sound)
    owners = federated.Owners(federated.owners_of(*train), federated.schema_of(p), [run, 2])
    model = HistogramTreeClassifier(
        epsilon=epsilon, max_depth=depth, save_budget=saving, variant="sound" if sound else "published"
    )
    return compiled, model.fit_curator(owners).score(*test)


@pytest.mark.parametrize(("saving", "sound"), KINDS)
def test_without_noise_both_predict_alike(saving, sound):
    for run in range(5):
        compiled, library = both(saving, sound, epsilon=1e9, depth=6, run=run)
        assert compiled == library


@pytest.mark.parametrize(("saving", "sound"), KINDS)
def test_with_noise_both_are_equally_accurate(saving, sound):
    """Differences of 40 pairs within 6 standard errors: a false alarm of less than 1e-6 for t with 39 degrees."""
    pairs = np.array([both(saving, sound, epsilon=4.0, depth=3, run=run) for run in range(40)])
    differences = pairs[:, 0] - pairs[:, 1]
    assert abs(differences.mean()) < 6 * differences.std(ddof=1) / math.sqrt(len(pairs))
