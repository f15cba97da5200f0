"""Candidates: a public list, numbered the same way for scores, priors and choices."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import Multiway, attributes
from privet.questions.split import Split
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"n": Numeric(0, 6, integer=True, missing=True), "c": Categorical(["x", "y", "z"]), "d": Categorical(range(14))},
    classes=["a", "b", "c"],
)
SPLITS = public_splits(public_grid(SCHEMA))
masks = st.lists(st.booleans(), min_size=len(SPLITS), max_size=len(SPLITS)).map(np.array)


@settings(deadline=None)
@given(st.none() | masks, st.booleans(), st.booleans(), st.floats(-5, 5), st.integers(1, 4))
def test_candidates_are_numbered_alike_everywhere(allowed, labelled, stop, stop_log_prior, n_classes):
    options = Candidates(SPLITS, n_classes, allowed, labelled=labelled, stop=stop, stop_log_prior=stop_log_prior)
    prior = options.log_prior
    choices = [options.choice(i) for i in range(len(options))]
    assert len(prior) == len(options) == len(set(choices))
    number = {(split.feature, split.part): i for i, split in enumerate(map(SPLITS.split, range(len(SPLITS))))}
    for choice, weight in zip(choices, prior):
        if choice.split is None:
            assert stop
            assert weight == stop_log_prior
            assert choice.labels is None if not labelled else len(choice.labels) == 1
        else:
            i = number[choice.split.feature, choice.split.part]
            assert allowed is None or allowed[i]
            assert weight == SPLITS.log_prior[i]
            if labelled:
                left, right = choice.labels
                assert left != right
                assert {left, right} <= set(range(n_classes))
    n_splits = len(SPLITS) if allowed is None else int(allowed.sum())
    per_split = n_classes * (n_classes - 1) if labelled else 1
    assert len(options) == n_splits * per_split + stop * (n_classes if labelled else 1)


def test_labels_alone_are_one_candidate_for_each_class():
    options = Candidates(None, 3, labelled=True, stop=True)
    assert [options.choice(i).labels for i in range(len(options))] == [(0,), (1,), (2,)]
    assert options.log_prior.tolist() == [0, 0, 0]


# -- splits into several children ---------------------------------------------------------------------------------

N, C, _ = range(3)
SEVERAL = Multiway(
    SPLITS.grid,
    (
        Split(N, bytes([0, 0, 1, 1, 2, 2, 2, 0])),
        Split(C, bytes([0, 1, 2, 0])),
        Split(C, bytes([0, 0, 1, 1])),
        Split(C, bytes([0, 0, 0, 0])),
    ),
    np.array([0.0, -1.0, -2.0, -3.0]),
)


@settings(deadline=None)
@given(st.none() | st.lists(st.booleans(), min_size=4, max_size=4).map(np.array), st.booleans(), st.booleans())
def test_candidates_of_several_children_are_numbered_alike_everywhere(allowed, labelled, stop):
    options = Candidates(SEVERAL, 3, allowed, labelled=labelled, stop=stop, stop_log_prior=7)
    choices = [options.choice(i) for i in range(len(options))]
    assert len(choices) == len(set(choices)) == len(options.log_prior)
    expected = []
    for i, split in enumerate(SEVERAL.splits):
        if allowed is None or allowed[i]:
            ways = [labels for labels in product(range(3), repeat=split.n_children) if len(set(labels)) > 1]
            expected += [(split, labels, -i) for labels in (ways if labelled else [None])]
    expected += [(None, labels, 7) for labels in ([(0,), (1,), (2,)] if labelled else [None])] if stop else []
    assert [(c.split, c.labels, prior) for c, prior in zip(choices, options.log_prior)] == expected


def test_more_labellings_than_are_sensible_are_refused():
    with pytest.raises(LeakError, match="and then the labels"):
        Candidates(attributes(SPLITS.grid), 3, labelled=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"splits": "splits"},
        {"splits": SEVERAL.splits},
        {"n_classes": -1},
        {"n_classes": 2.0},
        {"allowed": np.ones(3, bool)},
        {"allowed": np.ones((4, 1), bool)},
        {"allowed": "yes"},
        {"labelled": 1},
        {"stop": None},
        {"stop_log_prior": 1e9},
        {"stop_log_prior": -np.inf},
        {"stop_log_prior": np.nan},
        {"stop_log_prior": "nothing"},
    ],
)
def test_what_are_no_candidates_cannot_be_made(wrong):
    with pytest.raises(LeakError):
        Candidates(**{"splits": SEVERAL, "n_classes": 3, **wrong})


def test_which_are_allowed_is_copied():
    allowed = np.ones(len(SPLITS), bool)
    options = Candidates(SPLITS, 3, allowed)
    allowed[:] = False
    assert len(options) == len(SPLITS)


def test_a_choice_is_named_by_what_it_is_among():
    kinds = [(SPLITS, False), (SPLITS, True), (None, True)]
    assert [Candidates(splits, 3, labelled=labelled, stop=True).question for splits, labelled in kinds] == [
        "choose a split",
        "choose a split with its labels",
        "choose a label",
    ]
