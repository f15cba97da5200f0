"""Records fetched from DuckDB: counts and sums of gradients are those of memory (``test_every_room``: models)."""

import warnings
from fractions import Fraction
from importlib import import_module
from mmap import mmap

import numpy as np
import pytest

from databases import CLASSES, PERSONS, TARGET, connect, memory, store, stored
from privet import Numeric, PrivateTreeClassifier, PrivateTreeRegressor, Schema, SqlCurator
from privet.curators import kernels
from privet.curators import scratch as scratch_module
from privet.curators.scratch import Scratch
from privet.curators.sql.database import DuckDatabase
from privet.curators.sql.fetched import DrawingFetchingSqlRoom, FetchingSqlRoom, room_for
from privet.curators.sql.room import DrawingSqlRoom, SqlRoom
from privet.errors import CapabilityError, DatabaseError
from privet.privacy.mechanisms import mechanisms
from privet.privacy.scores import GradientNorm, ResidualNorm
from privet.questions.candidates import Candidates
from privet.questions.grid import even_grid, public_grid
from privet.questions.levels import Levels
from privet.questions.products import Products
from privet.questions.split import Product, Split
from privet.questions.tally import Step, Tally
from rooms import no_space


def parts(grid, feature, n, seed):
    return Split(
        feature, bytes(np.random.default_rng(seed).integers(n, size=grid.features[feature].n_cells, dtype=np.uint8)), n
    )


@pytest.mark.parametrize("engine", ["numpy_engine", "numba_engine"])
@pytest.mark.parametrize("schema", [CLASSES, TARGET, PERSONS], ids=["classes", "target", "persons"])
def test_sums_of_gradients_are_those_of_memory(schema, engine, monkeypatch):
    monkeypatch.setattr(kernels, "_engine", import_module(f"privet.curators.kernels.{engine}"))
    desk, theirs = SqlCurator(stored("duckdb"), "people", schema).open(), memory(schema).room()
    ours, grid = desk._room, public_grid(schema)
    ours.use(grid)
    theirs.use(grid)
    output = 1 if schema.classes else 900
    tables = [parts(grid, 0, 3, 0), Product((parts(grid, 0, 2, 1), parts(grid, 2, 2, 2)))]
    roots = ours.everything(None), theirs.everything(None)
    copies = [room.copies(root, 1)[0] for room, root in zip((ours, theirs), roots)]
    below = [room.split([(root, tables[0])])[0][1] for room, root in zip((ours, theirs), roots)]
    pairs = [roots, copies, below]
    for round_ in range(4):
        for one, other in pairs:
            expected = theirs.gradients_and_hessians(other, output, tables)
            np.testing.assert_array_equal(ours.gradients_and_hessians(one, output, tables), expected)
            np.testing.assert_array_equal(ours.gradients(one, output, tables), theirs.gradients(other, output, tables))
            if schema.target:
                levels = [Levels((10, 4000))]
                found = ours.gradients_and_hessians(one, output, levels)
                np.testing.assert_array_equal(found, theirs.gradients_and_hessians(other, output, levels))
                points = np.array([1, 50, 3000])
                np.testing.assert_array_equal(ours.residual_counts(one, points), theirs.residual_counts(other, points))
        step = Step(tables[0], (1000 * round_, -70000, 12345), 1 if schema.classes else 0)
        one, other = pairs[round_ % 3]
        ours.advance([(one, step)])
        theirs.advance([(other, step)])
    ours.use(even_grid(schema, 3))
    with pytest.raises(CapabilityError, match="another grid"):
        ours.gradients(roots[0], output, tables)
    desk.close()


