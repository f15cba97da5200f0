"""What noise does to a round is about what is said: refits with other noise spread by as much."""

import numpy as np
import pytest

from privet import Numeric, PrivateForestClassifier, PrivateForestRegressor, Schema
from privet.explain.round_noise import round_noise, term_noise

X = np.random.default_rng(0).random((4000, 1))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_first_rounds_spread_as_is_said(kind):
    """The first round of a single feature has the same table in every fit, so its values differ by noise alone.

    Of 40 fits the standard deviation is within a factor of two of the truth but for a chance far below one in a
    million (a chi-square of 39 degrees of freedom below 39/4 or above 156).
    """
    schema = Schema({"a": Numeric(0, 1)}, **({"classes": ["no", "yes"]} if kind == "classes" else {"target": (0, 1)}))
    y = np.where(X[:, 0] > 0.5, "yes", "no") if kind == "classes" else X[:, 0]
    model = PrivateForestClassifier if kind == "classes" else PrivateForestRegressor
    firsts, said = [], []
    for seed in range(40):
        fit = model(schema, epsilon=0.3, method="boosting", n_records=4000, random_state=seed).fit(X, y)
        first = fit.forest_.rounds[0]
        firsts.append((first.factors, np.array(first.values) / 2**16))
        said.append(round_noise(fit.forest_, fit.privacy_)[0])
    same = [i for i, (factors, _) in enumerate(firsts) if factors == firsts[0][0]]
    assert len(same) >= 10
    values, errors = np.array([firsts[i][1] for i in same]), np.array([said[i] for i in same])
    full = np.abs(values).max(axis=0) < 1.9  # a step at its bound does not spread
    ratio = values.std(axis=0, ddof=1)[full] / errors.mean(axis=0)[full]
    assert 0.4 < np.median(ratio) < 2.5


def test_every_round_has_an_error_for_every_part():
    schema = Schema({"a": Numeric(0, 1)}, classes=["no", "maybe", "yes"])
    y = np.array(["no", "maybe", "yes"])[(3 * X[:, 0]).astype(int)]
    fit = PrivateForestClassifier(schema, epsilon=3, delta=1e-6, method="boosting").fit(X, y)
    noise = round_noise(fit.forest_, fit.privacy_)
    assert [len(own) for own in noise] == [len(own.values) for own in fit.forest_.rounds]
    assert all((own > 0).all() for own in noise)


def test_a_term_has_the_noise_of_its_rounds_together():
    """Of one feature: in every cell the squares of its rounds' errors add up."""
    schema = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"])
    fit = PrivateForestClassifier(schema, epsilon=3, method="boosting").fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
    (term,) = fit.forest_.terms
    each = round_noise(fit.forest_, fit.privacy_)
    cells = [np.frombuffer(own.factors[0][1], np.uint8) for own in fit.forest_.rounds]
    wanted = np.sqrt(sum(errors[parts] ** 2 for errors, parts in zip(each, cells)))
    np.testing.assert_allclose(term_noise(fit.forest_, fit.privacy_, term)[term.stretches[0], 0], wanted)
