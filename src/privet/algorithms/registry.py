"""Every estimator of the package, by name: what can be saved, loaded, audited and asked for on the command line."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
    "SuLQID3Classifier": "privet.algorithms.baselines.sulq_id3",
    "DiffPID3Classifier": "privet.algorithms.baselines.diffp_id3",
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
    "HiddenForestClassifier": "privet.algorithms.hidden_forest",
    "PMPCID3Classifier": "privet.algorithms.baselines.mpc_id3",
}


def model_class(name: str) -> Any:
    """The registered class of that name."""
    return getattr(import_module(MODELS[name]), name)
