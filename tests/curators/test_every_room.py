"""Wherever records live, the answers are those of memory: same models, same laws of all transcripts, same audits."""

import math

import numpy as np
import pandas as pd
import pytest

from privet import (
    Categorical,
    DiPriMeForestClassifier,
    HiddenTreeClassifier,
    HistogramTreeClassifier,
    Ledger,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    PrivaTreeClassifier,
    Schema,
)
from privet.audit import Pair, exact_bound
from privet.audit.release import released
from privet.privacy.mechanisms import mechanisms
from rooms import IN_DATABASES, ROOMS, SLOW, hold
from tiny_tables import worst_loss, worst_person_loss

OTHERS = [room for room in ROOMS if room != "memory"]
MANY_QUESTIONS = [pytest.param(room, marks=[pytest.mark.slow] if room in SLOW else []) for room in OTHERS]
FEWER_QUESTIONS = [room if room == "duckdb" else own for room, own in zip(OTHERS, MANY_QUESTIONS)]

FEATURES = {
    "a": Numeric(-3, 3, missing=True),
    "b": Numeric(0, 49, integer=True),
    "c": Categorical(["x", "y"]),
    "d": Categorical(range(300)),
}
MODELS = {
    "tree": PrivateTreeClassifier(epsilon=1.0, max_depth=4),
    "tree of a forest's parts": PrivateForestClassifier(epsilon=1.0, n_trees=3, max_depth=3),
    "boosting": PrivateForestClassifier(epsilon=1.0, method="boosting"),
    "boosting on samples": PrivateForestClassifier(epsilon=1.0, method="boosting", delta=1e-6),
    "private quantiles": PrivaTreeClassifier(epsilon=1.0, max_depth=3),
    "a grid of its own": HistogramTreeClassifier(epsilon=1.0, max_depth=3),
    "grids that get finer": DiPriMeForestClassifier(epsilon=1.0, n_trees=2, max_depth=3, structure=0),
    "regression": PrivateTreeRegressor(epsilon=1.0, max_depth=3),
    "boosted regression": PrivateForestRegressor(epsilon=1.0),
}


def records(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, math.nan, rng.normal(size=n)),
            "b": rng.integers(0, 50, n),
            "c": rng.choice(["x", "y", "z"], n),
            "d": rng.integers(0, 310, n),
        }
    )
    return X, X["b"] + rng.normal(size=n) * 10, rng.integers(0, n // 3, n)


def fitted(room, model, schema, table, **options):
    """All that a model releases, but for who had to be trusted."""
    make = hold(room, *table[:2], schema, table[2])
    ledger = Ledger(math.inf, delta=model.delta)
    curator = make(ledger=ledger, mechanisms=mechanisms(7))
    model.fit_curator(curator, **options)
    model.verify()
    assert curator.trust in released(model)
    return released(model).replace(curator.trust, ""), model.privacy_.events, str(model.evaluation_)


QUICK = ("tree", "tree of a forest's parts", "regression", "grids that get finer")
"""The models that slow rooms are also asked for where tests must be quick."""


def is_comparable(room, name, person):
    """Whether a room draws nothing otherwise than memory, and can do it: PostgreSQL does not boost."""
    draws = person or name in ("tree of a forest's parts", "grids that get finer")
    return room not in IN_DATABASES or not (draws or (room == "postgres" and "boost" in name))


def cases():
    for room in OTHERS:
        for name in MODELS:
            quick = name in QUICK or (room, name) == ("duckdb", "boosting")
            marks = [pytest.mark.slow] if room in SLOW and not quick else []
            for person in (False, True):
                if is_comparable(room, name, person):
                    whom = "persons" if person else "rows"
                    yield pytest.param(room, name, person, marks=marks, id=f"{room}-{name}-{whom}")


@pytest.mark.parametrize(("room", "name", "person"), list(cases()))
def test_the_same_seed_gives_the_same_model(room, name, person):
    model = MODELS[name]
    X, numbers, who = records()
    kind = {"label": "out"} | ({"target": (0, 50)} if "regression" in name else {"classes": ["no", "yes"]})
    kind |= {"person": "who", "records_per_person": 3} if person else {}
    y = numbers if "regression" in name else np.where(numbers > 25, "yes", "no")
    table = X, y, who if person else None
    options = {} if "regression" in name or room in IN_DATABASES else {"holdout": 0.25}
    expected = fitted("memory", model, Schema(FEATURES, **kind), table, **options)
    assert fitted(room, model, Schema(FEATURES, **kind), table, **options) == expected


@pytest.mark.filterwarnings("ignore:epsilon 1 is too small")
@pytest.mark.parametrize("person", [False, True], ids=["rows", "persons"])
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("room", OTHERS)
def test_a_table_of_one_record_or_none_is_answered_as_any_other(room, n, person):
    X, numbers, who = (own[:n] for own in records())
    whom = {"person": "who", "records_per_person": 3} if person else {}
    for name in ("tree", "regression"):
        kind = {"target": (0, 50)} if name == "regression" else {"classes": ["no", "yes"]}
        schema = Schema(FEATURES, label="out", **kind, **whom)
        y = numbers if name == "regression" else np.where(numbers > 25, "yes", "no")
        table = X, y, who if person else None
        assert fitted(room, MODELS[name], schema, table) == fitted("memory", MODELS[name], schema, table)


@pytest.mark.parametrize("room", ROOMS)
def test_a_curator_can_do_what_the_room_can_that_it_opens(room):
    X, _, _ = records(10)
    curator = hold(room, X, ["no"] * 10, Schema(FEATURES, classes=["no", "yes"], label="out"))(ledger=Ledger(1))
    desk = curator.open()
    assert curator.capabilities == desk.capabilities
    desk.close()


@pytest.mark.parametrize("room", FEWER_QUESTIONS)
def test_no_transcript_is_more_than_epsilon_apart(room):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, n_records=10**6)
    found = worst_loss("one category", model, 1, room=room)
    assert found == worst_loss("one category", model, 1)
    assert 0.3 < found <= 1 + 1e-9


