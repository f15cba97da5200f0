"""Hidden forests: their trees' records are disjoint, and votes stay on shares to the end."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hidden_programs import horizontally, on_shares
from test_tree import SCHEMA, queries_of, table

from privet import HiddenForestClassifier
from privet.hidden.shape import shape_of


@pytest.mark.parametrize("options", [{}, {"branches": "thresholds"}, {"structure": "random"}])
def test_a_forest_costs_what_one_tree_costs(options):
    X, y = table(300)
    model = HiddenForestClassifier(SCHEMA, epsilon=0.6, n_trees=3, max_depth=2, n_values=4, **options).fit(X, y)
    assert len(model.forest_.trees) == 3
    assert model.privacy_.spent == Fraction(6, 10)
    assert model.privacy_.verify()


@pytest.mark.parametrize("options", [{}, {"branches": "thresholds"}])
def test_on_shares_the_trees_vote_and_only_the_winner_comes_out(options):
    X, y = table(300)
    asked, _ = table(40, 9)
    shape = shape_of(SCHEMA, options.get("branches", "values"), 4)
    queries = queries_of(asked, SCHEMA, shape)

    def program(curator, engine):
        model = HiddenForestClassifier(epsilon=6.0, n_trees=3, max_depth=2, n_values=4, **options)
        forest = model.fit_curator(curator).forest_
        answers = engine.open(forest.predict(engine, engine.constant(queries)))
        each = [engine.open(tree.predict(engine, engine.constant(queries))).argmax(axis=1) for tree in forest.trees]
        return answers, each, model.privacy_

    answers, each, receipt = on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=200)[0]
    assert (answers.sum(axis=1) == 1).all()
    names = np.array(SCHEMA.classes)
    for answer, *votes in zip(answers, *each):
        counted = Counter(names[votes].tolist())
        most = max(counted.values())
        assert names[answer.argmax()] == min(name for name, n in counted.items() if n == most)
    assert receipt.spent == 6
    assert receipt.verify()