@pytest.mark.parametrize("schema", [CLASSES, TARGET, PERSONS], ids=["classes", "target", "persons"])
def test_counts_are_those_of_memory_and_of_the_database(schema, monkeypatch):
    rooms = [SqlCurator(stored("duckdb"), "people", schema).open()._room for _ in range(2)]
    rooms.append(memory(schema).room())
    levels = [[room.everything(None)] for room in rooms]
    for depth, grid in enumerate([public_grid(schema), public_grid(schema), even_grid(schema, 5), public_grid(schema)]):
        counted = []
        for i, (room, nodes) in enumerate(zip(rooms, levels)):
            with monkeypatch.context() as patched:
                if i == 1:
                    patched.setattr(Scratch, "array", no_space)
                room.use(grid)
                if schema.target and depth == 1:
                    room.focus(1.0, 3.0)
                counted.append((room.totals(nodes), room.histograms(nodes)))
        for totals, histograms in counted[1:]:
            np.testing.assert_array_equal(totals, counted[0][0])
            np.testing.assert_array_equal(histograms, counted[0][1])
        split = parts(grid, depth % 3, 3, depth)
        for i, room in enumerate(rooms):
            children = room.split([(node, split) for node in levels[i]])
            levels[i] = [child for family in children for child in family] + room.copies(levels[i][0], 1)
    assert rooms[0]._fetched is not None
    assert rooms[1]._fetched is None


@pytest.mark.parametrize("schema", [CLASSES, PERSONS], ids=["rows", "persons"])
def test_parts_are_fetched_with_the_cells_and_have_the_records_that_the_database_gives_them(schema, monkeypatch):
    room, grid = (
        SqlCurator(stored("duckdb"), "people", schema, mechanisms=mechanisms(1)).open()._room,
        public_grid(schema),
    )
    room.use(grid)
    root = room.everything(None)
    drawn = room.parts(root, [1, 3, 2])
    again = room.parts(drawn[1], [1] * 300)
    below = room.split([(drawn[2], parts(grid, 2, 3, 0))])[0]
    nodes = [root, *drawn, *again, *below, *room.copies(again[7], 1), room.anew(below[1], None)]
    counted = room.totals(nodes), room.histograms(nodes)
    first = room._fetched
    later = room.parts(drawn[0], [1, 1])
    np.testing.assert_array_equal(room.histograms(later).sum(axis=0), counted[1][1])
    assert room._fetched is not first  # with the new draw
    monkeypatch.setattr(room, "_disk_is_full", True)
    room._families.forget()
    np.testing.assert_array_equal(room.totals(nodes), counted[0])
    np.testing.assert_array_equal(room.histograms(nodes), counted[1])
    room.close()


@pytest.mark.parametrize(
    ("schema", "learner"), [(CLASSES, PrivateTreeClassifier), (TARGET, PrivateTreeRegressor)], ids=["classes", "target"]
)
def test_with_a_holdout_memory_and_the_database_count_the_same_and_memory_needs_no_table(schema, learner, monkeypatch):
    kept, keep = [], DuckDatabase.keep
    monkeypatch.setattr(DuckDatabase, "keep", lambda *given: kept.append(1) or keep(*given))

    def fit():
        curator = SqlCurator(stored("duckdb"), "people", schema, mechanisms=mechanisms(1))
        model = learner(epsilon=4.0, max_depth=3).fit_curator(curator, holdout=0.25)
        return model.tree_.to_dict(), model.evaluation_.counts.tolist()

    fetched = fit()
    assert not kept
    monkeypatch.setattr(Scratch, "array", no_space)
    assert fit() == fetched
    assert kept


def test_where_the_disk_is_full_the_database_counts_and_boosting_is_in_memory(monkeypatch):
    room, grid = SqlCurator(stored("duckdb"), "people", CLASSES).open()._room, public_grid(CLASSES)
    room.use(grid)
    root = room.everything(None)
    counts = room.histograms([root])
    assert room._fetched is not None
    monkeypatch.setattr(Scratch, "array", no_space)
    room.use(even_grid(CLASSES, 3))
    assert room.histograms([root]).sum() == counts.sum()
    assert room._fetched is None
    assert room.gradients(root, 1, [Split(0, bytes(3))]).shape == (1, 1)
    assert room._fetched is not None
    room.close()


