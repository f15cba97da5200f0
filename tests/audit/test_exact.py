"""The exact engine knows the truth: its losses are those of mechanisms whose loss is known."""

import math
import secrets
import threading

import numpy as np
import pytest
from sklearn.base import clone

from exact_transcripts import loss, transcripts
from privet import (
    Categorical,
    DiPriMeForestClassifier,
    HiddenTreeClassifier,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateTreeClassifier,
    Schema,
)
from privet.algorithms.baselines import DPDFClassifier, DPERTClassifier, RandomTreeClassifier
from privet.audit import Finding, Pair, bound_of_laws, exact_bound, exact_bound_of
from privet.audit.exact import check_draws_nothing, outputs
from privet.audit.scripted import TooManyTranscripts
from privet.errors import PrivetError
from privet.privacy.laws import log_gaussian
from privet.privacy.scores import JointQuantiles
from tiny_tables import worst_loss


def test_probabilities_of_all_transcripts_add_up_to_one():
    def run(mechanisms):
        first = mechanisms.select("permute_and_flip", [np.array([3, 1, 0])], [2.0])[0]
        mechanisms.geometric(np.array([4, first]), 1.5)

    assert np.logaddexp.reduce(list(transcripts(run).values())) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 2.0, 10.0])
def test_the_loss_of_geometric_noise_is_the_change_over_the_scale(scale):
    one = transcripts(lambda m: m.geometric(np.array([3]), scale))
    other = transcripts(lambda m: m.geometric(np.array([2]), scale))
    assert loss(one, other) == pytest.approx(1 / scale)


def test_the_loss_of_permute_and_flip_on_monotone_scores_is_at_most_the_change_over_the_scale():
    # One candidate gains a point, the others do not: the extreme of the lemma.
    one = transcripts(lambda m: m.select("permute_and_flip", [np.array([5, 5, 5])], [4.0]))
    other = transcripts(lambda m: m.select("permute_and_flip", [np.array([6, 5, 5])], [4.0]))
    assert 0.15 < loss(one, other) <= 0.25 + 1e-12


def test_the_loss_of_report_noisy_max_is_at_most_the_change_over_the_scale_and_comes_close():
    # One candidate gains a point, the others do not, and it is far behind: the extreme of the lemma.
    one, other = (
        transcripts(lambda m, q=q: m.select("report_noisy_max", [np.array([q, 60, 60])], [4.0])) for q in (0, 1)
    )
    assert 0.22 < loss(one, other) <= 0.25 + 1e-12


def test_half_the_noise_is_caught():
    one = transcripts(lambda m: m.geometric(np.array([3]), 0.5))
    other = transcripts(lambda m: m.geometric(np.array([2]), 0.5))
    assert loss(one, other) > 1.9


def test_an_answer_that_is_possible_on_one_side_only_is_an_infinite_loss():
    assert loss({(0,): 0.0}, {(0,): -1.0, (1,): -0.5}) == np.inf


def test_an_outcome_that_is_listed_as_impossible_is_the_same_as_one_that_is_not_listed():
    assert loss({(0,): 0.0, (1,): -np.inf}, {(0,): 0.0}) == 0
    assert bound_of_laws({"a": 0.0, "b": -np.inf}, {"a": 0.0}).epsilon == 0


def test_too_many_transcripts_are_refused():
    with pytest.raises(ValueError, match="smaller"):
        transcripts(lambda m: m.geometric(np.zeros(8, dtype=np.int64), 1.0), most=1000)


# -- estimators and laws -----------------------------------------------------------------------------------------

SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
PAIR = Pair((np.array([["a"], ["b"]], dtype=object), ["n", "y"]), (np.array([["a"]], dtype=object), ["n"]), SCHEMA)


@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_the_bound_of_an_estimator_is_within_epsilon(leaves):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, n_records=10**6, leaves=leaves)
    bound = exact_bound(model, PAIR, window=(0, 1))
    assert 0.5 < bound.epsilon <= 1 + 1e-9
    assert (bound.confidence, bound.engine, bound.proven, bound.violated) == (1.0, "exact", 1.0, False)


def test_outputs_have_no_more_loss_than_transcripts():
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=2, n_records=10**6)

    def run(table):
        return lambda m: model.fit_curator(MemoryCurator(*table, SCHEMA, ledger=Ledger(1e9), mechanisms=m)) and None

    assert exact_bound(model, PAIR).epsilon <= loss(transcripts(run(PAIR.one)), transcripts(run(PAIR.other))) + 1e-12


