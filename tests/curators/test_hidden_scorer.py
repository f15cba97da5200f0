"""Hidden models are scored on rows that they did not learn from, and nothing but a noisy table is told."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from cut_mechanisms import CutMechanisms
from hidden_programs import SCHEMA, horizontally, learner, on_shares, opened, table
from privet import HiddenForestClassifier, PrivateSearch, PrivateTreeClassifier, Schema
from privet.curators.hidden_scorer import HiddenScorer
from privet.curators.owners.mpc_owner import Owner
from privet.errors import CapabilityError, LeakError, MpcError, SchemaError
from privet.questions.split import Split
from privet.shares.engine import Secret
from privet.tree.hidden_shape import shape_of

PEOPLE = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=2)
MODELS = {
    "thresholds": lambda epsilon: learner(max_depth=2, branches="thresholds", epsilon=epsilon),
    "values": lambda epsilon: learner(max_depth=1, epsilon=epsilon),
    "forest": lambda epsilon: HiddenForestClassifier(epsilon=epsilon, n_trees=3, max_depth=1, n_values=4),
}


def exact_table(model, X, y, members, weights):
    """Units by colour, predicted and true class, of the rows of a part."""
    classes = list(SCHEMA.classes)
    colours = {"r": 0, "g": 1, "b": 2}
    columns = {
        0: X[:, 0].astype(float),
        1: np.array([colours.get(own, 3) for own in X[:, 1]]),
        2: X[:, 2].astype(float),
        3: np.array(["fm".index(own) for own in X[:, 3]]),
    }
    if hasattr(model, "trees"):
        votes = sum(np.eye(3)[tree.labels[tree.apply(columns, len(X))]] for tree in model.trees)
        by_name = np.argsort(classes)
        said = by_name[votes[:, by_name].argmax(axis=1)]
    else:
        said = model.labels[model.apply(columns, len(X))]
    found = np.zeros((4, 3, 3), dtype=np.int64)
    np.add.at(found, (columns[1], said, [classes.index(own) for own in y]), members * weights)
    return found


@pytest.mark.parametrize(
    ("kind", "persons"), [("thresholds", False), ("values", True), ("forest", False)], ids=["tree", "persons", "forest"]
)
def test_a_score_is_that_of_the_rows_that_were_held_out(kind, persons):
    """At an epsilon of 30 there is no noise, but for a chance of 1e-13 for each of 36 counts; of persons the noise has
    a scale of one unit, 12 of which are a person."""
    X, y = table(80)
    epsilon = 12.0 if persons else 30.0
    schema, owners = SCHEMA, horizontally(X, y, SCHEMA, 2)
    if persons:
        frame = pandas.DataFrame(X, columns=list(SCHEMA.names)).astype({"age": int, "size": float})
        frame = frame.assign(who=np.arange(80) // 2)
        schema, owners = PEOPLE, [Owner(frame[:40], y[:40], PEOPLE), Owner(frame[40:], y[40:], PEOPLE)]

    def program(curator, engine):
        desk, parts = curator.open(), []
        draw = desk._room.parts

        def noted(held, weights):
            made = draw(held, weights)
            parts.append(engine.open(desk._room._members(made)))
            return made

        desk._room.parts, curator.open = noted, lambda: desk
        model = MODELS[kind](epsilon).fit_curator(curator, holdout=0.4, by="colour")
        assert model.verify()
        assert curator.ledger.spent == model.privacy_.spent <= epsilon
        grown = model.forest_ if kind == "forest" else model.tree_
        return opened(grown, engine), parts[0], model.evaluation_, model.privacy_

    results = on_shares(program, owners, schema, most_records=50)
    assert len({str(scores) for *_, scores, _ in results}) == 1
    model, members, scores, receipt = results[0]
    real = np.tile(np.arange(50) < 40, 2)
    assert (members.sum(axis=0) == real).all()
    assert 5 < members[1].sum() < 60
    expected = exact_table(model, X, y, members[1][real], 6 if persons else 1)
    assert np.abs(scores.counts - expected).max() <= (24 if persons else 0)  # 24 scales: a chance of 1e-9
    assert "accuracy" in str(scores)
    assert len(scores.by_group) == 4
    (event,) = [event for event in receipt.events if event.question == "evaluate"]
    assert event.charged == epsilon
    assert event.delta > 0


def test_what_cannot_be_scored_is_refused_before_anything_is_spent():
    X, y = table(20)

    def program(curator, engine):
        hidden, told = learner(max_depth=1), PrivateTreeClassifier(epsilon=1.0)
        for error, match, fit in (
            (CapabilityError, "only hidden models", lambda: told.fit_curator(curator, holdout=0.2)),
            (SchemaError, "categories", lambda: hidden.fit_curator(curator, holdout=0.2, by={"age": [10]})),
            (CapabilityError, "prefer", lambda: PrivateSearch(candidates=[hidden], epsilon=1.0).fit_curator(curator)),
        ):
            with pytest.raises(error, match=match):
                fit()
        return curator.ledger.spent

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=20) == [0, 0, 0]


@pytest.mark.parametrize("leaf", [0, 1])
def test_a_model_says_one_class_of_each_row_whatever_its_tables_hold(leaf):
    """Tables that would count a row twice end the run, whether any row comes there or not; and tables of another shape
    are not taken, nor those of other shares."""
    X, y = table(0)
    shape = shape_of(SCHEMA, "thresholds", 4)

    def program(curator, engine):
        desk = curator.open()
        desk.grid(shape.grid)
        level = engine.constant(np.eye(1, len(shape.splits), dtype=np.int64))
        node = desk.root()
        with pytest.raises(LeakError, match="row for each node"):
            HiddenScorer(shape, [((level,), engine.constant(np.eye(3, dtype=np.int64)))])
        with pytest.raises(LeakError, match="grouped by"):
            HiddenScorer(shape, [((level,), engine.constant(np.eye(3, dtype=np.int64)[:2]))], by="colour")
        other = HiddenScorer(
            shape_of(SCHEMA, "thresholds", 3),
            [
                (
                    (engine.constant(np.eye(1, len(shape_of(SCHEMA, "thresholds", 3).splits), dtype=np.int64)),),
                    engine.constant(np.eye(3, dtype=np.int64)[:2]),
                )
            ],
        )
        with pytest.raises(LeakError, match="grown on"):
            desk.evaluate({node: other}, Fraction(1))
        assert desk.ledger.spent == 0
        elsewhere = Secret(SimpleNamespace(held=engine.held), engine.constant(np.eye(3, dtype=np.int64)[:2]).parts)
        with pytest.raises(LeakError, match="shares that it was grown on"):
            desk.evaluate({node: HiddenScorer(shape, [((level,), elsewhere)])}, Fraction(1))
        labels = np.eye(3, dtype=np.int64)[:2]
        labels[leaf] *= 2
        twice = HiddenScorer(shape, [((level,), engine.constant(labels))])
        with pytest.raises(AttributeError):
            twice.by = None
        desk.evaluate({node: twice}, Fraction(1))

    with pytest.raises(MpcError, match=r"say one class|ended|left"):
        on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=20)


def test_one_row_more_is_one_count_more_whatever_the_model():
    """Rows that come one after another, on shares, for several trees: the sensitivity of a table of scores is 1."""
    X, y = table(6)
    shape = shape_of(SCHEMA, "thresholds", 4)

    def program(curator, engine):
        desk = curator.open()
        desk.grid(shape.grid)
        rows, members = desk._room._shared(), engine.constant(np.ones((1, 8), dtype=np.int64))
        found = []
        for split in (0, len(shape.splits) - 1):
            level = engine.constant(np.eye(1, len(shape.splits), split, dtype=np.int64))
            for labels in ([0, 0], [0, 2], [1, 0]):
                tree = (level,), engine.constant(np.eye(3, dtype=np.int64)[labels])
                by = Split(1, bytes(range(shape.grid.features[1].n_cells)))
                found.append(engine.open(HiddenScorer(shape, [tree], by).counted(engine, rows, members)))
        return np.stack(found)

    tables = [on_shares(program, horizontally(X[:n], y[:n], SCHEMA, 1), SCHEMA, most_records=8)[0] for n in range(1, 7)]
    for fewer, more in pairwise(tables):
        assert (np.abs(more - fewer).sum(axis=(1, 2)) == 1).all()
        assert (more >= fewer).all()


def test_the_noise_of_a_table_is_that_of_any_sum_at_its_price():
    X, y = table(20)
    shape = shape_of(SCHEMA, "thresholds", 4)

    def program(curator, engine):
        desk = curator.open()
        desk.grid(shape.grid)
        level = engine.constant(np.eye(1, len(shape.splits), dtype=np.int64))
        scorer = HiddenScorer(shape, [((level,), engine.constant(np.eye(3, dtype=np.int64)[:2]))])
        everybody = engine.constant(np.ones((1, 20), dtype=np.int64))
        exact = engine.open(scorer.counted(engine, desk._room._shared(), everybody)).reshape(scorer.shape)
        (told,) = desk.evaluate({desk.root(): scorer}, Fraction(1, 2)).values()
        (event,) = desk.ledger.events
        return exact, told, event

    (exact, told, event), *others = on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=20, seed=7)
    assert exact.sum() == 20
    assert (event.charged, event.sensitivity) == (Fraction(1, 2), 1)
    expected = CutMechanisms(np.random.default_rng(7)).geometric(exact, event.scale)
    assert (told == expected).all()
    assert (told != exact).any()
    assert all((other[1] == told).all() for other in others)
