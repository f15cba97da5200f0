"""The compiled tree of the report's simulation is the library's: the same tree without noise, the same law with it."""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from privet import HistogramTreeClassifier

pytestmark = pytest.mark.slow  # half a minute to compile, and nothing in the library follows from it

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KINDS = [(saving, sound) for saving in (False, True) for sound in (False, True)]


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("federated_accuracy")
    sys.path.remove(str(BENCHMARKS))


def both(benchmark, saving, sound, *, epsilon, depth, run, n=250, p=4):
    """The accuracy of the compiled tree and of the library's, on the same records."""
    rng = np.random.default_rng([run, p, n])
    train, test = benchmark.mixture(n, p, 0.3, rng), benchmark.mixture(n, p, 0.3, rng)
    noise = np.random.SeedSequence([run, 1])
    compiled = benchmark.histogram_tree(train, test, epsilon, depth, noise, saving=saving, sound=sound)
    owners = benchmark.Owners(benchmark.owners_of(*train), benchmark.schema_of(p), [run, 2])
    model = HistogramTreeClassifier(
        epsilon=epsilon, max_depth=depth, save_budget=saving, variant="sound" if sound else "published"
    )
    return compiled, model.fit_curator(owners).score(*test)


@pytest.mark.parametrize(("saving", "sound"), KINDS)
def test_without_noise_both_predict_alike(benchmark, saving, sound):
    for run in range(5):
        compiled, library = both(benchmark, saving, sound, epsilon=1e9, depth=6, run=run)
        assert compiled == library


@pytest.mark.parametrize(("saving", "sound"), KINDS)
def test_with_noise_both_are_equally_accurate(benchmark, saving, sound):
    """Differences of 40 pairs within 6 standard errors: a false alarm of less than 1e-6 for t with 39 degrees."""
    pairs = np.array([both(benchmark, saving, sound, epsilon=4.0, depth=3, run=run) for run in range(40)])
    differences = pairs[:, 0] - pairs[:, 1]
    assert abs(differences.mean()) < 6 * differences.std(ddof=1) / math.sqrt(len(pairs))