def test_what_is_not_released_does_not_count():
    # The sign of a noisy number is all that comes out.
    def run(value):
        return lambda m: int(m.geometric(np.array([value]), 1.0)[0] > 0)

    bound = exact_bound_of(run(1), run(0), window=(-3, 4))
    positive = {value: np.exp(-1) ** (value == 0) / (1 + np.exp(-1)) for value in (0, 1)}
    assert bound.epsilon == pytest.approx(max(np.log(positive[1] / positive[0]), 0), abs=1e-12)


def test_an_excess_that_a_narrow_window_makes_is_looked_at_again():
    # Only the answer 3 leads to a second question, which it answers badly. The true chance of 3 is small for both
    # values, but cut to a window that ends at 3 it is what nearly always comes out.
    def run(value):
        def ask(m):
            first = int(m.geometric(np.array([value]), 1.0)[0])
            return first == 3 and m.select("exponential", [np.array([0, -6 if value == 9 else -8])], [1.0])[0]

        return ask

    narrow = exact_bound_of(run(9), run(8), window=(-2, 3))
    assert narrow.suspected > 1.9
    assert narrow.epsilon < 1.5
    again = exact_bound_of(run(9), run(8), window=(-2, 3), proven=1.5)
    assert not again.violated
    assert again.epsilon == exact_bound_of(run(9), run(8), window=(-5, 6)).epsilon


def test_an_excess_in_numbers_that_nothing_follows_from_is_certain_in_any_window():
    def run(value):
        return lambda m: tuple(m.geometric(np.array([value, 0, 0]), 0.5).tolist())

    bound = exact_bound_of(run(3), run(2), window=(-2, 3), proven=1.0, most=6**3)
    assert bound.violated
    assert bound.suspected == 0


def test_wrong_windows_and_promises_are_refused():
    def run(m):
        return int(m.geometric(np.array([1]), 1.0)[0])

    for kwargs in ({"window": (3, 2)}, {"proven": -1.0}, {"proven": 0.0}, {"most": 0}):
        with pytest.raises(PrivetError):
            exact_bound_of(run, run, **kwargs)
    with pytest.raises(PrivetError, match="empty"):
        bound_of_laws({}, {})


def test_laws_are_compared_output_by_output():
    bound = bound_of_laws({"a": np.log(0.5), "b": np.log(0.5)}, {"a": np.log(0.9), "b": np.log(0.1)}, proven=1.0)
    assert bound.epsilon == pytest.approx(np.log(5))
    assert bound.violated
    assert "output is b" in bound.event


def test_how_often_the_loss_shows_is_said():
    even, often, rare = np.log(0.25), np.log(0.4), np.log(0.1)
    law = {"a": even, "b": even, "c": even, "d": even}
    bound = bound_of_laws(law, {"a": rare, "b": rare, "c": often, "d": often})
    assert bound.epsilon == pytest.approx(np.log(2.5))
    assert bound.chance == pytest.approx(0.5)
    assert bound_of_laws(law, law).chance == 0
    assert bound_of_laws({"a": 0.0}, {"b": 0.0}).chance == 1


def test_an_output_that_only_one_table_has_is_infinite():
    assert bound_of_laws({"a": 0.0}, {"b": 0.0}).epsilon == np.inf


# -- with a delta ----------------------------------------------------------------------------------------------------


def noisy_count(n, scale):
    return lambda mechanisms: int(mechanisms.gaussian(np.array([n]), scale)[0])


def truth(scale, delta):
    """The epsilon of a count with discrete Gaussian noise at this delta: that of the best threshold, by bisection."""
    k = np.arange(-40 * int(scale + 1), 40 * int(scale + 1))
    p, q = np.exp(log_gaussian(k - 1, scale)), np.exp(log_gaussian(k, scale))
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(p - math.exp(middle) * q, 0).sum() > delta else (low, middle)
    return low


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("scale", [0.7, 1.0])
def test_the_loss_of_gaussian_noise_at_a_delta_is_that_of_its_law(scale, delta):
    """Noise that is no wider than one is told as it is: the window sees all of it."""
    bound = exact_bound_of(noisy_count(0, scale), noisy_count(1, scale), delta=delta, window=(-12, 14))
    assert bound.delta == delta
    assert bound.epsilon == pytest.approx(truth(scale, delta), rel=1e-6)


