"""A hidden tree's shape follows from the schema alone, and all its splits look alike."""

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.questions.multiway import Multiway
from privet.tree.hidden_shape import BRANCHES, groups, shape_of

LETTERS = list("abcdefghij")
SCHEMA = Schema(
    {
        "age": Numeric(0, 100, missing=True),
        "letter": Categorical(LETTERS, other=False),
        "town": Categorical(LETTERS, groups=[LETTERS[:7], LETTERS[7:]]),
        "same": Numeric(1, 1),
    },
    classes=["no", "yes"],
)


@pytest.mark.parametrize("branches", BRANCHES)
def test_every_split_has_as_many_children(branches):
    shape = shape_of(SCHEMA, branches, 4)
    assert (shape.splits.n_children == shape.width).all()
    assert shape.width == (5 if branches == "values" else 2)  # four bins, and one for missing values
    assert shape.once == (branches == "values") == isinstance(shape.splits, Multiway)


def test_a_feature_without_anything_to_part_is_in_no_split():
    for branches in BRANCHES:
        splits = shape_of(SCHEMA, branches, 4).splits
        assert {splits.split(i).feature for i in range(len(splits))} == {0, 1, 2}


def test_many_categories_share_children_by_their_groups_or_their_order():
    grid = shape_of(SCHEMA, "values", 4).grid
    parts = [
        np.frombuffer(groups(grid.features[f], 4, SCHEMA.features[grid.features[f].name]), np.uint8) for f in (1, 2)
    ]
    assert parts[0].tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert parts[1].tolist() == [0] * 7 + [1] * 3 + [2]  # unlisted values keep a child of their own


def test_few_categories_keep_a_child_each():
    cells = shape_of(SCHEMA, "values", 10).grid.features[1]
    assert groups(cells, 10, SCHEMA.features["letter"]) == bytes(range(10))
