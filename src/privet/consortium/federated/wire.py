"""Messages between the coordinator and a party: words as JSON, and numbers as bytes behind them.

Whoever reads a message takes each word with one of the functions below, which raise FederatedError for a word that is
missing or of another kind. So what a stranger says is checked where it comes in.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import numpy as np

from privet.errors import FederatedError
from privet.strict_json import object_of

Kind = TypeVar("Kind")

MOST_WORDS = 2**26
MOST_BYTES = 2**30


def pack(words: dict[str, Any], numbers: bytes = b"") -> bytes:
    """The same words and numbers always make the same bytes."""
    text = json.dumps(words, sort_keys=True, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "big") + text + numbers


def unpack(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Raise FederatedError for bytes that are no message."""
    if not 4 <= len(message) <= MOST_BYTES:
        raise FederatedError("A message has a length that none has.")
    end = 4 + int.from_bytes(message[:4], "big")
    if end > min(len(message), MOST_WORDS):
        raise FederatedError("A message is cut off or makes no sense.")
    return object_of(message[4:end], FederatedError("A message is cut off or makes no sense.")), message[end:]


def numbers_of(numbers: bytes, n: int) -> np.ndarray:
    """``n`` numbers modulo 2^64; raises unless there are as many."""
    if len(numbers) != 8 * n:
        raise FederatedError(f"A message has {len(numbers):,} bytes of numbers where {8 * n:,} were asked for.")
    return np.frombuffer(numbers, dtype="<u8")


def word(words: dict[str, Any], name: str, kind: type[Kind]) -> Kind:
    """A word of exactly this type, as JSON has it."""
    value = words.get(name)
    if type(value) is not kind:
        raise nonsense(name)
    return value


def count(words: dict[str, Any], name: str) -> int:
    """A number from 0 on."""
    if (number := word(words, name, int)) < 0:
        raise nonsense(name)
    return number


def names(words: dict[str, Any], name: str) -> list[str]:
    listed = word(words, name, list)
    if not all(type(each) is str for each in listed):
        raise nonsense(name)
    return listed


def texts(words: dict[str, Any], name: str) -> dict[str, str]:
    """Texts by name, such as signatures."""
    found = word(words, name, dict)
    if not all(type(each) is str for each in found.values()):
        raise nonsense(name)
    return found


def hex_bytes(digits: Any, size: int | None = None) -> bytes:
    """The bytes that hexadecimal digits stand for: ``size`` of them, if it is given."""
    try:
        value = bytes.fromhex(digits)
    except (TypeError, ValueError) as error:
        raise FederatedError("A message makes no sense: there should be hexadecimal digits.") from error
    if size is not None and len(value) != size:
        raise FederatedError(f"A message makes no sense: there should be {size} bytes in hexadecimal digits.")
    return value


def nonsense(name: str) -> FederatedError:
    return FederatedError(f"A message makes no sense: its {name!r} is not what it should be.")
