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

from exact_counts import histograms, totals
from privet import Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema, SchemaError
from privet.curators import memory
from privet.privacy.mechanisms import mechanisms
from privet.questions.grid import Grid, public_grid
from privet.questions.split import Split
from privet.questions.tally import Step

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


def desk_of(table, **options):
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
    desk = desk_of(table)
    grid = public_grid(SCHEMA, 16)
    desk.grid(grid)
    held = {desk.root(): list(range(len(table)))}
    for _ in range(data.draw(st.integers(1, 6))):
        node = data.draw(st.sampled_from(list(held)))
        action = data.draw(st.sampled_from(["split", "split", "ask", "ask", "copy", "forget", "refine"]))
        if action == "split":
            split = random_split(data.draw, grid)
            feature = SCHEMA.features[SCHEMA.names[split.feature]]
            children = desk.split({node: split})[node]
            assert len(children) == split.n_children
            for part, child in enumerate(children):
                held[child] = [
                    row
                    for row in held[node]
                    if split.part[cell_of(grid.features[split.feature], feature, table[row][0][split.feature])] == part
                ]
        elif action == "ask":
            asked = data.draw(st.lists(st.sampled_from(list(held)), min_size=1, unique=True))
            counts = histograms(desk, asked)
            for one, own in zip(asked, counts):
                np.testing.assert_array_equal(own, naive_histogram(table, held[one], grid))
        elif action == "copy":
            held |= dict.fromkeys(desk.copies(node, 2), held[node])
        elif action == "forget" and len(held) > 1:
            del held[node]
            del node
        elif action == "refine":
            grid = public_grid(SCHEMA, data.draw(st.sampled_from([3, 16, 64, 400])))
            desk.grid(grid)
    counts = histograms(desk, list(held))
    for own, rows in zip(counts, held.values()):
        np.testing.assert_array_equal(own, naive_histogram(table, rows, grid))
    for own, rows in zip(totals(desk, list(held)), held.values()):
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


def asked_desk(n=200):
    desk = desk_of(some_table(n))
    desk.grid(public_grid(SCHEMA, 16))
    return desk


def by_town(desk):
    assert desk.cells is not None
    return Split(3, bytes([0, 0, 1]))


def spy_on_counting(desk, monkeypatch):
    counted = []
    count = desk._room._count

    def spy(to_count):
        counted.append([len(held.rows) if held.rows is not None else None for held in to_count])
        return count(to_count)

    monkeypatch.setattr(desk._room, "_count", spy)
    return counted


def test_the_largest_sibling_is_never_counted(monkeypatch):
    desk = asked_desk()
    counted = spy_on_counting(desk, monkeypatch)
    root = desk.root()
    histograms(desk, [root])
    large, small = desk.split({root: by_town(desk)})[root]
    sizes = totals(desk, [large, small]).sum(axis=1)
    assert sizes[0] > sizes[1]
    histograms(desk, [large, small])
    assert counted == [[None], [sizes[1]]]
    histograms(desk, [small, large])
    assert counted[2:] in ([], [[]])


@pytest.mark.parametrize("alone", [0, 1], ids=["large", "small"])
def test_of_two_siblings_the_smaller_is_counted_whichever_is_asked_for(monkeypatch, alone):
    desk = asked_desk()
    root = desk.root()
    histograms(desk, [root])
    siblings = desk.split({root: by_town(desk)})[root]
    counted = spy_on_counting(desk, monkeypatch)
    one = histograms(desk, [siblings[alone]])
    other = histograms(desk, [siblings[1 - alone]])  # the last unknown one: by subtraction
    assert counted == [[totals(desk, [siblings[1]]).sum()], []]
    everything = [[i for i, (r, _) in enumerate(some_table()) if (r[3] == "c") == part] for part in (False, True)]
    for part, own in ((alone, one), (1 - alone, other)):
        np.testing.assert_array_equal(own[0], naive_histogram(some_table(), everything[part], desk.cells))


