"""Differentially private decision trees and forests, with receipts you can check.

Names are loaded on first use, so that ``import privet`` stays quick. The papers' comparisons are in
``privet.algorithms.baselines``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privet.algorithms.registry import MODELS
from privet.errors import MissingExtraError
from privet.extras import stand_in

if TYPE_CHECKING:  # for type checkers and editors: a test holds it equal to the table below
    from privet.algorithms.diprime import DiPriMeForestClassifier as DiPriMeForestClassifier
    from privet.algorithms.diprime import DiPriMeForestRegressor as DiPriMeForestRegressor
    from privet.algorithms.hidden_tree import HiddenForestClassifier as HiddenForestClassifier
    from privet.algorithms.hidden_tree import HiddenTreeClassifier as HiddenTreeClassifier
    from privet.algorithms.histogram_tree import HistogramTreeClassifier as HistogramTreeClassifier
    from privet.algorithms.histogram_tree import HistogramTreeRegressor as HistogramTreeRegressor
    from privet.algorithms.model_file import load as load
    from privet.algorithms.private_forest import PrivateForestClassifier as PrivateForestClassifier
    from privet.algorithms.private_forest_regressor import PrivateForestRegressor as PrivateForestRegressor
    from privet.algorithms.private_search import PrivateSearch as PrivateSearch
    from privet.algorithms.private_tree import PrivateTreeClassifier as PrivateTreeClassifier
    from privet.algorithms.private_tree_regressor import PrivateTreeRegressor as PrivateTreeRegressor
    from privet.algorithms.privatree import PrivaTreeClassifier as PrivaTreeClassifier
    from privet.algorithms.sample_size import sample_size as sample_size
    from privet.algorithms.top_down import TopDownClassifier as TopDownClassifier
    from privet.consortium.federated.curator import federated_curator as FederatedCurator  # noqa: F401
    from privet.curators.dask import DaskCurator as DaskCurator
    from privet.curators.files import FileCurator as FileCurator
    from privet.curators.hidden import HiddenCurator as HiddenCurator
    from privet.curators.memory import MemoryCurator as MemoryCurator
    from privet.curators.mpc import MpcCurator as MpcCurator
    from privet.curators.sql.curator import SqlCurator as SqlCurator
    from privet.errors import BudgetError as BudgetError
    from privet.errors import BudgetWarning as BudgetWarning
    from privet.errors import CapabilityError as CapabilityError
    from privet.errors import DataWarning as DataWarning
    from privet.errors import LeakError as LeakError
    from privet.errors import NotReleasedError as NotReleasedError
    from privet.errors import PrivetError as PrivetError
    from privet.errors import ReceiptError as ReceiptError
    from privet.errors import SchemaError as SchemaError
    from privet.privacy.ledger import Ledger as Ledger
    from privet.privacy.receipt import Receipt as Receipt
    from privet.report.page import write_report as write_report
    from privet.schema import Categorical as Categorical
    from privet.schema import Numeric as Numeric
    from privet.schema import Schema as Schema
    from privet.tables.misfit import check_data as check_data
    from privet.tree.splitting_class import SplittingClass as SplittingClass

__version__ = "0.1.0"

_NAMES = {
    "privet.tree.splitting_class": ("SplittingClass",),
    "privet.algorithms.sample_size": ("sample_size",),
    "privet.algorithms.private_search": ("PrivateSearch",),
    "privet.schema": ("Schema", "Numeric", "Categorical"),
    "privet.tables.misfit": ("check_data",),
    "privet.privacy.ledger": ("Ledger",),
    "privet.privacy.receipt": ("Receipt",),
    "privet.curators.memory": ("MemoryCurator",),
    "privet.curators.files": ("FileCurator",),
    "privet.curators.dask": ("DaskCurator",),
    "privet.consortium.federated.curator:federated_curator": ("FederatedCurator",),
    "privet.curators.mpc": ("MpcCurator",),
    "privet.curators.sql.curator": ("SqlCurator",),
    "privet.curators.hidden": ("HiddenCurator",),
    "privet.algorithms.model_file": ("load",),
    "privet.report.page": ("write_report",),
    "privet.errors": (
        "PrivetError",
        "SchemaError",
        "BudgetError",
        "BudgetWarning",
        "DataWarning",
        "LeakError",
        "NotReleasedError",
        "ReceiptError",
        "CapabilityError",
    ),
}
"""What can be had from here beside the registered estimators, by its home, and its name there if that is another."""

_HOMES = {name: home for name, home in MODELS.items() if not home.startswith("privet.algorithms.baselines.")} | {
    name: home for home, names in _NAMES.items() for name in names
}

__all__ = [*_HOMES, "datasets", "plot"]


def __getattr__(name: str) -> Any:
    if name in ("datasets", "plot"):
        return import_module(f"privet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'privet' has no attribute {name!r}")
    module, _, own_name = _HOMES[name].partition(":")
    try:
        value = getattr(import_module(module), own_name or name)
    except MissingExtraError as missing:
        return stand_in(name, missing)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
