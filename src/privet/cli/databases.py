"""``privet fit --table``: DATA is a database, and records stay in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privet.errors import DatabaseError, PrivetError, SchemaError

TABLE = (
    "A table or view; DATA is then a DuckDB file, or a server as postgresql://HOST/DATABASE. "
    "With a database schema: clinic.visits."
)
KEY = "With --table: a column whose values all differ, if the database has no row numbers for it."


def fit_table(learner: Any, data: Sequence[str], table: str, key: str | None, seed: int | None, **options: Any) -> None:
    """Learn from a table where it is; ``options`` are those of ``fit_curator``."""
    from privet.curators.sql.curator import SqlCurator
    from privet.privacy.ledger import Ledger
    from privet.privacy.mechanisms import mechanisms

    if len(data) != 1:
        raise SchemaError("with --table, DATA is one database")
    ledger = Ledger.current() or Ledger(math.inf, delta=learner.delta)
    connection = connect(data[0])
    try:
        names = table.split(".") if "." in table else table
        curator = SqlCurator(connection, names, learner.schema, key=key, ledger=ledger, mechanisms=mechanisms(seed))
        learner.fit_curator(curator, **options)
    finally:
        connection.close()


def connect(where: str) -> Any:
    """A connection to a DuckDB file, which it may not change, or to a PostgreSQL server."""
    try:
        if where.startswith(("postgresql://", "postgres://")):
            import psycopg

            return psycopg.connect(where, autocommit=True)
        import duckdb

        if not Path(where).is_file():
            raise SchemaError(
                f"{where}: no such file; with --table, DATA is a DuckDB file or postgresql://HOST/DATABASE"
            )
        return duckdb.connect(where, read_only=True)
    except ImportError as error:
        raise PrivetError(f"this needs {error.name}: pip install {error.name}") from None
    except PrivetError:
        raise
    except Exception as error:
        words = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DatabaseError(f"the database cannot be opened: {words}") from None