def test_a_grid_can_be_refined_after_the_parents_handle_is_gone():
    desk = asked_desk()
    root = desk.root()
    histograms(desk, [root])
    children = list(desk.split({root: by_town(desk)})[root])
    del root
    gc.collect()
    fine = public_grid(SCHEMA, 64)
    desk.grid(fine)
    rows = [[i for i, (r, _) in enumerate(some_table()) if (r[3] == "c") == part] for part in (False, True)]
    for own, part in zip(histograms(desk, children), rows):
        np.testing.assert_array_equal(own, naive_histogram(some_table(), part, fine))


def test_a_parent_and_its_children_can_be_asked_together():
    desk = asked_desk()
    root = desk.root()
    children = desk.split({root: by_town(desk)})[root]
    for _ in range(2):
        whole, *parts = histograms(desk, [root, *children])
        np.testing.assert_array_equal(whole, sum(parts))


def test_missing_and_unlisted_values_go_where_the_split_says():
    table = [
        ((math.nan, 0.0, None, "a", 1), "no"),
        ((3.0, 0.0, "x", "a", 1), "maybe"),
        ((99.0, 0.0, "f", "a", 305), "yes"),
    ]
    desk = desk_of(table, ledger=Ledger(math.inf))
    grid = public_grid(SCHEMA)
    desk.grid(grid)
    root = desk.root()

    def sides(name, to_the_right):
        f = SCHEMA.names.index(name)
        n = grid.features[f].n_cells
        part = bytes(int(to_the_right(cell, n)) for cell in range(n))
        children = desk.split({root: Split(f, part)})[root]
        return [totals(desk, [child])[0].tolist() for child in children]

    assert sides("age", lambda cell, n: cell == n - 1) == [[0, 1, 1], [1, 0, 0]]
    assert sides("age", lambda cell, n: cell == n - 2) == [[1, 1, 0], [0, 0, 1]]  # 99 is clamped to 10
    assert sides("sex", lambda cell, n: cell == n - 1) == [[0, 0, 1], [1, 1, 0]]
    assert sides("job", lambda cell, n: cell == n - 1) == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("seed", [None, 3])
def test_parts_hold_each_record_once_and_are_drawn_evenly(seed):
    """A chi-square test with a false-alarm rate of 1e-9."""
    n, k = 20_000, 4
    desk = MemoryCurator(
        np.zeros((n, 1)), ["y"] * n, Schema({"x": Numeric(0, 1)}, classes=["y"]), mechanisms=mechanisms(seed)
    ).open()
    parts = desk.parts(desk.root(), k)
    rows = [desk.held(part).rows for part in parts]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(n))
    sizes = np.array([len(own) for own in rows])
    assert ((sizes - n / k) ** 2 / (n / k)).sum() < chi2.isf(1e-9, k - 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_an_array_is_counted_like_a_table(order, dtype):
    rng = np.random.default_rng(5)
    X = np.asarray(rng.integers(0, 9, size=(50, 3)), dtype=dtype, order=order)
    y = rng.integers(0, 2, size=50)
    schema = Schema({name: Numeric(0, 9) for name in "abc"}, classes=[0, 1])
    answers = []
    for table in (X, pd.DataFrame(X, columns=list("abc"))[["c", "a", "b"]]):
        desk = MemoryCurator(table, y, schema).open()
        desk.grid(public_grid(schema, 20))
        answers.append(histograms(desk, [desk.root()])[0])
    np.testing.assert_array_equal(*answers)


def test_wide_features_do_not_disturb_narrow_ones():
    table = some_table(100)
    desk = desk_of(table)
    cuts = {cells.name: cells.cuts for cells in public_grid(SCHEMA, 16).features}
    grid = Grid(SCHEMA, (cuts | {"pay": np.linspace(-5, 5, 701)[1:-1]}).values())
    desk.grid(grid)
    np.testing.assert_array_equal(histograms(desk, [desk.root()])[0], naive_histogram(table, range(len(table)), grid))


def test_an_empty_table_has_empty_counts():
    desk = desk_of([])
    desk.grid(public_grid(SCHEMA))
    root = desk.root()
    nodes = [root, *desk.split({root: by_town(desk)})[root], *desk.parts(root, 2)]
    assert not histograms(desk, nodes).any()
    assert not totals(desk, nodes).any()


def test_a_curator_says_why_its_answers_guarantee_nothing():
    inferred = Schema({"a": Numeric(0, 9, inferred=True)}, classes=[0, 1], inferred=True)
    desk = MemoryCurator([[1.0]], [0], inferred, mechanisms=mechanisms(0)).open()
    assert len(desk.void) == 2
    assert "inferred" in desk.void[0]
    assert "random_state" in desk.void[1]
    assert asked_desk(3).void == ()


@pytest.mark.parametrize("seed", [None, 3])
def test_uneven_parts_are_drawn_by_their_weights(seed):
    """Two-sided binomial tests of each part's size, six standard deviations: a false-alarm rate below 1e-8."""
    n, weights = 20_000, [4, 1, 3]
    X, schema = np.zeros((n, 1)), Schema({"x": Numeric(0, 1)}, classes=["y"])
    desk = MemoryCurator(X, ["y"] * n, schema, mechanisms=mechanisms(seed)).open()
    rows = [desk.held(part).rows for part in desk.parts(desk.root(), weights)]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(n))
    assert all((np.diff(own) > 0).all() for own in rows)
    for own, weight in zip(rows, weights):
        share = weight / sum(weights)
        assert abs(len(own) - n * share) < 6 * math.sqrt(n * share * (1 - share))


