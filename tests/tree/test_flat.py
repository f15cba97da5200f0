"""Flat arrays lead to the leaf that the rules do."""

import numpy as np

from exported_models import exported, records
from privet.tables.table import read_table
from privet.tree.flat import cuts_of, flat_tree


def test_every_record_ends_in_its_leaf():
    model, X = exported("counts", 3), records(300, 5)
    table = read_table(X, model.schema_)
    cuts = cuts_of([model.tree_])
    features, starts, children = flat_tree(model.tree_, cuts)
    cells = []
    for own, name in zip(cuts, model.schema_.names):
        column = table.codes(name) if own is None else table.numeric(name)
        cells.append(column if own is None else np.where(np.isnan(column), len(own) + 1, np.searchsorted(own, column)))
    for row, leaf in enumerate(model.apply(X)):
        node = 0
        while features[node] >= 0:
            node = children[starts[node] + cells[features[node]][row]]
        assert node == leaf
