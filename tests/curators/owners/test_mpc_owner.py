"""An owner lets out shares of what all three servers ask, and nothing that its public bound does not hide."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("cryptography")

from hidden_programs import SCHEMA, table
from in_threads import QueueLine
from privet import Categorical, Numeric, Schema
from privet.curators.owners.mpc_owner import ColumnOwner, Owner, held_of, query_cells
from privet.errors import LeakError, MpcError, SchemaError
from privet.privacy.unit import Unit
from privet.questions.codec import grid_words, schema_digest, scorer_words
from privet.questions.grid import public_grid
from privet.questions.scorer import Scorer, Summand
from privet.questions.split import Split
from privet.tree.hidden_shape import shape_of

GRID = public_grid(SCHEMA, 4)


def start(most_records, **changed):
    words = {"ring_bits": 64, "most_records": most_records, "schema": schema_digest(SCHEMA)}
    return {"do": "start", **words, **changed}


def begun(owner, most_records):
    assert owner.answer(start(most_records)) is None
    return owner


def with_root(owner, most_records=50):
    begun(owner, most_records)
    owner.answer({"do": "root", "node": 0})
    owner.answer({"do": "grid", "features": grid_words(GRID)})
    return owner


def test_an_owner_answers_only_what_all_three_ask():
    lines = [QueueLine.pair() for _ in range(3)]
    for i, (mine, _) in enumerate(lines):
        mine.send(json.dumps({"do": "root", "node": i}).encode())
    with pytest.raises(MpcError, match="same question"):
        Owner(*table(5), SCHEMA).serve([theirs for _, theirs in lines])


def test_numeric_targets_are_refused():
    schema = Schema(features={"age": Numeric(0, 20)}, target=(0, 1))
    with pytest.raises(SchemaError, match="target"):
        Owner([[1.0]], [0.5], schema)


def test_an_owner_of_a_column_that_is_not_in_the_schema_is_told():
    with pytest.raises(SchemaError, match="no feature 'height'"):
        held_of(SCHEMA, ["age", "height"])


def test_an_owner_of_columns_reads_a_table_by_name_and_an_array_by_the_order_it_lists():
    X, y = table(30)
    named = pd.DataFrame({"sex": X[:, 3], "age": X[:, 0]})
    shape = shape_of(SCHEMA, "values", 4)
    words = [words for words, name in zip(grid_words(shape.grid), SCHEMA.names) if name in ("age", "sex")]
    whole = begun(Owner(X, y, SCHEMA), 30)
    whole.answer({"do": "grid", "features": grid_words(shape.grid)})
    starts = dict(zip(SCHEMA.names, zip(shape.grid.offsets[:-1], shape.grid.offsets[1:])))
    rows = whole.answer({"do": "rows", "records": 30})
    expected = np.concatenate([rows[slice(*starts[name])] for name in ("age", "sex")])
    for data, features in (
        (X[:, [3, 0]], ("sex", "age")),
        (X[:, [0, 3]], ("age", "sex")),
        (named, ("sex", "age")),
        (named, ("age", "sex")),
    ):
        owner = begun(ColumnOwner(data, None, SCHEMA, features), 30)
        asked = {"do": "columns", "features": words, "label": False, "records": 30}
        assert (owner.answer(asked) == expected).all()
        with pytest.raises(LeakError, match="holds the labels"):
            owner.answer({**asked, "label": True})
    with pytest.raises(SchemaError, match="twice"):
        ColumnOwner(X[:, [0, 0]], None, SCHEMA, ("age", "age"))
    with pytest.raises(SchemaError, match="3 columns, and this owner is said to hold 2"):
        ColumnOwner(X[:, :3], None, SCHEMA, ("age", "sex"))


def test_counts_are_the_owners_own_by_node():
    X, y = table(40)
    owner = with_root(Owner(X, y, SCHEMA))
    colour = SCHEMA.names.index("colour")
    owner.answer({"do": "split", "splits": [[0, colour, "00010101", [1, 2]]]})
    totals = owner.answer({"do": "totals", "nodes": [0, 1, 2]})
    assert totals.tolist() == [
        [int(((y == label) & own).sum()) for label in SCHEMA.classes]
        for own in (np.ones(40, bool), X[:, colour] == "r", X[:, colour] != "r")
    ]
    histograms = owner.answer({"do": "histograms", "nodes": [1, 2]})
    assert histograms.shape == (2, GRID.n_cells, 3)
    assert (histograms[:, : GRID.offsets[1]].sum(axis=1) == totals[1:]).all()


def test_rows_are_shared_up_to_the_bound_whatever_there_is():
    X, y = table(12)
    owner = with_root(Owner(X, y, SCHEMA))
    rows = owner.answer({"do": "rows", "records": 50})
    assert rows.shape == (GRID.n_cells + 3, 50)
    assert (rows[: GRID.n_cells, :12] == query_cells(X, SCHEMA, GRID)).all()
    assert not rows[:, 12:].any()
    for drawn in (
        owner.answer({"do": "draw", "weights": [4, 1, 1], "records": 50}),
        owner.answer({"do": "sample", "samples": 3, "inverse_rate": 2, "records": 50}),
    ):
        assert drawn.shape == (3, 50)
        assert not drawn[:, 12:].any()
    with pytest.raises(LeakError, match="up to the bound"):
        owner.answer({"do": "rows", "records": 49})


def test_a_bound_below_the_owners_is_refused_and_the_first_is_kept():
    """Whoever could ask for one bound after another would find out how many records there are."""
    X, y = table(20)
    owner = begun(Owner(X, y, SCHEMA), 30)
    for most in (29, 20, 5):
        with pytest.raises(SchemaError, match="below this owner's"):
            owner.answer(start(most))
    begun(owner, 30)
    with pytest.raises(SchemaError, match="more records than its public bound"):
        Owner(X, y, SCHEMA, most_records=19)
    with pytest.raises(SchemaError, match="below this owner's"):
        Owner(X, y, SCHEMA, most_records=25).answer(start(24))


def test_an_owner_with_more_records_than_the_first_bound_shares_nothing_at_any_other():
    """What servers learn of its size is one bit: whether it is above the first bound that they asked for."""
    owner = Owner(*table(20), SCHEMA)
    for most in (15, 10, 16, 19, 20, 1000):
        with pytest.raises(SchemaError, match="Agree on a larger one"):
            owner.answer(start(most))
        with pytest.raises(LeakError, match="begins with"):
            owner.answer({"do": "root", "node": 0})


@pytest.mark.parametrize(
    "request_",
    [
        start(50, schema="other"),
        start(50, engine="plain"),
        start(50, engine=None),
        start(0),
        start(2**40),
        start("50"),
        {"do": "start"},
        {"do": "totals"},
        {"do": "totals", "nodes": []},
        {"do": "totals", "nodes": [7]},
        {"do": "totals", "nodes": "0"},
        {"do": "histograms", "nodes": [-1]},
        {"do": "records"},
        {"do": None},
        {"do": "rows", "records": "50"},
        {"do": "draw", "weights": [], "records": 50},
        {"do": "draw", "weights": [0, 1], "records": 50},
        {"do": "draw", "weights": [2**31, 1], "records": 50},
        {"do": "draw", "weights": [1] * 2**17, "records": 50},
        {"do": "sample", "samples": 1, "inverse_rate": 0, "records": 50},
        {"do": "root", "node": 0},
        {"do": "split", "splits": [[0, 0, "00", [1]]]},
        [],
    ],
)
def test_what_is_no_question_is_refused_before_anything_is_counted(request_):
    owner = with_root(Owner(*table(10), SCHEMA))
    with pytest.raises((LeakError, SchemaError)):
        owner.answer(request_)


def test_a_run_begins_with_its_settings_and_cells_with_a_grid():
    owner = Owner(*table(10), SCHEMA)
    with pytest.raises(LeakError, match="begins with"):
        owner.answer({"do": "root", "node": 0})
    begun(owner, 20).answer({"do": "root", "node": 0})
    with pytest.raises(LeakError, match="grid"):
        owner.answer({"do": "histograms", "nodes": [0]})


@pytest.mark.parametrize(
    "question",
    [
        {"do": "rows", "records": 2**27},
        {"do": "draw", "weights": [1] * 2**16, "records": 2**27},
        {"do": "histograms", "nodes": [0] * 2**20},
    ],
)
def test_what_would_take_all_memory_is_refused(question, monkeypatch):
    owner = with_root(Owner(*table(5), SCHEMA), 2**27)
    monkeypatch.setattr("privet.curators.owners.mpc_owner.MOST_DRAWN", 2**24)
    monkeypatch.setattr(owner._room, "histograms", None)  # it must not come to that
    with pytest.raises(LeakError, match="too large to share"):
        owner.answer(question)


SMALL = {"a": Categorical([0, 1], other=False), "b": Categorical([0, 1], other=False)}


def scored(schema, records, persons=None):
    """An owner's exact table of a model that says of a record what its first feature is, by the second one."""
    grid = public_grid(schema)
    model = [Summand(Split(0, bytes([0, 1])), np.eye(2, dtype=np.int64))]
    scorer = Scorer(grid, model, None, "shares", [0.5], order=(0, 1), by=Split(1, bytes([0, 1])))
    X = pd.DataFrame([own[:2] for own in records], columns=["a", "b"], dtype=object)
    owner = Owner(X if persons is None else X.assign(who=persons), [own[2] for own in records], schema)
    owner.answer({**start(10), "schema": schema_digest(schema)})
    owner.answer({"do": "root", "node": 0})
    return owner.answer({"do": "scored", "asked": [[0, scorer_words(scorer)]]}).reshape(scorer.shape)