@pytest.mark.parametrize("seed", [None, 3])
def test_samples_have_their_rate_and_are_drawn_for_themselves(seed):
    """Binomial tests of each sample's size and of what two share, six standard deviations: below 1e-8."""
    n, rate = 20_000, 4
    X, schema = np.zeros((n, 1)), Schema({"x": Numeric(0, 1)}, classes=["y"])
    desk = MemoryCurator(X, ["y"] * n, schema, mechanisms=mechanisms(seed)).open()
    one, other = (desk.held(sample).rows for sample in desk.samples(desk.root(), 2, rate))
    for size, share in ((len(one), 1 / rate), (len(other), 1 / rate), (len(np.intersect1d(one, other)), 1 / rate**2)):
        assert abs(size - n * share) < 6 * math.sqrt(n * share * (1 - share))


def test_each_fit_has_structure_of_its_own():
    """The grid, the nodes and the counts of one fit are not those of another on the same records."""
    curator = MemoryCurator(np.linspace(0, 1, 8)[:, None], ["y"] * 8, Schema({"x": Numeric(0, 1)}, classes=["y"]))
    one, other = curator.open(), curator.open()
    one.grid(public_grid(curator.schema, 4))
    with pytest.raises(LeakError, match="grid"):
        other.cells  # noqa: B018
    other.grid(public_grid(curator.schema, 8))
    assert len(histograms(one, [one.root()])[0]) == 4
    assert len(histograms(other, [other.root()])[0]) == 8


def test_a_sibling_whose_handle_is_gone_is_counted_anew_on_a_new_grid():
    people = [(i, i - 5, "f", "a", i) for i in range(10)]
    desk = desk_of([(person, SCHEMA.classes[i % 3]) for i, person in enumerate(people)])
    desk.grid(public_grid(SCHEMA, 4))
    root = desk.root()
    split = Split(0, bytes(i % 2 for i in range(desk.cells.features[0].n_cells)))
    left, right = desk.split({root: split})[root]
    histograms(desk, [left, right])
    del right
    desk.grid(public_grid(SCHEMA))
    histograms(desk, [root])
    rows = desk.held(left).rows
    assert histograms(desk, [left])[0][: desk.cells.offsets[1]].sum() == len(rows)
    assert (histograms(desk, [left]) >= 0).all()


