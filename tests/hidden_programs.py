"""Three servers with rows on shares, for tests: as threads in this process, or as processes with TLS."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("cryptography")

from cut_mechanisms import CutMechanisms
from in_threads import QueueLine, run_threads
from privet import Categorical, HiddenTreeClassifier, Ledger, MemoryCurator, Numeric, Schema
from privet.curators.hidden import HiddenCurator, HiddenRoom
from privet.curators.owners.mpc_owner import ColumnOwner, Owner, query_cells
from privet.curators.row_owners import RowOwners
from privet.privacy.joint import SeededCoins
from privet.questions.candidates import Candidates
from privet.questions.multiway import Multiway
from privet.tree.forest import Forest
from privet.tree.growing import GrowingTree
from privet.tree.hidden_growth import OpenGrowth
from privet.tree.hidden_tree import HiddenForest
from privet.tree.tree import Rule

SCHEMA = Schema(
    features={
        "age": Numeric(0, 20, integer=True),
        "colour": Categorical(["r", "g", "b"]),
        "size": Numeric(0, 1),
        "sex": Categorical(["f", "m"], other=False),
    },
    classes=["no", "yes", "perhaps"],
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.integers(0, 21, n)
    X[:, 1] = rng.choice(["r", "g", "b", "other"], n)
    X[:, 2] = rng.random(n)
    X[:, 3] = rng.choice(["f", "m"], n)
    y = np.where(X[:, 0].astype(int) > 12, "yes", np.where(X[:, 1] == "r", "perhaps", "no"))
    return X, np.where(rng.random(n) < 0.1, "no", y)


def learner(**options):
    return HiddenTreeClassifier(**{"epsilon": 3.0, "n_values": 4, "branches": "values", **options})


def queries_of(X, schema, shape):
    return query_cells(X, schema, shape.grid).astype(np.int64)


KINDS = [
    {"max_depth": 2},
    {"max_depth": 3, "branches": "thresholds"},
    {"max_depth": 1, "branches": "thresholds"},
    {"max_depth": 3, "variant": "published", "labels": "report_noisy_max"},
    {"max_depth": 2, "branches": "thresholds", "variant": "published"},
    {"max_depth": 1, "variant": "published", "labels": "exponential"},
]


def on_shares(program, owners, schema, *, most_records, columns=None, seed=None, meshes=None, ring_bits=64, law="cut"):
    """What ``program(curator, engine)`` returns on each of three servers that these owners serve."""
    lines = [[QueueLine.pair() for _ in range(3)] for _ in owners]

    def serve(engine):
        mine = [owner[engine.party][0] for owner in lines]
        try:
            asked = RowOwners(engine, mine, schema, most_records, columns)
            coins = None if seed is None else SeededCoins(seed)
            curator = CountingOnShares(schema, engine, asked, coins=coins, ledger=Ledger(math.inf), law=law)
            answer = program(curator, engine)
            asked.done()
            return answer
        finally:
            for line in mine:
                line.close()

    with ThreadPoolExecutor(len(owners)) as pool:
        served = [pool.submit(owner.serve, [ends[1] for ends in own]) for owner, own in zip(owners, lines)]
        results = run_threads(serve, meshes=meshes, ring_bits=ring_bits)
        for each in served:
            each.result()
    return results


def horizontally(X, y, schema, parts):
    return [Owner(X[rows], y[rows], schema) for rows in np.array_split(np.arange(len(y)), parts)]


def vertically(X, y, schema, groups):
    """One owner for each group of features; the first also has the labels."""
    names = list(schema.names)
    return [
        ColumnOwner(X[:, [names.index(name) for name in group]], y if i == 0 else None, schema, group)
        for i, group in enumerate(groups)
    ]


NEVER = -709.0
"""The log-weight of an attribute that was used: with a score that is never above the others', it is not chosen."""


