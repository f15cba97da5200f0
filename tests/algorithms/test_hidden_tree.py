"""Hidden trees in the open: shapes, costs, and what the published variant admits."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from exact_transcripts import loss, transcripts
from privet import Categorical, HiddenForestClassifier, HiddenTreeClassifier, Ledger, Numeric, Schema
from privet.errors import PrivetError
from privet.questions.grid import Cells
from privet.tree.hidden_shape import groups, shape_of
from rooms import hold

SCHEMA = Schema(
    {"age": Numeric(0, 80), "colour": Categorical(["r", "g", "b"], other=False), "n": Numeric(0, 3, integer=True)},
    classes=["no", "yes"],
)


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = rng.random(n) * 80, rng.choice(["r", "g", "b"], n), rng.integers(0, 4, n)
    return X, np.where((X[:, 0].astype(float) > 30) ^ (X[:, 1] == "g"), "yes", "no")


def test_numeric_ranges_are_cut_evenly_and_all_attributes_have_as_many_children():
    shape = shape_of(SCHEMA, "values", 5)
    assert shape.grid.features[0].cuts.tolist() == [16, 32, 48, 64]
    assert [split.n_children for split in shape.splits.splits] == [5, 5, 5]
    assert shape_of(SCHEMA, "thresholds", 5).width == 2


def test_categories_beyond_the_number_join_their_neighbours():
    six, seven = Categorical(list("abcdef"), other=False), Categorical(list("abcdefg"))
    assert list(groups(Cells("c", six, None), 3, six)) == [0, 0, 1, 1, 2, 2]
    assert list(groups(Cells("c", seven, None), 3, seven)) == [0, 0, 0, 1, 1, 2, 2, 3]  # the last: unlisted values
    assert list(groups(Cells("c", six, None), 7, six)) == [0, 1, 2, 3, 4, 5]


def test_categories_beyond_the_number_go_by_the_schemas_groups():
    grouped = Categorical(list("abcd"), other=False, groups=[["c", "a"], ["d"], ["b"]])
    assert list(groups(Cells("c", grouped, None), 3, grouped)) == [0, 2, 0, 1]
    assert list(groups(Cells("c", grouped, None), 2, grouped)) == [0, 1, 0, 0]  # groups join their neighbours too
    assert list(groups(Cells("c", grouped, None), 4, grouped)) == [0, 1, 2, 3]  # as many as there may be: no need
    shape = shape_of(Schema({"c": grouped, "d": Categorical([0, 1], other=False)}, classes=[0, 1]), "values", 3)
    assert (shape.width, list(shape.splits.splits[0].part)) == (3, [0, 2, 0, 1])


@pytest.mark.parametrize("options", [{"branches": "values"}, {"branches": "thresholds"}, {"structure": "random"}])
def test_a_sound_tree_costs_epsilon(options):
    X, y = table()
    model = HiddenTreeClassifier(SCHEMA, epsilon=0.7, max_depth=2, **options).fit(X, y)
    assert model.privacy_.spent == Fraction(7, 10)
    assert model.privacy_.verify()


def test_much_budget_finds_the_rule():
    X, y = table(2000)
    for branches, depth in (("values", 2), ("thresholds", 4)):
        model = HiddenTreeClassifier(SCHEMA, epsilon=50, max_depth=depth, branches=branches).fit(X, y)
        assert model.score(X, y) > 0.93


def test_no_attribute_is_used_twice_on_a_path():
    X, y = table()
    for structure in ("chosen", "random"):
        model = HiddenTreeClassifier(
            SCHEMA, epsilon=1, max_depth=3, branches="values", structure=structure, random_state=0
        )
        tree = model.fit(X, y).tree_
        waiting = [(0, frozenset())]
        while waiting:
            number, used = waiting.pop()
            node = tree.nodes[number]
            if node.rule is not None:
                assert node.rule.feature not in used
                waiting += [(child, used | {node.rule.feature}) for child in node.children]


def test_a_public_hint_makes_small_data_shallow():
    X, y = table(60)
    deep = HiddenTreeClassifier(SCHEMA, epsilon=0.5, max_depth=3, branches="values").fit(X, y)
    hinted = HiddenTreeClassifier(SCHEMA, epsilon=0.5, max_depth=3, branches="values", n_records=60).fit(X, y)
    assert len(hinted.privacy_.events) < len(deep.privacy_.events)
    assert max(event.scope.count("/") for event in hinted.privacy_.events) == 2  # the root's scope and one level


def test_the_published_variant_says_what_it_costs():
    X, y = table()
    model = HiddenTreeClassifier(SCHEMA, epsilon=0.1, variant="published", labels="report_noisy_max").fit(X, y)
    receipt = model.privacy_
    assert receipt.claimed == Fraction(1, 10)
    assert receipt.epsilon == math.inf
    assert "structure was chosen exactly" in receipt.shortfall
    assert receipt.verify()


def test_trees_have_thresholds_unless_their_structure_is_the_papers():
    assert (
        HiddenTreeClassifier(epsilon=1).branches_used()
        == HiddenForestClassifier(epsilon=1).branches_used()
        == "thresholds"
    )
    for paper in ({"variant": "published"}, {"structure": "random"}):
        assert (
            HiddenTreeClassifier(**paper).branches_used() == HiddenForestClassifier(**paper).branches_used() == "values"
        )
        assert HiddenTreeClassifier(branches="thresholds", **paper).branches_used() == "thresholds"
    X, y = table(100)
    tree = HiddenTreeClassifier(SCHEMA, epsilon=50, max_depth=2).fit(X, y).tree_
    assert {len(node.children) for node in tree.nodes} == {0, 2}


def test_a_random_structure_has_no_published_variant():
    with pytest.raises(PrivetError, match="private as it is"):
        HiddenTreeClassifier(SCHEMA, epsilon=1, structure="random", variant="published").fit(*table(10))


AB = Categorical(["a", "b"], other=False)
TINY = Schema({"s": AB, "t": AB}, classes=["n", "y"])


@pytest.mark.parametrize(
    "options",
    [
        {"branches": "values"},
        {"branches": "thresholds"},
        pytest.param({"branches": "values", "max_depth": 2}, marks=pytest.mark.slow),
        pytest.param({"branches": "thresholds", "max_depth": 2}, marks=pytest.mark.slow),
        {"branches": "values", "labels": "exponential"},
        {"branches": "values", "labels": "report_noisy_max"},
    ],
)
def test_on_tiny_tables_no_transcript_is_more_than_epsilon_apart(options):
    model = HiddenTreeClassifier(**{"epsilon": 1.0, "max_depth": 1, "n_values": 2, **options})
    kinds = list(product("ab", "ab", "ny"))
    laws = {}

    def law(records):
        records = tuple(sorted(records))
        if records not in laws:
            rows = np.array([record[:2] for record in records], dtype=object).reshape(-1, 2)
            labels = [record[2] for record in records]
            make = hold("memory", rows, labels, TINY)
            laws[records] = transcripts(
                lambda noise: model.fit_curator(make(ledger=Ledger(math.inf), mechanisms=noise))
            )
        return laws[records]

    worst = max(
        loss(law(records), law((*records, added)))
        for n in range(3)
        for records in combinations_with_replacement(kinds, n)
        for added in kinds
    )
    assert 0.3 < worst <= 1 + 1e-9
