"""Our own trees in the table of claims, and the estimators that an audit of all goes through."""

import pytest

from privet.algorithms.registry import MODELS
from privet.audit.claims.privet import COMPOSED, VARIANTS, kinds, sound_estimators


@pytest.mark.parametrize(
    ("key", "least"), [("privet-tree-labels", 0.9), ("privet-tree-counts", 0.9), ("privet-topdown", 0.7)]
)
def test_our_own_trees_are_attacked_where_it_hurts(key, least, finding):
    # A pair on which nothing shows would prove nothing.
    assert least < finding(key).bound.epsilon <= 1 + 1e-9


def test_every_registered_estimator_is_audited_at_the_epsilon_asked_for():
    estimators = sound_estimators(0.5)
    assert set(estimators) == {*MODELS, *VARIANTS, *COMPOSED}
    assert {model.epsilon for model in estimators.values()} == {0.5}
    assert {getattr(model, "variant", "sound") for model in estimators.values()} == {"sound"}


def test_variants_are_of_registered_classes_and_can_be_made():
    for name, (kind, params) in VARIANTS.items():
        model = sound_estimators(1.0)[name]
        assert type(model).__name__ == kind
        assert params.items() <= model.get_params().items()


def test_kinds_of_records_are_counted_in_their_order():
    pair = kinds(1, (2, 0, 1, 0), 3)
    assert pair.one[0].tolist() == [["a"], ["a"], ["b"]]
    assert pair.one[1].tolist() == ["a", "a", "a"]
    assert (pair.other[0][-1].tolist(), pair.other[1][-1]) == (["b"], "b")