@pytest.mark.parametrize("scale", [5.0, 40.0, 1e6])
def test_wide_gaussian_noise_is_told_in_scales_and_shows_a_good_part_of_its_loss(scale):
    delta = 0.1 / scale  # of which the best threshold shows an epsilon near that of a single record
    found = exact_bound_of(noisy_count(0, scale), noisy_count(1, scale), delta=delta, window=(-5, 6)).epsilon
    if scale < 1e5:
        assert 0.7 * truth(scale, delta) < found <= truth(scale, delta)
    assert 0 < found < 5 / scale


def test_less_noise_than_promised_is_caught_at_a_delta():
    fair, poor = (
        exact_bound_of(noisy_count(0, s), noisy_count(1, s), delta=1e-3, proven=truth(3.0, 1e-3), window=(-8, 8))
        for s in (3.0, 2.0)
    )
    assert not fair.violated
    assert poor.violated
    assert "one of" in poor.event


def test_a_delta_is_taken_off_the_best_set_of_outputs():
    one = {"a": math.log(0.5), "b": math.log(0.3), "c": math.log(0.2)}
    other = {"a": math.log(0.1), "b": math.log(0.2), "c": math.log(0.7)}
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    for delta in (0.01, 0.2, 0.45):
        every = [
            math.log((p - delta) / q)
            for s in sets
            for here, there in ((one, other), (other, one))
            for p, q in [(sum(math.exp(here[o]) for o in s), sum(math.exp(there[o]) for o in s))]
            if p > delta
        ]
        assert bound_of_laws(one, other, delta=delta).epsilon == pytest.approx(max(0, *every))
    assert bound_of_laws(one, other, delta=0.999).epsilon == 0
    assert bound_of_laws({"a": 0.0}, {"b": 0.0}, delta=0.5).epsilon == math.inf
    with pytest.raises(PrivetError, match="delta"):
        bound_of_laws(one, other, delta=-0.1)


@pytest.mark.parametrize("n", [10, 20, 1000, 10**6])
def test_to_tell_with_a_chance_of_exactly_delta_is_allowed(n):
    """The difference of two equal numbers, one of them a logarithm's power, is not more than nothing."""
    one = {"quiet": math.log1p(-1 / n), "tells": -math.log(n)}
    assert bound_of_laws(one, {"quiet": 0.0}, delta=1 / n).epsilon <= 1e-9
    assert bound_of_laws(one, {"quiet": 0.0}, delta=0.9 / n).epsilon == math.inf


def test_draws_that_tell_with_a_chance_of_delta_are_no_violation():
    def run(tells):
        return lambda mechanisms: tells and mechanisms.draw(20) == 0

    assert not exact_bound_of(run(True), run(False), delta=0.05, proven=1.0).violated
    assert exact_bound_of(run(True), run(False), delta=0.04, proven=1.0).violated


def test_what_follows_from_cut_answers_is_counted_against_a_finding_at_a_delta_too():
    """The second question is asked of what the first one's cut answer says: only what is certain is claimed."""

    def run(n):
        def fit(mechanisms):
            first = mechanisms.gaussian(np.array([n]), 0.8)
            return int(first[0]), int(mechanisms.gaussian(first, 0.8)[0])

        return fit

    bound = exact_bound_of(run(0), run(1), delta=1e-3, proven=0.1, window=(-2, 3))
    assert 0 < bound.epsilon < bound.suspected


def test_draws_behind_the_curtain_are_averaged_over():
    # Which of two parts a record is in is drawn, and only the first part's noisy size is released.
    def run(n):
        return lambda m: int(m.geometric(np.array([(m.generator.integers(2, size=n) == 0).sum()]), 1.0)[0])

    one, other = run(1), run(0)
    assert np.logaddexp.reduce(list(outputs(one).values())) == pytest.approx(0, abs=1e-12)
    # Sampling at rate 1/2 turns epsilon 1 into ln(1 + (e - 1) / 2).
    assert exact_bound_of(one, other).epsilon == pytest.approx(np.log(1 + (np.e - 1) / 2), abs=1e-9)


def test_a_strangers_estimator_cannot_be_computed():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(PrivetError, match="statistical_bound"):
        exact_bound(DecisionTreeClassifier(), PAIR)


def test_hopeless_cases_are_refused_at_once():
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["n", "y"])
    pair = Pair((np.ones((2, 2)), ["n", "y"]), (np.ones((1, 2)), ["n"]), schema)
    with pytest.raises(PrivetError, match="smaller data"):
        exact_bound(PrivateTreeClassifier(epsilon=1.0, max_depth=3, n_records=10**6), pair)