class CompleteGrowth(OpenGrowth):
    """Asks about all nodes of the shape, also those that no record can reach, and about all splits, as hidden growth
    must: with the same coins both are the same tree. (``model._growth = CompleteGrowth`` grows a model so.)
    """

    def choose(self, budget, score, mechanism="permute_and_flip"):
        splits = self.shape.splits
        options = {}
        for node, end in self._frontier.items():
            own = splits
            if self.shape.once and end.used:
                weights = np.where([split.feature in end.used for split in splits.splits], NEVER, 0.0)
                own = Multiway(splits.grid, splits.splits, weights)
            options[node] = Candidates(own, self._frontier.n_classes)
        self._split(self._frontier.choose(options, score, budget, mechanism=mechanism))

    def _split(self, chosen, *, asked=True):
        self._frontier = self._frontier.split_in_place(chosen, asked=asked)


def opened(model, engine):
    """A hidden tree or forest in the open."""
    if isinstance(model, HiddenForest):
        return Forest(model.schema, tuple(opened(tree, engine) for tree in model.trees))
    levels = [engine.open(level) for level in model.levels]
    return opened_tree(model.schema, model.shape, levels, engine.open(model.labels))


def opened_tree(schema, shape, levels, labels):
    """A ``Tree`` from the tables of 0 and 1 that a hidden tree is made of."""
    tree = GrowingTree(schema)
    frontier = [0]
    for table in levels:
        below = []
        for number, row in zip(frontier, table):
            if row.any():
                split = shape.splits.split(int(row.argmax()))
                below += tree.grow(number, Rule.of(split, shape.grid), split.n_children)
            else:
                below += [number] * shape.width  # all its rows go to the last child, whose label comes last
        frontier = below
    for number, row in zip(frontier, labels):
        tree.nodes[number].label = int(row.argmax())
    return tree.finish()


def in_the_open(model, X, y, schema, seed):
    """The same model grown in the open from the same coins, asked about every node; and the counts on its way."""
    model._growth = CompleteGrowth
    mechanisms = CutMechanisms(np.random.default_rng(seed))
    curator = CountingInTheOpen(X, y, schema, ledger=Ledger(math.inf), mechanisms=mechanisms)
    model.fit_curator(curator)
    return model, curator.counts


class CountingInTheOpen(MemoryCurator):
    """Notes the class counts of all nodes of every level that is made."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.counts = []

    def room(self):
        room = super().room()
        split = room.split

        def noted(splits):
            made = split(splits)
            self.counts.append(room.totals([child for family in made for child in family]))
            return made

        room.split = noted
        return room


class CountingOnShares(HiddenCurator):
    """The same, on shares, which a test may open: of the levels that hidden choices make."""

    def __init__(self, *args, **kwargs):
        self.counts = []
        super().__init__(*args, **kwargs)

    @property
    def room(self):
        counts = self.counts

        class Counting(HiddenRoom):
            def split_hidden(self, splits):
                made = super().split_hidden(splits)
                counts.append(self._engine.open(made[0][0].level.totals))
                return made

        return Counting


class Held:
    """Rows that server 0 shares."""

    def __init__(self, engine, cells, classes):
        self._tables = cells, classes
        self._engine = engine
        self.most_records = cells.shape[1]

    def rows(self, grid):
        here = self._engine.party == 0
        return tuple(self._engine.input(table if here else None, 0, table.shape) for table in self._tables)


def grow(engine, schema, params, cells, classes, queries, seed):
    """The opened tree, the counts of all nodes below the root, and the predictions.

    It is here, not with its test, since processes of their own import it, and they find no test files.
    """
    coins = SeededCoins(seed)
    held = Held(engine, cells, classes)
    curator = CountingOnShares(schema, engine, held, ledger=Ledger(math.inf), coins=coins)
    tree = HiddenTreeClassifier(**params).fit_curator(curator).tree_
    answers = tree.predict(engine, engine.input(queries if engine.party == 0 else None, 0, queries.shape))
    return plain(opened(tree, engine)), curator.counts, engine.open(answers).argmax(axis=1)


def same(counts, others):
    return len(counts) == len(others) and all((one == other).all() for one, other in zip(counts, others))


def plain(tree):
    """All that a tree says but which scopes paid for it: of a hidden tree that is said by its levels."""
    return {"nodes": [{key: own[key] for key in own if key != "scope"} for own in tree.to_dict()["nodes"]]}
