"""Growing a tree of a fixed shape, in the open: each step asks what it says, and the shape is kept."""

from fractions import Fraction

import numpy as np
import pytest

from hidden_programs import CompleteGrowth
from listening import Recording
from privet import Categorical, Ledger, Numeric, Schema
from privet.privacy.scores import CorrectCount
from privet.tree.hidden_growth import OpenGrowth, last_level, last_options
from privet.tree.hidden_shape import shape_of

SCHEMA = Schema(
    {"age": Numeric(0, 3, integer=True), "colour": Categorical(["r", "g", "b"], other=False)}, classes=["no", "yes"]
)
MUCH = Fraction(10**6)


def table(n=90):
    rng = np.random.default_rng(0)
    X = np.empty((n, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.integers(0, 4, n), rng.choice(["r", "g", "b"], n)
    return X, np.where(X[:, 1] == "g", "yes", "no")


X, Y = table()


def growth(branches="values", kind=OpenGrowth):
    """Growth from the root of a curator that notes what is asked."""
    curator = Recording(X, Y, SCHEMA, ledger=Ledger(float("inf")))
    shape = shape_of(SCHEMA, branches, 4)
    curtain = curator.open().curtain
    curtain.grid(shape.grid)
    return curator, kind(curtain, curtain.root(), shape)


def test_a_level_is_chosen_and_its_ends_are_labelled():
    curator, own = growth()
    own.choose(MUCH, CorrectCount())
    own.label(MUCH, "permute_and_flip")
    tree = own.finished()
    assert curator.asked == {"choose"}
    assert tree.nodes[0].rule.feature == 1
    assert [tree.nodes[child].label for child in tree.nodes[0].children][:3] == [0, 1, 0]


def test_the_last_level_chooses_splits_and_labels_together():
    curator, own = growth("thresholds")
    own.choose_last(MUCH)
    tree = own.finished()
    assert len(curator.ledger.events) == 1
    assert {tree.nodes[leaf].label for leaf in tree.leaves} == {0, 1}


def test_a_level_at_random_asks_nothing():
    curator, own = growth()
    own.draw(np.random.default_rng(1))
    assert curator.asked == set()
    assert curator.ledger.spent == 0


def test_no_attribute_is_drawn_or_chosen_twice_on_a_path():
    for step in ("draw", "choose"):
        _, own = growth()
        for _ in range(3):  # there are two
            own.draw(np.random.default_rng(2)) if step == "draw" else own.choose(MUCH, CorrectCount())
        own.count(MUCH)
        for path in _paths(own.finished()):
            assert len(set(path)) == len(path) <= 2


def _paths(tree, number=0, above=()):
    node = tree.nodes[number]
    if not node.children:
        return [above]
    return [path for child in node.children for path in _paths(tree, child, (*above, node.rule.feature))]


def test_what_is_chosen_exactly_costs_infinity():
    curator, own = growth()
    own.choose_exactly()
    own.label_exactly()
    assert curator.asked == {"peek"}
    assert curator.ledger.spent == float("inf")
    assert own.finished().nodes[0].rule.feature == 1


def test_counts_are_what_a_leaf_predicts_by():
    _, own = growth()
    own.choose(MUCH, CorrectCount())
    own.count(MUCH)
    tree = own.finished()
    counts = [tree.nodes[child].counts for child in tree.nodes[0].children[:3]]  # of three colours
    assert sum(map(sum, counts)) == len(Y)
    assert [max(range(2), key=each.__getitem__) for each in counts] == [0, 1, 0]


@pytest.mark.parametrize(("kind", "asked"), [(CompleteGrowth, 4), (OpenGrowth, 3)])
def test_nodes_that_nothing_can_reach_are_asked_about_only_where_the_shape_must_show(kind, asked):
    """Colour has three values and age four: one child of four is never reached by a colour."""
    curator, own = growth(kind=kind)
    own.choose(MUCH, CorrectCount())
    before = len(curator.ledger.events)
    own.label(MUCH, "permute_and_flip")
    assert len(curator.ledger.events) - before == asked
    assert all(own.finished().nodes[leaf].label is not None for leaf in own.finished().leaves)


def test_every_candidate_of_a_last_level_has_one_split_or_none_and_a_label_for_each_child():
    shape = shape_of(SCHEMA, "thresholds", 4)
    options = last_options(shape, 2, Fraction(1))
    splits, labels = last_level(options)
    assert splits.shape == (len(shape.splits), len(options))
    assert splits.sum(axis=0).tolist() == [1] * (len(options) - 2) + [0, 0]  # the last two do not split
    by_child = labels.reshape(2, 2, len(options)).sum(axis=1)
    assert (by_child == 1).all()
    for i in range(len(options)):
        choice = options.choice(i)
        said = labels.reshape(2, 2, len(options))[:, :, i].argmax(axis=1).tolist()
        assert said == (list(choice.labels) if choice.split is not None else list(choice.labels) * 2)