# -- persons -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [False, True])
def test_a_record_of_weight_w_counts_as_w_copies(target):
    """Every exact number, whatever the node, is that of a table in which each record stands as often as it weighs."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(12), 5)
    answers = rng.random(60) if target else rng.integers(0, 2, 60)
    kind = {"target": (0, 1)} if target else {"classes": [0, 1]}
    features = {"x": Numeric(0, 1), "c": Categorical(["f", "m"])}
    X = np.array(list(zip(rng.random(60), rng.choice(["f", "m"], 60))), dtype=object)
    weighed = MemoryCurator(X, answers, Schema(features, **kind, person="id", records_per_person=7), groups=who)
    weights = weighed.records.weights
    assert set(np.bincount(who, weights).tolist()) == {12.0}
    copied = MemoryCurator(np.repeat(X, weights, axis=0), np.repeat(answers, weights), Schema(features, **kind))

    def numbers(curator):
        room, grid = curator.room(), public_grid(curator.schema, 8)
        room.use(grid)
        root = room.everything(None)
        halves = bytes(cell % 2 for cell in range(grid.features[0].n_cells))
        nodes = [root, *room.split([(root, Split(0, halves))])[0]]
        found = [room.histograms(nodes), room.totals(nodes)]
        if target:
            room.focus(0.2, 0.7)
            found += [room.histograms(nodes), room.target_counts(nodes[1], np.linspace(0.1, 0.9, 9))]
            points, tables = np.arange(0, 60_000, 5_000), [Split(0, halves)]
            return [*found, room.residual_counts(nodes[2], points), room.gradients_and_hessians(root, 20_000, tables)]
        room.advance([(root, Step(Split(1, bytes([0, 1, 0])), (30_000, -10_000), 1))])
        tables = [Split(0, halves), Split(1, bytes([0, 1, 0]))]
        return [*found, room.gradients(root, 1, tables), room.gradients_and_hessians(nodes[1], 1, tables)]

    for own, other in zip(numbers(weighed), numbers(copied), strict=True):
        np.testing.assert_array_equal(own, other)


def test_records_beyond_the_cap_are_dropped_on_every_grid():
    who, x = np.zeros(50, dtype=int), np.arange(50)[:, None] / 49
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="id", records_per_person=3)
    curator = MemoryCurator(x, np.zeros(50, dtype=int), schema, groups=who)
    for cells in (4, 16, None):
        desk = curator.open()
        desk.grid(public_grid(schema, cells))
        counts = next(iter(desk.peek([desk.root()]).values()))
        assert np.count_nonzero(counts) <= 3
        assert counts.sum() == 12


def test_parts_and_samples_keep_persons_together():
    who = np.repeat(np.arange(200), 5)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="id", records_per_person=5)
    room = MemoryCurator(np.zeros((1000, 1)), np.zeros(1000, dtype=int), schema, groups=who).room()
    everyone = room.everything(None)
    parts = [set(who[held.rows]) for held in room.parts(everyone, [1, 1, 2])]
    assert [len(held.rows) % 5 for held in room.samples(everyone, 3, 4)] == [0, 0, 0]
    assert sum(map(len, parts)) == len(set().union(*parts)) == 200


def test_more_persons_than_integers_hold_are_refused(monkeypatch):
    monkeypatch.setattr("privet.curators.records.MOST_RECORDS", 100)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="id", records_per_person=20)
    MemoryCurator(np.zeros((4, 1)), [0] * 4, schema, groups=np.arange(4))
    with pytest.raises(SchemaError, match="each person as 20"):
        MemoryCurator(np.zeros((5, 1)), [0] * 5, schema, groups=np.arange(5))


def test_lists_that_lie_one_after_another_are_joined_without_a_copy():
    whole = np.arange(10, dtype=np.int32)
    pieces = [whole[2:5], whole[5:5], whole[5:9]]
    joined = memory._joined(pieces)
    assert joined.tolist() == list(range(2, 9))
    assert np.shares_memory(joined, whole)
    for apart in (
        [whole[5:9], whole[2:5]],
        [whole[2:5], whole[6:9]],
        [whole[2:5], whole[5:9].copy()],
        [whole],
        [whole[:0]],
    ):
        assert memory._joined(apart).tolist() == np.concatenate(apart).tolist()
