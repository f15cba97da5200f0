"""DP-TopDown between owners: what is asked of them, and that labels and splits come from what they answer."""

import numpy as np
import pytest

from privet import (
    CapabilityError,
    Categorical,
    FederatedCurator,
    MemoryCurator,
    Numeric,
    PrivetError,
    Schema,
    SchemaError,
    TopDownClassifier,
)
from privet.federated.channel import in_process

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


def test_few_or_no_records_train_without_error():
    for split in SPLITS:
        empty = TopDownClassifier(SCHEMA, split=split).fit(np.empty((0, 2), dtype=object), [])
        assert set(empty.predict(OWNERS[0][0])) <= {"n", "y"}
        assert empty.privacy_.verify()


def test_questions_that_a_curator_cannot_answer_are_refused_before_anything_is_spent():
    curator = federated()
    with pytest.raises(CapabilityError, match="cannot answer 'choose'"):
        TopDownClassifier(split="rnm").fit_curator(curator)
    assert curator.ledger.spent == 0

    class Modest(MemoryCurator):
        capabilities = frozenset({"tally"})

    with pytest.raises(CapabilityError, match="cannot answer 'choose_each'"):
        TopDownClassifier(split="local_rnm").fit_curator(Modest(*OWNERS[0], SCHEMA))


def test_more_cells_than_a_byte_are_refused_by_noisy_counts():
    schema = Schema({"town": Categorical(range(300))}, classes=["n", "y"])
    with pytest.raises(SchemaError, match="at most 256"):
        TopDownClassifier(schema, split="noisy_counts", n_records=100, epsilon=10).fit(
            np.zeros((5, 1), dtype=int), ["n"] * 5
        )


def test_the_published_variant_is_the_one_machines():
    with pytest.raises(PrivetError, match="split='rnm'"):
        TopDownClassifier(SCHEMA, split="local_rnm", variant="published").fit(*OWNERS[0])