def test_one_record_more_is_one_count_more_of_what_an_owner_shares_of_a_score():
    """All tables of up to two records, and every record more: the sensitivity of a table of scores is 1."""
    schema, every = Schema(SMALL, classes=[0, 1]), list(itertools.product([0, 1], repeat=3))
    for n in range(3):
        for records in itertools.combinations_with_replacement(every, n):
            table_of = scored(schema, records)
            assert table_of.sum() == n
            for more in every:
                moved = scored(schema, [*records, more]) - table_of
                expected = np.zeros_like(moved)
                expected[more[1], 2 * more[0] + 1, more[2]] = 1
                assert (moved == expected).all()


def test_one_person_more_moves_a_table_of_scores_by_no_more_than_a_persons_weight():
    schema, every = Schema(SMALL, classes=[0, 1], person="who", records_per_person=2), [(0, 0, 0), (1, 0, 1), (1, 1, 1)]
    for records in itertools.combinations_with_replacement(every, 2):
        for theirs in [more for n in (1, 2, 3) for more in itertools.combinations_with_replacement(every, n)]:
            before = scored(schema, records, ["p", "p"])
            after = scored(schema, [*records, *theirs], ["p", "p", *["q"] * len(theirs)])
            assert np.abs(after - before).sum() == Unit.of(schema).weight == 12


