"""What may be asked of the three servers: a training, or queries of a hidden model. Checked where the bytes come in."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, fields
from typing import Any, Self

from privet.errors import MpcError
from privet.strict_json import object_of

PROTOCOL = 9
"""One more whenever programs of two versions would not do the same for the same job."""

MOST_JOB = 2**20
RUN_BYTES = 16
_RUN = re.compile(rf"[0-9a-f]{{{2 * RUN_BYTES}}}")


def fresh_run() -> str:
    """A number for a request that no other has."""
    return secrets.token_hex(RUN_BYTES)


@dataclass(frozen=True)
class Job:
    """A request about a model. ``run`` is the number that whoever asks gave it, the same for all three servers."""

    run: str
    model: str

    def __post_init__(self) -> None:
        _insist(type(self.run) is str and _RUN.fullmatch(self.run) and type(self.model) is str)

    def to_bytes(self) -> bytes:
        return json.dumps(self.__dict__, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, job: bytes) -> Self:
        words, own = _words(job), [field.name for field in fields(cls)]
        _insist(words.keys() >= {*own})
        return cls(**{name: words[name] for name in own})


@dataclass(frozen=True)
class TrainingJob(Job):
    """A trainer's: an estimator by its name and parameters. ``seed`` is of noise that the trainer wants to know.

    ``holdout`` is the share of the records that score the model, and ``by`` the groups that are scored apart.
    """

    params: dict[str, Any]
    seed: int | None
    hidden: bool
    holdout: float | None = None
    by: str | dict[str, list[float]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        seeded = self.seed is None or (type(self.seed) is int and self.seed >= 0)
        _insist(type(self.params) is dict and seeded and type(self.hidden) is bool)
        _insist(self.holdout is None or type(self.holdout) is float)
        _insist(self.by is None or type(self.by) in (str, dict))


@dataclass(frozen=True)
class QueryJob(Job):
    """A user's: so many queries of a hidden model."""

    queries: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _insist(type(self.queries) is int)


def run_of(job: bytes) -> bytes:
    """The number of a request, which is all that is read of it before the lines are open."""
    return bytes.fromhex(Job(_words(job).get("run", ""), "").run)


def _words(job: bytes) -> dict[str, Any]:
    return object_of(job, MpcError("The request makes no sense."))


def _insist(sensible: object) -> None:
    if not sensible:
        raise MpcError("The request makes no sense.")
