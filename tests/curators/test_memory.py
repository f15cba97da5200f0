"""The in-memory curator counts exactly and routes every record to one place."""

import gc
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from privet import Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema, SchemaError
from privet.curators.base import Node, Tally
from privet.privacy.mechanisms import mechanisms
from privet.questions.grid import Cells, Grid, public_grid
from privet.questions.split import Split

SCHEMA = Schema(
    {
        "age": Numeric(0, 10, integer=True, missing=True),
        "pay": Numeric(-5, 5),
        "sex": Categorical(["f", "m"]),
        "town": Categorical(["a", "b", "c"], other=False),
        "job": Categorical(range(300)),
    },
    classes=["no", "maybe", "yes"],
)
UNLIMITED = Fraction(10**12)

ages = st.one_of(st.just(math.nan), st.floats(-20, 20))
records = st.tuples(
    ages, st.floats(-9, 9), st.sampled_from(["f", "m", "x", None]), st.sampled_from("abc"), st.integers(0, 310)
)
tables = st.lists(st.tuples(records, st.sampled_from(SCHEMA.classes)), max_size=30)


def curator_of(table, **options):
    frame = {name: [record[i] for record, _ in table] for i, name in enumerate(SCHEMA.names)}
    types = {"age": float, "pay": float, "sex": object, "town": object, "job": int}
    X = pd.DataFrame({name: pd.Series(values, dtype=types[name]) for name, values in frame.items()})
    return MemoryCurator(X, pd.Series([label for _, label in table], dtype=object), SCHEMA, **options).open()


def cell_of(cells, feature, value):
    """The cell of one value, by the letter of the grid's definition."""
    if isinstance(feature, Categorical):
        return feature.values.index(value) if value in feature.values else len(feature.values)
    if math.isnan(value):
        return len(cells.cuts) + 1
    return sum(cut < value for cut in cells.cuts)


def naive_histogram(table, rows, grid):
    counts = np.zeros((grid.n_cells, len(SCHEMA.classes)), dtype=np.int64)
    for row in rows:
        record, label = table[row]
        for f, (value, feature) in enumerate(zip(record, SCHEMA.features.values())):
            cell = grid.offsets[f] + cell_of(grid.features[f], feature, value)
            counts[cell, SCHEMA.classes.index(label)] += 1
    return counts


def random_split(draw, grid):
    f = draw(st.integers(0, len(grid.features) - 1))
    n = grid.features[f].n_cells
    seed = draw(st.integers(0, 2**16))
    return Split(f, np.random.default_rng(seed).integers(draw(st.integers(1, 4)), size=n).astype(np.uint8).tobytes())


@settings(max_examples=150, deadline=None)
@given(tables, st.data())
def test_histograms_equal_naive_counts_however_nodes_came_about(table, data):
    """Splits, a second split of one node, copies, forgotten handles, finer grids: subtraction is never wrong."""
    curator = curator_of(table)
    grid = public_grid(SCHEMA, 16)
    curator.grid(grid)
    held = {curator.root(): list(range(len(table)))}
    for _ in range(data.draw(st.integers(1, 6))):
        node = data.draw(st.sampled_from(list(held)))
        action = data.draw(st.sampled_from(["split", "split", "ask", "ask", "copy", "forget", "refine"]))
        if action == "split":
            split = random_split(data.draw, grid)
            feature = SCHEMA.features[SCHEMA.names[split.feature]]
            children = curator.split({node: split})[node]
            assert len(children) == split.n_children
            for part, child in enumerate(children):
                held[child] = [
                    row
                    for row in held[node]
                    if split.part[cell_of(grid.features[split.feature], feature, table[row][0][split.feature])] == part
                ]
        elif action == "ask":
            asked = data.draw(st.lists(st.sampled_from(list(held)), min_size=1, unique=True))
            counts = curator._histograms(asked)
            for one, own in zip(asked, counts):
                np.testing.assert_array_equal(own, naive_histogram(table, held[one], grid))
        elif action == "copy":
            held |= dict.fromkeys(curator.copies(node, 2), held[node])
        elif action == "forget" and len(held) > 1:
            del held[node]
            del node
        elif action == "refine":
            grid = public_grid(SCHEMA, data.draw(st.sampled_from([3, 16, 64, 400])))
            curator.grid(grid)
    counts = curator._histograms(list(held))
    for own, rows in zip(counts, held.values()):
        np.testing.assert_array_equal(own, naive_histogram(table, rows, grid))
    for own, rows in zip(curator._totals(list(held)), held.values()):
        labels = [table[row][1] for row in rows]
        assert own.tolist() == [labels.count(each) for each in SCHEMA.classes]


