"""What is too large is refused before anything is spent, and a message says what fits."""

import pytest

from hidden_programs import SCHEMA, horizontally, on_shares, table
from privet import HiddenForestClassifier, HiddenTreeClassifier
from privet.datasets import load_adult
from privet.errors import PrivetError
from privet.privacy.joint import JointMechanisms
from privet.tree import hidden_shape as size
from privet.tree.hidden_shape import check_queries_fit, check_training, most_queries, shape_of

JOINT = JointMechanisms(None)


@pytest.mark.parametrize("options", [{}, {"structure": "random"}, {"variant": "published"}])
def test_a_deep_tree_is_refused_by_nodes_and_rows_and_a_shallower_one_is_named(options):
    def bits(**more):
        model = HiddenTreeClassifier(epsilon=1.0, branches="thresholds", n_values=4, **{**options, **more})
        return model.hidden_bits(JOINT, SCHEMA, 25_000)

    with pytest.raises(PrivetError, match=r"by 25,000 rows\. With as many rows max_depth=13 fits"):
        bits(max_depth=10**9)
    with pytest.raises(PrivetError, match="max_depth=13 fits"):
        bits(max_depth=14)
    assert bits(max_depth=13) > 16
    if not options:
        assert bits(max_depth=10**9, n_records=1000) > 16  # so few records that the tree is not deep anyway


def test_trees_that_grow_together_count_together():
    def bits(**options):
        model = HiddenForestClassifier(epsilon=1.0, branches="thresholds", max_depth=13, n_values=4, **options)
        return model.hidden_bits(JOINT, SCHEMA, 25_000)

    with pytest.raises(PrivetError, match="max_depth=11 fits"):
        bits(n_trees=4)
    assert bits(n_trees=4, sampling="poisson") > 16


def test_adult_at_depth_5_fits_and_nothing_fits_where_rows_are_too_many():
    _, _, schema = load_adult()
    shape = shape_of(schema, "values", 6)
    assert shape.width in (7, 8)
    check_training(shape, 5, 14, 1, 32_651)
    with pytest.raises(PrivetError, match="no depth fits"):
        check_training(shape, 3, 14, 1, 2**28)


@pytest.mark.parametrize("model", [HiddenTreeClassifier, HiddenForestClassifier])
def test_on_shares_nothing_is_spent_by_what_is_too_large(model, monkeypatch):
    X, y = table(40)
    monkeypatch.setattr(size, "MOST_NUMBERS", 10_000)

    def program(curator, engine):
        assert curator.open().most_records == 100
        with pytest.raises(PrivetError, match="too large"):
            model(epsilon=1.0, max_depth=4, n_values=4).fit_curator(curator)
        return curator.ledger.spent, len(curator.ledger.events)

    assert on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=50) == [(0, 0)] * 3


def test_how_many_queries_fit_follows_from_the_shape():
    shape = shape_of(SCHEMA, "values", 4)
    assert most_queries(shape, 1) == size.MOST_QUERIES
    assert most_queries(shape, 5) == size.MOST_NUMBERS // (shape.width**4 + shape.grid.n_cells)
    assert most_queries(shape, 40) == 1
    most = most_queries(shape, 6)
    check_queries_fit(most, shape, 6)
    for queries in (0, most + 1):
        with pytest.raises(PrivetError, match=f"1 to {most:,} queries, and these are {queries:,}"):
            check_queries_fit(queries, shape, 6)
