"""A hidden tree is the tree in the open, for the same coins: structure, counts and predictions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hidden_programs import (
    KINDS,
    SCHEMA,
    horizontally,
    in_the_open,
    learner,
    on_shares,
    queries_of,
    same,
    table,
    vertically,
)
from privet.curators.owners.mpc_owner import ColumnOwner, Owner, held_of
from privet.errors import LeakError, PrivetError, SchemaError
from privet.privacy.scores import CorrectCount
from privet.questions.candidates import Candidates
from privet.questions.codec import grid_words
from privet.questions.grid import Grid
from privet.tree.hidden_shape import shape_of


def trained(queries, **options):
    def program(curator, engine):
        model = learner(**options).fit_curator(curator)
        hidden = model.tree_
        cells = engine.constant(queries)
        classes = engine.open(hidden.predict(engine, cells)).argmax(axis=1)
        return hidden.opened(engine).to_dict(), classes, model.privacy_, curator.counts

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
        assert tree == expected.tree_.to_dict()
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
        lambda curator, engine: learner(max_depth=2).fit_curator(curator).tree_.opened(engine).to_dict(),
        vertically(X, y, SCHEMA, groups),
        SCHEMA,
        most_records=256,
        columns=[(group, i == 0) for i, group in enumerate(groups)],
        seed=4,
    )
    assert results == [expected.tree_.to_dict()] * 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([(("age", "sex"), True), (("size",), False)], "held by exactly one owner"),
        ([(("age", "sex", "size"), True), (("size", "colour"), False)], "held by exactly one owner"),
        ([(("age", "sex"), True), (("size", "colour"), True)], "one owner holds the labels"),
        ([(("age", "sex"), False), (("size", "colour"), False)], "one owner holds the labels"),
    ],
)
def test_every_column_has_one_owner(columns, message):
    X, y = table(20)
    owners = vertically(X, y, SCHEMA, (("age", "sex"), ("size", "colour")))
    with pytest.raises(PrivetError, match=message):
        on_shares(lambda curator, engine: None, owners, SCHEMA, most_records=30, columns=columns)


def test_an_owner_of_a_column_that_is_not_in_the_schema_is_told():
    with pytest.raises(SchemaError, match="no feature 'height'"):
        held_of(SCHEMA, ["age", "height"])


def test_an_owner_of_columns_reads_a_table_by_name_and_an_array_by_the_order_it_lists():
    X, y = table(30)
    named = pd.DataFrame({"sex": X[:, 3], "age": X[:, 0]})
    shape = shape_of(SCHEMA, "values", 4)
    words = grid_words(Grid(tuple(cells for cells in shape.grid.features if cells.name in ("age", "sex"))))
    whole = Owner(X, y, SCHEMA)
    whole._grid(grid_words(shape.grid))
    starts = dict(zip(SCHEMA.names, zip(shape.grid.offsets[:-1], shape.grid.offsets[1:])))
    expected = np.concatenate([whole._rows(30)[slice(*starts[name])] for name in ("age", "sex")])
    for data, features in (
        (X[:, [3, 0]], ("sex", "age")),
        (X[:, [0, 3]], ("age", "sex")),
        (named, ("sex", "age")),
        (named, ("age", "sex")),
    ):
        owner = ColumnOwner(data, None, SCHEMA, features)
        assert (owner._columns(words, label=False, records=30) == expected).all()
    with pytest.raises(SchemaError, match="twice"):
        ColumnOwner(X[:, [0, 0]], None, SCHEMA, ("age", "age"))
    with pytest.raises(SchemaError, match="3 columns, and this owner is said to hold 2"):
        ColumnOwner(X[:, :3], None, SCHEMA, ("age", "sex"))


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


def test_a_part_of_a_level_is_not_asked_about():
    X, y = table(40)

    def program(curator, engine):
        shape = shape_of(SCHEMA, "thresholds", 4)
        curator.grid(shape.grid)
        options = Candidates(shape.splits, 3)
        root = curator.root()
        chosen = curator.choose({root: options}, CorrectCount(), Fraction(1), hidden=True)
        left, right = curator.split(chosen)[root]
        spent = curator.ledger.spent
        for asked in ({left: options}, {right: options, left: options}):
            with pytest.raises(LeakError, match="whole level"):
                curator.choose(asked, CorrectCount(), Fraction(1), hidden=True)
        with pytest.raises(LeakError, match="one list"):
            curator.choose(
                {left: options, right: Candidates(shape.splits, 3)}, CorrectCount(), Fraction(1), hidden=True
            )
        return curator.ledger.spent == spent

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=50) == [True] * 3
