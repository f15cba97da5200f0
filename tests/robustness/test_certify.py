"""Certificates: what they say, what they refuse, and that no attack beats them where the truth is computed."""

import math
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from exact_learners import (
    KINDS,
    POINTS,
    SCHEMA,
    ExactLearner,
    concentrated_attack,
    greedy_attack,
    guaranteed,
    neighbours,
    random_attack,
)
from privet import Ledger, PrivateForestClassifier, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.errors import BudgetError, BudgetWarning, PrivetError
from privet.privacy.laws import log_exponential, log_gaussian_tail, log_geometric_tail, log_permute_and_flip
from privet.robustness import Concentrated, Pure, certify
from privet.robustness.attacks.backdoor import Backdoor

RULES = [("n", "n")] + [("y", "y")] + [pair for pair in product("ny", "ny") if pair[0] != pair[1]]
TRUTHS = [tuple(labels) for labels in product("ny", repeat=4)]


class OneRule(ExactLearner):
    """The same in closed form: permute-and-flip, by correct counts, among labels for both values of one feature."""

    def __init__(self, epsilon):
        self.epsilon, self.law = epsilon, cache(self._law)

    def _law(self, counts):
        table = np.array(counts).reshape(2, 2, 2)  # s, t, label
        vectors, scores = [], []
        for axis, labels in product((0, 1), product((0, 1), repeat=2)):
            by_value = table.sum(axis=1 - axis)
            scores.append(sum(by_value[value, label] for value, label in enumerate(labels)))
            vectors.append(tuple("ny"[labels[point[axis]]] for point in product((0, 1), repeat=2)))
        return tuple(vectors), np.exp(log_permute_and_flip(np.array(scores), 1 / self.epsilon))


class NoisyCells(ExactLearner):
    """A label for each point, by the sign of its two counts' difference with noise: all points, one disjoint scope."""

    def __init__(self, tail, scale):
        self.tail, self.scale, self.law = tail, scale, cache(self._law)
        self._positive = cache(self._positive)

    def _law(self, counts):
        chances = self._chances(counts)
        return TRUTHS, np.array([math.prod(p if v == "y" else 1 - p for v, p in zip(t, chances)) for t in TRUTHS])

    def _chances(self, counts):
        return [self._positive(counts[2 * i + 1] - counts[2 * i]) for i in range(4)]

    def chances(self, counts, truth):
        return np.array([p if label == "y" else 1 - p for p, label in zip(self._chances(counts), truth)])

    def accuracy(self, counts, truth):
        return float(self.chances(counts, truth).mean())

    def _positive(self, difference):
        """P(difference + noise > 0)."""
        k = 1 - difference
        return math.exp(self.tail(k, self.scale)) if k >= 1 else 1 - math.exp(self.tail(1 - k, self.scale))


class ChooseThenCount(NoisyCells):
    """As boosting does: an exponential choice of one feature, then Gaussian noise on the sums of its cells."""

    def __init__(self, epsilon, scale):
        super().__init__(log_gaussian_tail, scale)
        self.epsilon = epsilon

    def _law(self, counts):
        table, law = np.array(counts).reshape(2, 2, 2), dict.fromkeys(TRUTHS, 0.0)
        sides = [table.sum(axis=1 - axis) for axis in (0, 1)]
        chosen = np.exp(log_exponential(np.array([side.max(axis=1).sum() for side in sides]), 1 / self.epsilon))
        for axis, labels in product((0, 1), product((0, 1), repeat=2)):
            positive = [self._positive(int(n - m)) for m, n in sides[axis]]
            vector = tuple("ny"[labels[point[axis]]] for point in product((0, 1), repeat=2))
            law[vector] += chosen[axis] * math.prod(p if own else 1 - p for p, own in zip(positive, labels))
        return TRUTHS, np.array([law[vector] for vector in TRUTHS])

    chances, accuracy = ExactLearner.chances, ExactLearner.accuracy


LEARNERS = {
    "permute-and-flip": (OneRule(0.4), Pure(Fraction(2, 5))),
    "geometric noise": (NoisyCells(log_geometric_tail, 2.0), Pure(Fraction(1, 2))),
    "gaussian noise": (NoisyCells(log_gaussian_tail, 3.0), Concentrated(Fraction(1, 18))),
    "choice and gaussian noise": (ChooseThenCount(0.5, 3.0), Concentrated(Fraction(1, 32) + Fraction(1, 18))),
}


