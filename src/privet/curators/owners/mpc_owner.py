"""An owner of records: it counts by itself and lets nothing out but shares of its counts.

The three servers ask, all in the same words, about nodes that the released splits have made; the owner routes its
records, counts, deals each count into shares and gives each server its own. It answers only what all three ask: a
server that asks alone gets nothing. What the shares are added up to, and what is then released, is charged by the
servers' ledgers; the owner trusts that no two of the three put their shares together.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from privet.curators.desk import Desk
from privet.curators.memory import Held, MemoryCurator, MemoryRoom, by_weights
from privet.curators.owners.records_at_owner import RecordsAtOwner
from privet.curators.prices import check_scorers
from privet.curators.records import MOST_RECORDS, Binned, Piece
from privet.errors import LeakError, MpcError, PrivetError, SchemaError
from privet.privacy.ledger import Ledger
from privet.privacy.samplers import draw_parts
from privet.privacy.unit import Unit
from privet.questions.codec import Words, entries, obeyed, schema_digest, scorer_of, verb_of
from privet.questions.grid import Grid
from privet.questions.word import text, whole
from privet.schema import Schema
from privet.shares.deal import RINGS, deal
from privet.strict_json import object_of
from privet.tables.table import open_array, open_frame

_logger = logging.getLogger("privet.owner")

MOST_REQUEST = 2**26

MOST_DRAWN = 2**31
"""So many bytes of counts, rows, parts or samples are made at once, before they are shared."""


class Line(Protocol):
    """What an owner and a server talk over (``consortium/net/channel.py``)."""

    def send(self, message: bytes) -> None: ...
    def receive(self, most: int = ...) -> bytes: ...
    def close(self) -> None: ...


class Owner:
    """Holds a table and its labels for one run after another.

    ``most_records`` is a public bound on the number of records, which the servers' must not be below. By default it is
    what servers ask for first: whoever could ask for one bound after another would find out how many records there are.
    ``progress`` is told in words what is being done; never a count. ``shared`` says whether anything has left.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        *,
        most_records: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        if schema.classes is None:
            raise SchemaError("Owners share counts of classes; this schema has a numeric target.")
        self.schema = schema
        self._curator = MemoryCurator(X, y, schema, ledger=Ledger(math.inf))
        if most_records is not None and self._curator.records.n > most_records:
            raise SchemaError("This owner has more records than its public bound (most_records) says.")
        self._bound = most_records
        self._progress = progress or (lambda said: None)
        self.shared = False
        self._begin()

    def _begin(self) -> None:
        """Nodes, and a desk to check what is said about them, for one run; the ledgers are the servers'."""
        self._room: MemoryRoom = self._curator.room()
        self._at = RecordsAtOwner(Desk(self.schema, self._curator.ledger, self._room, trust=self._curator.trust))
        self._started: int | None = None

    def serve(self, servers: Sequence[Line], hear: Callable[[], list[bytes]] | None = None) -> None:
        """Answer one run's questions, which come over three lines; returns when the servers are done.

        ``hear`` returns the next question, as each of the three says it; by default it listens to one after the other.
        """
        hear = hear or (lambda: [server.receive(MOST_REQUEST) for server in servers])
        try:
            while (request := self._request(hear()))["do"] != "done":
                answer = self.answer(request)
                if answer is not None:
                    self.shared = True
                    for server, shares in zip(servers, self._deal(answer)):
                        server.send(np.ascontiguousarray(shares).tobytes())
        # Whatever was wrong, a server only sees that the owner has left.
        except PrivetError:
            _logger.info("the run has ended", exc_info=True)
            raise
        except Exception as error:
            _logger.exception("a request cannot be answered")
            raise MpcError(
                "This owner cannot answer what the servers asked, and has left. Its own log says why."
            ) from error
        finally:
            self._begin()
            for server in servers:
                server.close()

    def _request(self, asked: Sequence[bytes]) -> dict[str, Any]:
        if any(other != asked[0] for other in asked):
            raise MpcError("The servers do not ask the same question: nothing was answered.")
        nonsense = MpcError("The servers ask what is no question.")
        request = object_of(asked[0], nonsense)
        if request.get("do") not in (*self._answers, "done"):
            raise nonsense
        return request

    def answer(self, request: Words) -> np.ndarray | None:
        """What is shared among the servers, if anything: checked as any question is, and charged by their ledgers."""
        do, what = verb_of(request)
        if do != "start" and self._started is None:
            raise LeakError("A run begins with its public settings.")
        return obeyed(self._answers, do, what)

    @property
    def _answers(self) -> dict[str, Callable[..., np.ndarray | None]]:
        return {
            **self._at.verbs,
            "start": self._start,
            "grid": self._grid,
            "histograms": self._histograms,
            "totals": self._totals,
            "scored": self._scored,
            "rows": self._rows,
            "draw": self._draw,
            "sample": self._sample,
        }

    def _start(self, ring_bits: Words, most_records: Words, schema: Words) -> None:
        if text(schema, "A digest") != self._digest():
            raise SchemaError("The servers' schema is not this owner's. Give all of them the same file.")
        most = whole(most_records, 1, MOST_RECORDS, "The bound on records")
        if type(ring_bits) is not int or ring_bits not in RINGS:
            raise LeakError("There is no such ring.")
        self._deal = partial(deal, ring=RINGS[ring_bits])
        if most < self.check_bound(most):
            raise SchemaError("The servers' public bound (most_records) is below this owner's. Agree on a larger one.")
        self._started = most

    def check_bound(self, most: int) -> int:
        """The public bound: the first one that is asked about holds for good. Raises if there are more records."""
        self._bound = most if self._bound is None else self._bound
        if self._curator.records.n > self._bound:
            raise SchemaError(
                "This owner has more records than the public bound (most_records) that the servers asked for first. "
                "Agree on a larger one and start this owner again; the number itself stays here."
            )
        return self._bound

    def _digest(self) -> str:
        return schema_digest(self.schema)

    def _grid(self, features: Words) -> None:
        self._progress("sorting records into the public cells")
        self._at.grid(features)

    def _histograms(self, nodes: Words) -> np.ndarray:
        held = self._held(nodes)
        self._as_many(len(held), 8 * self._at.desk.cells.n_cells * len(self.schema.classes or ()))
        return self._room.histograms(held)

    def _totals(self, nodes: Words) -> np.ndarray:
        return self._room.totals(self._held(nodes))

    def _scored(self, asked: Words) -> np.ndarray:
        """How many of each node's records are in each cell of what is asked about a released model there."""
        pairs = [entries(each, 2) for each in entries(asked)]
        scorers = check_scorers(tuple(scorer_of(words, self.schema) for _, words in pairs), self.schema)
        held = self._held([node for node, _ in pairs])
        self._as_many(8, sum(math.prod(scorer.shape) for scorer in scorers))
        return np.concatenate([self._room.scored(own, scorer).ravel() for own, scorer in zip(held, scorers)])

    def _held(self, nodes: Words) -> list[Held]:
        held = [self._at.desk.held(self._at.node(node)) for node in entries(nodes)]
        if not held:
            raise LeakError("A question is about at least one node.")
        self._progress(f"counting {len(held)} {'node' if len(held) == 1 else 'nodes'}")
        return held

    def _rows(self, records: Words) -> np.ndarray:
        """Every record as a column, one 1 among the cells of each feature and one among the classes; then zeros.

        Where persons are the unit, below it the binary digits of what the record weighs, the lowest first.
        """
        n, grid, labels = self._columns_for(records), self._at.desk.cells, self._curator.records.labels
        own = self._curator.records.weights
        digits = 0 if own is None else Unit.of(self.schema).weight_bits
        self._as_many(grid.n_cells + len(self.schema.classes or ()) + digits, n)
        self._progress(f"sharing the records, filled up to {n:,}")
        cells = one_hot(self._curator.records.binned(grid), grid, len(labels), n)
        classes = np.zeros((len(self.schema.classes or ()), n), dtype=np.uint8)
        classes[labels, np.arange(len(labels))] = 1
        weights = np.zeros((digits, n), dtype=np.uint8)
        if own is not None:
            weights[:, : len(labels)] = (own >> np.arange(digits)[:, None]) & 1
        return np.concatenate([cells, classes, weights])

    def _draw(self, weights: Words, records: Words) -> np.ndarray:
        """For every record (person), independently, the part that it is in, drawn with these weights."""
        n, own = self._columns_for(records), [whole(each, 1, 2**31, "A part's share") for each in entries(weights)]
        if not 1 <= len(own) <= 2**16 or sum(own) > 2**31:
            raise LeakError("There are 1 to 65,536 parts, with shares that add up to at most 2^31.")
        drawn = np.zeros((self._as_many(len(own), n), n), dtype=np.uint8)
        parts = by_weights(self._by_person(sum(own)), own)
        drawn[parts, np.arange(len(parts))] = 1
        return drawn

    def _by_person(self, n: int) -> np.ndarray:
        """A number below ``n`` for every record, drawn for each one or, where persons are the unit, for each person."""
        records = self._curator.records
        drawn = draw_parts(records.n if records.persons is None else records.n_persons, n, None)
        return drawn if records.persons is None else drawn[records.persons]

    def _sample(self, samples: Words, inverse_rate: Words, records: Words) -> np.ndarray:
        """For every record (person) and every sample, independently, whether it is there: one chance in
        ``inverse_rate``."""
        n, n_samples = self._columns_for(records), whole(samples, 1, 2**16, "The number of samples")
        rate = whole(inverse_rate, 1, 2**31, "One over a sample's rate")
        drawn = np.zeros((self._as_many(n_samples, n), n), dtype=np.uint8)
        own = self._curator.records.n
        drawn[:, :own] = [self._by_person(rate) == 0 for _ in range(n_samples)]
        return drawn

    def _columns_for(self, records: Words) -> int:
        """The number of columns that are shared: the bound that was agreed on, whatever there is."""
        if whole(records, 1, MOST_RECORDS, "The number of rows") != self._started:
            raise LeakError("Rows are shared up to the bound that a run began with.")
        return int(records)

    def _as_many(self, rows: int, columns: int) -> int:
        if rows * columns > MOST_DRAWN:
            raise LeakError("So many nodes, rows, parts or samples are too large to share at once.")
        return rows


