"""What public numbers say about a fit: about how many records it learns from, and whether another model is better."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privet.algorithms.parameters import checked_budget
from privet.privacy.meaning import as_float, short
from privet.tree import rounds, target_rounds

BOOSTING = {"PrivateTreeClassifier": "PrivateForestClassifier", "PrivateTreeRegressor": "PrivateForestRegressor"}
"""What boosts, in the place of a single tree."""


def boosting_instead(model: Any, n_records: float | None) -> str:
    """A line where boosting is expected to beat the single tree that ``model`` is; "" elsewhere.

    ``n_records`` are those that are learned from, if anybody knows about how many they are.
    """
    name, schema = type(model).__name__, getattr(model, "schema_", model.schema)
    if name not in BOOSTING or n_records is None:
        return ""
    budget = checked_budget(model.epsilon)
    if not _pays_off(n_records, budget, schema.classes):
        return ""
    rare = "" if schema.classes is None else " (least of all in labels where one class is rare)"
    return (
        f"With n * epsilon of about {short(n_records * as_float(budget))}, {BOOSTING[name]} is as a rule more accurate "
        f"than one tree{rare}, and harder to read: privet models {BOOSTING[name]}."
    )


def _pays_off(n_records: float, budget: Fraction, classes: tuple[Any, ...] | None) -> bool:
    if classes is None:
        return target_rounds.pays_off(n_records, budget, "epsilon")
    return rounds.pays_off(n_records, budget, "epsilon", len(classes), "labels")
