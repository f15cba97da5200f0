"""A boosted ensemble is its rounds: their sums are predicted, and what does not fit the schema is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.gradients import linked_chances
from privet.questions.grid import public_grid
from privet.questions.split import Product, Split
from privet.tree import additive
from privet.tree.additive import Additive, Calibration, Round

SCHEMA = Schema({"age": Numeric(0, 3, integer=True, missing=True), "town": Categorical(["a", "b"])}, classes=[0, 1])


AGE = Split(0, bytes([0, 0, 1, 1, 2]))
TOWN = Split(1, bytes([0, 1, 1]))
BOTH = Product((Split(0, bytes([0, 0, 0, 1, 2])), TOWN))


def boosted(*tables, schema=SCHEMA):
    """Rounds of these tables, the first with the values 1, 2 and so on and the Hessians 10, 20, the next ten times."""
    rounds = []
    for i, table in enumerate(tables or (AGE, TOWN)):
        values = np.arange(1, table.n_children + 1) * 10**i * GRADIENT_ONE
        rounds.append(Round.of(table, values, 10 * values, output=1, scope="/fit0:0", paid=i))
    return Additive.on(schema, public_grid(schema), rounds)


def test_scores_are_sums_of_terms():
    columns = {0: np.array([0.0, 1.0, 2.0, np.nan, 7.0]), 1: np.array([1, 0, 0, 1, 2])}
    assert boosted().scores(columns, 5)[:, 0].tolist() == [21, 11, 12, 23, 22]
    assert boosted(AGE, BOTH).scores(columns, 5)[:, 0].tolist() == [21, 11, 12, 63, 42]
    chances = boosted().predictions(boosted().scores(columns, 5))
    assert chances[:, 1] == pytest.approx(linked_chances(np.array([21, 11, 12, 23, 22])))


def test_several_classes_have_a_score_each_against_the_rest():
    schema = Schema(dict(SCHEMA.features), classes=["x", "y", "z"])
    columns = {0: np.array([0.0, 3.0]), 1: np.array([1, 0])}
    model = boosted(AGE, schema=schema)
    assert model.scores(columns, 2).tolist() == [[0, 1, 0], [0, 2, 0]]
    shares = linked_chances(np.array([0.0, 1.0, 0.0]))
    assert model.predictions(model.scores(columns, 2))[0] == pytest.approx(shares / shares.sum())


def test_rounds_of_the_same_features_are_one_term_over_the_stretches_that_they_part():
    other = Product((Split(0, bytes([0, 1, 1, 1, 2])), TOWN))
    (term,) = boosted(BOTH, other).terms
    assert term.features == (0, 1)
    assert [own.tolist() for own in term.stretches] == [[0, 1, 1, 2, 3], [0, 1, 1]]
    assert (term.values[..., 0] / GRADIENT_ONE).tolist() == [[11, 22], [31, 42], [33, 44], [55, 66]]


def test_weights_are_shared_by_the_cells_of_a_part_and_never_negative():
    model = boosted(AGE)
    (term,) = model.terms
    assert term.weight.tolist() == [10, 20, 30]
    negative = replace(model, rounds=(replace(model.rounds[0], hessians=(-7, 0, GRADIENT_ONE)),))
    assert negative.terms[0].weight.tolist() == [0, 0, 1]
    finer = replace(model, rounds=(*model.rounds, replace(model.rounds[0], factors=((0, bytes([0, 1, 2, 2, 3])),),
                    values=(0,) * 4, hessians=(0,) * 4)))  # fmt: skip
    assert finer.terms[0].weight.tolist() == [5, 5, 20, 30]


def test_a_term_that_adds_the_same_everywhere_has_no_importance():
    model = boosted()
    flat = replace(model.rounds[1], values=(4, 4))
    assert replace(model, rounds=(model.rounds[0], flat)).importances.tolist() == [1, 0]
    assert replace(model, rounds=()).importances.tolist() == [0, 0]


def test_features_of_a_term_share_its_importance():
    model = boosted(BOTH)
    assert model.importances.tolist() == [0.5, 0.5]
    assert model.term_importances == {("age", "town"): 1}
    shares = boosted(AGE, BOTH).term_importances
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares) == [("age", "town"), ("age",)]


def test_dependence_on_a_feature_is_the_mean_over_the_others():
    model = boosted(BOTH)
    found = model.dependence(0, np.array([0.0, 3.0, np.nan]))[:, 1]
    values, weights = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[10, 20], [30, 40], [50, 60]])
    means = (values * weights).sum(axis=1) / weights.sum(axis=1)
    assert found == pytest.approx(linked_chances(means))
    assert boosted(TOWN).dependence(0, np.array([0.0, 3.0]))[:, 1] == pytest.approx(float(linked_chances(50 / 30)))


def test_a_term_too_large_for_one_table_is_several(monkeypatch):
    monkeypatch.setattr(additive, "LARGEST_TERM", 10)
    other = Product((Split(0, bytes([0, 1, 1, 1, 2])), Split(1, bytes([0, 0, 1]))))
    model, columns = boosted(BOTH, other), {0: np.array([0.0, 1.0, 3.0]), 1: np.array([1, 2, 0])}
    assert len(model.terms) == 2
    split = model.scores(columns, 3).tolist()
    monkeypatch.undo()
    assert boosted(BOTH, other).scores(columns, 3).tolist() == split


def test_small_terms_have_few_numbers_and_the_same_sum(monkeypatch):
    groups = Product((Split(0, bytes([0, 1, 0, 1, 2])), Split(1, bytes([1, 0, 1]))))
    columns = {0: np.array([0.0, 1.0, 3.0, np.nan]), 1: np.array([1, 2, 0, 1])}
    for most, n_terms in ((6, 4), (12, 2)):
        monkeypatch.setattr(additive, "MOST_CHILDREN", most)
        model = boosted(BOTH, groups, BOTH, TOWN)
        (terms,) = model.small_terms
        assert all(term.values.size <= most for term in terms)
        cells = {f: model.cells(f, column) for f, column in columns.items()}
        total = sum(term.at(cells) for term in terms)
        assert (total / GRADIENT_ONE).tolist() == model.scores(columns, 4).tolist()
        assert len(terms) == n_terms


def test_an_ensemble_survives_json():
    for model in (boosted(), boosted(AGE, BOTH)):
        assert Additive.from_dict(json.loads(json.dumps(model.to_dict())), SCHEMA) == model


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("rounds"),
        lambda d: d["cuts"].pop(),
        lambda d: d["cuts"].reverse(),
        lambda d: d["cuts"].__setitem__(0, [2, 1, 0]),
        lambda d: d["cuts"].__setitem__(0, None),
        lambda d: d["cuts"].__setitem__(1, [1.0]),
        lambda d: d["rounds"][0].update(values=[1]),
        lambda d: d["rounds"][0].update(parts={"age": [4, 2]}),
        lambda d: d["rounds"][0].update(parts={"age": [2, 5]}),
        lambda d: d["rounds"][0].update(parts={}),
        lambda d: d["rounds"][0].update(parts=[[2, 4]]),
        lambda d: d["rounds"][0].update(parts={"age": [2, 4], "town": [0, 1, 1]}),
        lambda d: d["rounds"][1].update(parts={"town": [0, 2, 2]}),
        lambda d: d["rounds"][1].update(parts={"town": [0, 1]}),
        lambda d: d["rounds"][1].update(parts={"nothing": [0, 1, 1]}),
        lambda d: d["rounds"][0]["values"].__setitem__(0, 1.5),
        lambda d: d["rounds"][0]["values"].__setitem__(0, 2**80),
        lambda d: d["rounds"][0]["hessians"].__setitem__(0, float("nan")),
        lambda d: d["rounds"][0].update(output=0),
        lambda d: d["rounds"][0].update(paid=-1),
        lambda d: d["rounds"][0].update(scope=None),
        lambda d: d["rounds"][0].update(free=True),
        lambda d: d["rounds"][1].update(parts={"town": [0, 1, 2**62]}),  # as many parts would not fit in memory
        lambda d: d.update(calibration=None),
        lambda d: d.update(more=1),
    ],
)
def test_what_does_not_fit_is_refused(spoil):
    data = boosted().to_dict()
    spoil(data)
    with pytest.raises(SchemaError):
        Additive.from_dict(data, SCHEMA)


# -- numeric targets ------------------------------------------------------------------------------------------------

TARGET = Schema(dict(SCHEMA.features), target=(10.0, 30.0))
LIFTS = Calibration(TARGET_ONE // 2, (TARGET_ONE // 2, TARGET_ONE), (0, -TARGET_ONE // 4, 5 * TARGET_ONE), "/fit0:0")


def of_target(values=(-TARGET_ONE // 4, TARGET_ONE // 4, TARGET_ONE)):
    one = Round.of(AGE, np.array(values), np.full(3, GRADIENT_ONE), output=0, scope="/fit0:0", paid=0)
    return Additive.on(TARGET, public_grid(TARGET), [one], LIFTS)


def test_a_target_begins_somewhere_is_lifted_by_its_level_and_stays_in_its_range():
    columns = {0: np.array([0.0, 3.0, np.nan]), 1: np.array([0, 0, 0])}
    assert of_target().predictions(of_target().scores(columns, 3))[:, 0].tolist() == [15.0, 20.0, 30.0]
    assert of_target().dependence(0, columns[0])[:, 0].tolist() == [15.0, 20.0, 30.0]
    assert of_target().importances.tolist() == [1, 0]


def test_a_target_survives_as_json():
    model = of_target()
    again = Additive.from_dict(json.loads(json.dumps(model.to_dict())), TARGET)
    assert again == model


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 0.5},
        {"start": 2**40},
        {"cuts": [2, 1]},
        {"cuts": [1]},
        {"values": []},
        {"values": [0, 0, 2**40]},
        {"scope": None},
        {"more": 1},
        {"cuts": list(range(256)), "values": [0] * 257},
    ],
)
def test_a_calibration_that_does_not_fit_is_refused(wrong):
    plain = of_target().to_dict()
    with pytest.raises(SchemaError):
        Additive.from_dict(plain | {"calibration": plain["calibration"] | wrong}, TARGET)
    with pytest.raises(SchemaError):
        Additive.from_dict({name: plain[name] for name in ("cuts", "rounds")}, TARGET)