class ColumnOwner(Owner):
    """Holds some features of records that others hold the other features of, all in the same order; or the labels.

    ``schema`` is the whole one, which all agree on. ``X`` has the columns of the features that this owner holds, in a
    table by name, in an array in the order of ``features``; ``y`` are the labels, of the one owner that has them.
    """

    def __init__(self, X: Any, y: Any, schema: Schema, features: Sequence[str], **options: Any) -> None:
        self._whole = schema
        self._has_labels = y is not None
        held = held_of(schema, features)
        labels = [held.classes[0]] * len(X) if y is None and held.classes is not None else y
        super().__init__(in_schema_order(X, schema, features, held), labels, held, **options)

    def _digest(self) -> str:
        return schema_digest(self._whole)

    @property
    def _answers(self) -> dict[str, Callable[..., np.ndarray | None]]:
        return {"start": self._start, "draw": self._draw, "sample": self._sample, "columns": self._columns}

    def _columns(self, features: Words, label: Words, records: Words) -> np.ndarray:
        if type(label) is not bool or (label and not self._has_labels):
            raise LeakError("The servers think that this owner holds the labels, and it does not.")
        self._grid(features)
        whole = self._rows(records)
        return whole if label else whole[: -len(self.schema.classes or ())]


def held_of(schema: Schema, features: Sequence[str]) -> Schema:
    """The part of a schema that an owner of some of its features holds, in the schema's order as the servers ask."""
    if unknown := [name for name in features if name not in schema.features]:
        raise SchemaError(f"The schema has no feature {unknown[0]!r}, which this owner is said to hold.")
    if len(set(features)) < len(features):
        raise SchemaError("This owner is said to hold a feature twice. List each once.")
    return _part(schema, [name for name in schema.features if name in features])


