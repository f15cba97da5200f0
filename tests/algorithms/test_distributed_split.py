"""DP-TopDown between owners: what is asked of them, and that labels and splits come from what they answer."""

import math
from fractions import Fraction

import numpy as np
import pytest

from listening import Able
from privet import (
    CapabilityError,
    Categorical,
    FederatedCurator,
    Numeric,
    PrivetError,
    Schema,
    SchemaError,
    TopDownClassifier,
)
from privet.algorithms.private_split import printed_gains
from privet.consortium.federated.channel import in_process
from privet.privacy.fixed_point import ONE

SCHEMA = Schema({"x": Numeric(0, 1), "s": Categorical(["a", "b", "c"], other=False)}, classes=["n", "y"])
SPLITS = ("noisy_counts", "local_rnm")


def owner(n, seed):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.uniform(size=n), rng.choice(["a", "b", "c"], n)
    return X, np.where((X[:, 0] > 0.5) & (X[:, 1] != "c"), "y", "n")


OWNERS = [owner(500, seed) for seed in range(4)]


def federated(**terms):
    return FederatedCurator(SCHEMA, in_process(OWNERS, SCHEMA), **terms)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("terms", [{}, {"noise": "own"}])
def test_owners_find_the_rule_together(split, terms):
    model = TopDownClassifier(epsilon=200, split=split, splitting_class=9, max_nodes=8).fit_curator(federated(**terms))
    assert np.mean([model.score(*own) for own in OWNERS]) > 0.95
    assert model.privacy_.epsilon <= 200
    assert model.privacy_.verify()
    assert all(model.tree_.nodes[leaf].counts is not None for leaf in model.tree_.leaves)  # probabilities


@pytest.mark.parametrize("split", SPLITS)
def test_one_machine_is_one_owner(split):
    X, y = OWNERS[0]
    model = TopDownClassifier(SCHEMA, epsilon=200, split=split, splitting_class=9, max_nodes=8).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.privacy_.verify()


def test_noisy_counts_ask_for_one_histogram_of_each_feature_and_nothing_else():
    model = TopDownClassifier(epsilon=1, split="noisy_counts", max_nodes=1, n_records=2000).fit_curator(federated())
    root, *leaves = model.privacy_.events
    assert (root.question, root.lemma) == ("tally", "tally(2)")
    assert {event.lemma for event in leaves} == {"tally(1)"}


def test_local_rnm_asks_every_owner_and_then_for_what_they_chose():
    model = TopDownClassifier(epsilon=1, split="local_rnm", max_nodes=1, n_records=2000).fit_curator(federated())
    choice, counts, *_ = model.privacy_.events
    assert (choice.question, choice.mechanism) == ("choose a split", "report_noisy_max")
    assert counts.question == "tally"
    assert 1 <= counts.sensitivity <= len(OWNERS)


@pytest.mark.parametrize("split", SPLITS)
def test_with_a_delta_all_is_paid_for_in_rho_and_converted_once(split):
    channel = in_process(OWNERS, SCHEMA, limit=2, delta=1e-6)
    model = TopDownClassifier(epsilon=2, delta=1e-6, split=split, max_nodes=4)
    model.fit_curator(FederatedCurator(SCHEMA, channel, delta=1e-6))
    assert model.privacy_.verify()
    assert model.privacy_.delta == Fraction(1, 10**6)
    assert 1 < model.privacy_.epsilon <= 2
    tallies = [event for event in model.privacy_.events if event.question == "tally"]
    assert {event.mechanism for event in tallies} == {"skellam_shares"}
    assert all(event.lemma.startswith("euclidean_tally") for event in tallies)
    spent = {float(party._member.ledger.spent) for party in channel._parties.values()}
    assert max(spent) <= 2  # by their own ledgers, too


def test_with_a_delta_counts_of_many_features_have_less_noise():
    """The noise of a histogram grows with the root of the number of features, and without a delta with their number."""
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(40)}, classes=["n", "y"])
    X = np.random.default_rng(0).uniform(size=(50, 40))

    def scale(**delta):
        model = TopDownClassifier(schema, epsilon=1, split="noisy_counts", max_nodes=1, n_records=50, **delta)
        root = model.fit(X, np.where(X[:, 0] > 0.5, "y", "n")).privacy_.events[0]
        return root.scale * (1 if delta else math.sqrt(2))  # deviations

    assert scale(delta=1e-6) < scale() / 2


def test_a_delta_is_refused_where_it_means_nothing():
    with pytest.raises(PrivetError, match="knows no delta"):
        TopDownClassifier(SCHEMA, epsilon=1, delta=1e-6, split="noisy_counts", variant="published").fit(*OWNERS[0])
    with pytest.raises(PrivetError, match="delta"):
        TopDownClassifier(SCHEMA, epsilon=1, delta=2).fit(*OWNERS[0])
    with pytest.raises(PrivetError, match="adds up pure epsilons"):
        TopDownClassifier(epsilon=1, delta=1e-6, split="noisy_counts").fit_curator(federated())