def test_large_tables_are_fetched_into_scratch_files_in_the_folder_that_was_named(tmp_path, monkeypatch):
    made, array = [], Scratch.array

    def noted(scratch, shape, dtype):
        made.append(scratch.folder)
        return array(scratch, shape, dtype)

    monkeypatch.setattr(Scratch, "array", noted)
    monkeypatch.setattr(scratch_module, "SMALL", 1)
    curator = SqlCurator(stored("duckdb"), "people", CLASSES, cache=tmp_path / "here")
    room = curator.open()._room
    room.use(public_grid(CLASSES))
    assert room.histograms([room.everything(None)]).sum() == 400 * len(CLASSES.features)
    assert set(made) == {tmp_path / "here"}
    owner = room._fetched.records.labels
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, mmap)
    assert not list((tmp_path / "here").iterdir())
    room.close()


def test_an_empty_table_and_one_of_1600_columns_are_fetched():
    empty = SqlCurator(stored("duckdb", []), "people", CLASSES).open()._room
    empty.use(public_grid(CLASSES))
    assert not empty.histograms(empty.parts(empty.everything(None), [1, 1])).any()
    assert empty._fetched.records.n == 0
    n = 1599
    rows = [(*((i >> f % 5) % 2 for f in range(n)), i % 3) for i in range(60)]
    connection = connect("duckdb")
    store(connection, "duckdb", "wide", {f"x{f}": "smallint" for f in range(n)} | {"y": "int"}, rows)
    schema = Schema({f"x{f}": Numeric(0, 1, integer=True) for f in range(n)}, classes=[0, 1, 2], label="y")
    wide = SqlCurator(connection, "wide", schema).open()._room
    wide.use(public_grid(schema))
    counts = wide.histograms([wide.everything(None)])[0].reshape(n, 2, 3)
    table = np.array(rows)
    for c in range(3):
        np.testing.assert_array_equal(counts[:, 1, c], table[table[:, -1] == c, :-1].sum(axis=0))
    assert wide._fetched.records.n == 60


def test_a_connection_that_is_lost_before_records_are_fetched_ends_clearly():
    connection = stored("duckdb")
    room = SqlCurator(connection, "people", CLASSES).open()._room
    room.use(public_grid(CLASSES))
    connection.close()
    with pytest.raises(DatabaseError, match="did not answer"):
        room.totals([room.everything(None)])


def test_a_root_of_its_own_has_scores_of_its_own_and_what_cannot_be_followed_is_refused():
    desk = SqlCurator(stored("duckdb"), "people", CLASSES).open()
    room, grid = desk._room, public_grid(CLASSES)
    room.use(grid)
    table = parts(grid, 0, 2, 0)
    root = room.everything(None)
    part, others = room.parts(root, [1, 1])
    again = room.anew(part, None)
    before = room.gradients(again, 1, [table])
    room.advance([(root, Step(table, (5000, -5000), 1))])
    np.testing.assert_array_equal(room.gradients(again, 1, [table]), before)
    advanced = room.gradients(part, 1, [table])  # the part has its root's scores
    assert (advanced != before).any()
    np.testing.assert_array_equal(advanced + room.gradients(others, 1, [table]), room.gradients(root, 1, [table]))
    new, _ = room.parts(root, [1, 1])
    with pytest.raises(CapabilityError, match="another grid or draw"):
        room.gradients(new, 1, [table])
    np.testing.assert_array_equal(room.totals([part, others]).sum(axis=0), room.totals([root])[0])
    (below,), other_grid = room.split([(root, parts(grid, 0, 1, 0))])[0], even_grid(CLASSES, 3)
    room.use(other_grid)
    with pytest.raises(CapabilityError, match="split on the present grid"):
        room.gradients(below, 1, [table])
    assert room.histograms([root])[0].shape == (other_grid.n_cells, 2)  # the database counts these
    desk.close()