def _part(schema: Schema, names: Sequence[str]) -> Schema:
    return Schema({name: schema.features[name] for name in names}, classes=schema.classes, label=schema.label)


def in_schema_order(X: Any, schema: Schema, features: Sequence[str], held: Schema) -> Any:
    """An array whose columns are in the order of ``features``, in the order of ``held``; a table has names."""
    if open_frame(X) is not None:
        return X
    listed, array = _part(schema, features).columns, open_array(X)
    if array.shape[1] != len(listed):
        raise SchemaError(f"X has {array.shape[1]} columns, and this owner is said to hold {len(listed)}.")
    return array[:, [listed.index(name) for name in held.columns]]


def query_cells(X: Any, schema: Schema, grid: Grid) -> np.ndarray:
    """A table of queries as an owner's rows are: one 1 among the cells of each feature, (flat cells, queries)."""
    assert schema.classes is not None
    queries = Piece(X, [schema.classes[0]] * len(X), schema)  # whose records these are is not asked
    return one_hot(queries.binned(grid), grid, len(X), len(X))


def one_hot(binned: Binned, grid: Grid, rows: int, n: int) -> np.ndarray:
    """The cells of all records, (flat cells, n), filled up with columns of zeros."""
    table = np.zeros((grid.n_cells, n), dtype=np.uint8)
    for f, start in enumerate(grid.offsets[:-1]):
        table[start + binned.column(f).astype(np.int64), np.arange(rows)] = 1
    return table
