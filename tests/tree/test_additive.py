"""A boosted ensemble is its tables: what they say is predicted, and what does not fit the schema is refused."""

import json

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.questions.candidates import Split
from privet.questions.grid import public_grid
from privet.tree.additive import Additive

SCHEMA = Schema({"age": Numeric(0, 3, integer=True, missing=True), "town": Categorical(["a", "b"])}, classes=[0, 1])


def boosted():
    model = Additive.flat(SCHEMA, public_grid(SCHEMA))
    model.add(Split(0, bytes([0, 0, 1, 1, 2])), np.array([-1, 1, 2]) * GRADIENT_ONE, np.array([10.0, 30.0, 2.0]), 1)
    model.add(Split(1, bytes([0, 1, 1])), np.array([3, 0]) * GRADIENT_ONE, np.array([1.0, -5.0]), 1)
    return model


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
    model.shapes[1].values[:] = 4
    assert model.importances.tolist() == [1, 0]
    assert Additive.flat(SCHEMA, public_grid(SCHEMA)).importances.tolist() == [0, 0]


def test_an_ensemble_survives_json():
    again = Additive.from_dict(json.loads(json.dumps(boosted().to_dict())), SCHEMA)
    assert again.to_dict() == boosted().to_dict()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("shapes"),
        lambda d: d["shapes"].pop(),
        lambda d: d["shapes"].reverse(),
        lambda d: d["shapes"][0].update(cuts=[2, 1, 0]),
        lambda d: d["shapes"][0].update(cuts=None),
        lambda d: d["shapes"][1].update(cuts=[1.0]),
        lambda d: d["shapes"][0].update(values=[[1]]),
        lambda d: d["shapes"][0]["values"].__setitem__(0, [1.5]),
        lambda d: d["shapes"][0]["values"].__setitem__(0, [2**80]),
        lambda d: d["shapes"][0]["weight"].__setitem__(0, -1),
        lambda d: d["shapes"][0]["weight"].__setitem__(0, float("nan")),
        lambda d: d["shapes"][0].update(feature="nothing"),
    ],
)
def test_what_does_not_fit_is_refused(spoil):
    data = boosted().to_dict()
    spoil(data)
    with pytest.raises(SchemaError):
        Additive.from_dict(data, SCHEMA)
