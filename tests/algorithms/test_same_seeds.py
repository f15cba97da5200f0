"""The same seed gives the model that it gave before: a change of one is meant, and CHANGELOG.md says why.

``python tests/algorithms/test_same_seeds.py`` writes the digests anew.
"""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.algorithms.registry import MODELS, model_class, parameters

KEPT = Path(__file__).with_name("same_seeds.json")
FEATURES = {
    "x": Numeric(0, 1),
    "k": Numeric(0, 3, integer=True, missing=True),
    "c": Categorical(["a", "b", "c"], other=False),
}
N = 300
RNG = np.random.default_rng(11)
X = np.empty((N, 3), dtype=object)
X[:, 0], X[:, 1], X[:, 2] = RNG.random(N), RNG.integers(0, 4, N).astype(float), RNG.choice(list("abc"), N)
TARGETS = X[:, 0].astype(float) * 0.6 + (X[:, 2] == "a") * 0.3
OPTIONS = {"variant": "published", "delta": 1e-3, "method": "boosting"}
"""Beside the defaults, each of these is tried where a model has it."""


def settings():
    """Every model as it comes, and with each of the options that it has."""
    for name in MODELS:
        known = parameters(model_class(name))
        yield name, {}
        yield from ((name, {option: value}) for option, value in OPTIONS.items() if option in known)


def digest(name, params):
    """Of what two seeds predict for all records, to nine digits."""
    kind, found = model_class(name), sha256()
    drawn = parameters(kind).get("structure")
    structure = {"structure": 0} if drawn is not None and drawn.default is None else {}
    for seed in (0, 1):
        if kind._task == "regression":
            schema, y = Schema(FEATURES, target=(0, 1)), TARGETS
        else:
            schema, y = Schema(FEATURES, classes=["n", "y"]), np.where(TARGETS > 0.4, "y", "n")
        model = kind(schema=schema, epsilon=2.0, random_state=seed, **structure, **params).fit(X, y)
        said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
        rounded = [f"{own:.9f}" if isinstance(own, float) else str(own) for own in np.ravel(said).tolist()]
        found.update(" ".join(rounded).encode())
    return found.hexdigest()[:16]


def key(name, params):
    return " ".join([name, *(f"{option}={value}" for option, value in params.items())])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "params"), settings(), ids=lambda own: str(own))
def test_a_seed_gives_what_it_gave_before(name, params):
    assert digest(name, params) == json.loads(KEPT.read_text())[key(name, params)]


if __name__ == "__main__":
    found = {key(*own): digest(*own) for own in settings()}
    KEPT.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n")
