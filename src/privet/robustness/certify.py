"""Certificates by retraining: estimate the law of a learner's accuracy, then let its guarantee bend it.

A differentially private learner on data that differ in k records draws each model with nearly the same chance. So its
accuracy, averaged over retrainings, cannot fall below a number that follows from its law on the records at hand: as
in PrivaTree, section V, and tighter (docs/robustness.md; proofs in docs/theory.md, section 7).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from privet.algorithms.base import PrivateEstimator
from privet.algorithms.parameters import is_number
from privet.errors import BudgetWarning, PrivetError, SchemaError
from privet.privacy.amounts import exact, show
from privet.privacy.unit import ROW
from privet.robustness.attacks.backdoor import Backdoor
from privet.robustness.certificate import Certificate, CertificateRow, PoisonLevel, levels
from privet.robustness.guarantee import Guarantee, guarantee_of
from privet.robustness.outcomes import Outcomes
from privet.robustness.probe import Probe
from privet.robustness.retraining import public_schema, retrain
from privet.schema import Numeric, Schema
from privet.tables.files import Files, names_files
from privet.tables.persons import read_persons
from privet.tables.table import read_labels, read_table

RUNS = 1000
CONFIDENCE = 0.99

DECIDE_BEFORE = (
    "A noisy answer decides how this model spends its delta. So what holds of every fit is (epsilon, delta), which "
    "certifies least. n_records=N (--set n_records=N), if the number of records is public, or method='boosting' (--set "
    "method=boosting) decides before, and certifies far more."
)


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    poison: Iterable[Any] = ("0.1%", "0.5%", "1%"),
    *,
    groups: Any = None,
    backdoor: Backdoor | None = None,
    guarantee: Guarantee | None = None,
    runs: int = RUNS,
    confidence: float = CONFIDENCE,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Certificate:
    """What a private classifier guarantees on test records if its training records are poisoned.

    Retrains ``runs`` times on ``X``, ``y``: more runs certify more. The numbers are about the average over retrainings
    and about the majority vote of many released models, never about one released model. They hold together with a
    chance of ``confidence``, which covers the retrainings; the test records are taken as they are.

    The training records are those at hand. If they are poisoned already, the same numbers bound what the clean ones
    would give: being k apart goes both ways.

    **This is a release.** It costs ``runs`` times the estimator's epsilon, and reads the test records without noise.
    Certify on public records, or keep the certificate as confidential as they are. In an open ledger all fits are
    charged.

    Parameters
    ----------
    estimator : a private classifier
        Not fitted, without a ``random_state``.
    poison : list
        How much is poisoned: numbers of records, or shares such as ``"0.5%"``. Each is certified for records added or
        removed and for changed ones, which count twice.
    groups : array, optional
        The persons' ids, where the schema names a person that is no column of ``X``. With persons, shares and numbers
        of ``poison`` are of persons.
    backdoor : Backdoor, optional
        Also bound how often the trigger turns test records of other classes into its target.
    guarantee : Guarantee, optional
        For estimators of others: what they promise, such as ``Pure(0.1)``, on your word. For ours it is read off the
        receipt.
    runs, confidence
        How many models are trained, and how surely the bounds hold.
    random_state : int, optional
        Reproducible noise, for research.

    Examples
    --------
    >>> from privet import PrivateTreeClassifier
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> tree = PrivateTreeClassifier(schema=schema, epsilon=0.1, max_depth=1)
    >>> found = certify(tree, X[:2000], y[:2000], X[2000:2500], y[2000:2500], ["1%"], runs=100, random_state=0)
    >>> row = found.rows[0]
    >>> row.level.units, found.clean > row.accuracy > row.by_mean
    (20, True)
    """
    if not (is_number(confidence) and 0 < confidence < 1):
        raise PrivetError(f"confidence is a number, a probability below 1 such as 0.99; got {confidence!r}.")
    if isinstance(estimator, PrivateEstimator) == (guarantee is not None):
        raise PrivetError(
            "This estimator's receipt has its guarantee: leave guarantee out."
            if guarantee is not None
            else "This estimator has no receipt: say what it promises, such as guarantee=Pure(epsilon)."
        )
    probes = probes_of(estimator, X_test, y_test, backdoor)
    n_units = units_of(estimator, X, y, groups)
    asked = levels(poison, n_units)
    decided = not isinstance(estimator, PrivateEstimator) or estimator.one_currency
    if not decided:
        warnings.warn(DECIDE_BEFORE, BudgetWarning, stacklevel=2)  # before it takes its time
    outcomes, model = retrain(
        estimator, X, y, probes, groups, runs=runs, random_state=random_state, n_jobs=n_jobs, progress=progress
    )
    holds = guarantee_of(model) if guarantee is None else guarantee
    alpha = (1 - confidence) / len(probes)
    return Certificate(
        estimator=type(estimator).__name__,
        guarantee=str(holds),
        word="by its receipt" if guarantee is None else "on the caller's word",
        unit=str(ROW) if guarantee is not None else model.privacy_.unit,
        records=n_units,
        test_records=len(probes[0].labels),
        runs=runs,
        confidence=confidence,
        clean=outcomes[0].mean,
        error=outcomes[0].error,
        rows=tuple(row(level, holds, outcomes, alpha) for level in asked),
        cost=_cost(estimator, runs),
        advice="" if decided else DECIDE_BEFORE,
    )


def row(level: PoisonLevel, guarantee: Guarantee, outcomes: list[Outcomes], alpha: float) -> CertificateRow:
    """One line: accuracy and majority share the same chances of records, so both hold with ``alpha``."""
    accuracy, distance = outcomes[0], level.distance
    found = CertificateRow(
        level,
        accuracy=accuracy.guaranteed(guarantee, distance, alpha),
        by_mean=float(guarantee.worst(accuracy.mean, distance)),
        majority=accuracy.majority(guarantee, distance, alpha / 2),
    )
    if len(outcomes) == 1:
        return found
    withstood = outcomes[1]
    return CertificateRow(
        level,
        found.accuracy,
        found.by_mean,
        found.majority,
        success=1 - withstood.guaranteed(guarantee, distance, alpha),
        success_by_mean=float(guarantee.most(1 - withstood.mean, distance)),
    )


def probes_of(estimator: Any, X_test: Any, y_test: Any, backdoor: Backdoor | None = None) -> list[Probe]:
    """The test records with their labels, and with the trigger; raises for what no certificate can be about.

    A label that no model can predict would always count as wrong, and a target that is no class as never reached.
    """
    if isinstance(estimator, RegressorMixin):
        raise PrivetError("A certificate is about classes, and this estimator predicts numbers: certify a classifier.")
    schema = public_schema(estimator) if isinstance(estimator, PrivateEstimator) else None
    labels = np.asarray(y_test) if schema is None else _classes(schema, y_test)
    n_rows = _checked_rows(X_test, schema)
    if labels.shape != (n_rows,) or not n_rows:
        raise PrivetError(
            f"X_test has {n_rows} records and y_test {labels.size} labels: give at least one test record, and one "
            "label for each."
        )
    probes = [Probe(X_test, labels)]
    if backdoor is not None:
        if schema is not None:
            _check_target(backdoor.target, schema)
        probes.append(backdoor.probe(X_test, labels))
        _checked_rows(probes[1].X, schema)
    return probes


def _classes(schema: Schema, y_test: Any) -> np.ndarray:
    """The labels as the schema writes them."""
    if schema.classes is None:
        raise PrivetError("A certificate is about classes: give the estimator a schema that has them.")
    try:
        return np.array(schema.classes)[read_labels(y_test, schema)]
    except SchemaError as error:
        raise PrivetError(f"y_test must have the classes of X_test: {error}.") from None


def _check_target(target: Any, schema: Schema) -> None:
    try:
        read_labels([target], schema)
    except SchemaError:
        raise PrivetError(
            f"The backdoor's target must be one of the classes: {', '.join(map(repr, schema.classes or ()))}."
        ) from None


def _checked_rows(X: Any, schema: Schema | None) -> int:
    """How many records there are. With a schema every column is read, so that what does not fit it is refused now."""
    if schema is None:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    table = Files(X, schema, columns=schema.columns).table() if names_files(X) else read_table(X, schema)
    for name, feature in schema.features.items():
        _ = table.numeric(name) if isinstance(feature, Numeric) else table.codes(name)
    return table.n_rows


def units_of(estimator: Any, X: Any, y: Any, groups: Any = None) -> int:
    """How many units there are to be poisoned: records or, if the schema names a person, persons."""
    schema = getattr(estimator, "schema", None)
    persons = read_persons(X, groups, schema) if isinstance(schema, Schema) else None
    return len(y) if persons is None else int(persons.max(initial=-1)) + 1


def _cost(estimator: Any, runs: int) -> str:
    epsilon = getattr(estimator, "epsilon", None)
    if epsilon is None:
        return f"{runs} times what one costs"
    return f"{runs} x {show(exact(epsilon))} = {show(runs * exact(epsilon))} epsilon in all"
