"""A hidden tree is the tree in the open, for the same coins: structure, counts and predictions."""

import numpy as np
import pytest

from hidden_programs import (
    KINDS,
    SCHEMA,
    horizontally,
    in_the_open,
    learner,
    on_shares,
    opened,
    plain,
    queries_of,
    same,
    table,
    vertically,
)
from privet.errors import PrivetError
from privet.tree.hidden_shape import shape_of


def trained(queries, **options):
    def program(curator, engine):
        model = learner(**options).fit_curator(curator)
        hidden = model.tree_
        cells = engine.constant(queries)
        classes = engine.open(hidden.predict(engine, cells)).argmax(axis=1)
        return plain(opened(hidden, engine)), classes, model.privacy_, curator.counts

    return program


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("ring_bits", [32, 64])
def test_opened_it_is_the_tree_in_the_open(options, ring_bits):
    X, y = table(300)
    shape = shape_of(SCHEMA, options.get("branches", "values"), 4)
    asked, _ = table(50, 9)
    queries = queries_of(asked, SCHEMA, shape)
    expected, expected_counts = in_the_open(learner(**options), X, y, SCHEMA, seed=4)
    owners = horizontally(X, y, SCHEMA, 2)
    results = on_shares(trained(queries, **options), owners, SCHEMA, most_records=160, seed=4, ring_bits=ring_bits)
    for tree, classes, receipt, counts in results:
        assert tree == plain(expected.tree_)
        assert same(counts, expected_counts)
        assert (np.array(SCHEMA.classes)[classes] == expected.predict(asked)).all()
        assert receipt.spent == expected.privacy_.spent
        assert receipt.verify()


@pytest.mark.parametrize("options", [{"max_depth": 2}, {"max_depth": 2, "branches": "thresholds"}])
def test_with_dealt_noise_a_large_budget_gives_a_tree_without_errors(options):
    """Noise of scale 1 / 6 and less, where what is right is right for ten records more: wrong once in 10^20 runs."""
    X, _ = table(300)
    y = np.where(X[:, 0].astype(int) >= 15, "yes", np.where(X[:, 3] == "f", "perhaps", "no"))
    queries = queries_of(X, SCHEMA, shape_of(SCHEMA, options.get("branches", "values"), 4))

    def program(curator, engine):
        model = learner(epsilon=60.0, **options).fit_curator(curator)
        return engine.open(model.tree_.predict(engine, engine.constant(queries))).argmax(axis=1), model.privacy_

    for classes, receipt in on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=160, law="dealt"):
        assert (np.array(SCHEMA.classes)[classes] == y).all()
        assert all(event.drawn.startswith("dealt") for event in receipt.events)
        assert receipt.spent == 60
        assert receipt.delta > 0
        assert receipt.verify()


def test_owners_of_columns_get_the_same_tree():
    X, y = table(200)
    groups = (("sex", "age"), ("size",), ("colour",))  # also where one lists them in another order than the schema
    expected, _ = in_the_open(learner(max_depth=2), X, y, SCHEMA, seed=4)
    results = on_shares(
        lambda curator, engine: plain(opened(learner(max_depth=2).fit_curator(curator).tree_, engine)),
        vertically(X, y, SCHEMA, groups),
        SCHEMA,
        most_records=256,
        columns=[(group, i == 0) for i, group in enumerate(groups)],
        seed=4,
    )
    assert results == [plain(expected.tree_)] * 3


@pytest.mark.parametrize("branches", ["values", "thresholds"])
def test_a_random_structure_is_free_and_no_attribute_is_used_twice(branches):
    X, y = table(100)

    def program(curator, engine):
        model = learner(max_depth=3, structure="random", branches=branches).fit_curator(curator)
        return [engine.open(level) for level in model.tree_.levels], model.privacy_

    levels, receipt = on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=100)[0]
    assert {event.question for event in receipt.events} == {"choose a label"}
    assert receipt.epsilon == 3
    assert receipt.verify()
    assert all((table.sum(axis=1) == 1).all() and set(np.unique(table)) <= {0, 1} for table in levels)
    if branches == "values":
        root, second = levels[0].argmax(axis=1), levels[1].argmax(axis=1)
        assert (second != root[0]).all()


def test_a_hidden_tree_says_where_to_ask():
    X, y = table(40)

    def program(curator, engine):
        model = learner(max_depth=1).fit_curator(curator)
        with pytest.raises(PrivetError, match="privet mpc predict"):
            model.predict(X)
        return model.privacy_

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=50)[0].epsilon == 3
