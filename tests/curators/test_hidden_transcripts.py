"""What is seen of a run from outside, number, order and length of messages, is the same whatever data and queries."""

import numpy as np
import pytest

from hidden_programs import SCHEMA, horizontally, learner, on_shares, queries_of, table
from privet.shares.mesh import Queues
from privet.tree.hidden_shape import shape_of


def lengths_of(X, y, queries, **options):
    meshes = Queues.three()
    for mesh in meshes:
        mesh.lengths = []

    def program(curator, engine):
        tree = learner(**options).fit_curator(curator).tree_
        trained = len(engine.mesh.lengths)
        tree.predict(engine, engine.input(queries if engine.party == 0 else None, 0, queries.shape))
        return trained, list(engine.mesh.lengths), engine.mesh.rounds

    return on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=120, meshes=meshes, ring_bits=32)


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 2},
        {"max_depth": 3, "branches": "thresholds"},  # with divisions
        {"max_depth": 2, "structure": "random"},
        {"max_depth": 2, "variant": "published"},
    ],
)
def test_transcripts_do_not_depend_on_data_or_queries(options):
    queries = queries_of(table(30, 3)[0], SCHEMA, shape_of(SCHEMA, options.get("branches", "values"), 4))
    few, many = table(3, 1), table(200, 2)
    alike = (np.repeat(few[0][:1], 7, axis=0), np.array(["yes"] * 7))
    seen = [
        lengths_of(*few, queries, **options),
        lengths_of(*many, queries[:, ::-1].copy(), **options),
        lengths_of(*alike, np.repeat(queries[:, :1], 30, axis=1), **options),
    ]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0][0] > 50  # there was something to compare
