"""Questions survive their words: JSON and back, nothing is lost."""

import json
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions import codec as words
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, public_grid
from privet.questions.levels import Levels
from privet.questions.multiway import attributes
from privet.questions.products import Products
from privet.questions.scorer import Branches, Scorer, Summand
from privet.questions.split import Choice, Product, Split, each_cell
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"age": Numeric(0, 20, integer=True, missing=True), "colour": Categorical(["r", "g", "b"]), "size": Numeric(0, 1)},
    classes=["no", "yes"],
)
GRID = public_grid(SCHEMA)
TABLES = (Split(0, bytes([0, 1, 2])), Split(1, bytes([1, 0])))

SEVERAL = Products(GRID, (each_cell(GRID, 0), Product((each_cell(GRID, 0), each_cell(GRID, 1)))), [0.5, -2.0])
CHOICES = [
    Choice(TABLES[0], None),
    Choice(TABLES[1], (0, 1)),
    Choice(None, (1,)),
    Choice(None, None, Product(TABLES)),
]


def carried(said):
    return json.loads(json.dumps(said))


def test_tallies_survive_and_shared_tables_are_said_once():
    tallies = {
        3: Tally(TABLES),
        5: Tally(TABLES, by_class=False),
        6: Tally((), measure="target"),
        7: Tally((*TABLES[:1], Product(TABLES)), measure="gradient", output=2),
        8: Tally(measure="residual", clamp=77, levels=Levels((-5, 0, 2**30))),
        9: Tally(TABLES, measure="residual", clamp=1),
    }
    said = carried(words.tally_words(tallies.items()))
    assert len(said["tables"]) == 3
    assert words.tallies_of(said) == tallies
    tables = {1: TABLES, 2: TABLES[:1], 9: TABLES}
    assert words.tables_of(carried(words.tables_words(tables.items()))) == tables


@pytest.mark.parametrize("splits", [public_splits(GRID), attributes(GRID), SEVERAL])
def test_splits_survive(splits):
    again = words.splits_of(carried(words.splits_words(splits)), GRID)
    assert type(again) is type(splits)
    assert [again.split(i) for i in range(len(splits))] == [splits.split(i) for i in range(len(splits))]
    np.testing.assert_array_equal(again.log_prior, splits.log_prior)


def test_candidates_survive_with_their_splits_by_name():
    splits = public_splits(GRID)
    allowed = np.arange(len(splits)) % 3 == 0
    options = Candidates(splits, 2, allowed, labelled=True, stop=True, stop_log_prior=0.1)
    again = words.candidates_of(carried(words.candidates_words(options, "name")), {"name": splits}, 2)
    np.testing.assert_array_equal(again.indices, options.indices)
    np.testing.assert_array_equal(again.log_prior, options.log_prior)
    assert len(again) == len(options)
    labels = Candidates(None, 2, labelled=True, stop=True)
    assert len(words.candidates_of(carried(words.candidates_words(labels, None)), {}, 2)) == len(labels)


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_survive(choice):
    assert words.choice_of(carried(words.choice_words(choice))) == choice


def test_budgets_survive_exactly():
    budgets = [Fraction(1, 3), Fraction(10**20, 7)]
    assert words.budgets_of(carried(words.budget_words(budgets))) == budgets


def test_a_grid_survives_and_is_the_same():
    assert words.grid_of(carried(words.grid_words(GRID)), SCHEMA) == GRID


def test_a_split_survives_with_children_that_are_empty():
    split = Split(1, bytes([0, 1, 1, 0]), 3)
    assert words.split_of(carried(words.split_words(split))) == split


TWICE = {"tables": [[]], "asked": [[1, 0, True, "records", 0, 1, None]] * 2}
NESTED = [[[]]]
WRONG = {
    "grid_of": [None, {}, [[0.5]], [[1.0, 0.5], None, []], [["a"], None, []], [[None], None, []], [[], [], []], NESTED],
    "split_of": [
        None,
        [],
        [0],
        [0, "00"],
        [0, "0", 1],
        [0, "zz", 1],
        [0, "", 1],
        [0, 5, 1],
        ["0", "00", 1],
        [0, "00", 1, 1],
        [-1, "00", 1],
        [0.5, "00", 1],
        [0, "00", 0],
        [0, "00", "1"],
        [0, "00", 10**9],
    ],
    "amount_of": [None, 1, 0.5, "", "-1/2", "1e9999999", "1/0", "0x1", " 1", "1/2/3", "9" * 601, "\u0661", "nan"],
    "budgets_of": [None, "1/2", [1], ["1/0"], [["1"]]],
    "tallies_of": [
        None,
        {},
        {"tables": [], "asked": [], "more": 0},
        {"tables": [[]], "asked": [[1, 1, True, "records", 0, 1, None]]},
        {"tables": [[]], "asked": [[1, -1, True, "records", 0, 1, None]]},
        {"tables": [[]], "asked": [[1, 0, 1, "records", 0, 1, None]]},
        {"tables": [[]], "asked": [[1, 0, True, "pay", 0, 1, None]]},
        {"tables": [[]], "asked": [[-1, 0, True, "records", 0, 1, None]]},
        {"tables": [[[0, "00", 0]]], "asked": []},
        {"tables": [[]], "asked": [[1, 0]]},
        {"tables": [[]], "asked": [[1, 0, True, "residual", 0, 0, None]]},
        {"tables": [[]], "asked": [[1, 0, True, "residual", 0, 1, [3, 2]]]},
        {"tables": [[]], "asked": [[1, 0, True, "records", 0, 1, [3]]]},
        TWICE,
    ],
    "tables_of": [None, [], {"tables": [[]], "asked": [[1, 0], [1, 0]]}, {"tables": [[]], "asked": [[1, "0"]]}],
    "choice_of": [
        None,
        [],
        [None],
        [None, [0, 1]],
        [[0, "0001", 1], [0]],
        [None, "0"],
        [None, [-1]],
        [[0, "0001", 1], 1],
    ],
}