def some_table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (
            (float(rng.integers(-2, 12)), float(rng.normal()), "fmx"[rng.integers(3)], "abc"[rng.integers(3)], 7),
            SCHEMA.classes[rng.integers(3)],
        )
        for _ in range(n)
    ]


def asked_curator(n=200):
    curator = curator_of(some_table(n))
    curator.grid(public_grid(SCHEMA, 16))
    return curator


def by_town(curator):
    assert curator.cells is not None
    return Split(3, bytes([0, 0, 1]))


def spy_on_counting(curator, monkeypatch):
    counted = []
    count = curator._count

    def spy(to_count):
        counted.append([len(held.rows) if held.rows is not None else None for held in to_count])
        return count(to_count)

    monkeypatch.setattr(curator, "_count", spy)
    return counted


def test_the_largest_sibling_is_never_counted(monkeypatch):
    curator = asked_curator()
    counted = spy_on_counting(curator, monkeypatch)
    root = curator.root()
    curator._histograms([root])
    large, small = curator.split({root: by_town(curator)})[root]
    sizes = curator._totals([large, small]).sum(axis=1)
    assert sizes[0] > sizes[1]
    curator._histograms([large, small])
    assert counted == [[None], [sizes[1]]]
    curator._histograms([small, large])
    assert counted[2:] in ([], [[]])


@pytest.mark.parametrize("alone", [0, 1], ids=["large", "small"])
def test_of_two_siblings_the_smaller_is_counted_whichever_is_asked_for(monkeypatch, alone):
    curator = asked_curator()
    root = curator.root()
    curator._histograms([root])
    siblings = curator.split({root: by_town(curator)})[root]
    counted = spy_on_counting(curator, monkeypatch)
    one = curator._histograms([siblings[alone]])
    other = curator._histograms([siblings[1 - alone]])  # the last unknown one: by subtraction
    assert counted == [[curator._totals([siblings[1]]).sum()], []]
    everything = [[i for i, (r, _) in enumerate(some_table()) if (r[3] == "c") == part] for part in (False, True)]
    for part, own in ((alone, one), (1 - alone, other)):
        np.testing.assert_array_equal(own[0], naive_histogram(some_table(), everything[part], curator.cells))


def test_a_grid_can_be_refined_after_the_parents_handle_is_gone():
    curator = asked_curator()
    root = curator.root()
    curator._histograms([root])
    children = list(curator.split({root: by_town(curator)})[root])
    del root
    gc.collect()
    fine = public_grid(SCHEMA, 64)
    curator.grid(fine)
    rows = [[i for i, (r, _) in enumerate(some_table()) if (r[3] == "c") == part] for part in (False, True)]
    for own, part in zip(curator._histograms(children), rows):
        np.testing.assert_array_equal(own, naive_histogram(some_table(), part, fine))


def test_a_parent_and_its_children_can_be_asked_together():
    curator = asked_curator()
    root = curator.root()
    children = curator.split({root: by_town(curator)})[root]
    for _ in range(2):
        whole, *parts = curator._histograms([root, *children])
        np.testing.assert_array_equal(whole, sum(parts))


def test_missing_and_unlisted_values_go_where_the_split_says():
    table = [
        ((math.nan, 0.0, None, "a", 1), "no"),
        ((3.0, 0.0, "x", "a", 1), "maybe"),
        ((99.0, 0.0, "f", "a", 305), "yes"),
    ]
    curator = curator_of(table, ledger=Ledger(math.inf))
    grid = public_grid(SCHEMA)
    curator.grid(grid)
    root = curator.root()

    def sides(name, to_the_right):
        f = SCHEMA.names.index(name)
        n = grid.features[f].n_cells
        part = bytes(int(to_the_right(cell, n)) for cell in range(n))
        children = curator.split({root: Split(f, part)})[root]
        return [curator._totals([child])[0].tolist() for child in children]

    assert sides("age", lambda cell, n: cell == n - 1) == [[0, 1, 1], [1, 0, 0]]
    assert sides("age", lambda cell, n: cell == n - 2) == [[1, 1, 0], [0, 0, 1]]  # 99 is clamped to 10
    assert sides("sex", lambda cell, n: cell == n - 1) == [[0, 0, 1], [1, 1, 0]]
    assert sides("job", lambda cell, n: cell == n - 1) == [[1, 1, 0], [0, 0, 1]]


