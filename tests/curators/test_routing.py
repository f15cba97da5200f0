"""Rows go where the split of their node sends them, on shares as in the open, and nobody sees which that is."""

import numpy as np
import pytest

pytest.importorskip("cryptography")

from hidden_programs import SCHEMA, table
from in_threads import run_threads
from privet.curators.owners.mpc_owner import query_cells
from privet.curators.routing import child_of, children_map, members_of_children
from privet.tree.hidden_shape import shape_of

SHAPES = [shape_of(SCHEMA, branches, 4) for branches in ("values", "thresholds")]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=["values", "thresholds"])


@every_shape
def test_the_map_says_for_every_split_where_its_cells_go(shape):
    sends = children_map(shape)
    assert sends.shape == (shape.width - 1, len(shape.splits), shape.grid.n_cells)
    for s in range(len(shape.splits)):
        split = shape.splits.split(s)
        own = slice(shape.grid.offsets[split.feature], shape.grid.offsets[split.feature + 1])
        for child in range(shape.width - 1):
            assert sends[child, s, own].tolist() == (split.parts == child).astype(int).tolist()
        assert sends[:, s].sum() == (split.parts < shape.width - 1).sum()  # and no cell of another feature


@every_shape
def test_every_row_goes_to_the_child_that_its_nodes_split_names(shape):
    X, _ = table(30)
    cells = query_cells(X, SCHEMA, shape.grid).astype(np.int64)
    rng = np.random.default_rng(1)
    nodes = 3
    chosen = rng.integers(0, len(shape.splits), nodes)
    where = rng.integers(0, nodes, len(X))
    choices = np.eye(len(shape.splits), dtype=np.int64)[chosen]
    choices[2] = 0  # a node that chose nothing: all of its rows go to the last child
    members = (np.arange(nodes)[:, None] == where).astype(np.int64)

    def program(engine):
        own = [engine.constant(values) for values in (choices, members, cells)]
        goes = child_of(engine, shape, *own)
        return engine.open(goes), engine.open(members_of_children(engine, own[1], goes))

    goes, below = run_threads(program)[0]
    expected = np.zeros((nodes, shape.width, len(X)), dtype=np.int64)
    for row, node in enumerate(where):
        child = shape.width - 1
        if node != 2:
            split = shape.splits.split(int(chosen[node]))
            cell = cells[shape.grid.offsets[split.feature] : shape.grid.offsets[split.feature + 1], row].argmax()
            child = split.part[cell]
        expected[node, child, row] = 1
    assert (goes == expected.sum(axis=0)[:-1]).all()
    assert (below == expected.reshape(nodes * shape.width, len(X))).all()
