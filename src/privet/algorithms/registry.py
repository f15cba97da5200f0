"""Every estimator of the package, by name: what can be saved, loaded, audited and asked for on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from privet.errors import PrivetError
from privet.schema import Schema
from privet.schema_file import nearest

# A class is registered by one line here; loading a file looks up names here and imports nothing else.
MODELS = {
    "PrivateTreeClassifier": "privet.algorithms.private_tree",
    "PrivateTreeRegressor": "privet.algorithms.private_tree_regressor",
    "PrivateForestClassifier": "privet.algorithms.private_forest",
    "PrivateForestRegressor": "privet.algorithms.private_forest_regressor",
    "TopDownClassifier": "privet.algorithms.top_down",
    "PrivaTreeClassifier": "privet.algorithms.privatree",
    "HistogramTreeClassifier": "privet.algorithms.histogram_tree",
    "HistogramTreeRegressor": "privet.algorithms.histogram_tree",
    "RandomTreeClassifier": "privet.algorithms.baselines.random_tree",
    "SuLQID3Classifier": "privet.algorithms.baselines.id3",
    "DiffPID3Classifier": "privet.algorithms.baselines.id3",
    "DPGDFClassifier": "privet.algorithms.baselines.dpgdf",
    "BDPTClassifier": "privet.algorithms.baselines.bdpt",
    "DPDFClassifier": "privet.algorithms.baselines.dp_df",
    "DPRFRegressor": "privet.algorithms.baselines.dp_forest",
    "DPRFClassifier": "privet.algorithms.baselines.dp_forest",
    "DPERTRegressor": "privet.algorithms.baselines.dp_forest",
    "DPERTClassifier": "privet.algorithms.baselines.dp_forest",
    "DiPriMeForestClassifier": "privet.algorithms.diprime",
    "DiPriMeForestRegressor": "privet.algorithms.diprime",
    "HiddenTreeClassifier": "privet.algorithms.hidden_tree",
    "HiddenForestClassifier": "privet.algorithms.hidden_tree",
    "PMPCID3Classifier": "privet.algorithms.baselines.mpc_id3",
}

DEFAULTS = {"classification": "PrivateTreeClassifier", "regression": "PrivateTreeRegressor"}
"""What is learned where nobody says what, by the schema's task."""

SET_ELSEWHERE = ("schema", "epsilon", "random_state")
"""Parameters that callers give in ways of their own, and that are not offered among the others."""


def model_class(name: str) -> Any:
    """The registered class of that name."""
    return getattr(import_module(MODELS[name]), name)


def find(name: str) -> Any:
    """The class of that name, or an error that lists them all."""
    if name not in MODELS:
        known = nearest(name, MODELS) or f": choose one of {', '.join(MODELS)}"
        raise PrivetError(f"there is no model {name}{known}; privet models lists all")
    return model_class(name)


def parameters(kind: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class, with their defaults."""
    return {name: own for name, own in inspect.signature(kind.__init__).parameters.items() if name != "self"}


def make(name: str, /, **params: Any) -> Any:
    """A model by the name of its class, its parameters checked: against its schema, too, if that is among them."""
    kind = find(name)
    known = parameters(kind)
    if unknown := [param for param in params if param not in known]:
        free = ", ".join(own for own in known if own not in SET_ELSEWHERE)
        raise PrivetError(f"{name} has no parameter {unknown[0]}; it has {free}")
    model = kind(**params)
    try:
        model._budget()  # parameters that make no sense are refused before any record is read
    except TypeError as error:
        raise PrivetError(f"a parameter of {name} is of a wrong type: see privet models {name}") from error
    if (schema := params.get("schema")) is not None:
        if not isinstance(schema, Schema):
            raise PrivetError(f"the schema of {name} is a Schema, not a {type(schema).__name__}")
        model._check_schema(schema)
    return model


def grown_of(model: Any) -> Any:
    """What a fitted model has grown: a tree, a forest, or their hidden kinds."""
    return getattr(model, model._released)
