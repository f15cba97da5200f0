"""Models as plain data: nothing that a prediction needs is lost."""

import numpy as np
import pytest

from privet import Categorical, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.algorithms.explained import subject_of
from privet.algorithms.stand_in import stand_in
from privet.report.model_facts import model_facts, schema_facts

SCHEMA = Schema(
    {"a": Numeric(0, 9, missing=True, log=True), "b": Categorical([3, 1]), "c": Numeric(0, 1, mean_of=["d", "e"])},
    classes=[True, False],
)


def test_a_schema_keeps_flags_and_the_order_of_classes():
    facts = schema_facts(SCHEMA)
    assert facts["classes"] == ["True", "False"]
    assert facts["order"] == [1, 0]
    assert facts["features"][0] == {"name": "a", "low": 0.0, "high": 9.0, "log": True, "missing": True}
    assert facts["features"][1] == {"name": "b", "values": ["3", "1"], "other": True}
    assert facts["features"][2]["mean_of"] == ["d", "e"]


@pytest.fixture
def subject():
    X, y, _ = stand_in(SCHEMA, 500)
    return subject_of(PrivateTreeClassifier(SCHEMA, epsilon=3, leaves="counts").fit(X, y))


def test_a_tree_has_rules_counts_conditions_and_scopes(subject):
    facts = model_facts(subject, lambda scope: scope.count("/"))
    (tree,) = facts["trees"]
    assert facts["kind"] == "tree"
    assert not facts["votes"]
    assert tree["weighed"]
    for node, own in zip(subject.released.nodes, tree["nodes"]):
        assert own["s"] == node.scope.count("/")
        if node.is_leaf:
            assert (own["a"], own["n"]) == (node.answer, list(node.counts))
        else:
            assert own["k"] == list(node.children)
            assert all(tree["nodes"][child]["t"] for child in own["k"])


def test_terms_share_all_importance_and_rounds_keep_their_values():
    X, y, _ = stand_in(SCHEMA, 3000)
    model = PrivateForestClassifier(SCHEMA, epsilon=3, method="boosting").fit(X, y)
    facts = model_facts(subject_of(model), lambda scope: 0)
    assert facts["kind"] == "boosted"
    assert sum(term["share"] for term in facts["terms"]) == pytest.approx(1, abs=1e-3)
    assert [own["v"] for own in facts["rounds"]] == [list(own.values) for own in model.forest_.rounds]
    assert all(np.array(own["e"]).min() > 0 for own in facts["rounds"])