@pytest.mark.parametrize("room", MANY_QUESTIONS)
def test_no_transcript_is_more_than_epsilon_apart_for_a_person(room):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, n_records=10**6)
    cap = 2 if room in IN_DATABASES else 1  # a draw by a key is no draw that can be followed
    found = worst_person_loss("one category", model, 1, 2, cap, window=(0, 1), room=room)
    assert found == worst_person_loss("one category", model, 1, 2, cap, window=(0, 1))
    assert 0.3 < found <= 1 + 1e-9


CANARY = (1, "y")
OTHER_RECORDS = [(0, "n"), (1, "n")]
SMALL = Schema({"i": Numeric(0, 1, integer=True)}, classes=["n", "y"], label="out")


class Careless(PrivateTreeClassifier):
    """Spends twice what it promises."""

    def _limit(self, budget):
        return 2 * budget

    def _grow(self, curtain, start, budget):
        return super()._grow(curtain, start, 2 * budget)


@pytest.mark.parametrize("room", ["memory", *MANY_QUESTIONS])
def test_an_audit_with_a_canary_finds_no_more_than_was_promised_and_what_a_careless_one_spends(room):
    def table(rows):
        return pd.DataFrame({"i": [row[0] for row in rows]}), [row[1] for row in rows]

    def held(X, y, schema, **options):
        return hold(room, X, y, schema)(**options)

    pair = Pair(table(OTHER_RECORDS), table([*OTHER_RECORDS, CANARY]), SMALL)
    planned = {"epsilon": 1.0, "max_depth": 1, "n_records": 10**6}
    assert 0.3 < exact_bound(PrivateTreeClassifier(**planned), pair, hold=held).epsilon <= 1 + 1e-9
    assert exact_bound(Careless(**planned), pair, hold=held).epsilon > 1.2


@pytest.mark.parametrize("room", MANY_QUESTIONS)
@pytest.mark.parametrize(
    ("features", "depth"),
    [({"a": Numeric(0, 1), "c": Categorical(["x", "y"], other=False)}, 2), ({"c": Categorical(["x"], other=False)}, 1)],
    ids=["nodes with empty children", "one leaf"],
)
def test_held_out_records_score_trees_of_any_shape(room, features, depth):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(90), "c": rng.choice(["x", "y"] if "a" in features else ["x"], 90)})[[*features]]
    schema = Schema(features, classes=[0, 1], label="out")
    several = HiddenTreeClassifier(epsilon=50.0, max_depth=depth, branches="values")
    model = several if "a" in features else PrivateTreeClassifier(epsilon=50.0)
    curator = hold(room, X, rng.integers(0, 2, 90), schema)(ledger=Ledger(math.inf), mechanisms=mechanisms(7))
    model.fit_curator(curator, holdout=0.3)
    assert model.verify()
    assert 10 < model.evaluation_.n < 50