def test_few_or_no_records_train_without_error():
    for split in SPLITS:
        empty = TopDownClassifier(SCHEMA, epsilon=1, split=split).fit(np.empty((0, 2), dtype=object), [])
        assert set(empty.predict(OWNERS[0][0])) <= {"n", "y"}
        assert empty.privacy_.verify()


def test_questions_that_a_curator_cannot_answer_are_refused_before_anything_is_spent():
    curator = federated()
    with pytest.raises(CapabilityError, match="cannot be asked for 'choose'"):
        TopDownClassifier(epsilon=1, split="rnm").fit_curator(curator)
    assert curator.ledger.spent == 0

    modest = Able(*OWNERS[0], SCHEMA, able={"tally"})
    with pytest.raises(CapabilityError, match="cannot be asked for 'choose_each'"):
        TopDownClassifier(epsilon=1, split="local_rnm").fit_curator(modest)
    assert modest.ledger.spent == 0


def test_more_cells_than_a_byte_are_refused_by_noisy_counts():
    schema = Schema({"town": Categorical(range(300))}, classes=["n", "y"])
    with pytest.raises(SchemaError, match="at most 256"):
        TopDownClassifier(schema, split="noisy_counts", n_records=100, epsilon=10).fit(
            np.zeros((5, 1), dtype=int), ["n"] * 5
        )


# -- as printed ------------------------------------------------------------------------------------------------------


def printed(split, **params):
    known = {"epsilon": 2, "max_nodes": 1, "budget": "uniform", "n_records": 2000, "variant": "published"}
    return TopDownClassifier(split=split, **known | params)


def test_noisy_counts_as_printed_cost_nine_times_their_claim():
    model = printed("noisy_counts", splitting_class=4).fit_curator(federated())
    counts, labels = model.privacy_.events[:3], model.privacy_.events[3:]
    functions = 4 + 3
    assert [event.charged for event in counts] == [3, 3, 3]  # a node's budget is 1
    assert [event.scale for event in counts] == pytest.approx([functions / 3] * 3, rel=1e-9)
    assert "nine times" in model.privacy_.shortfall
    assert model.privacy_.spent == 9 + Fraction(1, 2)  # half of the noise that the leaves' budget pays for
    assert model.privacy_.verify()
    assert {event.charged for event in labels} == {Fraction(1, 2)}


def test_local_rnm_as_printed_overpays_for_choices_and_underpays_for_counts():
    model = printed("local_rnm").fit_curator(federated())
    choice, *counts = model.privacy_.events[:4]
    assert (choice.mechanism, choice.charged) == ("report_noisy_max", Fraction(1, 20))
    assert [event.charged for event in counts] == [Fraction(3, 2)] * 3
    assert model.privacy_.spent == Fraction(1, 20) + Fraction(9, 2) + Fraction(1, 2)
    assert "what the owners chose" in model.privacy_.shortfall.lower()
    assert model.privacy_.verify()


def test_the_printed_noise_on_gains_of_gini_is_that_of_a_tenth_of_the_budget():
    """Laplace(2 * 20 / (m * budget)) on a gain J, where m * J is a constant less twice the score of ``Gini``."""
    (choice, *_) = printed("local_rnm").fit_curator(federated()).privacy_.events
    half = Fraction(1, 2)
    assert choice.scale / ONE == pytest.approx(float(2 * 20 / half / 2), rel=1e-6)


@pytest.mark.parametrize("split", SPLITS)
def test_the_printed_splits_find_the_rule_too(split):
    model = printed(split, epsilon=2000, max_nodes=8, budget="decay", splitting_class=9).fit_curator(federated())
    assert np.mean([model.score(*own) for own in OWNERS]) > 0.95


def test_gains_come_from_all_three_kinds_of_counts():
    by_both = np.array([[[5, 0], [0, 5]], [[5, 5], [-3, 0]]])
    gains = printed_gains("gini", by_both, np.array([[5, 5], [5, 5]]), np.array([[5, 5], [10, -1]]))
    assert gains.tolist() == [1.0, 0.0]


def test_the_published_variant_has_the_papers_splits_alone():
    with pytest.raises(PrivetError, match="'rnm' or 'noisy_counts' or 'local_rnm'"):
        TopDownClassifier(SCHEMA, epsilon=1, split="exponential", variant="published").fit(*OWNERS[0])
    with pytest.raises(PrivetError, match="criterion='gini'"):
        TopDownClassifier(SCHEMA, epsilon=1, split="local_rnm", criterion="entropy", variant="published").fit(
            *OWNERS[0]
        )
