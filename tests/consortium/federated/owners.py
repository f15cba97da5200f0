"""Small tables of several owners, and curators of them."""

import math
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet import Categorical, FederatedCurator, Ledger, Numeric, Schema
from privet.curators.memory import MemoryCurator
from privet.privacy.event import add_up
from privet.privacy.receipt import Receipt
from privet.questions.grid import public_grid
from privet.questions.split import Split
from privet.questions.tally import Tally

SCHEMA = Schema(
    features={"age": Numeric(0, 20, integer=True), "colour": Categorical(["r", "g", "b"]), "size": Numeric(0, 1)},
    classes=["no", "yes", "perhaps"],
)
GRID = public_grid(SCHEMA)
DIGEST = "0" * 64
"""What receipts say of the model that was released."""
NO_NOISE = Fraction(10**9)
TABLES = (Split(0, bytes(range(GRID.features[0].n_cells))), Split(1, bytes([0, 1, 0, 1])))


class Asking:
    """A curator with a desk open, for tests that ask by themselves and look behind."""

    def __init__(self, curator):
        self.curator, self.desk = curator, curator.open()
        self.ledger, self.trust, self.void = curator.ledger, curator.trust, curator.void

    def __getattr__(self, name):
        return getattr(self.desk if hasattr(self.desk, name) else self.curator, name)


def asking(schema, channel, **terms):
    return Asking(FederatedCurator(schema, channel, **terms))


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = rng.integers(0, 21, n)
    X[:, 1] = rng.choice(["r", "g", "b", "other"], n)
    X[:, 2] = rng.random(n)
    y = np.where(X[:, 0].astype(int) > 12, "yes", np.where(X[:, 1] == "r", "perhaps", "no"))
    return X, np.where(rng.random(n) < 0.1, "no", y)


def tables(n_owners=5, n=40):
    return [table(n, seed) for seed in range(n_owners)]


def together(owners, schema=SCHEMA):
    """A curator that has all owners' records in one place."""
    X, y = (np.concatenate(parts) for parts in zip(*owners))
    return Asking(MemoryCurator(X, y, schema, ledger=Ledger(math.inf)))


@contextmanager
def closed(parties):
    """Parties of a process that ends: others may have their folders afterwards."""
    try:
        yield parties
    finally:
        for party in parties:
            party.close()


def fit(channel, budget, limit=None, **terms):
    """One root and one tally; what was asked of all parties."""
    return begun(channel, budget, limit, **terms)[0]


def begun(channel, budget, limit=None, **terms):
    curator = asking(SCHEMA, channel, ledger=Ledger(math.inf), **terms)
    curator.grid(GRID)
    root = curator.root(limit or budget)
    curator.tally({root: Tally(TABLES)}, budget)
    return curator, root


def receipt_of(curator, events=None, **changes):
    """A receipt that adds up, of these events."""
    events = tuple(curator.ledger.events if events is None else events)
    spent = add_up(events)
    return replace(Receipt(spent, spent, Fraction(0), (), curator.trust, events, released=DIGEST), **changes).to_json()
