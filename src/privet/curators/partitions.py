"""A room whose records are in partitions, each counted where it is: the sum of their counts is the count.

What a fit has done so far is a *log* of public words (splits, grids, steps) and of draws, and what a partition has made
of its records follows from these and from the log. So a partition that is lost is read again, follows the log, and is
where it was; and a question changes nothing, so it may be asked again. Draws are made here, by the curator, and are
part of the log: a partition that drew by itself would draw differently the second time, and records would move between
parts whose costs do not add up.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privet.curators.boosting_room import BoostingRoom
from privet.curators.memory import Held, MemoryRoom, by_weights
from privet.curators.records import HeldRecords
from privet.privacy.mechanisms import Mechanisms, SecureMechanisms
from privet.privacy.samplers import draw_parts
from privet.privacy.scope import Scope
from privet.questions.codec import grid_of, grid_words, scorer_of, scorer_words, split_of, split_words
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.scorer import Scorer
from privet.questions.split import Product, Split, Table
from privet.questions.tally import Step
from privet.schema import Schema

MOST_FITS = 4
"""So many fits at a time have their nodes kept in a partition; for more, it follows their logs again."""

Entry = tuple[Any, ...]
Words = Any


@dataclass(frozen=True, eq=False)
class DrawnByPartition:
    """What was drawn for the records of each partition."""

    each: Sequence[np.ndarray]


class Partitions(Protocol):
    """Where partitions are, and who asks them. ``persons`` has each partition's, if the schema names any."""

    @property
    def persons(self) -> Sequence[np.ndarray] | None: ...
    @property
    def n_persons(self) -> int: ...

    def each(self, fit: str, log: Sequence[Entry], question: Entry) -> list[Any]:
        """Every partition's answer, after it has followed the log."""

    def total(self, fit: str, log: Sequence[Entry], question: Entry) -> np.ndarray:
        """The sum of their answers."""


def entries_for(log: Sequence[Entry], partition: int) -> list[Entry]:
    """A log as one of the partitions follows it."""
    return [tuple(own.each[partition] if isinstance(own, DrawnByPartition) else own for own in entry) for entry in log]


class PartitionedRoom(BoostingRoom):
    """Counts records of partitions, for one fit. A node is a number here."""

    def __init__(self, schema: Schema, mechanisms: Mechanisms, partitions: Partitions) -> None:
        super().__init__(schema, mechanisms)
        self._partitions = partitions
        self._fit = secrets.token_hex(8)
        self._log: list[Entry] = []
        self._n_nodes = 0

    # -- structure -----------------------------------------------------------------------------------------------------

    def everything(self, scope: Scope) -> int:
        (node,) = self._new(1)
        self._log.append(("everything", node))
        return node

    def anew(self, held: int, scope: Scope) -> int:
        (node,) = self._new(1)
        self._log.append(("anew", held, node))
        return node

    def use(self, grid: Grid) -> None:
        self._grid = grid
        self._log.append(("use", grid_words(grid)))

    def focus(self, low: float, high: float) -> None:
        self._log.append(("focus", low, high))

    def split(self, splits: Sequence[tuple[int, Split]]) -> list[list[int]]:
        families = [self._new(split.n_children) for _, split in splits]
        said = [(held, table_words(split)) for held, split in splits]
        self._log.append(("split", said, families))
        return families

    def parts(self, held: int, weights: Sequence[int]) -> list[int]:
        """Each record in one part, drawn with these weights."""
        nodes, narrow = self._new(len(weights)), np.min_scalar_type(len(weights))
        (drawn,) = self._drawn(held, sum(weights), 1)
        parts = [by_weights(own, weights).astype(narrow) for own in drawn]
        self._log.append(("parted", held, DrawnByPartition(parts), nodes))
        return nodes

    def samples(self, held: int, n: int, inverse_rate: int) -> list[int]:
        """Samples that each record is in with one chance in ``inverse_rate``."""
        nodes = self._new(n)
        for node, drawn in zip(nodes, self._drawn(held, inverse_rate, n)):
            self._log.append(("sampled", held, DrawnByPartition([np.packbits(own == 0) for own in drawn]), node))
        return nodes

    def copies(self, held: int, n: int) -> list[int]:
        nodes = self._new(n)
        self._log.append(("copies", held, nodes))
        return nodes

    def advance(self, steps: Sequence[tuple[int, Step]]) -> None:
        said = [(held, table_words(step.split), step.values, step.output) for held, step in steps]
        self._log.append(("advance", said))

    def _drawn(self, held: int, n: int, times: int) -> list[list[np.ndarray]]:
        """So many times, for each record of the node one of ``n`` numbers, by partition; where there are persons, for
        each record of the partition the number of its person."""
        persons, generator = self._partitions.persons, self._mechanisms.generator
        if persons is not None:
            of_persons = [draw_parts(self._partitions.n_persons, n, generator) for _ in range(times)]
            return [[drawn[own] for own in persons] for drawn in of_persons]
        sizes = self._partitions.each(self._fit, self._log, ("n_rows", held))
        return [np.split(draw_parts(sum(sizes), n, generator), np.cumsum(sizes)[:-1]) for _ in range(times)]

    def _new(self, n: int) -> list[int]:
        self._n_nodes += n
        return list(range(self._n_nodes - n, self._n_nodes))

    # -- exact counts --------------------------------------------------------------------------------------------------

    def histograms(self, nodes: Sequence[int]) -> np.ndarray:
        return self._total("histograms", list(nodes))

    def totals(self, nodes: Sequence[int]) -> np.ndarray:
        return self._total("totals", list(nodes))

    def target_counts(self, held: int, cuts: np.ndarray) -> np.ndarray:
        return self._total("target_counts", held, cuts)

    def residual_counts(self, held: int, points: np.ndarray) -> np.ndarray:
        return self._total("residual_counts", held, points)

    def scored(self, held: int, scorer: Scorer) -> np.ndarray:
        return self._total("scored", held, scorer_words(scorer))

    def gradients(self, held: int, output: int, tables: Sequence[Table]) -> np.ndarray:
        return self._total("gradients", held, output, [table_words(table) for table in tables])

    def gradients_and_hessians(self, held: int, output: int, tables: Sequence[Table | Levels]) -> np.ndarray:
        return self._total("gradients_and_hessians", held, output, [table_words(table) for table in tables])

    def _total(self, *question: Any) -> np.ndarray:
        return self._partitions.total(self._fit, self._log, question)


