"""The guarantee itself: on all tiny neighbouring tables no transcript's probabilities differ by more than epsilon."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet import Categorical, Ledger, MemoryCurator, Numeric, PrivateTreeRegressor, Schema
from privet.audit.exact import loss, transcripts

AB = Categorical(["a", "b"], other=False)
SCHEMAS = {
    "categories": (Schema({"s": AB}, target=(0, 1)), ("ab",)),
    "integers": (Schema({"i": Numeric(0, 1, integer=True)}, target=(0, 1)), ((0, 1),)),
}


def worst_loss(case, most_records, monkeypatch, **params):
    monkeypatch.setattr("privet.curators.central.TARGET_CUTS", 3)
    schema, values = SCHEMAS[case]
    kinds = list(product(*values, (0.0, 0.75)))
    laws = {}

    def law(table):
        table = tuple(sorted(table, key=repr))
        if table not in laws:
            X = np.array([record[:-1] for record in table], dtype=object).reshape(len(table), 1)
            y = [record[-1] for record in table]
            laws[table] = transcripts(lambda mechanisms: fit(X, y, mechanisms), (0, 1))
        return laws[table]

    def fit(X, y, mechanisms):
        curator = MemoryCurator(X, y, schema, ledger=Ledger(1e9), mechanisms=mechanisms)
        PrivateTreeRegressor(epsilon=1, **params).fit_curator(curator)

    return max(
        loss(law(table), law((*table, added)))
        for n in range(most_records)
        for table in combinations_with_replacement(kinds, n)
        for added in kinds
    )


@pytest.mark.parametrize("case", SCHEMAS)
def test_no_transcript_is_more_than_epsilon_apart(case, monkeypatch):
    """A public hint, so that the tree has a level; both quantiles, the split and four noisy sums are followed."""
    worst = worst_loss(case, 2, monkeypatch, n_records=200, max_depth=1)
    assert 0.3 < worst <= 1 + 1e-9


def test_a_tree_that_measures_its_size_is_within_epsilon(monkeypatch):
    assert 0 < worst_loss("integers", 2, monkeypatch, max_depth=1) <= 1 + 1e-9
