"""One list of estimators: what is exported, saved, audited and asked for by name is in it."""

import pytest
from sklearn.base import is_classifier, is_regressor

import privet
from privet.algorithms import baselines
from privet.algorithms.base import PrivateEstimator
from privet.algorithms.registry import MODELS, model_class


@pytest.mark.parametrize("name", MODELS)
def test_a_name_is_its_classes(name):
    kind = model_class(name)
    assert (kind.__name__, kind.__module__) == (name, MODELS[name])
    assert issubclass(kind, PrivateEstimator)


@pytest.mark.parametrize("name", MODELS)
def test_a_name_says_what_it_predicts(name):
    model = model_class(name)()
    assert is_classifier(model) == name.endswith("Classifier") == (model._task == "classification")
    assert is_regressor(model) == name.endswith("Regressor") == (model._task == "regression")


def test_a_name_that_is_not_registered_is_not_imported():
    with pytest.raises(KeyError):
        model_class("os.system")


def test_every_estimator_that_can_be_imported_by_name_is_registered():
    exported = {
        name
        for module in (privet, baselines)
        for name in module.__all__
        if isinstance(kind := getattr(module, name), type) and issubclass(kind, PrivateEstimator)
    }
    assert exported == set(MODELS)
