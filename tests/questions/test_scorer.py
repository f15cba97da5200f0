"""A scorer puts each record into one cell, says what its arrays say, and refuses arrays that say nonsense."""

import sys

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.privacy.gradients import linked_chances
from privet.questions.grid import Grid
from privet.questions.scorer import CLOSE, Branches, Scorer, Summand
from privet.questions.split import Product, Split

TWO = Schema({"x": Numeric(0, 10), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
THREE = Schema({"x": Numeric(0, 10), "s": Categorical(["a", "b"], other=False)}, classes=["n", "m", "y"])
NUMBER = Schema({"x": Numeric(0, 10), "s": Categorical(["a", "b"], other=False)}, target=(0, 8))
HALF, BY_S = Split(0, bytes([0, 1])), Split(1, bytes([0, 1]))
CELLS = np.array([[x, s] for x in (0, 1) for s in (0, 1)], dtype=np.uint16)


def grid(schema):
    return Grid(schema, [[5.0], None])


def one(values):
    return np.array(values, dtype=np.int64)[:, None]


def stump(leaves=(0, -3, 4), **changed):
    arrays = {"split": [0, -1, -1], "first": [1, 0, 0], "roots": [0], "values": one(leaves)}
    return Branches((HALF,), **{**arrays, **changed})


def test_terms_products_and_trees_add_up():
    product = Summand(Product((HALF, BY_S)), one([1, 2, 3, 4]))
    scorer = Scorer(grid(TWO), [Summand(BY_S, one([10, 20])), product], stump(), "score", [0.0, 15.0], turn=1)
    # Scores of the four records: 10+1-3, 20+2-3, 10+3+4, 20+4+4.
    assert scorer.places(CELLS, np.array([0, 1, 0, 1])).tolist() == [2, 5, 4, 5]
    assert scorer.shape == (1, 3, 2)
    assert scorer.predicts.tolist() == [0, 1, 1]
    assert scorer.gains.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_steps_are_one_for_each_term_and_for_each_level_of_each_tree():
    term, leaf = Summand(BY_S, one([1, 2])), one([0, 0])
    leaves = Branches((), [-1, -1], [0, 0], [0, 1], leaf)
    for terms, trees, steps in (([term] * 3, None, 3), ([], leaves, 2), ([term], stump(), 3)):
        assert Scorer(grid(TWO), terms, trees, "score", [0.0]).n_steps == steps
    deep = {"split": [0, 0, -1, -1, -1], "first": [1, 3, 0, 0, 0], "values": one(range(5))}
    assert Scorer(grid(TWO), [], stump(**deep), "score", [0.0]).n_steps == 3


def test_what_is_at_a_cut_is_below_it():
    scorer = Scorer(grid(TWO), [Summand(HALF, one([0, 1]))], None, "score", [0.0], turn=1)
    assert scorer.places(CELLS, np.zeros(4, dtype=int)).tolist() == [0, 0, 2, 2]


def test_of_several_classes_the_first_in_order_wins_a_tie():
    values = np.array([[2, 5, 5], [9, 0, 1]])
    for order, winners in (((0, 1, 2), [1, 0]), ((2, 1, 0), [2, 0])):
        scorer = Scorer(grid(THREE), [Summand(HALF, values)], None, "shares", [0.5], order=order)
        cells = scorer.places(CELLS[[0, 2]], np.array([0, 2]))
        bins = [cell // 3 for cell in cells.tolist()]
        assert [own // 2 for own in bins] == winners
        assert [own % 2 for own in bins] == [0, 1]  # 5/12 and 9/10
        assert scorer.predicts.tolist() == [0, 0, 1, 1, 2, 2]


def test_scores_against_the_rest_mean_what_boosting_says():
    values = np.array([[0, 0, 2], [-20, -20, 8]])
    rest = {"unit": 0.5, "order": (0, 1, 2)}
    scorer = Scorer(grid(THREE), [Summand(HALF, values)], None, "one_against_rest", [0.6], **rest)
    chances = linked_chances(values * 0.5)
    assert (chances.max(axis=1) / chances.sum(axis=1) > 0.6).tolist() == [False, True]
    assert (scorer.places(CELLS[[0, 2]], np.array([0, 0])) // 3).tolist() == [4, 5]


def test_errors_are_predictions_less_targets():
    scorer = Scorer(grid(NUMBER), [], stump((0, 1, 3)), "error", [-1.0, 0.0, 1.0], unit=2.0, base=1.0)
    assert scorer.places(CELLS, np.array([3.0, 3.5, 5.0, 8.0])).tolist() == [1, 1, 3, 0]
    assert scorer.shape == (1, 4, 1)
    assert scorer.gains.tolist() == [[CLOSE * 7 // 8], [CLOSE * 15 // 16], [CLOSE * 15 // 16], [CLOSE * 7 // 8]]


def test_lifted_predictions_stay_in_the_range():
    lifted = {"unit": 1.0, "levels": [2], "lifts": [5, 100]}
    scorer = Scorer(grid(NUMBER), [], stump((0, 2, 3)), "error", [0.5], **lifted)
    # 2 is lifted to 7, and 3 to the top of the range, 8.
    assert scorer.places(CELLS, np.array([7.0, 6.0, 8.0, 7.0])).tolist() == [0, 1, 0, 1]


def test_groups_are_the_first_axis_of_the_table():
    scorer = Scorer(grid(TWO), [Summand(HALF, one([0, 1]))], None, "score", [0.0], turn=1, by=BY_S)
    assert scorer.shape == (2, 2, 2)
    assert scorer.places(CELLS, np.array([1, 1, 1, 1])).tolist() == [1, 5, 3, 7]


def test_every_record_is_in_one_cell_of_the_table():
    far = np.array([[-5, -7, 2**60], [0, 0, 0]])
    for scorer in (
        Scorer(grid(TWO), [Summand(HALF, one([-(2**60), 2**60]))], stump(), "score", [0.0], by=BY_S),
        Scorer(grid(THREE), [Summand(HALF, far)], None, "one_against_rest", [0.1], unit=1e300, order=(1, 0, 2)),
        Scorer(grid(NUMBER), [], stump((0, 2**50, -(2**50))), "error", [0.0], unit=1e300, base=-1e300),
    ):  # fmt: skip
        truth = np.array([0.0, 1, 0, 1]) if scorer.link == "error" else np.array([0, 1, 0, 1])
        places = scorer.places(CELLS, truth)
        assert ((places >= 0) & (places < np.prod(scorer.shape))).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"first": [0, 0, 0]},  # its own child
        {"first": [2, 0, 0]},  # a child beyond the end
        {"first": [-1, 0, 0]},
        {"split": [0, 0, -1], "first": [1, 1, 0]},  # a circle
        {"split": [1, -1, -1]},
        {"split": [-2, -1, -1]},
        {"split": [-1, -1, -1]},  # nodes that nothing reaches
        {"roots": [0, 0]},
        {"roots": [3]},
        {"roots": [1]},
        {"roots": []},
        {"first": [1, 0]},
        {"first": [2**63, 0, 0]},
        {"first": [1, 0, 0, 0]},
        {"values": np.zeros((2, 1))},
        {"values": [1, 2, 3]},
        {"split": [], "first": [], "values": np.zeros((0, 1)), "roots": []},
    ],
)
def test_trees_that_are_none_are_refused(changed):
    with pytest.raises(LeakError):
        stump(**changed)


def lines_run(call):
    """How many lines of the scorer's own file are run by a call: a cost that no clock changes."""
    ran = 0

    def trace(frame, event, argument):
        nonlocal ran
        if not frame.f_code.co_filename.endswith("scorer.py"):
            return None
        ran += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return ran


def test_many_trees_of_many_splits_cost_their_sum_not_their_product():
    n = 300
    many = Branches([HALF] * n, [-1] * n, [0] * n, np.arange(n), np.zeros((n, 1)))
    scorer = Scorer(grid(TWO), [], many, "score", [0.0])
    assert lines_run(lambda: scorer.places(CELLS, np.zeros(4, dtype=int))) < 20 * 2 * n < n * n


def test_a_tree_that_is_too_deep_is_refused():
    n = 1002
    chain = {"split": [0] * n + [-1] * (n + 1), "values": np.zeros((2 * n + 1, 1))}
    first = [2 * i + 1 for i in range(n)]
    split = [-1] * (2 * n + 1)
    node, firsts = 0, [0] * (2 * n + 1)
    for start in first:
        split[node], firsts[node] = 0, start
        node = start
    with pytest.raises(LeakError, match="deeper"):
        Branches((HALF,), split, firsts, [0], chain["values"])


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        ((None, [], None, "score", [0.0]), {}),
        ((TWO, ["x"], None, "score", [0.0]), {}),
        ((TWO, [], "trees", "score", [0.0]), {}),
        ((TWO, [], None, "peek", [0.0]), {}),
        ((TWO, [], None, "error", [0.0]), {}),
        ((TWO, [], None, "shares", [0.0]), {}),
        ((THREE, [], None, "score", [0.0]), {}),
        ((NUMBER, [], None, "score", [0.0]), {}),
        ((TWO, [], None, "score", [float("nan")]), {}),
        ((TWO, [], None, "score", [0.0, float("inf")]), {}),
        ((TWO, [], None, "score", [1.0, 0.0]), {}),
        ((TWO, [], None, "score", [0.0, 0.0]), {}),
        ((TWO, [], None, "score", np.arange(5000.0)), {}),
        ((TWO, [], None, "score", [0.0]), {"turn": 3}),
        ((TWO, [], None, "score", [0.0]), {"unit": 0.0}),
        ((TWO, [], None, "score", [0.0]), {"unit": float("nan")}),
        ((TWO, [], None, "score", [0.0]), {"base": float("inf")}),
        ((TWO, [], None, "score", [0.0]), {"order": (0, 1)}),
        ((TWO, [], None, "score", [0.0]), {"by": "s"}),
        ((TWO, [], None, "score", [0.0]), {"lifts": [1]}),
        ((NUMBER, [], None, "error", [0.0]), {"levels": [1, 0], "lifts": [0, 0, 0]}),
        ((NUMBER, [], None, "error", [0.0]), {"levels": [1], "lifts": [0]}),
        ((TWO, [], None, "score", [0.0]), {"by": Split(7, bytes(2))}),
        ((TWO, [], None, "score", [0.0]), {"by": Split(1, bytes(3))}),
        ((THREE, [], None, "shares", [0.5]), {"order": (0, 1, 1)}),
        ((THREE, [], None, "shares", [0.5]), {"order": (0, 1)}),
        ((TWO, [Summand(Split(0, bytes(3)), one([0]))], None, "score", [0.0]), {}),  # cells that there are not
        ((TWO, [Summand(HALF, np.zeros((2, 2)))], None, "score", [0.0]), {}),
        ((TWO, [Summand(HALF, one([2**61, 0])), Summand(HALF, one([0, -(2**61)]))], None, "score", [0.0]), {}),
    ],
)  # fmt: skip
def test_a_scorer_that_makes_no_sense_is_refused(arguments, changed):
    schema, *rest = arguments
    with pytest.raises(LeakError):
        Scorer(grid(schema) if schema else None, *rest, **changed)


def test_a_terms_values_are_one_for_each_part():
    for table, values in ((HALF, one([1])), (HALF, [1, 2]), ("x", one([1, 2])), (HALF, [["a"], ["b"]])):
        with pytest.raises(LeakError):
            Summand(table, values)
