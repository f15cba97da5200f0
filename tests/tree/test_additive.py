"""A boosted ensemble is its rounds: their sums are predicted, and what does not fit the schema is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.questions.grid import public_grid
from privet.questions.split import Split
from privet.tree.additive import Additive, Round

SCHEMA = Schema({"age": Numeric(0, 3, integer=True, missing=True), "town": Categorical(["a", "b"])}, classes=[0, 1])


def boosted():
    age = Split(0, bytes([0, 0, 1, 1, 2])), np.array([-1, 1, 2]) * GRADIENT_ONE, np.array([10, 30, 2]) * GRADIENT_ONE
    town = Split(1, bytes([0, 1, 1])), np.array([3, 0]) * GRADIENT_ONE, np.array([1, -5]) * GRADIENT_ONE
    rounds = [Round.of(*own, output=1, scope="/fit0:0", paid=i) for i, own in enumerate((age, town))]
    return Additive.on(SCHEMA, public_grid(SCHEMA), rounds)


def test_scores_are_sums_of_cells():
    columns = {0: np.array([0.0, 1.0, 2.0, np.nan, 7.0]), 1: np.array([1, 0, 0, 1, 2])}
    assert boosted().scores(columns, 5)[:, 0].tolist() == [-1, 2, 4, 2, 1]
    chances = boosted().probabilities(columns, 5)
    assert chances[:, 1] == pytest.approx(1 / (1 + np.exp([1, -2, -4, -2, -1])))


def test_weights_are_shared_by_the_cells_of_a_part_and_never_negative():
    age, town = boosted().shapes
    assert age.weight.tolist() == [5, 5, 15, 15, 2]
    assert town.weight.tolist() == [1, 0, 0]


def test_a_feature_that_adds_the_same_everywhere_has_no_importance():
    model = boosted()
    flat = replace(model.rounds[1], values=(4, 4))
    assert replace(model, rounds=(model.rounds[0], flat)).importances.tolist() == [1, 0]
    assert replace(model, rounds=()).importances.tolist() == [0, 0]


def test_an_ensemble_survives_json():
    again = Additive.from_dict(json.loads(json.dumps(boosted().to_dict())), SCHEMA)
    assert again == boosted()


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
        lambda d: d["rounds"][0].update(parts=[4, 2]),
        lambda d: d["rounds"][0].update(parts=[2, 5]),
        lambda d: d["rounds"][1].update(parts=[0, 2, 2]),
        lambda d: d["rounds"][1].update(parts=[0, 1]),
        lambda d: d["rounds"][0]["values"].__setitem__(0, 1.5),
        lambda d: d["rounds"][0]["values"].__setitem__(0, 2**80),
        lambda d: d["rounds"][0]["hessians"].__setitem__(0, float("nan")),
        lambda d: d["rounds"][0].update(output=0),
        lambda d: d["rounds"][0].update(paid=-1),
        lambda d: d["rounds"][0].update(scope=None),
        lambda d: d["rounds"][0].update(feature="nothing"),
    ],
)
def test_what_does_not_fit_is_refused(spoil):
    data = boosted().to_dict()
    spoil(data)
    with pytest.raises(SchemaError):
        Additive.from_dict(data, SCHEMA)
