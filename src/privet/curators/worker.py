"""What runs on the workers of a Dask cluster: each task is a value that says nothing of records when it is shown.

Nothing raises here: Dask writes what a failing task was given to the worker's log, and that would be records. What is
wrong comes back as ``Failed``, with words that quote no value.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from privet.curators.partitions import Entry, Partition
from privet.curators.records import Piece
from privet.errors import SchemaError
from privet.schema import Schema
from privet.tables.files import FilePart, alike, naming


class Failed:
    """Why a partition gives no answer."""

    def __init__(self, message: str) -> None:
        self.message = message


class Behind:
    """Partitions that were read anew and do not know the fit's log."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self.partitions = tuple(partitions)


Answer = np.ndarray | Failed | Behind


def _tells(task: Callable[..., Any]) -> Callable[..., Any]:
    """Let a task return why it failed."""

    @wraps(task)
    def run(*args: Any) -> Any:
        try:
            return task(*args)
        except SchemaError as error:
            return Failed(str(error))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            return Failed(f"A Dask worker could not do its part: {type(error).__name__} at {where}.")

    return run


class Load:
    """Reads a partition: a data frame, or a part of Parquet files."""

    def __init__(self, schema: Schema, weights: np.ndarray | None, ids: bytes | None = None) -> None:
        """``ids``: a digest of the ids that the weights are for, in their order. A data frame may come out in another
        order each time that Dask computes it, and then weights would be those of other persons' records."""
        self._schema, self._weights, self._ids = schema, weights, ids

    @_tells
    def __call__(self, part: Any) -> Partition:
        assert self._schema.label is not None
        if self._ids is not None and digest_of_ids(ids_in(part, self._schema.person or "")) != self._ids:
            raise SchemaError(
                "the data frame has its records in another order, or others, each time that it is computed, as after a "
                "shuffle, so whose they are cannot be told: give frame.persist(), or write it to Parquet files"
            )
        if isinstance(part, FilePart):
            with naming(part.path):
                table = part.read([*self._schema.columns, self._schema.label])
                return Partition(self._piece(table), (self, (part,)))
        return Partition(self._piece(part), (self, (part,)))

    def _piece(self, table: Any) -> Piece:
        return Piece(table, table[self._schema.label], self._schema, self._weights)


class IdsOf:
    """Reads the ids of a partition's persons."""

    def __init__(self, person: str) -> None:
        self._person = person

    @_tells
    def __call__(self, part: Any) -> Any:
        return ids_in(part, self._person)


def ids_in(part: Any, person: str) -> Any:
    """The column of persons' ids in a partition, as one Arrow array."""
    import pyarrow as pa

    column = part.read([person])[person] if isinstance(part, FilePart) else part[person]
    ids = column if isinstance(column, pa.ChunkedArray) else pa.array(column, from_pandas=True)
    return ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids


def digest_of_ids(ids: Any) -> bytes:
    """Tells ids, and their order, from others."""
    import pyarrow as pa

    return blake2b(pa.record_batch([alike(ids)], ["id"]).serialize(), digest_size=16).digest()


class Ask:
    """A question to a partition, with the part of the fit's log from entry ``start`` on."""

    def __init__(self, number: int, digest: bytes, fit: str, start: int, log: Sequence[Entry], question: Entry) -> None:
        self._number, self._digest = number, digest
        self._what = fit, start, log, question

    @_tells
    def __call__(self, partition: Partition | Failed) -> Any:
        if isinstance(partition, Failed):
            return partition
        if digest_of(partition) != self._digest:
            return Failed("A partition was lost, and what was read again is not what was there before. Fit again.")
        answer = partition.ask(*self._what)
        return Behind([self._number]) if answer is None else answer


def described(partition: Partition | Failed) -> Any:
    """How many records count, and a digest of them."""
    if isinstance(partition, Failed):
        return partition
    return partition.records.n, digest_of(partition)


@_tells
def digest_of(partition: Partition) -> bytes:
    """Tells a partition from another one by every value that a question could depend on: in the worker's own memory
    and for this curator alone."""
    found: bytes | None = partition.__dict__.get("digest")
    if found is None:
        records, whole = partition.records, blake2b(digest_size=16)
        assert isinstance(records, Piece)
        for own in records.values():
            whole.update(np.ascontiguousarray(own))
        found = partition.__dict__["digest"] = whole.digest()
    return found


def add(*answers: Answer) -> Answer:
    """The sum of some partitions' counts; who failed or is behind, if any of them did or is."""
    failed = next((own for own in answers if isinstance(own, Failed)), None)
    if failed is not None:
        return failed
    behind = [own.partitions for own in answers if isinstance(own, Behind)]
    if behind:
        return Behind([number for own in behind for number in own])
    return np.add.reduce([own for own in answers if isinstance(own, np.ndarray)])
