"""The curator of a Dask cluster: partitions are checked and cut into cells once, and counted on the workers that have
them; their counts are added up as a tree.

Workers that die lose partitions. Dask computes these again elsewhere, they follow the fit's log (``partitions.py``) and
the question is asked anew: every sum that is used has each partition once. A partition that comes out differently the
second time is refused. Every wait ends: with an answer, when time is up, or when the scheduler is gone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.curators.base import Curator
from privet.curators.desk import Desk
from privet.curators.partitions import Entry, PartitionedRoom, entries_for
from privet.curators.person_weights import person_weights
from privet.curators.records import check_size, n_persons_of
from privet.curators.worker import Answer, Ask, Behind, Failed, IdsOf, Load, add, described, digest_of_ids
from privet.errors import ClusterError, SchemaError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.unit import Unit
from privet.schema import Schema
from privet.tables.files import FilePart, Files, alike, names_files, training_columns
from privet.tables.persons import read_persons

if TYPE_CHECKING:
    from distributed import Client, Future

TOGETHER = 8
"""So many partial sums are added up by one worker at a time."""

LOOK = 1.0
"""Seconds for which answers are waited for busily, and for what failed to say why."""

MOST_LOSSES = 20
"""So often partitions may be lost during one question."""


class DaskCurator(Curator):
    """Holds records on the workers of a Dask cluster and answers private questions about them.

    ``where`` is a Dask data frame with the columns that the schema names, the label's and the person's among them; or
    Parquet files, folders or a pattern, which all workers must be able to read. ``timeout``: how many seconds any one
    question may take before the fit ends with an error.
    """

    trust = (
        "The Dask cluster that trained the model was trusted: workers saw the records of their partitions, and exact "
        "counts went between them, the scheduler and the process that fitted; no other machine had to see either."
    )

    def __init__(
        self,
        where: Any,
        schema: Schema,
        client: Client,
        *,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
        timeout: float = 600.0,
    ) -> None:
        self._begin(schema, ledger, mechanisms, PartitionedRoom)
        cluster = Cluster(client, timeout)
        source = Parquet(where, schema) if names_files(where) else Frame(where, schema)
        self._workers = OnWorkers(cluster, source, schema, self._mechanisms.generator)

    def open(self) -> Desk:
        return self._desk(PartitionedRoom(self.schema, self._mechanisms, self._workers))


class Frame:
    """The partitions of a Dask data frame."""

    def __init__(self, frame: Any, schema: Schema) -> None:
        if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
            raise SchemaError("DaskCurator takes a Dask data frame, or where Parquet files are")
        missing = [name for name in training_columns(schema) if name not in set(frame.columns)]
        if missing:
            raise SchemaError(f"the data frame has no column {missing[0]!r}, which the schema names")
        self._parts = frame[training_columns(schema)].to_delayed()

    def __len__(self) -> int:
        return len(self._parts)

    def futures(self, client: Client, tasks: Sequence[Any]) -> list[Future]:
        """What each task makes of its partition."""
        from dask import delayed

        calls = [delayed(task, pure=False)(part) for task, part in zip(tasks, self._parts)]
        futures: list[Future] = client.compute(calls)
        return futures


class Parquet:
    """The stretches of Parquet files, each of which its worker reads."""

    def __init__(self, where: Any, schema: Schema) -> None:
        self._files = Files(where, schema)
        for file in self._files.files:
            if file.source is not file.path:
                raise SchemaError(f"{file.path}: of files, workers read Parquet; open CSV by dask.dataframe.read_csv")

    def __len__(self) -> int:
        return len(self._files.stretches)

    def futures(self, client: Client, tasks: Sequence[Any]) -> list[Future]:
        parts = [FilePart(self._files, stretch) for stretch in self._files.stretches]
        return [client.submit(task, part, pure=False) for task, part in zip(tasks, parts)]


class Cluster:
    """A Dask client whose every wait has an end."""

    def __init__(self, client: Client, timeout: float) -> None:
        if getattr(client, "asynchronous", False):
            raise ClusterError("A Dask client in asynchronous mode cannot wait for answers: open one without it.")
        self.client, self.timeout = client, timeout

    def submit(self, task: Any, *args: Any) -> Future:
        """Have a task done for what these come to; ClusterError if the scheduler is gone."""
        self._check(math.inf)
        return self.client.submit(task, *args, pure=False)

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """What they came to, in order; ClusterError if something keeps them from an end."""
        end, soon = time.monotonic() + self.timeout, time.monotonic() + LOOK
        while not all(future.done() for future in futures):
            self._check(end)
            time.sleep(0.002 if time.monotonic() < soon else 0.05)
        bad = next((future for future in futures if future.status != "finished"), None)
        if bad is not None:
            self._check(end)
            raise ClusterError(self._why(bad))
        try:
            return [future.result(timeout=max(LOOK, end - time.monotonic())) for future in futures]
        except Exception as error:
            told = type(error).__name__
        self._check(end)
        raise ClusterError(f"An answer was lost on its way from a Dask worker ({told}). Fit again.")

    def _check(self, end: float) -> None:
        if self.client.status != "running":
            raise ClusterError(
                "The connection to the Dask scheduler is lost, and with it what workers had counted. What was asked "
                "before is spent. Start a cluster and fit again."
            )
        if time.monotonic() > end:
            n = len(self.client.scheduler_info().get("workers", {}))
            raise ClusterError(
                f"Dask has not answered for {self.timeout:g} s and has {n} workers now. Look at its dashboard; if it "
                "is only slow, give DaskCurator a larger timeout."
            )

    def _why(self, future: Future) -> str:
        """What happened to a task: by its kind alone, since its words may quote records."""
        if future.status == "cancelled":
            return "Dask has cancelled a task of this fit. Fit again."
        kind = type(future.exception(timeout=LOOK)).__name__
        if kind == "KilledWorker":
            return "Workers died again and again over the same partition: it may be too large for their memory."
        return f"A Dask worker could not count its partition ({kind}); its log says why."


class OnWorkers:
    """Partitions on workers, asked through Dask (``partitions.Partitions``)."""

    def __init__(
        self, cluster: Cluster, source: Frame | Parquet, schema: Schema, generator: np.random.Generator | None
    ) -> None:
        self._cluster = cluster
        self.persons: list[np.ndarray] | None = None
        weights: list[np.ndarray | None] = [None] * len(source)
        ids: list[bytes | None] = [None] * len(source)
        if schema.person is not None:
            persons, ids = self._read_persons(source, schema)
            every = person_weights(np.concatenate([np.zeros(0, np.int64), *persons]), Unit.of(schema), generator)
            weights = np.split(every, np.cumsum([len(own) for own in persons])[:-1])  # type: ignore[assignment]
            self.persons = [own[weight > 0] for own, weight in zip(persons, weights)]  # type: ignore[operator]
            self.n_persons = n_persons_of(np.concatenate([np.zeros(0, np.int64), *persons]))
        self._partitions = source.futures(cluster.client, [Load(schema, *own) for own in zip(weights, ids)])
        told = cluster.results([cluster.submit(described, own) for own in self._partitions])
        for own in told:
            if isinstance(own, Failed):
                raise SchemaError(own.message)
        self._digests = [digest for _, digest in told]
        n = sum(n for n, _ in told)
        if schema.person is None:
            self.n_persons = n
        check_size(max(self.n_persons * Unit.of(schema).weight, n), schema)
        self._followed: dict[str, list[int]] = {}

    def _read_persons(self, source: Frame | Parquet, schema: Schema) -> tuple[list[np.ndarray], list[bytes | None]]:
        """Each partition's persons, numbered through all of them, and a digest of their ids."""
        import pyarrow as pa

        assert schema.person is not None
        columns = self._cluster.results(source.futures(self._cluster.client, [IdsOf(schema.person)] * len(source)))
        for own in columns:
            if isinstance(own, Failed):
                raise SchemaError(own.message)
        digests: list[bytes | None] = [digest_of_ids(own) for own in columns]
        columns = [alike(own) for own in columns]
        if len({own.type for own in columns if len(own)}) > 1:
            raise SchemaError(f"the person's column {schema.person!r} has several types; make it one in all partitions")
        full = [own for own in columns if len(own)]
        ids = pa.chunked_array(full, full[0].type if full else pa.large_string())
        persons = read_persons(pa.table({schema.person: ids}), None, schema)
        assert persons is not None
        return np.split(persons, np.cumsum([len(own) for own in columns])[:-1]), digests

    def each(self, fit: str, log: Sequence[Entry], question: Entry) -> list[Any]:
        for _ in range(MOST_LOSSES):
            answers = self._cluster.results(self._asked(fit, log, question))
            if not self._behind(fit, log, add(*(self._alone(own) for own in answers))):
                return answers
        raise _too_many()

    def total(self, fit: str, log: Sequence[Entry], question: Entry) -> np.ndarray:
        for _ in range(MOST_LOSSES):
            sums = self._asked(fit, log, question)
            while len(sums) > 1:
                groups = [sums[i : i + TOGETHER] for i in range(0, len(sums), TOGETHER)]
                sums = [self._cluster.submit(add, *group) for group in groups]
            (found,) = self._cluster.results(sums)
            if not self._behind(fit, log, found):
                return np.asarray(found)
        raise _too_many()

    def _asked(self, fit: str, log: Sequence[Entry], question: Entry) -> list[Future]:
        """Ask every partition, and tell it of the log what it has not followed yet."""
        followed = self._followed.setdefault(fit, [0] * len(self._partitions))
        while len(self._followed) > 8:
            del self._followed[next(iter(self._followed))]
        asks = [
            Ask(i, self._digests[i], fit, start, entries_for(log[start:], i), question)
            for i, start in enumerate(followed)
        ]
        return [self._cluster.submit(ask, own) for ask, own in zip(asks, self._partitions, strict=True)]

    def _behind(self, fit: str, log: Sequence[Entry], found: Answer) -> bool:
        """Whether partitions were read anew, and are to be asked again with the whole log; raises if one failed."""
        if isinstance(found, Failed):
            raise ClusterError(found.message)
        lost = found.partitions if isinstance(found, Behind) else ()
        self._followed[fit] = [0 if i in lost else len(log) for i in range(len(self._partitions))]
        return bool(lost)

    def _alone(self, answer: Any) -> Answer:
        """An answer that is a number has nothing to say of who is behind."""
        return answer if isinstance(answer, Failed | Behind) else np.zeros(1, dtype=np.int64)


def _too_many() -> ClusterError:
    return ClusterError(f"Dask workers were lost {MOST_LOSSES} times during one question. Fit again when they stay.")