def test_a_pair_without_a_schema_is_refused():
    pair = Pair((np.ones((2, 1)), ["n", "y"]), (np.ones((1, 1)), ["n"]))
    with pytest.raises(PrivetError, match="schema"):
        exact_bound(PrivateTreeClassifier(epsilon=1), pair)


def test_joint_quantiles_are_answers_too_and_too_many_sets_of_them_are_seen_at_once():
    def run(n_cuts):
        score, weights = JointQuantiles((1, 1, 1)), np.ones(n_cuts)
        return lambda mechanisms: mechanisms.joint_quantiles(np.ones(n_cuts + 1, dtype=int), score, weights, 2.0)

    law = transcripts(run(4))
    assert len(law) == 10  # pairs of four cuts, in order, repeats allowed
    assert np.logaddexp.reduce(list(law.values())) == pytest.approx(0, abs=1e-12)
    with pytest.raises(TooManyTranscripts, match="coarser grid"):
        transcripts(run(10**5))


def test_a_run_with_coins_of_its_own_is_refused_before_it_is_called_a_violation():
    def run(mechanisms):
        mechanisms.select("exponential", [np.zeros(2, int)], [1.0])
        return secrets.randbits(64)

    with pytest.raises(PrivetError, match="something else than its mechanisms"):
        exact_bound_of(run, run, proven=1.0)


def asks_after_a_cut_number(value):
    """A noisy count, and a choice that follows from whether it was far out: cut answers make that look likely."""

    def run(mechanisms):
        noisy = int(mechanisms.geometric(np.array([value]), 2.0)[0])
        gap = 8 * value if noisy >= 6 else 0
        return mechanisms.select("exponential", [np.array([0, gap])], [8.0])[0] if noisy >= 6 else -1

    return run


def test_what_follows_from_cut_answers_is_counted_against_a_finding():
    runs = asks_after_a_cut_number(0), asks_after_a_cut_number(1)
    bound = exact_bound_of(*runs, proven=0.01, window=(-2, 6), most=12)
    assert bound.suspected > bound.epsilon
    wide = exact_bound_of(*runs, proven=None, window=(-60, 60))
    assert bound.epsilon <= wide.epsilon + 1e-9


class FailsOnALonelyRecord(PrivateTreeClassifier):
    def fit_curator(self, curator):
        if len(curator.records.labels) == 1:
            raise ValueError("too few")
        return super().fit_curator(curator)


