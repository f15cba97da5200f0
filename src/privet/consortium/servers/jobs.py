"""What may be asked of the three servers: a training, or queries of a hidden model. Checked where the bytes come in."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from privet.errors import MpcError

MOST_JOB = 2**20
RUN_BYTES = 16


def fresh_run() -> str:
    """A number for a request that no other has."""
    return secrets.token_hex(RUN_BYTES)


@dataclass(frozen=True)
class TrainingJob:
    """A trainer's: an estimator by its name and parameters. ``seed`` is of noise that the trainer wants to know."""

    run: str
    model: str
    params: dict[str, Any]
    seed: int | None
    hidden: bool

    def to_bytes(self) -> bytes:
        return json.dumps(self.__dict__, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, job: bytes) -> TrainingJob:
        words = _words(job)
        model, params, seed = words.get("model"), words.get("params"), words.get("seed")
        hidden = words.get("hidden", False)
        seeded = "seed" in words and (seed is None or (type(seed) is int and seed >= 0))
        if not isinstance(model, str) or not isinstance(params, dict) or not seeded or type(hidden) is not bool:
            raise MpcError("The trainer's job makes no sense.")
        return cls(run_of(job).hex(), model, params, seed, hidden)


@dataclass(frozen=True)
class QueryJob:
    """A user's: so many queries of a hidden model."""

    run: str
    model: str
    queries: int

    def to_bytes(self) -> bytes:
        return json.dumps(self.__dict__, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, job: bytes) -> QueryJob:
        words = _words(job)
        model, queries = words.get("model"), words.get("queries")
        if not isinstance(model, str) or type(queries) is not int:
            raise MpcError("The user's request makes no sense.")
        return cls(run_of(job).hex(), model, queries)


def run_of(job: bytes) -> bytes:
    """The number that whoever asks gave its request, the same for all three servers."""
    run = _words(job).get("run")
    if not isinstance(run, str) or len(run) != 2 * RUN_BYTES or not set(run) <= set("0123456789abcdef"):
        raise MpcError("The request makes no sense.")
    return bytes.fromhex(run)


def _words(job: bytes) -> dict[str, Any]:
    try:
        words = json.loads(job)
    except (ValueError, RecursionError) as error:
        raise MpcError("The request makes no sense.") from error
    if not isinstance(words, dict):
        raise MpcError("The request makes no sense.")
    return words