def test_children_pay_in_parallel_and_copies_and_roots_add_up():
    curator = asked_curator()
    root = curator.root()
    left, right = curator.split({root: by_town(curator)})[root]
    curator.tally({left: Tally(), right: Tally()}, {left: Fraction(1, 5), right: Fraction(3, 10)})
    assert (curator.scope(left).spent, curator.scope(right).spent) == (Fraction(1, 5), Fraction(3, 10))
    assert curator.scope(root).spent == Fraction(3, 10)
    copies = curator.copies(root, 3)
    curator.tally(dict.fromkeys(copies, Tally()), Fraction(1, 10))
    assert curator.scope(root).spent == Fraction(6, 10)
    parts = curator.parts(root, 4)
    curator.tally(dict.fromkeys(parts, Tally()), Fraction(1, 10))
    assert curator.scope(root).spent == Fraction(7, 10)
    # The same records split again: nothing says that the new children are disjoint from the old ones.
    curator.tally(dict.fromkeys(curator.split({root: by_town(curator)})[root], Tally()), Fraction(1, 10))
    assert curator.scope(root).spent == Fraction(8, 10)
    curator.tally({curator.root(): Tally()}, Fraction(1, 10))
    assert curator.ledger.spent == Fraction(9, 10)


@pytest.mark.parametrize("seed", [None, 3])
def test_parts_hold_each_record_once_and_are_drawn_evenly(seed):
    """A chi-square test with a false-alarm rate of 1e-9."""
    n, k = 20_000, 4
    curator = MemoryCurator(
        np.zeros((n, 1)), ["y"] * n, Schema({"x": Numeric(0, 1)}, classes=["y"]), mechanisms=mechanisms(seed)
    ).open()
    parts = curator.parts(curator.root(), k)
    rows = [curator._held[part].rows for part in parts]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(n))
    sizes = np.array([len(own) for own in rows])
    assert ((sizes - n / k) ** 2 / (n / k)).sum() < chi2.isf(1e-9, k - 1)


def test_a_split_must_fit_the_grid_and_leaves_nothing_behind_if_it_does_not():
    curator = asked_curator()
    root, other = curator.root(), curator.root()
    good = by_town(curator)
    for bad in (Split(3, bytes([0, 1])), Split(3, b""), Split(99, bytes([0, 1])), Split(-1, bytes([0, 1]))):
        with pytest.raises(LeakError):
            curator.split({root: good, other: bad})
    assert root.scope._groups == []
    assert len(curator._held) == 2


def test_a_split_needs_a_grid():
    curator = curator_of(some_table(5))
    with pytest.raises(LeakError, match="grid"):
        curator.split({curator.root(): Split(3, bytes([0, 0, 1]))})


def test_nodes_of_others_are_refused():
    curator, stranger = asked_curator(), asked_curator()
    foreign = stranger.root()
    forged = Node(curator.root().scope)
    for node in (foreign, forged):
        for ask in (
            lambda node=node: curator.split({node: by_town(curator)}),
            lambda node=node: curator.parts(node, 2),
            lambda node=node: curator.copies(node, 2),
        ):
            with pytest.raises(LeakError, match="not one of this curator's"):
                ask()


def test_no_parts_is_refused():
    curator = asked_curator()
    with pytest.raises(LeakError, match="at least one part"):
        curator.parts(curator.root(), 0)