def all_bounds(learner, guarantee, counts, truth, distance):
    """Of the exact law, and what each point's own exact chance gives."""
    law = guaranteed(*learner.accuracies(counts, truth), guarantee, distance)
    return law, guarantee.worst(learner.chances(counts, truth), distance)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_attack_leaves_less_than_certified(name):
    """Random attacks, some all on one kind of record, and greedy ones that try some 8,000 tables for each learner."""
    learner, guarantee = LEARNERS[name]
    rng = np.random.default_rng(5)
    closest = math.inf
    for _ in range(16):
        counts = tuple(rng.integers(0, rng.choice([3, 8, 15]), 8).tolist())
        truth = TRUTHS[rng.integers(16)]
        for distance in (1, 2, 4, 7):
            certified, points = all_bounds(learner, guarantee, counts, truth, distance)
            attacks = [random_attack(counts, distance, rng) for _ in range(5)]
            attacks += [concentrated_attack(counts, distance, rng) for _ in range(3)]
            attacks.append(greedy_attack(counts, distance, partial(learner.accuracy, truth=truth)))
            attacks.append(greedy_attack(counts, distance, partial(learner.weakest, truth=truth)))
            for attack in attacks:
                assert learner.accuracy(attack, truth) >= certified - 1e-9
                assert (learner.chances(attack, truth) >= points - 1e-9).all()
            closest = min(closest, min(learner.accuracy(attack, truth) for attack in attacks) - certified)
    assert closest < 0.12  # the attacks are no straw men


def test_a_larger_guarantee_than_the_true_one_is_caught():
    """The test above could fail: with a tenth less epsilon the worst attack beats the certificate."""
    learner = NoisyCells(log_geometric_tail, 2.0)
    counts, truth = (0, 0, 0, 0, 0, 0, 0, 0), ("n", "n", "n", "y")
    attack = (0, 3, 0, 3, 0, 3, 3, 0)
    honest, _ = all_bounds(learner, Pure(Fraction(1, 2)), counts, truth, 12)
    assert learner.accuracy(attack, truth) >= honest
    p = learner.chances((0, 0, 0, 0, 0, 0, 0, 9), truth)[3]
    after = learner.chances((0, 0, 0, 0, 0, 0, 9, 9), truth)[3]
    assert after >= Pure(Fraction(1, 2)).worst(p, 9)
    assert after < Pure(Fraction(9, 20)).worst(p, 9)


def test_the_closed_form_is_the_estimator_s_law():
    """Our tree of depth 1, followed answer by answer, has the same certificate property: 150 attacks on it."""
    epsilon = 0.4
    tree = ExactLearner(PrivateTreeClassifier(epsilon=epsilon, max_depth=1))
    guarantee, rng = Pure(Fraction(2, 5)), np.random.default_rng(7)
    for _ in range(3):
        counts = tuple(rng.integers(0, 6, 8).tolist())
        truth = TRUTHS[rng.integers(16)]
        for distance in (1, 3):
            certified, points = all_bounds(tree, guarantee, counts, truth, distance)
            found = greedy_attack(counts, distance, partial(tree.accuracy, truth=truth))
            for attack in (found, random_attack(counts, distance, rng)):
                assert tree.accuracy(attack, truth) >= certified - 1e-9
                assert (tree.chances(attack, truth) >= points - 1e-9).all()


@pytest.mark.slow
def test_no_attack_on_a_tree_of_two_levels_leaves_less_than_certified():
    tree = ExactLearner(PrivateTreeClassifier(epsilon=0.6, max_depth=2, n_records=10**5))
    guarantee, rng = Pure(Fraction(3, 5)), np.random.default_rng(11)
    for _ in range(6):
        counts = tuple(rng.integers(0, 6, 8).tolist())
        truth = TRUTHS[rng.integers(16)]
        for distance in (1, 2, 4):
            certified, points = all_bounds(tree, guarantee, counts, truth, distance)
            found = greedy_attack(counts, distance, partial(tree.accuracy, truth=truth))
            for attack in (found, *(random_attack(counts, distance, rng) for _ in range(5))):
                assert tree.accuracy(attack, truth) >= certified - 1e-9
                assert (tree.chances(attack, truth) >= points - 1e-9).all()


# -- certify itself ----------------------------------------------------------------------------------------------------


def table(counts):
    X = np.array([POINTS[i] for (i, _), n in zip(KINDS, counts) for _ in range(n)], dtype=object)
    return X, np.array([label for (_, label), n in zip(KINDS, counts) for _ in range(n)])


