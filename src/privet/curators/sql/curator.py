"""The curator of a table in a database: nobody copies it, it is counted where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from privet.curators.base import Curator
from privet.curators.desk import Desk
from privet.curators.scratch import Scratch
from privet.curators.sql.database import open_database
from privet.curators.sql.expressions import quoted
from privet.curators.sql.fetched import room_for
from privet.curators.sql.source import Source
from privet.errors import PrivetError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.schema import Schema


class SqlCurator(Curator):
    """Answers private questions about a table or view, by counting inside its database.

    ``connection`` is one of DuckDB, one of PostgreSQL (psycopg, psycopg2, ADBC) or a Spark session. It is the caller's,
    and used by one fit at a time. ``table`` is its name, exactly, or with its schema's: ``("public", "patients")``; in
    DuckDB a file's, too. The schema names the label's column. ``key`` names a column that tells rows apart, which
    ``parts`` and persons need where the engine has none of its own: a table in DuckDB or PostgreSQL and a Parquet file
    in DuckDB have one, views and Spark's tables do not. ``cache`` is as in ``FileCurator``: a folder with space for a
    byte for each record and feature, where DuckDB's records are counted. ``ledger`` is as in ``MemoryCurator``.

    What records the schema does not allow is found when a fit begins, before it spends anything.
    """

    trust = (
        "The database, those who run it, and the process that trained the model saw exact counts; records stayed in "
        "the database."
    )
    trust_in_process = (
        "The machine that trained the model, on which the database ran in the same process, saw the records and exact "
        "counts, and no other machine had to. While it learned, it may have kept a coarser copy of the records in "
        "temporary files on its own disk: no other user can open them, and they are deleted when the program ends. As "
        "with every deleted file, traces may stay on that disk until they are overwritten, so it should be encrypted."
    )

    def __init__(
        self,
        connection: Any,
        table: str | Sequence[str],
        schema: Schema,
        *,
        key: str | None = None,
        cache: Any = None,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
    ) -> None:
        self._database = open_database(connection)
        self.trust = self.trust_in_process if self._database.in_process else self.trust
        self._source = Source(self._database, _table(table), schema, key)
        self._room = room_for(self._source.can_draw, self._database.in_process)
        self._scratch = [Scratch(cache)] if self._database.in_process else []
        self._begin(schema, ledger, mechanisms, self._room)

    def open(self) -> Desk:
        self._database.begin()
        try:
            self._source.check()
            room = self._room(self._source, self._mechanisms, self._database.may_write(), *self._scratch)
        except BaseException:
            self._database.end()
            raise
        return self._desk(room)


def _table(name: str | Sequence[str]) -> exp.Table:
    names = [name] if isinstance(name, str) else list(name)
    if not 1 <= len(names) <= 3 or not all(isinstance(own, str) and own and "\0" not in own for own in names):
        raise PrivetError("table is a name, or its schema and its name, or its catalog, its schema and its name.")
    parts = dict(zip(("this", "db", "catalog"), map(quoted, reversed(names))))
    return exp.Table(**parts)