def test_a_root_that_may_spend_more_than_is_left_is_refused():
    curator = curator_of(some_table(5), ledger=Ledger(0.5))
    curator.root(Fraction(1, 2))
    with pytest.raises(ValueError, match="Lower the fit's epsilon"):
        curator.root(Fraction(3, 5))
    with pytest.raises(ValueError, match="infinity"):
        curator.root()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_an_array_is_counted_like_a_table(order, dtype):
    rng = np.random.default_rng(5)
    X = np.asarray(rng.integers(0, 9, size=(50, 3)), dtype=dtype, order=order)
    y = rng.integers(0, 2, size=50)
    schema = Schema({name: Numeric(0, 9) for name in "abc"}, classes=[0, 1])
    answers = []
    for table in (X, pd.DataFrame(X, columns=list("abc"))[["c", "a", "b"]]):
        curator = MemoryCurator(table, y, schema).open()
        curator.grid(public_grid(schema, 20))
        answers.append(curator._histograms([curator.root()])[0])
    np.testing.assert_array_equal(*answers)


def test_wide_features_do_not_disturb_narrow_ones():
    table = some_table(100)
    curator = curator_of(table)
    grid = public_grid(SCHEMA, 16)
    wide = Cells("pay", np.linspace(-5, 5, 701)[1:-1], 700, False)
    grid = Grid(tuple(wide if cells.name == "pay" else cells for cells in grid.features))
    curator.grid(grid)
    np.testing.assert_array_equal(
        curator._histograms([curator.root()])[0], naive_histogram(table, range(len(table)), grid)
    )


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("frame", [False, True])
def test_bad_numbers_are_refused_before_anything_is_asked(bad, frame):
    X = np.array([[1.0, 2.0], [3.0, bad]])
    schema = Schema({"a": Numeric(0, 9), "b": Numeric(0, 9)}, classes=[0, 1])
    ledger = Ledger(1)
    curator = MemoryCurator(pd.DataFrame(X, columns=["a", "b"]) if frame else X, [0, 1], schema, ledger=ledger).open()
    with pytest.raises(SchemaError, match=r"'b' contains (NaN|infinity)"):
        curator.grid(public_grid(schema))
    assert ledger.spent == 0


def test_a_failed_grid_leaves_the_old_one():
    X = np.array([[1.0, math.nan]])
    schema = Schema({"a": Numeric(0, 9), "b": Numeric(0, 9, missing=True)}, classes=[0, 1])
    curator = MemoryCurator(X, [0], schema).open()
    grid = public_grid(schema, 8)
    curator.grid(grid)
    before = curator._histograms([curator.root()])
    strict = Grid(tuple(Cells(c.name, c.cuts, len(c.cuts) + 1, False) for c in grid.features))
    with pytest.raises(SchemaError):
        curator.grid(strict)
    np.testing.assert_array_equal(curator._histograms([curator.root()]), before)


def test_an_empty_table_has_empty_counts():
    curator = curator_of([])
    curator.grid(public_grid(SCHEMA))
    root = curator.root()
    nodes = [root, *curator.split({root: by_town(curator)})[root], *curator.parts(root, 2)]
    assert not curator._histograms(nodes).any()
    assert not curator._totals(nodes).any()


def test_a_curator_says_why_its_answers_guarantee_nothing():
    inferred = Schema({"a": Numeric(0, 9, inferred=True)}, classes=[0, 1], inferred=True)
    curator = MemoryCurator([[1.0]], [0], inferred, mechanisms=mechanisms(0)).open()
    assert len(curator.void) == 2
    assert "inferred" in curator.void[0]
    assert "random_state" in curator.void[1]
    assert asked_curator(3).void == ()


def test_a_sibling_whose_handle_is_gone_is_counted_anew_on_a_new_grid():
    people = [(i, i - 5, "f", "a", i) for i in range(10)]
    curator = curator_of([(person, SCHEMA.classes[i % 3]) for i, person in enumerate(people)])
    curator.grid(public_grid(SCHEMA, 4))
    root = curator.root()
    split = Split(0, bytes(i % 2 for i in range(curator.cells.features[0].n_cells)))
    left, right = curator.split({root: split})[root]
    curator._histograms([left, right])
    del right
    curator.grid(public_grid(SCHEMA))
    curator._histograms([root])
    rows = curator._held[left].rows
    assert curator._histograms([left])[0][: curator.cells.offsets[1]].sum() == len(rows)
    assert (curator._histograms([left]) >= 0).all()


def test_a_curator_made_inside_a_ledger_charges_it():
    with Ledger(1) as ledger:
        assert curator_of([]).ledger is ledger