def test_that_a_fit_fails_on_one_table_alone_is_an_output():
    schema = Schema({"f": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
    two, one = (np.array([["a"], ["b"]]), np.array(["n", "y"])), (np.array([["a"]]), np.array(["n"]))
    bound = exact_bound(FailsOnALonelyRecord(epsilon=1.0, n_records=1, max_depth=1), Pair(two, one, schema))
    assert bound.epsilon == math.inf
    assert "ValueError" in bound.event
    with pytest.raises(PrivetError, match="max_depth"):
        exact_bound(PrivateTreeClassifier(epsilon=1.0, max_depth=-1), Pair(two, one, schema))


UNSEEDED = [
    RandomTreeClassifier(epsilon=1.0, max_depth=1),
    DPERTClassifier(epsilon=1.0, n_trees=1, max_depth=1),
    DPDFClassifier(epsilon=1.0, n_trees=1, max_depth=1, n_bins=2),
    DiPriMeForestClassifier(epsilon=1.0, n_trees=1, max_depth=1),
]


@pytest.mark.parametrize("model", UNSEEDED, ids=lambda model: type(model).__name__)
def test_an_estimator_that_draws_its_structure_is_refused_and_with_a_seed_computed(model):
    schema = Schema({"f": Categorical(["a", "b"], other=False)}, classes=["n"])
    pair = Pair((np.array([["a"]]), np.array(["n"])), (np.empty((0, 1), dtype=object), np.array([])), schema)
    with pytest.raises(PrivetError, match="structure=0"):
        exact_bound(model, pair, window=(0, 1))
    with pytest.raises(PrivetError, match="structure=0"):
        worst_loss("one class", model, most_records=1, window=(0, 1))
    seeded = clone(model).set_params(structure=0)
    assert exact_bound(seeded, pair, window=(0, 1)).epsilon <= 1 + 1e-9
    assert worst_loss("one class", seeded, most_records=1, window=(0, 1)) <= 1 + 1e-9


def test_a_hidden_tree_of_random_structure_takes_no_seed_and_is_left_to_the_statistical_engine():
    with pytest.raises(PrivetError, match="statistical_bound"):
        worst_loss("one class", HiddenTreeClassifier(epsilon=1.0, structure="random"), most_records=1)


class RandomQuestion(PrivateTreeClassifier):
    """Asks about one of two budgets, by a coin that is not NumPy's."""

    def _grow(self, curtain, start, budget):
        return super()._grow(curtain, start, budget / (1 + secrets.randbits(1)))


def test_coins_of_any_other_kind_are_seen_where_they_change_a_question():
    """Sixteen runs in pairs: all pairs agree with a chance of 2^-8, so it is given three tries (2^-24)."""
    refused = 0
    for _ in range(3):
        try:
            worst_loss("one class", RandomQuestion(epsilon=1.0, max_depth=1, n_records=10), most_records=1)
        except PrivetError as error:
            refused += "something else than its mechanisms" in str(error)
    assert refused


def test_a_generator_in_another_thread_is_not_the_runs():
    def run(mechanisms):
        other = threading.Thread(target=np.random.default_rng)
        other.start()
        other.join()
        return mechanisms.select("exponential", [np.zeros(2, int)], [1.0])

    check_draws_nothing(run)


# -- numbers that are the same on both tables --------------------------------------------------------------------------


def counted(extra, scale=1.0, cells=8):
    """A choice, then counts of which one record changes one; what is released is all of them."""

    def run(mechanisms):
        first = mechanisms.select("permute_and_flip", [np.array([2, 1])], [4.0])[0]
        values = np.arange(cells)
        values[first] += extra
        return first, mechanisms.geometric(values, scale).tolist()

    return run


def test_only_the_numbers_that_differ_multiply_transcripts_and_the_loss_is_the_same():
    few = exact_bound_of(counted(0, cells=3), counted(1, cells=3), window=(-1, 3), only_telling=True)
    all_of_them = exact_bound_of(counted(0, cells=3), counted(1, cells=3), window=(-1, 3))
    assert few.epsilon == pytest.approx(all_of_them.epsilon)
    assert (few.runs, all_of_them.runs) == (2 * 2 * 5, 2 * 2 * 5**3)


def test_too_little_noise_in_one_of_many_numbers_is_caught():
    with pytest.raises(TooManyTranscripts):
        exact_bound_of(counted(0, 0.5), counted(1, 0.5), proven=1.0, most=1000)
    found = exact_bound_of(counted(0, 0.5), counted(1, 0.5), proven=1.0, most=1000, only_telling=True)
    assert found.violated
    assert found.epsilon == pytest.approx(2)


def test_questions_that_follow_from_numbers_that_are_the_same_are_followed():
    def run(extra):
        def asks(mechanisms):
            size = mechanisms.geometric(np.array([2, 2 + extra]), 1.0)
            return mechanisms.geometric(np.array([int(size.sum()) + extra]), 1.0).tolist()

        return asks

    assert 1.2 < exact_bound_of(run(0), run(1), proven=2, window=(0, 5), only_telling=True).epsilon <= 2
    assert exact_bound_of(run(0), run(0), proven=2, window=(0, 5), only_telling=True).epsilon == 0


def test_after_draws_that_nobody_sees_numbers_are_compared_no_more():
    def run(records):
        def parted(mechanisms):
            part = mechanisms.generator.integers(2, size=records)
            return mechanisms.geometric(np.array([part.sum(), 3]), 1.0).tolist()

        return parted

    with_noise, telling = (exact_bound_of(run(1), run(2), window=(0, 3), only_telling=told) for told in (False, True))
    assert telling == with_noise
    assert 0 < telling.epsilon <= 1


def test_numbers_that_only_one_table_is_asked_for_keep_their_noise():
    def asks(mechanisms):
        return mechanisms.geometric(np.array([1, 2]), 1.0).tolist()

    found = exact_bound_of(asks, lambda mechanisms: [], window=(0, 2), only_telling=True)
    assert found.epsilon == math.inf
    assert found.runs == 3**2 + 1


def test_a_finding_with_numbers_told_as_they_are_is_found_again_by_its_code():
    schema = Schema({"a": Categorical(["u", "v"])}, classes=["n", "y"])
    pair = Pair((np.array([["u"], ["v"]]), ["n", "y"]), (np.array([["u"]]), ["n"]), schema)
    model = PrivateTreeClassifier(epsilon=1, max_depth=2, n_records=10**6, leaves="counts")
    found = exact_bound(model, pair, window=(-1, 3), only_telling=True)
    assert 0.5 < found.epsilon <= 1 + 1e-9
    assert "only_telling=True" in Finding(found, pair, model, 1.0, window=(-1, 3), most=9, only_telling=True).code()
