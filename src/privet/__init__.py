"""Differentially private decision trees and forests, with receipts you can check.

Names are loaded on first use, so that ``import privet`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.algorithms.baselines import (
        BDPTClassifier,
        DiffPID3Classifier,
        DPGDFClassifier,
        RandomTreeClassifier,
        SuLQID3Classifier,
    )
    from privet.algorithms.diprime import DiPriMeForestClassifier, DiPriMeForestRegressor
    from privet.algorithms.hidden_forest import HiddenForestClassifier
    from privet.algorithms.hidden_tree import HiddenTreeClassifier
    from privet.algorithms.histogram_tree import HistogramTreeClassifier, HistogramTreeRegressor
    from privet.algorithms.model_file import load
    from privet.algorithms.private_forest import PrivateForestClassifier
    from privet.algorithms.private_forest_regressor import PrivateForestRegressor
    from privet.algorithms.private_tree import PrivateTreeClassifier
    from privet.algorithms.private_tree_regressor import PrivateTreeRegressor
    from privet.algorithms.privatree import PrivaTreeClassifier
    from privet.algorithms.sample_size import sample_size
    from privet.algorithms.top_down import TopDownClassifier
    from privet.consortium.federated.curator import federated_curator as FederatedCurator
    from privet.curators.hidden import HiddenCurator
    from privet.curators.memory import MemoryCurator
    from privet.curators.mpc import MpcCurator
    from privet.errors import BudgetError, CapabilityError, LeakError, PrivetError, ReceiptError, SchemaError
    from privet.privacy.ledger import Ledger
    from privet.privacy.receipt import Receipt
    from privet.schema import Categorical, Numeric, Schema
    from privet.tree.splitting_class import SplittingClass

__version__ = "0.1.0"

_HOMES = {
    "BDPTClassifier": "privet.algorithms.baselines.bdpt",
    "DPDFClassifier": "privet.algorithms.baselines.dp_df",
    "DPERTClassifier": "privet.algorithms.baselines.dp_forest",
    "DPERTRegressor": "privet.algorithms.baselines.dp_forest",
    "DPGDFClassifier": "privet.algorithms.baselines.dpgdf",
    "DPRFClassifier": "privet.algorithms.baselines.dp_forest",
    "DPRFRegressor": "privet.algorithms.baselines.dp_forest",
    "DiffPID3Classifier": "privet.algorithms.baselines.diffp_id3",
    "RandomTreeClassifier": "privet.algorithms.baselines.random_tree",
    "SuLQID3Classifier": "privet.algorithms.baselines.sulq_id3",
    "BudgetError": "privet.errors",
    "CapabilityError": "privet.errors",
    "Categorical": "privet.schema",
    "DiPriMeForestClassifier": "privet.algorithms.diprime",
    "DiPriMeForestRegressor": "privet.algorithms.diprime",
    "FederatedCurator": "privet.consortium.federated.curator:federated_curator",
    "HiddenCurator": "privet.curators.hidden",
    "HiddenForestClassifier": "privet.algorithms.hidden_forest",
    "HiddenTreeClassifier": "privet.algorithms.hidden_tree",
    "HistogramTreeClassifier": "privet.algorithms.histogram_tree",
    "HistogramTreeRegressor": "privet.algorithms.histogram_tree",
    "LeakError": "privet.errors",
    "Ledger": "privet.privacy.ledger",
    "MemoryCurator": "privet.curators.memory",
    "MpcCurator": "privet.curators.mpc",
    "Numeric": "privet.schema",
    "PrivaTreeClassifier": "privet.algorithms.privatree",
    "PrivateForestClassifier": "privet.algorithms.private_forest",
    "PrivateForestRegressor": "privet.algorithms.private_forest_regressor",
    "PrivateTreeClassifier": "privet.algorithms.private_tree",
    "PrivateTreeRegressor": "privet.algorithms.private_tree_regressor",
    "PrivetError": "privet.errors",
    "Receipt": "privet.privacy.receipt",
    "ReceiptError": "privet.errors",
    "Schema": "privet.schema",
    "SchemaError": "privet.errors",
    "SplittingClass": "privet.tree.splitting_class",
    "TopDownClassifier": "privet.algorithms.top_down",
    "load": "privet.algorithms.model_file",
    "sample_size": "privet.algorithms.sample_size",
}

__all__ = [  # noqa: RUF022 - what people look for first comes first
    "PrivateTreeClassifier",
    "PrivateTreeRegressor",
    "PrivaTreeClassifier",
    "PrivateForestClassifier",
    "PrivateForestRegressor",
    "TopDownClassifier",
    "SplittingClass",
    "sample_size",
    "HistogramTreeClassifier",
    "HistogramTreeRegressor",
    "RandomTreeClassifier",
    "SuLQID3Classifier",
    "DiffPID3Classifier",
    "DPGDFClassifier",
    "BDPTClassifier",
    "DPERTClassifier",
    "DPERTRegressor",
    "DPRFClassifier",
    "DPRFRegressor",
    "DPDFClassifier",
    "DiPriMeForestClassifier",
    "DiPriMeForestRegressor",
    "HiddenTreeClassifier",
    "HiddenForestClassifier",
    "Schema",
    "Numeric",
    "Categorical",
    "Ledger",
    "Receipt",
    "MemoryCurator",
    "FederatedCurator",
    "MpcCurator",
    "HiddenCurator",
    "load",
    "PrivetError",
    "SchemaError",
    "BudgetError",
    "LeakError",
    "ReceiptError",
    "CapabilityError",
    "datasets",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("privet.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    module, _, own_name = _HOMES[name].partition(":")
    value = getattr(import_module(module), own_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
