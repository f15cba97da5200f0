"""What an estimator says that it needs of a curator is what it asks: no more, or it is refused where it would work; no
less, or it is refused after it has spent."""

import math
from itertools import product

import numpy as np
import pytest

from listening import Recording
from privet import Categorical, Ledger, Numeric, Schema
from privet.algorithms.registry import MODELS, model_class
from privet.curators.desk import QUESTIONS, STRUCTURE, capabilities_of
from privet.curators.federated import FederatedRoom
from privet.curators.memory import MemoryRoom

FEATURES = {
    "x": Numeric(0, 1),
    "k": Numeric(0, 3, integer=True, missing=True),
    "c": Categorical(["a", "b", "c"], other=False),
}
CLASSES = Schema(FEATURES, classes=["n", "y"])
TARGET = Schema(FEATURES, target=(0, 1))

N = 300
RNG = np.random.default_rng(7)
X = np.empty((N, 3), dtype=object)
X[:, 0], X[:, 1], X[:, 2] = RNG.random(N), RNG.integers(0, 4, N).astype(float), RNG.choice(list("abc"), N)
SHARES = X[:, 0].astype(float) * 0.7 + (X[:, 2] == "a") * 0.3

ALL = capabilities_of(MemoryRoom)
OWNERS = capabilities_of(FederatedRoom)
"""What owners can answer who mask their sums: they cannot choose together."""


def settings(**values):
    """Every combination of these parameters."""
    return [dict(zip(values, own)) for own in product(*values.values())]


VARIANTS = ["sound", "published"]
FOREST = {"n_trees": [2], "max_depth": [2], "structure": [0]}
SETTINGS = {
    "PrivateTreeClassifier": settings(leaves=["labels", "counts"], n_records=[None, N], max_depth=[1, 3]),
    "PrivateTreeRegressor": settings(n_records=[None, N], max_depth=[1, 3]),
    "PrivateForestClassifier": [
        *settings(method=["auto", "boosting"], n_records=[None, N], delta=[None, 1e-3]),
        *settings(method=["auto", "trees"], n_trees=[1, 2], n_records=[None, N]),
        {"n_records": 10},  # too few to boost
        {"n_records": 10, "delta": 1e-3},
    ],
    "PrivateForestRegressor": [
        *settings(method=["auto", "boosting"], n_records=[None, N], delta=[None, 1e-3]),
        *settings(method=["trees"], n_trees=[None, 1, 2], n_records=[None, N], max_depth=[2]),
        {"n_records": 10},  # too few to boost
        {"n_records": 10, "delta": 1e-3},
        {"n_records": 10, "epsilon": 0.1},  # and to split
    ],
    "TopDownClassifier": [
        *settings(
            split=["rnm", "permute_and_flip", "exponential", "noisy_counts", "local_rnm"],
            n_records=[None, N],
            delta=[None, 1e-3],
            max_nodes=[3],
        ),
        *settings(split=["rnm", "noisy_counts", "local_rnm"], variant=["published"], max_nodes=[3]),
    ],
    "PrivaTreeClassifier": [
        *settings(bins=["quantile", "uniform"], variant=VARIANTS, leaf_share=[None, 0.2], n_records=[None, N]),
        *settings(bins=["exact"], variant=["published"], early_stop=[None, False]),
        *settings(early_stop=[True, False], variant=["published"]),
    ],
    "HistogramTreeClassifier": [
        *settings(save_budget=[True, False], leaves=["counts", "labels"], variant=VARIANTS),
        *settings(save_budget=[True, False], leaves=["counts", "labels"], delta=[1e-3]),
    ],
    "HistogramTreeRegressor": [
        *settings(save_budget=[True, False], variant=VARIANTS),
        *settings(save_budget=[True, False], delta=[1e-3]),
    ],
    "RandomTreeClassifier": settings(categories=["order", "subsets"], structure=[0]),
    "SuLQID3Classifier": settings(max_depth=[1, 2]),
    "DiffPID3Classifier": settings(numeric=["bins", "thresholds"], criterion=["max", "gini", "entropy"]),
    "DPGDFClassifier": settings(variant=VARIANTS),
    "BDPTClassifier": settings(variant=VARIANTS),
    "DPDFClassifier": settings(variant=VARIANTS, **FOREST),
    **{
        name: settings(variant=VARIANTS, **FOREST)
        for name in ("DPRFRegressor", "DPRFClassifier", "DPERTRegressor", "DPERTClassifier")
    },
    **{
        f"DiPriMeForest{kind}": settings(
            attribute=["random", "exp", "flip"],
            partition=[True, False],
            variant=VARIANTS,
            max_depth=[0, 2, None],
            n_records=[None, N],
            n_trees=[2],
            structure=[0],
        )
        for kind in ("Classifier", "Regressor")
    },
    "HiddenTreeClassifier": [
        *settings(branches=["values", "thresholds"], labels=["exponential", "permute_and_flip"], variant=VARIANTS),
        *settings(structure=["random"], n_records=[None, N]),
    ],
    "HiddenForestClassifier": [
        *settings(sampling=["parts", "poisson"], n_trees=[1, 2], variant=VARIANTS),
        *settings(sampling=["parts", "poisson"], n_trees=[2], structure=["random"]),
    ],
    "PMPCID3Classifier": settings(leaves=["laplace", "exponential"], variant=VARIANTS),
}

