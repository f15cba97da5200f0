"""Records in a database: they are binned and counted there, and exact counts come out to the curator's process."""

from importlib.util import find_spec

from privet.errors import PrivetError

if find_spec("sqlglot") is None:
    raise PrivetError("SQL is written by sqlglot; install it with: pip install 'privet[sql]'")
