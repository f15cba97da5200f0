"""Messages between the coordinator and a party: words as JSON, and numbers as bytes behind them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from privet.errors import FederatedError

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
    try:
        words = json.loads(message[4:end])
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, dict):
        raise FederatedError("A message is cut off or makes no sense.")
    return words, message[end:]


def numbers_of(numbers: bytes, n: int) -> np.ndarray:
    """``n`` numbers modulo 2^64; raises unless there are as many."""
    if len(numbers) != 8 * n:
        raise FederatedError(f"A message has {len(numbers):,} bytes of numbers where {8 * n:,} were asked for.")
    return np.frombuffer(numbers, dtype="<u8")