@pytest.mark.parametrize(("read", "said"), [(read, said) for read, all_said in WRONG.items() for said in all_said])
def test_whatever_else_is_said_is_refused(read, said):
    more = (SCHEMA,) if read == "grid_of" else ()
    with pytest.raises(LeakError):
        getattr(words, read)(said, *more)


@pytest.mark.parametrize("splits", [public_splits(GRID), attributes(GRID)])
def test_splits_of_which_anything_is_missing_or_wrong_are_refused(splits):
    said = carried(words.splits_words(splits))
    for name in said:
        for wrong in (None, 7, "?", "AAAA", [["a", 1, ""]], [[0, -1, ""]], [[99, 1, ""]]):
            with pytest.raises(LeakError):
                words.splits_of({**said, name: wrong}, GRID)
        with pytest.raises(LeakError):
            words.splits_of({other: own for other, own in said.items() if other != name}, GRID)


@pytest.mark.parametrize(
    "change",
    [{"splits": "?"}, {"splits": 3}, {"allowed": "AA=="}, {"allowed": "?"}, {"labelled": 0}, {"stop": None}]
    + [{"stop_log_prior": wrong} for wrong in (None, "x", 1e9, float("nan"))]
    + [{"more": 1}],
)
def test_candidates_that_are_wrong_are_refused(change):
    said = words.candidates_words(Candidates(public_splits(GRID), 2), "name")
    with pytest.raises(LeakError):
        words.candidates_of({**said, **change}, {"name": public_splits(GRID)}, 2)


@pytest.mark.parametrize("array", ["\u00e9", "\ud800", "A", "AA=A", "-_-_"])
def test_an_array_that_is_not_in_base_64_is_refused(array):
    with pytest.raises(LeakError, match="base 64"):
        words.splits_of({**words.splits_words(public_splits(GRID)), "log_prior": array}, GRID)


def test_only_a_verb_of_the_list_is_done_and_with_its_fields_alone():
    verbs = {"add": lambda one, other=1: one + other}
    assert words.obeyed(verbs, *words.verb_of({"do": "add", "one": 2})) == 3
    for wrong in ({"do": "sub", "one": 2}, {"do": ["add"]}, {"do": "add"}, {"do": "add", "one": 1, "two": 2}):
        with pytest.raises(LeakError):
            words.obeyed(verbs, *words.verb_of(wrong))
    for nothing in (None, [], "add", {"one": 2}):
        with pytest.raises(LeakError, match="does not say what to do"):
            words.verb_of(nothing)


def test_an_error_inside_a_verb_is_no_refusal():
    """A bug of ours keeps its cause: it is not taken for a wrong message."""

    def broken():
        raise TypeError("ours")

    with pytest.raises(TypeError, match="ours"):
        words.obeyed({"broken": broken}, "broken", {})


def test_digests_are_those_of_what_is_said_whatever_the_order():
    assert words.words_digest({"a": 1, "b": 2}) == words.words_digest({"b": 2, "a": 1})
    assert words.schema_digest(SCHEMA) != words.schema_digest(Schema({"a": Numeric(0, 1)}, classes=[0, 1]))


def test_scorers_survive():
    values = np.array([[1], [-2], [3]])
    trees = Branches((TABLES[0],), [0, -1, -1, -1], [1, 0, 0, 0], [0], [[0], [5], [6], [2**40]])
    grid = Grid(SCHEMA, [[3.0], None, []])  # three cells of the age, the missing one included
    by = Split(1, bytes([0, 1, 1, 0]), 3)
    scorer = Scorer(grid, [Summand(TABLES[0], values)], trees, "score", [0.0, 2.5], turn=1, by=by)
    again = words.scorer_of(carried(words.scorer_words(scorer)), SCHEMA)
    assert carried(words.scorer_words(again)) == carried(words.scorer_words(scorer))
    cells = np.array([[age, colour] for age in range(3) for colour in range(4)])
    truth = np.zeros(len(cells), dtype=int)
    assert again.shape == scorer.shape == (3, 3, 2)
    np.testing.assert_array_equal(again.places(cells, truth), scorer.places(cells, truth))


def test_scorers_survive_whose_splits_have_children_that_are_empty():
    grid = Grid(SCHEMA, [[3.0], None, []])
    split = Split(1, bytes([0, 1, 1, 0]), 3)
    trees = Branches((split,), [0, -1, -1, -1], [1, 0, 0, 0], [0], [[0], [5], [6], [7]])
    scorer = Scorer(grid, [Summand(split, np.array([[1], [2], [3]]))], trees, "score", [7.0])
    again = words.scorer_of(carried(words.scorer_words(scorer)), SCHEMA)
    cells, truth = np.arange(4)[:, None], np.zeros(4, dtype=int)
    np.testing.assert_array_equal(again.places(cells, truth), scorer.places(cells, truth))


@pytest.mark.parametrize(
    ("field", "said"),
    [("terms", [[[0, "00", 1], "AAA="]]), ("trees", {}), ("link", 3), ("cuts", "AAAAAAAA8H8="), ("order", [0, 0]),
     ("order", []), ("by", [0]), ("unit", None), ("turn", -1), ("grid", [])],
)  # fmt: skip
def test_a_scorer_that_makes_no_sense_is_refused(field, said):
    grid = Grid(SCHEMA, [[3.0], None, []])
    whole = words.scorer_words(Scorer(grid, [], None, "score", [0.0], turn=1))
    with pytest.raises(LeakError):
        words.scorer_of({**whole, field: said}, SCHEMA)
