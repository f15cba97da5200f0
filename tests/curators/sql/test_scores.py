"""What released models say of records in a database: the table that memory counts, cell by cell."""

from fractions import Fraction

import numpy as np
import pytest

import databases
import privet
from databases import CLASSES, FEATURES, TARGET, TYPES, some_rows, stored
from privet import Ledger, Schema, SqlCurator
from privet.curators.sql.scores import check_computable
from privet.errors import LeakError
from privet.evaluate.scorers import Groups, reading_of
from privet.questions.grid import public_grid
from privet.questions.scorer import Scorer

THREE = Schema(FEATURES, classes=["a", "b'", "c"], label="town2")
"""Three classes."""


ROWS = [(*row, row[2] if row[2] in ("a", "c") else "b'") for row in some_rows()]


MODELS = [
    (CLASSES, privet.PrivateTreeClassifier(CLASSES, epsilon=5.0, leaves="counts", random_state=0)),
    (CLASSES, privet.PrivateForestClassifier(CLASSES, epsilon=5.0, method="boosting", random_state=0)),
    (CLASSES, privet.PrivateForestClassifier(CLASSES, epsilon=5.0, n_trees=3, random_state=0)),
    (THREE, privet.PrivateTreeClassifier(THREE, epsilon=5.0, leaves="counts", random_state=0)),
    (THREE, privet.PrivateForestClassifier(THREE, epsilon=5.0, method="boosting", random_state=0)),
    (TARGET, privet.PrivateTreeRegressor(TARGET, epsilon=5.0, random_state=0)),
    (TARGET, privet.PrivateForestRegressor(TARGET, epsilon=5.0, method="boosting", random_state=0)),
]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize(("schema", "estimator"), MODELS)
def test_records_are_scored_as_in_memory(engine, schema, estimator):
    types, connection = TYPES | {"town2": "text"}, databases.connect(engine)
    databases.store(connection, engine, "people", types, ROWS)
    table = databases.arrow(types, ROWS)
    model = estimator.fit(table, table.column(schema.label))
    room = privet.MemoryCurator(table, table.column(schema.label), schema).room()
    desk = SqlCurator(connection, "people", schema).open()
    try:
        for groups in (None, Groups.of(schema, {"age": [30, 50]})):
            scorer = reading_of(getattr(model, model._released), 30, groups).scorer
            ours = desk._room.scored(desk._room.everything(None), scorer)
            np.testing.assert_array_equal(ours, room.scored(room.everything(None), scorer))
            assert ours.sum() == len(ROWS)
    finally:
        desk.close()


def test_a_scorer_whose_numbers_an_engine_may_refuse_is_refused_for_all_records_and_costs_nothing():
    ledger = Ledger(1)
    desk = SqlCurator(stored("duckdb"), "people", TARGET, ledger=ledger).open()
    scorer = Scorer(public_grid(TARGET), (), None, "error", np.zeros(1), unit=1e-300)
    node = desk.root(Fraction(1))
    with pytest.raises(LeakError, match="unit"):
        desk.evaluate({node: scorer}, Fraction(1, 2))
    with pytest.raises(LeakError, match="unit"):
        desk.prefer(node, [scorer], Fraction(1, 2))
    assert ledger.spent == 0
    desk.close()


def test_a_scorer_may_have_one_bin_for_all_errors():
    desk = SqlCurator(stored("duckdb"), "people", TARGET).open()
    scorer = Scorer(public_grid(TARGET), (), None, "error", np.zeros(0))
    assert desk._room.scored(desk._room.everything(None), scorer).tolist() == [[[len(some_rows())]]]
    desk.close()


def test_nothing_can_overflow_that_an_engine_would_call_an_error_of_one_record():
    wide = Schema(FEATURES, target=(-8e307, 8e307), label=TARGET.label)
    largest = np.finfo(float).max / 2.0**62
    check_computable(Scorer(public_grid(wide), (), None, "error", np.zeros(1), unit=largest * 0.4))
    with pytest.raises(LeakError, match="unit"):  # with the target itself it would be too far
        check_computable(Scorer(public_grid(wide), (), None, "error", np.zeros(1), unit=largest * 0.6))
