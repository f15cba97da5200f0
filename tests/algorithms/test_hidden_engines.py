"""Both engines grow the tree in the open, for the same coins; with TLS, on the papers' data where they are."""

import numpy as np
import pytest

from hidden_programs import SCHEMA, grow, in_the_open, plain, queries_of, same, table
from privet import HiddenTreeClassifier
from privet.curators.owners.mpc_owner import one_hot, query_cells
from privet.curators.records import Records
from privet.tree.hidden_shape import shape_of


def tables_of(X, y, schema, shape):
    held = Records(X, y, schema)
    classes = np.zeros((len(schema.classes), len(y)), dtype=np.int64)
    classes[held.labels, np.arange(len(y))] = 1
    return one_hot(held.binned(shape.grid), shape.grid, len(y), len(y)).astype(np.int64), classes


@pytest.mark.parametrize(
    "options", [{"max_depth": 2, "branches": "values"}, {"max_depth": 2, "branches": "thresholds"}]
)
def test_mpyc_grows_the_tree_in_the_open(options):
    pytest.importorskip("mpyc")
    from mpyc_engine import MpycEngine

    X, y = table(60)
    params = {"epsilon": 30.0, "n_values": 2, **options}
    shape = shape_of(SCHEMA, options.get("branches", "values"), 2)
    queries = queries_of(table(9, 4)[0], SCHEMA, shape)
    expected, expected_counts = in_the_open(HiddenTreeClassifier(**params), X, y, SCHEMA, seed=2)
    tree, counts, answers = grow(MpycEngine.alone(), SCHEMA, params, *tables_of(X, y, SCHEMA, shape), queries, 2)
    assert tree == plain(expected.tree_)
    assert same(counts, expected_counts)
    assert (np.array(SCHEMA.classes)[answers] == expected.predict(table(9, 4)[0])).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name", "depth", "n_values", "branches"),
    [
        ("replicated", "titanic", 4, 5, "thresholds"),
        ("replicated", "heart_cleveland", 2, 5, "values"),
        ("replicated", "heart_cleveland", 3, 5, "thresholds"),
        ("replicated", "titanic", 3, 5, "values"),
        ("replicated", "adult", 3, 7, "values"),
        ("replicated", "adult", 4, 7, "thresholds"),
        ("mpyc", "titanic", 2, 5, "values"),
        ("mpyc", "titanic", 2, 5, "thresholds"),
        ("mpyc", "heart_cleveland", 1, 5, "values"),
        ("mpyc", "heart_cleveland", 2, 5, "thresholds"),
    ],
)
def test_on_the_papers_data_with_tls_all_is_as_in_the_open(engine, name, depth, n_values, branches):
    if engine == "mpyc":
        pytest.importorskip("mpyc")
    from loopback import run_three, run_three_mpyc
    from shared_data import available, load

    if not available():
        pytest.skip("the shared data are not here")
    data = load(name)
    params = {"epsilon": 5.0, "n_values": n_values, "max_depth": depth, "branches": branches}
    shape = shape_of(data.schema, branches, n_values)
    expected, expected_counts = in_the_open(HiddenTreeClassifier(**params), data.X, data.y, data.schema, seed=2)
    queries = query_cells(data.X[:100], data.schema, shape.grid).astype(np.int64)
    run = run_three if engine == "replicated" else run_three_mpyc
    results = run(grow, data.schema, params, *tables_of(data.X, data.y, data.schema, shape), queries, 2, longest=3000)
    for tree, counts, answers in results:
        assert tree == plain(expected.tree_)
        assert len(counts) == depth - (branches == "thresholds")  # the last level has its labels, and no children
        assert same(counts, expected_counts)
        assert (np.array(data.schema.classes)[answers] == expected.predict(data.X[:100])).all()
