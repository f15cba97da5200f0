"""An owner of records: it counts by itself and lets nothing out but shares of its counts.

The three servers ask, all in the same words, about nodes that the released splits have made; the owner routes its
records, counts, deals each count into shares and gives each server its own. It answers only what all three ask: a
server that asks alone gets nothing. What the shares are added up to, and what is then released, is charged by the
servers' ledgers; the owner trusts that no two of the three put their shares together.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from privet.curators.memory import MemoryCurator
from privet.curators.owners.records_at_owner import OwnRecords, schema_digest
from privet.errors import MpcError, PrivetError, SchemaError
from privet.privacy.ledger import Ledger
from privet.privacy.samplers import draw_parts
from privet.questions.grid import Grid
from privet.schema import Schema
from privet.shares.deal import deal
from privet.tables.table import open_array, open_frame

_logger = logging.getLogger("privet.owner")

MOST_REQUEST = 2**26


class Line(Protocol):
    """What an owner and a server talk over (``consortium/net/channel.py``)."""

    def send(self, message: bytes) -> None: ...
    def receive(self, most: int = ...) -> bytes: ...
    def close(self) -> None: ...


class Owner:
    """Holds a table and its labels for one run after another.

    ``progress`` is told in words what is being done; never a count.
    """

    def __init__(self, X: Any, y: Any, schema: Schema, *, progress: Callable[[str], None] | None = None) -> None:
        if schema.classes is None:
            raise SchemaError("Owners share counts of classes; this schema has a numeric target.")
        self.schema = schema
        self._records = MemoryCurator(X, y, schema, ledger=Ledger(math.inf))
        self._progress = progress or (lambda said: None)
        self._own = OwnRecords(self._records)

    def serve(self, servers: Sequence[Line], hear: Callable[[], list[bytes]] | None = None) -> None:
        """Answer one run's questions, which come over three lines; returns when the servers are done.

        ``hear`` returns the next question, as each of the three says it; by default it listens to one after the other.
        """
        hear = hear or (lambda: [server.receive(MOST_REQUEST) for server in servers])
        try:
            while (request := self._request(hear()))["do"] != "done":
                answer = self._answers[request.pop("do")](self, **request)
                if answer is not None:
                    for server, shares in zip(servers, self._deal(answer)):
                        server.send(np.ascontiguousarray(shares).tobytes())
        # Whatever was wrong, a server only sees that the owner has left: an error could depend on a record.
        except PrivetError:
            _logger.info("the run has ended", exc_info=True)
            raise
        except Exception as error:
            _logger.exception("a request cannot be answered")
            raise MpcError(
                "This owner cannot answer what the servers asked, and has left. Its own log says why."
            ) from error
        finally:
            self._own.nodes.clear()
            for server in servers:
                server.close()

    def _request(self, asked: Sequence[bytes]) -> dict[str, Any]:
        if any(other != asked[0] for other in asked):
            raise MpcError("The servers do not ask the same question: nothing was answered.")
        try:
            request = json.loads(asked[0])
        except (ValueError, RecursionError) as error:
            raise MpcError("The servers ask what is no question.") from error
        if not isinstance(request, dict) or request.get("do") not in (*self._answers, "done"):
            raise MpcError("The servers ask what is no question.")
        return request

    def _start(self, engine: str, modulus: int, most_records: int, schema: str) -> None:
        if schema != self._digest():
            raise SchemaError("The servers' schema is not this owner's. Give all of them the same file.")
        if len(self._records._labels) > most_records:
            raise SchemaError(
                "This owner has more records than the servers' public bound (most_records) allows. Agree on a larger "
                "bound; the number itself stays here."
            )
        if engine == "mpyc":
            from privet.shares.mpyc_engine import deal_shamir

            self._deal: Callable[[np.ndarray], list[np.ndarray]] = lambda counts: deal_shamir(counts, modulus)
        else:
            ring = np.uint32 if engine == "replicated32" else np.uint64
            self._deal = lambda counts: deal(counts, ring)

    def _digest(self) -> str:
        return schema_digest(self.schema)

    def _grid(self, features: list[dict[str, Any]]) -> None:
        self._progress("sorting records into the public cells")
        self._own.grid(features)

    def _histograms(self, nodes: list[int]) -> np.ndarray:
        self._progress(f"counting {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")
        return self._records._histograms([self._own.nodes[node] for node in nodes])

    def _totals(self, nodes: list[int]) -> np.ndarray:
        self._progress(f"counting {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")
        return self._records._totals([self._own.nodes[node] for node in nodes])

    def _rows(self, records: int) -> np.ndarray:
        """Every record as a column, one 1 among the cells of each feature and one among the classes; then zeros."""
        self._progress(f"sharing the records, filled up to {records:,}")
        labels = self._records._labels
        cells = one_hot(self._records, records)
        classes = np.zeros((len(self.schema.classes or ()), records), dtype=np.uint8)
        classes[labels, np.arange(len(labels))] = 1
        return np.concatenate([cells, classes])

    def _draw(self, parts: int, records: int) -> np.ndarray:
        """For every record, independently, the one of so many parts that it is in."""
        n = len(self._records._labels)
        drawn = np.zeros((parts, records), dtype=np.uint8)
        drawn[draw_parts(n, parts, None), np.arange(n)] = 1
        return drawn

    def _sample(self, samples: int, inverse_rate: int, records: int) -> np.ndarray:
        """For every record and every sample, independently, whether it is there: one chance in ``inverse_rate``."""
        n = len(self._records._labels)
        drawn = np.zeros((samples, records), dtype=np.uint8)
        drawn[:, :n] = [draw_parts(n, inverse_rate, None) == 0 for _ in range(samples)]
        return drawn

    _answers: dict[str, Callable[..., np.ndarray | None]] = {  # noqa: RUF012
        "start": _start,
        "root": lambda self, **what: self._own.root(**what),
        "grid": _grid,
        "split": lambda self, **what: self._own.split(**what),
        "parts": lambda self, **what: self._own.parts(**what),
        "copies": lambda self, **what: self._own.copies(**what),
        "histograms": _histograms,
        "totals": _totals,
        "rows": _rows,
        "draw": _draw,
        "sample": _sample,
    }


class ColumnOwner(Owner):
    """Holds some features of records that others hold the other features of, all in the same order; or the labels.

    ``schema`` is the whole one, which all agree on. ``X`` has the columns of the features that this owner holds, in a
    table by name, in an array in the order of ``features``; ``y`` are the labels, of the one owner that has them.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        features: Sequence[str],
        *,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._whole = schema
        self._has_labels = y is not None
        held = held_of(schema, features)
        labels = [held.classes[0]] * len(X) if y is None and held.classes is not None else y
        super().__init__(in_schema_order(X, schema, features, held), labels, held, progress=progress)

    def _digest(self) -> str:
        return schema_digest(self._whole)

    def _columns(self, features: list[dict[str, Any]], label: bool, records: int) -> np.ndarray:
        if label and not self._has_labels:
            raise SchemaError("The servers think that this owner holds the labels, and it does not.")
        self._grid(features)
        whole = self._rows(records)
        return whole if label else whole[: -len(self.schema.classes or ())]

    _answers = {**{do: Owner._answers[do] for do in ("start", "draw", "sample")}, "columns": _columns}  # noqa: RUF012


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
    held = MemoryCurator(X, [schema.classes[0]] * len(X), schema, ledger=Ledger(math.inf))
    held.grid(grid)
    return one_hot(held, len(X))


def one_hot(records: MemoryCurator, n: int) -> np.ndarray:
    """The cells of all records, (flat cells, n), filled up with columns of zeros."""
    offsets = records._cells().offsets
    table = np.zeros((int(offsets[-1]), n), dtype=np.uint8)
    for f, start in enumerate(offsets[:-1]):
        cells = records._column(f)
        table[start + cells.astype(np.int64), np.arange(len(cells))] = 1
    return table
