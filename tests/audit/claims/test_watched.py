"""A curator that notes its answers: what is told stays what it was."""

import numpy as np

from privet import PrivateTreeClassifier
from privet.audit.claims.law import binary
from privet.audit.claims.watched import Watched


def test_answers_to_the_watched_question_are_noted_and_no_others():
    X, y = np.array([[0], [1]]), np.array([0, 1])
    model = PrivateTreeClassifier(max_depth=1, leaves="counts", n_records=10**6)
    counted, chosen = (Watched(X, y, binary(1), question) for question in ("tally", "choose"))
    tree = model.fit_curator(counted).tree_
    counts = [[list(node.counts)] for node in tree.nodes if node.counts is not None]
    assert [answer.tolist() for answer in counted.told] == counts
    model.fit_curator(chosen)
    assert len(chosen.told) == 1
