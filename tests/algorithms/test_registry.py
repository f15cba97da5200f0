"""Every estimator by name: found, made with checked parameters, or refused with what to do."""

import re

import pytest
from sklearn.base import is_classifier, is_regressor

import privet
from privet import Numeric, Schema
from privet.algorithms import baselines
from privet.algorithms.base import PrivateEstimator
from privet.algorithms.registry import DEFAULTS, MODELS, SET_ELSEWHERE, find, grown_of, make, model_class, parameters
from privet.errors import PrivetError, SchemaError

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"])
NUMBERS = Schema({"a": Numeric(0, 1)}, target=(0, 1))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_where_the_registry_says_and_can_be_made_with_its_defaults(name):
    kind = model_class(name)
    assert kind.__name__ == name
    assert kind.__module__ == MODELS[name]
    assert {*SET_ELSEWHERE} <= {*parameters(kind)}
    assert type(make(name, epsilon=1)) is kind


def test_public_estimators_are_registered():
    estimators = {name for name in privet.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert estimators <= {*MODELS}
    assert {*DEFAULTS.values()} <= {*MODELS}


def test_a_name_that_there_is_not_is_refused_with_those_that_there_are():
    for name in ("Oak", "", "os.system"):
        with pytest.raises(PrivetError, match="choose one of PrivateTreeClassifier"):
            find(name)


@pytest.mark.parametrize("param", ["depth", "name", "self", "kind", "__class__"])
def test_a_parameter_that_a_model_does_not_know_is_refused_whatever_it_is_called(param):
    with pytest.raises(PrivetError, match=f"has no parameter {param}; it has"):
        make("PrivateTreeClassifier", **{param: 1})


@pytest.mark.parametrize("params", [{"epsilon": "much"}, {"epsilon": [1]}, {"epsilon": -1}, {"epsilon": None}])
def test_a_parameter_that_makes_no_sense_is_refused_before_any_record_is_read(params):
    with pytest.raises(PrivetError):
        make("PrivateTreeClassifier", **params)


def test_a_schema_that_does_not_fit_the_model_is_refused_when_it_is_made():
    make("PrivateTreeClassifier", schema=SCHEMA, epsilon=1)
    with pytest.raises(SchemaError):
        make("PrivateTreeClassifier", schema=NUMBERS, epsilon=1)


def test_what_a_model_has_grown_is_its_tree_or_its_forest():
    X, y = [[0.1], [0.9]] * 20, ["no", "yes"] * 20
    tree = make("PrivateTreeClassifier", schema=SCHEMA, epsilon=10.0).fit(X, y)
    assert grown_of(tree) is tree.tree_
    forest = make("DPDFClassifier", schema=SCHEMA, epsilon=10.0).fit(X, y)
    assert grown_of(forest) is forest.forest_


@pytest.mark.parametrize("name", MODELS)
def test_a_name_says_what_it_predicts(name):
    model = model_class(name)()
    assert is_classifier(model) == name.endswith("Classifier") == (model._task == "classification")
    assert is_regressor(model) == name.endswith("Regressor") == (model._task == "regression")


def test_every_estimator_that_can_be_imported_by_name_is_registered():
    exported = {
        name
        for module in (privet, baselines)
        for name in module.__all__
        if isinstance(kind := getattr(module, name), type) and issubclass(kind, PrivateEstimator)
    }
    assert exported == set(MODELS) | {"PrivateSearch"}  # which is of others


@pytest.mark.parametrize("name", MODELS)
def test_help_explains_every_parameter(name):
    """In the docstring of the class, or in one that its list of parameters refers to."""
    texts, waiting = "", [name]
    while waiting:
        _, _, listed = (model_class(waiting.pop()).__doc__ or "").partition("    Parameters\n")
        texts += listed
        waiting += re.findall(r"As for ``(\w+)``", listed)
    for parameter in parameters(model_class(name)):
        assert re.search(rf"^    (\w+, )*{parameter}(, \w+)*( :.*)?$", texts, re.MULTILINE), parameter