def test_scores_are_of_the_nodes_and_the_schema_that_there_are():
    owner = with_root(Owner(*table(10), SCHEMA))
    other = Schema(SMALL, classes=[0, 1])
    model = [Summand(Split(0, bytes([0, 1])), np.eye(2, dtype=np.int64))]
    words = scorer_words(Scorer(public_grid(other), model, None, "shares", [0.5], order=(0, 1)))
    for asked in ([[0, words]], [], [[0]], [[7, words]], "all"):
        with pytest.raises(LeakError):
            owner.answer({"do": "scored", "asked": asked})


def test_after_a_run_its_nodes_are_gone():
    owner = Owner(*table(10), SCHEMA)
    lines = [QueueLine.pair() for _ in range(3)]
    for words in (start(20), {"do": "root", "node": 0}, {"do": "done"}):
        for mine, _ in lines:
            mine.send(json.dumps(words).encode())
    owner.serve([theirs for _, theirs in lines])
    begun(owner, 20)
    with pytest.raises(LeakError, match="no node of this number"):
        owner.answer({"do": "totals", "nodes": [0]})


def test_an_owner_of_columns_answers_about_columns_alone():
    X, _ = table(10)
    owner = begun(ColumnOwner(X[:, :1], None, SCHEMA, ["age"]), 20)
    for do in ("root", "grid", "totals", "histograms", "rows", "split"):
        with pytest.raises(LeakError, match="not done here"):
            owner.answer({"do": do})


def test_the_cause_stays_with_the_owner(monkeypatch, caplog):
    owner = Owner(*table(10), SCHEMA)
    lines = [QueueLine.pair() for _ in range(3)]
    monkeypatch.setattr(owner, "answer", lambda request: 1 / 0)
    for mine, _ in lines:
        mine.send(json.dumps(start(20)).encode())
    with pytest.raises(MpcError, match="has left") as error:
        owner.serve([theirs for _, theirs in lines])
    assert "ZeroDivisionError" not in str(error.value)
    assert "ZeroDivisionError" in caplog.text
