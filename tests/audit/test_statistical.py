"""The statistical engine is sound and sharp: below the truth on mechanisms whose epsilon is known, and near it.

Confidence is 1 - 1e-8 in each test, so that all of them together raise a false alarm in fewer than one of a million.
"""

import contextlib
import math
from itertools import product

import numpy as np
import pandas
import pytest

from privet import Categorical, Ledger, PrivateTreeClassifier, Schema
from privet.audit import Pair, bound_of_samples, release_of, runs_needed, statistical_bound
from privet.audit import statistical as engine
from privet.audit.event import Seen
from privet.audit.statistical import Halves, check_noise_is_fresh, count
from privet.errors import PrivetError
from privet.privacy.mechanisms import SecureMechanisms, SeededMechanisms

SURE = 1 - 1e-8
N = 300_000
RNG = np.random.default_rng()

PAIR = Pair(([[0]], [0]), ([[0], [1]], [0, 1]))
SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
TABLES = Pair((np.array([["a"], ["b"]], dtype=object), ["n", "y"]), (np.array([["a"]], dtype=object), ["n"]), SCHEMA)


def laplace(epsilon, n=N):
    return RNG.laplace(0, 1 / epsilon, n), RNG.laplace(1, 1 / epsilon, n)


def geometric(epsilon, n=N // 2):
    # The sampler that our estimators use, not a copy of its law.
    noise = SecureMechanisms().geometric
    return noise(np.zeros(n, dtype=np.int64), 1 / epsilon), noise(np.ones(n, dtype=np.int64), 1 / epsilon)


def permute_and_flip(epsilon, n=200_000):
    # Our own sampler here, too: the quick one, with a generator that nobody seeded.
    return chosen(SeededMechanisms(RNG), [0, 0], epsilon, n), chosen(SeededMechanisms(RNG), [1, 0], epsilon, n)


def secure_permute_and_flip(epsilon, n=170_000):
    # The one that fits use. A tie takes it long, and a choice that is not rare needs fewer draws.
    return chosen(SecureMechanisms(), [0, 0], epsilon, n // 5), chosen(SecureMechanisms(), [1, 0], epsilon, n)


def chosen(mechanisms, scores, epsilon, n):
    return np.array(mechanisms.select("permute_and_flip", [np.array(scores)] * n, [1 / epsilon] * n))


def randomised_response(epsilon, n=N):
    truth = 1 / (1 + math.exp(-epsilon))
    return RNG.random(n) < truth, RNG.random(n) >= truth


QUICK = [laplace, geometric, permute_and_flip, randomised_response]
KNOWN = [
    *product(QUICK, (1.0,)),
    *(pytest.param(mechanism, 3.0, marks=pytest.mark.slow) for mechanism in QUICK),
    # At 2 the fewest draws of the slow one will do.
    pytest.param(secure_permute_and_flip, 2.0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("mechanism", "epsilon"), KNOWN)
def test_the_bound_is_below_the_truth_and_near_it(mechanism, epsilon):
    # Above the truth with a chance of 1e-8; below 90% of it too, as there are so many draws that this is more than five
    # standard deviations of the bound away.
    bound = bound_of_samples(*mechanism(epsilon), confidence=SURE, proven=epsilon)
    assert 0.9 * epsilon <= bound.epsilon <= epsilon


@pytest.mark.parametrize("mechanism", [*QUICK, secure_permute_and_flip])
def test_half_the_noise_is_caught(mechanism):
    assert bound_of_samples(*mechanism(2.0, 20_000), confidence=SURE, proven=1.0).violated


def test_confidence_is_kept_where_it_can_be_checked_often():
    from scipy.stats import binom

    # At confidence 0.9 one audit in ten may be wrong; of 400, more than this (72) only once in a million.
    wrong = sum(bound_of_samples(*laplace(1.0, 400), confidence=0.9, proven=1.0).violated for _ in range(400))
    assert wrong <= binom.isf(1e-6, 400, 0.1)


def test_equal_laws_show_nothing():
    assert bound_of_samples(RNG.normal(size=5000), RNG.normal(size=5000), confidence=SURE).epsilon == 0


def test_vectors_are_told_apart():
    one, other = RNG.laplace(0, 1, (60_000, 3)), RNG.laplace([0, 1, 0], 1, (60_000, 3))
    assert 0.6 <= bound_of_samples(one, other, confidence=SURE).epsilon <= 1


def test_rare_outputs_that_only_one_table_has_are_found():
    one = RNG.choice([*"abc"], 20_000)
    other = np.where(RNG.random(20_000) < 0.02, "leak", RNG.choice([*"abc"], 20_000))
    bound = bound_of_samples(one.tolist(), other.tolist(), confidence=SURE, proven=1.0)
    assert bound.violated
    assert "leak" in bound.event


def flip(X, y):
    """Randomised response whether there are two records: epsilon ln 9."""
    return bool(np.random.default_rng().random() < (0.9 if len(y) == 2 else 0.1))


def test_a_function_is_audited_and_stopped_early():
    bound = statistical_bound(flip, PAIR, runs=20_000, confidence=SURE, proven=1.0, n_jobs=1)
    assert bound.violated
    assert bound.runs < 20_000


def test_without_a_promise_nothing_stops_it():
    bound = statistical_bound(flip, PAIR, runs=10_000, confidence=SURE, n_jobs=1)
    assert bound.runs == 10_000
    assert 0.75 * math.log(9) <= bound.epsilon <= math.log(9)


def test_time_is_kept(monkeypatch):
    now = [0.0]

    def slow_flip(X, y):
        now[0] += 1e-3
        return flip(X, y)

    for clock in ("monotonic", "perf_counter"):  # of its own: the machine may be busy
        monkeypatch.setattr(engine.time, clock, lambda: now[0])
    bound = statistical_bound(slow_flip, PAIR, minutes=0.02, confidence=SURE, n_jobs=1)
    assert 0 < bound.epsilon <= math.log(9)
    assert now[0] < 2.5  # half a second before to see how long a run takes, and a task that ends after the time is up


def test_a_delta_explains_what_epsilon_alone_cannot():
    def rarely_all(X, y):
        return len(y) if np.random.default_rng().random() < 0.03 else None

    kwargs = {"runs": 10_000, "confidence": SURE, "n_jobs": 1}
    assert statistical_bound(rarely_all, PAIR, **kwargs).epsilon > 1
    assert statistical_bound(rarely_all, PAIR, delta=0.05, **kwargs).epsilon == 0


def test_looks_share_the_chance_to_be_wrong():
    for proven in (None, 0.1, 3.0):
        looks = engine.plan_looks(100_000, engine._LOOKS, 1e-6, 0.0, proven)
        assert sum(look.alpha for look in looks) <= 1e-6 * (1 + 1e-12)
        assert looks[-1].runs == 100_000


def test_workers_run_our_estimators_without_a_ledger(monkeypatch):
    monkeypatch.setattr(engine, "_WORTH_WORKERS", 0.0)
    model = PrivateTreeClassifier(SCHEMA, epsilon=1.0, max_depth=1)
    bound = statistical_bound(model, TABLES, runs=150, confidence=SURE, proven=1.0, n_jobs=2)
    assert bound.epsilon <= 1
    assert bound.runs == 150


def test_views_of_our_trees_stay_within_epsilon():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1.0, max_depth=1, leaves="counts")
    assert not statistical_bound(model, TABLES, runs=300, confidence=SURE, proven=1.0, n_jobs=1).violated


# -- noise of its own in every run, and views that come and go ------------------------------------------------------


@pytest.mark.parametrize("length", [{"runs": 20_000}, {"minutes": 0.05}])
def test_a_release_whose_copies_share_a_generator_is_refused(monkeypatch, length):
    monkeypatch.setattr(engine, "_WORTH_WORKERS", 0.0)
    generator = np.random.default_rng()

    def release(X, y):
        return float(len(y) + generator.laplace())

    with pytest.raises(PrivetError, match="carries its own generator"):
        statistical_bound(release, PAIR, n_jobs=2, **length)


def test_noise_that_is_fresh_or_absent_is_allowed():
    # Refused with a chance of 2e-9: of 128 runs of two copies, four times both below 0.02, and never one alone.
    for release in (flip, lambda X, y: "same", lambda X, y: np.random.default_rng().random() < 0.02):
        engine.check_noise_is_fresh(release, PAIR)


@pytest.mark.parametrize(("rare", "refused"), [((30, 31, 60), False), (range(0, 200, 9), True)])
def test_rare_outputs_may_agree_a_few_times_and_not_always(monkeypatch, rare, refused):
    from joblib.externals.loky.backend import reduction

    calls = iter(range(10**6))

    def release(X, y):  # both copies are it, and are run in turn
        return next(calls) // 2 in rare

    monkeypatch.setattr(reduction, "dumps", lambda _: b"")
    monkeypatch.setattr(reduction, "loads", lambda _: release)
    with pytest.raises(PrivetError, match="draw the same noise") if refused else contextlib.nullcontext():
        check_noise_is_fresh(release, PAIR)


def test_a_release_that_cannot_be_sent_is_refused_with_a_reason(monkeypatch):
    monkeypatch.setattr(engine, "_WORTH_WORKERS", 0.0)
    rows = (row for row in [])
    with pytest.raises(PrivetError, match="n_jobs=1"):
        statistical_bound(lambda X, y: len(list(rows)), PAIR, runs=1000, n_jobs=2)


def test_a_view_that_only_one_table_has_is_a_leak():
    bound = statistical_bound(lambda X, y: {"x": 0, "leak": 1} if len(y) == 2 else {"x": 0}, PAIR, runs=1000, n_jobs=1)
    assert bound.epsilon == pytest.approx(bound.reach)
    assert "leak" in bound.event


def test_a_view_that_is_sometimes_missing_is_counted_as_it_is():
    def sometimes(X, y):
        value = np.random.default_rng().random()
        return {"x": 0, "number": value} if value < (0.9 if len(y) == 2 else 0.1) else {"x": 0}

    bound = statistical_bound(sometimes, PAIR, runs=2000, confidence=SURE, n_jobs=1)
    # Missing with 0.1 and 0.9; present beyond 0.1 only on one table.
    assert bound.epsilon > 1


# -- wrong use ---------------------------------------------------------------------------------------------------


def test_too_few_runs_are_refused_with_the_number_that_is_needed():
    with pytest.raises(PrivetError, match=f"at least {2 * runs_needed(0.0)} are needed"):
        statistical_bound(flip, PAIR, runs=30)
    with pytest.raises(PrivetError, match="too few"):
        bound_of_samples([1, 2], [1, 2])


@pytest.mark.parametrize("output", [{1: [object()]}, object(), {"set": {1, 2}}])
def test_outputs_that_cannot_be_compared_are_refused(output):
    with pytest.raises(PrivetError, match="cannot be compared"):
        statistical_bound(lambda X, y: output, PAIR, runs=1000)


def test_a_fixed_seed_is_refused():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1.0, random_state=0)
    with pytest.raises(PrivetError, match="random_state is fixed"):
        statistical_bound(model, TABLES, runs=1000)


def test_an_inferred_schema_is_refused():
    with pytest.raises(PrivetError, match="infer"):
        release_of(PrivateTreeClassifier("infer", epsilon=1))


def test_something_without_predict_is_refused():
    class Fits:
        def fit(self, X, y):
            return self

    with pytest.raises(PrivetError, match="no predict"):
        release_of(Fits(), PAIR)
    with pytest.raises(PrivetError, match="fit and predict"):
        release_of(object(), PAIR)


def test_an_audit_within_a_ledger_is_refused():
    with Ledger(1.0), pytest.raises(PrivetError, match="outside"):
        statistical_bound(flip, PAIR, runs=1000)


@pytest.mark.parametrize("kwargs", [{}, {"runs": 100, "minutes": 1}])
def test_either_runs_or_minutes(kwargs):
    with pytest.raises(PrivetError, match="either"):
        statistical_bound(flip, PAIR, **kwargs)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"delta": -0.5}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"proven": 0.0}, "promised"),
        ({"proven": -1.0}, "promised"),
        ({"proven": math.nan}, "promised"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.0}, "confidence"),
        ({"runs": 0}, "runs must"),
        ({"runs": 99.5}, "runs must"),
        ({"runs": None, "minutes": -1.0}, "minutes must"),
        ({"runs": None, "minutes": math.inf}, "minutes must"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(kwargs, words):
    with pytest.raises(PrivetError, match=words):
        statistical_bound(flip, PAIR, **{"runs": 1000, **kwargs})
    if "runs" not in kwargs:
        with pytest.raises(PrivetError, match=words):
            bound_of_samples([0] * 1000, [1] * 1000, **kwargs)


def test_two_tables_are_taken_as_a_pair_and_other_things_are_refused():
    assert statistical_bound(flip, (PAIR.one, PAIR.other), runs=1000, n_jobs=1).epsilon > 0
    with pytest.raises(PrivetError, match="twice the epsilon"):
        statistical_bound(flip, (([[0]], [0]), ([[1]], [0])), runs=1000)
    for wrong in (None, (1, 2), ([[0]], [0], [1])):
        with pytest.raises(PrivetError, match=r"\(X, y\)"):
            statistical_bound(flip, wrong, runs=1000)


def test_an_output_that_only_now_and_then_has_no_hash_is_refused():
    calls = iter(range(10**6))
    with pytest.raises(PrivetError, match="no hash"):
        statistical_bound(lambda X, y: {"a": {1}} if next(calls) == 40 else {"a": 1}, PAIR, runs=1000, n_jobs=1)


def test_runs_that_all_give_the_same_say_so():
    bound = statistical_bound(lambda X, y: "same", PAIR, runs=1000, n_jobs=1)
    assert bound.epsilon == 0
    assert "same output" in bound.event


def test_what_a_release_does_to_its_table_is_not_seen_by_the_next_run():
    rows = np.arange(6.0)[::-1].reshape(-1, 1).copy()
    pair = Pair((rows, np.zeros(6, int)), (rows[:-1], np.zeros(5, int)))

    def sorts_in_place(X, y):
        first = float(X[0, 0])
        X.sort(axis=0)
        return first

    bound = statistical_bound(sorts_in_place, pair, runs=200, n_jobs=1)
    assert bound.epsilon == 0
    assert pair.one[0].ravel().tolist() == rows.ravel().tolist()


def test_a_generator_in_a_closure_is_refused_however_rarely_it_shows():
    rng = np.random.default_rng()

    def rarely(X, y):
        return bool(rng.random() < 1e-4)

    pair = Pair(([[1]], [0]), ([[1], [2]], [0, 1]))
    with pytest.raises(PrivetError, match="generator"):
        check_noise_is_fresh(rarely, pair)


@pytest.mark.parametrize("n", [256, 500])
def test_few_runs_of_continuous_numbers_tell_far_apart_tables_apart(n):
    # Disjoint but for a chance of exp(-5000); of the runs that count, all are right with a chance of more than 1 - 1e-6
    # unless fewer than a fifth of them lies beyond the first or last edge that was found: less than 1e-8.
    rng = np.random.default_rng()
    bound = bound_of_samples(rng.laplace(0, 0.01, n), rng.laplace(100, 0.01, n))
    assert bound.epsilon > 0.5 * bound.reach


def test_a_number_that_comes_up_again_among_continuous_ones_is_seen():
    # 0.02 of the runs are exactly 3 on one table, exactly 4 on the other: about 400 hits of 20,000, against none.
    # Fewer than 200, which would halve the bound, have a chance below 1e-20.
    rng = np.random.default_rng()
    noise = rng.laplace(0, 1, (2, 40_000))
    atoms = rng.random((2, 40_000)) < 0.02
    one, other = (np.where(atoms[i], 3.0 + i, noise[i]) for i in (0, 1))
    bound = bound_of_samples(one, other)
    assert bound.epsilon > 2
    assert "is 3" in bound.event or "is 4" in bound.event


def test_confidences_next_to_one_are_not_rounded_to_certainty():
    rng = np.random.default_rng()
    halves = Halves(*({"output": Seen.of(rng.integers(0, 2, 500))} for _ in range(4)))
    assert count(halves, 1e-30, 0.999999, 0.0, 1.0).epsilon == 0


# -- persons -----------------------------------------------------------------------------------------------------------

PEOPLE = Schema(SCHEMA.features, classes=["n", "y"], person="who", records_per_person=20)


def visits(*persons):
    """A person for each list of labels, whose visits end so."""
    who = [i for i, labels in enumerate(persons) for _ in labels]
    labels = [label for own in persons for label in own]
    return pandas.DataFrame({"s": ["a"] * len(who), "who": who}), labels


VISITS = Pair(visits("n", "nny", "y" * 9), visits("n", "nny"), PEOPLE)
TREE = PrivateTreeClassifier(PEOPLE, epsilon=1.0, max_depth=1, n_records=10)


class IgnoresPersons(PrivateTreeClassifier):
    """Promises epsilon to persons and keeps it to rows."""

    def fit(self, X, y, groups=None):
        schema = self.schema
        self.schema = Schema(schema.features, classes=schema.classes)
        super().fit(X, y)
        self.schema = schema
        return self


@pytest.mark.slow
def test_a_person_with_all_their_visits_costs_epsilon_by_real_fits():
    bound = statistical_bound(TREE, VISITS, runs=3_000, confidence=SURE, proven=1.0, n_jobs=1)
    assert not bound.violated
    assert bound.epsilon > 0.2  # the bound has power: it is no table on which nothing shows


def test_a_person_column_that_is_ignored_is_caught_by_real_fits():
    """Nine visits at epsilon 1 each."""
    ignoring = IgnoresPersons(PEOPLE, epsilon=1.0, max_depth=1, n_records=10)
    assert statistical_bound(ignoring, VISITS, runs=400, confidence=SURE, proven=1.0, n_jobs=1).violated