CLEAN = (9, 1, 8, 2, 2, 8, 1, 9)


def test_a_certificate_is_below_every_poisoned_accuracy_that_is_computed():
    X, y = table(CLEAN)
    truth = ("n", "n", "y", "y")
    found = certify(
        PrivateTreeClassifier(SCHEMA, epsilon=0.4, max_depth=1), X, y, POINTS, truth, [1, 2], runs=400, random_state=0
    )
    exact = ExactLearner(PrivateTreeClassifier(epsilon=0.4, max_depth=1))
    assert found.clean == pytest.approx(exact.accuracy(CLEAN, truth), abs=0.05)
    assert [row.level.distance for row in found.rows] == [1, 2, 2, 4]
    one = min(exact.accuracy(attack, truth) for attack in neighbours(CLEAN))
    assert 0.3 < found.rows[0].accuracy < one
    assert found.rows[1].accuracy == found.rows[2].accuracy  # one changed is two added or removed
    assert found.rows[0].by_mean < found.clean
    assert found.records == len(y)
    assert found.unit == "one row"


def test_a_backdoor_is_bounded_from_above():
    X, y = table(CLEAN)
    door = Backdoor({1: "b"}, "y")
    found = certify(
        PrivateTreeClassifier(SCHEMA, epsilon=0.2, max_depth=1),
        *(X, y, POINTS, np.array(["n", "n", "y", "y"]), [1]),
        backdoor=door,
        runs=300,
        random_state=0,
    )
    exact = ExactLearner(PrivateTreeClassifier(epsilon=0.2, max_depth=1))
    # Both test records of class n become (a, b); the attacker adds that record with the label y.
    attacked = (*CLEAN[:3], CLEAN[3] + 1, *CLEAN[4:])
    success = 1 - exact.chances(attacked, ("n",) * 4)[1]
    assert success < found.rows[0].success < 1
    assert found.rows[0].success_by_mean < 1


def test_certificates_say_what_they_are_about_and_what_they_cost():
    X, y = table(CLEAN)
    found = certify(
        PrivateTreeClassifier(SCHEMA, epsilon=0.4, max_depth=1), X, y, POINTS, ["n", "n", "y", "y"], ["5%"], runs=30
    )
    text = str(found)
    for words in (
        "average over retrainings",
        "Neither says anything about one model",
        "itself a release",
        "12 epsilon",
    ):
        assert words in text
    assert "confidence 0.99" in text


def test_an_open_ledger_pays_for_every_retraining_or_refuses_all():
    X, y = table(CLEAN)
    tree = PrivateTreeClassifier(SCHEMA, epsilon=0.4, max_depth=1)
    with Ledger(3) as ledger, pytest.raises(BudgetError, match="20 retrainings"):
        certify(tree, X, y, POINTS, ["n", "n", "y", "y"], [1], runs=20)
    assert ledger.spent == 0
    with Ledger(8) as ledger:
        certify(tree, X, y, POINTS, ["n", "n", "y", "y"], [1], runs=20)
    assert ledger.spent == 8


