"""Who may ask a hidden model, and how often: a count for each user, kept on the server's disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from privet.consortium.servers.config import Config
from privet.disk import write_whole
from privet.errors import PrivetError


class Users:
    """Queries that each user has asked so far, of so many that it may ask in all.

    Counted before a query is answered, and given back if the answer has not left; a restart does not forget them.
    """

    def __init__(self, limits: Mapping[str, int], path: Path) -> None:
        self._limits = limits
        self._path = path
        self._asked = _read(path)

    def left(self, name: str) -> int:
        """None where the limit was lowered below what was asked."""
        return max(0, self._limits.get(name, 0) - self._asked.get(name, 0))

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


def users_of(config: Config) -> Users:
    """Who may ask the hidden models that a server keeps, and how many queries each has asked, as its files say."""
    if config.models is None:
        raise PrivetError("This server has no folder for hidden models.")
    limits = {name: queries for name, (_, queries) in config.users.items()}
    return Users(limits, config.models.with_suffix(".users.json"))


def _read(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    try:
        asked = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"{path}, which says how many queries each user has asked, cannot be read: {error.strerror}."
        raise PrivetError(why) from error
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or not all(type(queries) is int and queries >= 0 for queries in asked.values()):
        raise PrivetError(
            f"{path} should say how many queries each user has asked, and is damaged. An older copy would have "
            "forgotten some: write a new one by hand, with a number for each user that is at least what it has asked, "
            'such as its limit: {"ann": 100}.'
        )
    return asked
