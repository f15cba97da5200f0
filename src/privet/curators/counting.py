"""Exact counts, behind the curtain: what a curator that counts in one place must be able to do."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from privet.curators.base import Curator, Node, Step
from privet.errors import LeakError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.scope import Scope
from privet.privacy.zcdp import ratio_for
from privet.questions.candidates import Split
from privet.questions.grid import Grid
from privet.schema import Schema

LARGEST_STEP = 2**32
"""More than 2^26 such steps would have to add up before a score left 64 bits; a chance is 0 or 1 long before."""


BATCH = 2**28
"""The most bytes that the histograms of one question take at a time, if not those of a single node."""


class Counting(Curator):
    """Says how to count (``_histograms``) and how to route records; everything private is asked in the rooms above."""

    def __init__(self, schema: Schema, ledger: Ledger, mechanisms: Mechanisms) -> None:
        self.schema = schema
        self.ledger = ledger
        self._mechanisms = mechanisms
        self._grid: Grid | None = None
        self._focus = schema.target
        self.roots = []
        reasons = []
        if schema.unconfirmed:
            reasons.append(f"schema inferred from the data: {', '.join(schema.unconfirmed)}")
        if mechanisms.reproducible:
            reasons.append("random_state: the noise can be reproduced")
        self.void = tuple(reasons)

    @abstractmethod
    def _everything(self, scope: Scope) -> Node:
        """A node of all records with this scope."""

    @abstractmethod
    def _use(self, grid: Grid) -> None:
        """Put the records into the cells of a grid that fits the schema."""

    @abstractmethod
    def _histograms(self, nodes: Sequence[Node]) -> np.ndarray:
        """Exact counts, int64 of shape (nodes, cells of the grid, classes).

        Without classes the last axis is the number of records and their targets' sum and sum of squares.
        """

    @abstractmethod
    def _totals(self, nodes: Sequence[Node]) -> np.ndarray:
        """The same of whole nodes, int64 of shape (nodes, classes) or (nodes, 3)."""

    @abstractmethod
    def _aim(self, low: float, high: float) -> None:
        """Clamp targets to this range and count anew."""

    @abstractmethod
    def _targets_of(self, node: Node) -> np.ndarray:
        """The exact targets, in the schema's range whatever the focus."""

    def _gradients(self, nodes: Sequence[Node], output: int, features: Sequence[int] | None = None) -> np.ndarray:
        """Exact sums of ``gradient_pairs`` over the cells of some features, in their order: int64, (nodes, cells, 2).

        Of all features, the gradients alone: (nodes, cells, 1).
        """
        self._cannot("advance")

    def _advance(self, node: Node, feature: int, values: np.ndarray, output: int) -> None:
        """Add ``values[cell]`` to the scores of a node's records."""
        self._cannot("advance")

    @abstractmethod
    def _own(self, nodes: Sequence[Node]) -> None:
        """Raise LeakError unless this curator made all these nodes."""

    def root(self, limit: Fraction | float = math.inf, currency: str = "epsilon") -> Node:
        if currency != "epsilon" and "zcdp" not in self.capabilities:
            self._cannot("zcdp")
        scope = self.ledger.open("fit", limit, currency)
        self.roots.append(scope)
        if self.schema.target is not None:
            self.focus(*self.schema.target)
        return self._everything(scope)

    def split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        if not splits:
            return {}
        self._own(list(splits))
        for split in splits.values():
            self._fits(split)
        return self._split(splits)

    @abstractmethod
    def _split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        """Children of this curator's nodes, by splits that fit the grid."""

    def parts(self, node: Node, n: int) -> list[Node]:
        self._own([node])
        if n < 1:
            raise LeakError("Ask for at least one part.")
        return self._parts(node, n)

    @abstractmethod
    def _parts(self, node: Node, n: int) -> list[Node]:
        """Parts of one of this curator's nodes."""

    def grid(self, grid: Grid) -> None:
        grid.check(self.schema)
        self._use(grid)
        self._grid = grid

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._mechanisms.geometric(values, scale)

    def focus(self, low: float, high: float) -> None:
        if self.schema.target is None:
            raise LeakError("There is no numeric target to clamp: this schema has classes.")
        if not self.schema.target[0] <= low <= high <= self.schema.target[1]:
            raise LeakError("A focus is a part of the target's public range.")
        if (low, high) != self._focus:
            self._focus = low, high
            self._aim(low, high)

    def advance(self, steps: Mapping[Node, Step]) -> None:
        self._own(list(steps))
        for step in steps.values():
            self._has_scores(step.output)
            self._fits(step.split)
            if len(step.values) != step.split.n_children or not all(abs(v) <= LARGEST_STEP for v in step.values):
                raise LeakError(f"A step needs a whole number of at most {LARGEST_STEP} for each part of its split.")
        for node, step in steps.items():
            values = np.array(step.values, dtype=np.int64)
            self._advance(node, step.split.feature, values[np.frombuffer(step.split.part, np.uint8)], step.output)

    def _has_scores(self, output: int) -> None:
        """Raise unless records have a score of this class."""
        if "advance" not in self.capabilities:
            self._cannot("advance")
        n_classes = len(self.schema.classes or ())
        if n_classes == 2 and output != 1:
            raise LeakError("Of two classes only class 1 has a score: the other one's is its opposite.")
        if not 0 <= output < n_classes:
            raise LeakError("Records have no score of such a class.")
        self._cells()

    def _fit_of(self, node: Node) -> str:
        """The path of the root that a node comes from: each has scores of its own."""
        return next(root.path for root in self.roots if f"{node.scope.path}/".startswith(f"{root.path}/"))

    def _records(self, statistics: np.ndarray) -> np.ndarray:
        """The number of records, from the statistics that cells hold."""
        return statistics[..., 0] if self.schema.classes is None else statistics.sum(axis=-1)

    def _fit_all(self, tables: Iterable[tuple[Split, ...]]) -> None:
        """``_fits`` for each split, however many nodes ask for it."""
        for split in {id(split): split for own in {id(own): own for own in tables}.values() for split in own}.values():
            self._fits(split)

    def _fits(self, split: Split) -> None:
        """Raise LeakError unless the split sends every cell of a feature of the grid somewhere."""
        features = self._cells().features
        if not 0 <= split.feature < len(features):
            raise LeakError("There is no such feature.")
        if len(split.part) != features[split.feature].n_cells:
            raise LeakError("A split must say for every cell of its feature where it goes.")

    def _batches(self, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """The nodes, as many at once as have histograms that fit into a bounded memory."""
        per_node = self._cells().n_cells * 8 * max(len(self.schema.classes or ()), 3)
        size = max(1, BATCH // per_node)
        for start in range(0, len(nodes), size):
            yield nodes[start : start + size]

    def _cells(self) -> Grid:
        if self._grid is None:
            raise LeakError("Set the curator's grid before asking about cells.")
        return self._grid


def ratio(node: Node, mechanism: str, amount: Fraction) -> Fraction:
    """Sensitivity over noise scale that a node's budget pays for: an epsilon, or what a rho allows the mechanism."""
    return amount if node.scope.currency == "epsilon" else ratio_for(mechanism, amount)