def test_wrong_use_is_refused_before_anything_is_trained():
    X, y = table(CLEAN)
    rest = (X, y, POINTS, ["n", "n", "y", "y"])
    tree = PrivateTreeClassifier(SCHEMA, epsilon=0.4, max_depth=1)
    for wrong, words in (
        ({"poison": ["1.5"]}, "whole numbers"),
        ({"poison": ["-1%"]}, "whole numbers"),
        ({"poison": []}, "list of amounts"),
        ({"poison": [1.0]}, "write 1 for"),
        ({"poison": ["500%"]}, "at most 100%"),
        ({"confidence": 1.0}, "below 1"),
        ({"confidence": "0.9"}, "below 1"),
        ({"confidence": None}, "below 1"),
        ({"runs": 0}, "whole number"),
        ({"guarantee": Pure(Fraction(1))}, "leave guarantee out"),
        ({"backdoor": Backdoor({0: "b"}, "yes")}, "target must be one of the classes: 'n', 'y'"),
        ({"backdoor": Backdoor({0: "c"}, "y")}, "unlisted"),
    ):
        with pytest.raises(PrivetError, match=words):
            certify(tree, *rest, **wrong)
    whole, numeric = Schema(SCHEMA.features, classes=[0, 1]), Schema(SCHEMA.features, target=(0, 1))
    numbers = np.where(y == "y", 1, 0)
    few, bad = POINTS[:0], POINTS.copy()
    bad[3, 0] = "c"
    for estimator, own, X_test, y_test, words in (
        (PrivateTreeClassifier(whole, epsilon=1), numbers, POINTS, ["0", "0", "1", "1"], "y_test .* holds text, but"),
        (PrivateTreeClassifier(whole, epsilon=1), numbers, POINTS, [0, 0, 1, 2], "does not list among its classes"),
        (tree, y, POINTS, ["n", "n", "y", None], "y_test .* missing values"),
        (PrivateTreeRegressor(numeric, epsilon=1), numbers, POINTS, [0, 0, 1, 1], "predicts numbers"),
        (PrivateTreeClassifier(numeric, epsilon=1), numbers, POINTS, [0, 0, 1, 1], "give the estimator a schema"),
        (tree, y, few, [], "0 records and y_test 0 labels: give at least one"),
        (tree, y, POINTS, ["n", "y"], "4 records and y_test 2 labels"),
        (tree, y, bad, ["n", "n", "y", "y"], "'s' has missing or unlisted values"),
        (tree, y, POINTS[:, :1], ["n", "n", "y", "y"], "1 features"),
    ):
        with Ledger(1000) as ledger, pytest.raises(PrivetError, match=words):
            certify(estimator, X, own, X_test, y_test, [1])
        assert ledger.spent == 0, words
    for learner, y_test, words in ((LogisticRegression(), [1], "1 labels"), (LinearRegression(), [1] * 4, "numbers")):
        with pytest.raises(PrivetError, match=words):
            certify(learner, X, numbers, POINTS, y_test, [1], guarantee=Pure(Fraction(1)))
    with pytest.raises(PrivetError, match="random_state"):
        certify(PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=1), *rest)
    with pytest.raises(PrivetError, match="not inferred"):
        certify(PrivateTreeClassifier("infer", epsilon=1), *rest)
    with pytest.raises(PrivetError, match="guarantee=Pure"):
        certify(LogisticRegression(), *rest)


def test_test_labels_of_another_type_are_the_schema_s_classes():
    X, y = table(CLEAN)
    tree = PrivateTreeClassifier(Schema(SCHEMA.features, classes=[0, 1]), epsilon=8)
    right = [
        certify(tree, X, np.where(y == "y", 1, 0), POINTS, labels, [1], runs=20, random_state=0).clean
        for labels in ([0, 0, 1, 1], np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1], dtype=object))
    ]
    assert right[0] == right[1] == right[2] > 0.5


def test_a_stranger_s_learner_is_certified_on_the_caller_s_word():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    found = certify(LogisticRegression(), X, y, X, y, [1], guarantee=Pure(Fraction(1)), runs=20, random_state=3)
    assert "on the caller's word" in str(found)
    assert 0 < found.rows[0].accuracy < found.clean


def test_persons_are_the_unit_where_the_schema_names_them():
    X, y = table(CLEAN)
    schema = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=2)
    groups = np.arange(len(y)) // 4
    tree = PrivateTreeClassifier(schema, epsilon=2, max_depth=1)
    found = certify(tree, X, y, POINTS, ["n", "n", "y", "y"], ["10%"], groups=groups, runs=20)
    assert (found.records, found.rows[0].level.units) == (10, 1)
    assert found.unit == "one person, at most 2 records"


def test_boosting_is_certified_by_its_rho():
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b"], size=(1000, 2)).astype(object)
    y = np.where(X[:, 0] == "a", "n", "y")
    model = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method="boosting", n_records=1000)
    found = certify(model, X, y, POINTS, ["n", "n", "y", "y"], [1, 4], runs=60, random_state=0)
    assert "rho" in found.guarantee
    assert 0.5 < found.rows[2].accuracy < found.rows[0].accuracy < 1


def test_a_forest_that_decides_by_a_noisy_answer_is_told_how_to_certify_more():
    X, y = table(CLEAN)
    rest = (X, y, POINTS, ["n", "n", "y", "y"], [1])
    with pytest.warns(BudgetWarning, match=r"n_records=N \(--set n_records=N\).* certifies far more"):
        weak = certify(PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6), *rest, runs=4)
    assert weak.guarantee.startswith("(epsilon, delta)")
    assert "certifies far more" in weak.statement
    for decided in ({"n_records": 40}, {"method": "boosting"}):
        found = certify(PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, **decided), *rest, runs=4)
        assert not found.guarantee.startswith("(epsilon, delta)")
        assert "certifies far more" not in found.statement
