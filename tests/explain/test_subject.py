"""What a report is about."""

import numpy as np

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.algorithms.explained import subject_of

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"], label="ill", person="id", records_per_person=1)
X, Y, IDS = np.linspace(0, 1, 100)[:, None], ["no", "yes"] * 50, np.arange(100)


def test_a_fitted_model_is_a_subject():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y, groups=IDS)
    subject = subject_of(model)
    assert (subject.model, subject.who, subject.label) == ("PrivateTreeClassifier", "person", "ill")
    assert subject.trees == (model.tree_,)
    assert not subject.votes
    assert "random_state" not in subject.params
    assert subject.params["epsilon"] == 1


def test_a_forest_votes():
    model = PrivateForestClassifier(SCHEMA, epsilon=1, method="trees", n_trees=2).fit(X, Y, groups=IDS)
    assert subject_of(model).votes
    assert len(subject_of(model).trees) == 2
