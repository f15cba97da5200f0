"""Records in a database: they are binned and counted there, and exact counts come out to the curator's process."""

from privet.extras import need

need("sql", "sqlglot")