def test_rooms_can_do_what_their_records_and_their_engine_allow():
    assert [room_for(*can) for can in ((0, 0), (0, 1), (1, 0), (1, 1))] == [
        SqlRoom, FetchingSqlRoom, DrawingSqlRoom, DrawingFetchingSqlRoom,
    ]  # fmt: skip


def test_fetching_warns_of_nothing():
    """DuckDB 2 warns where it copies: a line for each time that records are read would count what a fit did."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        desk = SqlCurator(stored("duckdb"), "people", CLASSES).open()
        root = desk.root()
        desk.grid(public_grid(CLASSES))
        assert desk.peek([root])[root].sum() > 0


def questions_of_scores(desk, node, grid):
    """Every question whose answer depends on the scores of a node's records."""
    schema, table = desk.schema, parts(grid, 0, 2, 0)
    sums = {"measure": "residual", "clamp": 900} if schema.target else {"measure": "gradient", "output": 1}
    tally, score = Tally((table,), **sums), ResidualNorm(900) if schema.target else GradientNorm(1)
    options = Candidates(Products(grid, [table, parts(grid, 2, 2, 1)]), len(schema.classes or ()))
    asks = [
        lambda: desk.tally({node: tally}, Fraction(1)),
        lambda: desk.choose({node: options}, score, Fraction(1)),
    ]
    return asks + [lambda: desk.residual_quantiles(node, [Fraction(1, 2)], Fraction(1))] * (schema.target is not None)


@pytest.mark.parametrize("schema", [CLASSES, TARGET], ids=["classes", "target"])
@pytest.mark.parametrize("full", [False, True], ids=["fetched", "no space"])
@pytest.mark.parametrize("rows", [None, []], ids=["records", "none"])
def test_scores_that_cannot_be_told_are_refused_before_they_are_charged_whatever_the_table(
    rows, full, schema, monkeypatch
):
    """On another grid, of a part that was drawn after boosting had begun, and of a node that another grid split."""
    if full:
        monkeypatch.setattr(Scratch, "array", no_space)
    desk = SqlCurator(stored("duckdb", rows), "people", schema).open()
    first, second = public_grid(schema), even_grid(schema, 4)
    root, output = desk.root(), 0 if schema.target else 1
    desk.grid(first)
    desk.tally({root: Tally()}, Fraction(1))  # all are fetched, before a part is drawn
    early, _ = desk.parts(root, 2)
    desk.advance({root: Step(parts(first, 0, 2, 0), (5, -5), output)})
    for ask in questions_of_scores(desk, early, first):
        ask()
    late, _ = desk.parts(root, 2)
    (child, _), n = desk.split({root: parts(first, 0, 2, 0)})[root], len(desk.events)
    for ask in questions_of_scores(desk, late, first):
        with pytest.raises(CapabilityError, match="another grid or draw once boosting has begun"):
            ask()
    desk.grid(second)
    for node, words in ((root, "another grid or draw"), (child, "split on the present grid")):
        for ask in questions_of_scores(desk, node, second):
            with pytest.raises(CapabilityError, match=words):
                ask()
    with pytest.raises(CapabilityError, match="another grid or draw"):
        desk.advance({root: Step(parts(second, 0, 2, 0), (5, -5), output)})
    assert len(desk.events) == n
    desk.tally({late: Tally()}, Fraction(1))  # counts need no scores
    desk.close()


def test_what_is_counted_on_another_grid_once_boosting_has_begun_is_answered():
    """It has been charged by then: the database counts what cannot be fetched again."""
    desk, theirs = SqlCurator(stored("duckdb"), "people", CLASSES).open(), memory(CLASSES).open()
    first, second = public_grid(CLASSES), even_grid(CLASSES, 4)
    answers = []
    for own in (desk, theirs):
        root = own.root()
        own.grid(first)
        own.advance({root: Step(parts(first, 0, 2, 0), (5, -5), 1)})
        own.grid(second)
        answers.append((own._room.totals([own.held(root)]), own.peek([root])[root]))
    for ours, other in zip(*answers):
        np.testing.assert_array_equal(ours, other)