class Partition:
    """The records of one partition, and what fits have made of them. Shows nothing of them."""

    def __init__(self, records: HeldRecords, made: tuple[Any, ...] = (), *, keep: bool = True) -> None:
        """``made``: how it can be made again elsewhere, as ``__reduce__`` says it. ``keep``: whether cells stay in
        memory between questions."""
        self.records = records
        self._made, self._keep = made, keep
        self._fits: dict[str, Follower] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made

    def __repr__(self) -> str:
        return "Partition"

    def ask(self, fit: str, start: int, log: Sequence[Entry], question: Entry) -> Any:
        """The answer, after following a fit's log, which is given from entry number ``start`` on.

        None if what comes before was not followed here.
        """
        with self._lock, np.errstate(all="ignore"):
            follower = self._fits.pop(fit, None) or Follower(self.records)
            if follower.done < start:
                return None
            self._fits[fit] = follower
            for oldest in list(self._fits)[:-MOST_FITS]:
                del self._fits[oldest]
            follower.follow(log[follower.done - start :])
            answer = follower.answer(*question)
            if not self._keep:
                follower.forget_cells()
            return answer


class Follower:
    """The nodes of one fit in one partition."""

    def __init__(self, records: HeldRecords) -> None:
        self.done = 0
        self._records = records
        self._room = MemoryRoom(records, SecureMechanisms())
        self._nodes: dict[int, Held] = {}

    def follow(self, log: Sequence[Entry]) -> None:
        for verb, *what in log:
            getattr(self, f"_{verb}")(*what)
            self.done += 1

    def answer(self, name: str, of: Any, *what: Any) -> Any:
        if name == "n_rows":
            return len(self._room.rows_of(self._nodes[of]))
        if name in ("histograms", "totals"):
            return getattr(self._room, name)([self._nodes[node] for node in of])
        if name == "scored":
            what = (scorer_of(what[0], self._records.schema),)
        elif name in ("gradients", "gradients_and_hessians"):
            what = (what[0], [table_of(words) for words in what[1]])
        return getattr(self._room, name)(self._nodes[of], *what)

    def forget_cells(self) -> None:
        self._room.forget_cells()

    def _everything(self, node: int) -> None:
        self._nodes[node] = self._room.everything(None)  # type: ignore[arg-type]

    def _anew(self, held: int, node: int) -> None:
        self._nodes[node] = self._room.anew(self._nodes[held], None)  # type: ignore[arg-type]

    def _use(self, words: Words) -> None:
        self._room.use(grid_of(words, self._records.schema))

    def _focus(self, low: float, high: float) -> None:
        self._room.focus(low, high)

    def _split(self, said: Sequence[tuple[int, Words]], families: Sequence[Sequence[int]]) -> None:
        splits: list[Any] = [(self._nodes[held], table_of(words)) for held, words in said]
        for nodes, children in zip(families, self._room.split(splits)):
            self._nodes.update(zip(nodes, children))

    def _parted(self, held: int, drawn: np.ndarray, nodes: Sequence[int]) -> None:
        parts = self._room.parted(self._nodes[held], self._of_node(held, drawn), len(nodes))
        self._nodes.update(zip(nodes, parts))

    def _sampled(self, held: int, bits: np.ndarray, node: int) -> None:
        n = self._records.n if self._by_person else len(self._room.rows_of(self._nodes[held]))
        chosen = np.unpackbits(bits, count=n).astype(bool)
        self._nodes[node] = self._room.sampled(self._nodes[held], self._of_node(held, chosen))

    def _copies(self, held: int, nodes: Sequence[int]) -> None:
        self._nodes.update(zip(nodes, self._room.copies(self._nodes[held], len(nodes))))

    def _advance(self, said: Sequence[tuple[int, Words, Sequence[int], int]]) -> None:
        steps = [(self._nodes[held], table_of(words), values, output) for held, words, values, output in said]
        self._room.advance([(held, Step(table, values, output)) for held, table, values, output in steps])  # type: ignore[arg-type]

    @property
    def _by_person(self) -> bool:
        return self._records.schema.person is not None

    def _of_node(self, held: int, drawn: np.ndarray) -> np.ndarray:
        return drawn[self._room.rows_of(self._nodes[held])] if self._by_person else drawn


def table_words(table: Table | Levels) -> Words:
    """A table as plain values, which any program may carry."""
    if isinstance(table, Levels):
        return {"levels": list(table.cuts)}
    if isinstance(table, Product):
        return {"product": [table_words(own) for own in table.factors]}
    return split_words(table)


def table_of(words: Words) -> Table | Levels:
    """The table again, made by its constructor."""
    if isinstance(words, dict):
        if "levels" in words:
            return Levels(words["levels"])
        return Product(table_of(own) for own in words["product"])  # type: ignore[misc]
    return split_of(words)