SEEN_BY_ANSWERS = {
    "DiffPID3Classifier": {"choose"},
    "PrivateForestClassifier": {"tally", "advance", "zcdp"},
    "PrivateForestRegressor": {
        *("choose", "copies", "focus", "advance", "target_quantiles", "residual_quantiles", "zcdp")
    },
}
"""What is asked only where an answer, or a public number of records, says so: a setting may go without."""

CASES = [(name, options) for name in SETTINGS for options in SETTINGS[name]]


def fitted(name, options, able):
    """The estimator and what it asked of a curator that can do all of ``able``."""
    model = model_class(name)(**{"epsilon": 20, **options})
    schema, y = (CLASSES, np.where(SHARES > 0.5, "y", "n")) if model._task == "classification" else (TARGET, SHARES)
    curator = Recording(X, y, schema, ledger=Ledger(math.inf, delta=options.get("delta")), able=able)
    model.fit_curator(curator)
    return model, curator.asked


def test_every_registered_estimator_is_looked_at():
    assert set(SETTINGS) == set(MODELS), "SETTINGS has the parameters of each registered class that change what it asks"


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{options}" for name, options in CASES])
def test_an_estimator_asks_for_what_it_says_that_it_needs(name, options):
    model, asked = fitted(name, options, ALL)
    needs = model._needs(ALL)
    assert asked <= needs <= ALL
    assert needs - asked <= SEEN_BY_ANSWERS.get(name, set())


@pytest.mark.parametrize("name", SEEN_BY_ANSWERS)
def test_what_depends_on_answers_is_asked_for_by_some_setting(name):
    asked = set().union(*(fitted(name, options, ALL)[1] for options in SETTINGS[name]))
    assert asked >= SEEN_BY_ANSWERS[name]


BETWEEN_OWNERS = [case for case in CASES if model_class(case[0])(**case[1])._needs(OWNERS) <= OWNERS]


@pytest.mark.parametrize(
    ("name", "options"), BETWEEN_OWNERS, ids=[f"{name}-{options}" for name, options in BETWEEN_OWNERS]
)
def test_between_owners_an_estimator_asks_for_what_it_says_that_it_needs_of_them(name, options):
    model, asked = fitted(name, options, OWNERS)
    assert asked == model._needs(OWNERS)


def test_owners_who_mask_their_sums_can_train_all_that_only_counts_or_proposes():
    as_they_come = {name for name in MODELS if model_class(name)()._needs(OWNERS) <= OWNERS}
    assert as_they_come == {
        "PrivateTreeClassifier",
        "PrivateForestClassifier",
        "HistogramTreeClassifier",
        "HistogramTreeRegressor",
        "SuLQID3Classifier",
        "DPERTClassifier",
        "DPERTRegressor",
    }
    between = {options["split"] for name, options in BETWEEN_OWNERS if name == "TopDownClassifier"}
    assert between == {"noisy_counts", "local_rnm"}


def test_all_that_can_be_needed_is_a_question_or_a_structure():
    every = set().union(*(model_class(name)(**options)._needs(ALL) for name, options in CASES))
    assert every <= {*QUESTIONS, *STRUCTURE, "zcdp"}
    assert not {"choose", "peek", "quantiles", "samples", "noise"} & OWNERS
