"""Who may ask a hidden model, and how often: a count for each user, kept on the server's disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from privet.disk import write_whole
from privet.errors import PrivetError


class Users:
    """Queries that each user has asked so far, of so many that it may ask in all.

    Counted before a query is answered, and given back if the answer has not left; a restart does not forget them.
    """

    def __init__(self, limits: Mapping[str, int], path: Path) -> None:
        self._limits = limits
        self._path = path
        self._asked: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}

    def left(self, name: str) -> int:
        return self._limits.get(name, 0) - self._asked.get(name, 0)

    def check(self, name: str, queries: int) -> None:
        """Refuse queries that are more than are left."""
        if queries > self.left(name):
            raise PrivetError(
                f"{name} may ask {self._limits.get(name, 0):,} queries in all and has {self.left(name):,} left; "
                f"these are {queries:,}."
            )

    def charge(self, name: str, queries: int) -> None:
        """Count queries, or refuse them."""
        self.check(name, queries)
        self._add(name, queries)

    def give_back(self, name: str, queries: int) -> None:
        self._add(name, -queries)

    def _add(self, name: str, queries: int) -> None:
        asked = {**self._asked, name: self._asked.get(name, 0) + queries}
        write_whole(self._path, json.dumps(asked, sort_keys=True).encode())
        self._asked = asked
