"""Questions in words, for owners elsewhere: what JSON can carry, and numbers survive it exactly."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np

from privet.curators.base import Tally
from privet.questions.candidates import Candidates, Choice, Split, Splits
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway

Words = Any  # what json.loads returns


def split_words(split: Split) -> Words:
    return [split.feature, split.part.hex()]


def split_of(words: Words) -> Split:
    feature, part = words
    return Split(int(feature), bytes.fromhex(part))


def budget_words(budgets: Sequence[Fraction]) -> Words:
    return [str(amount) for amount in budgets]


def budgets_of(words: Words) -> list[Fraction]:
    return [amount_of(amount) for amount in words]


_AMOUNT = re.compile(r"[0-9]{1,600}(/[0-9]{1,600})?")


def amount_of(words: Words) -> Fraction:
    """An amount as ``str`` writes a fraction. No powers of ten: "1e9999999" would take hours, and all memory."""
    if not (isinstance(words, str) and _AMOUNT.fullmatch(words)):
        raise ValueError("This is no amount.")
    return Fraction(words)


def tally_words(tallies: Mapping[int, Tally]) -> Words:
    """Tallies by their nodes' numbers; tables that several nodes share are said once."""
    tables, kinds = _once(tally.tables for tally in tallies.values())
    asked = [
        [node, kinds[tally.tables], tally.by_class, tally.measure, tally.output] for node, tally in tallies.items()
    ]
    return {"tables": tables, "asked": asked}


def tallies_of(words: Words) -> dict[int, Tally]:
    tables = [tuple(map(split_of, each)) for each in words["tables"]]
    return {
        node: Tally(tables[kind], bool(by_class), str(measure), int(output))
        for node, kind, by_class, measure, output in words["asked"]
    }


def tables_words(tables: Mapping[int, tuple[Split, ...]]) -> Words:
    said, kinds = _once(tables.values())
    return {"tables": said, "asked": [[node, kinds[own]] for node, own in tables.items()]}


def tables_of(words: Words) -> dict[int, tuple[Split, ...]]:
    tables = [tuple(map(split_of, each)) for each in words["tables"]]
    return {node: tables[kind] for node, kind in words["asked"]}


def _once(some: Any) -> tuple[Words, dict[tuple[Split, ...], int]]:
    kinds = {tables: i for i, tables in enumerate(dict.fromkeys(some))}
    return [[split_words(split) for split in tables] for tables in kinds], kinds


def splits_words(splits: Splits | Multiway) -> Words:
    """Everything that a list of splits says but its grid."""
    prior = _array(splits.log_prior, "<f8")
    if isinstance(splits, Multiway):
        return {"multiway": [split_words(split) for split in splits.splits], "log_prior": prior}
    return {
        "feature": _array(splits.feature, "<i8"),
        "first": _array(splits.first, "<i8"),
        "last": _array(splits.last, "<i8"),
        "extra": _array(splits.extra, "<i8"),
        "subsets": [[int(f), len(masks), _bits(masks)] for f, masks in splits.subsets],
        "log_prior": prior,
    }


def splits_of(words: Words, grid: Grid) -> Splits | Multiway:
    prior = _numbers(words["log_prior"], "<f8")
    if "multiway" in words:
        return Multiway(grid, tuple(map(split_of, words["multiway"])), prior)
    subsets = tuple(
        (f, _flags(bits, rows * grid.features[f].n_cells).reshape(rows, -1)) for f, rows, bits in words["subsets"]
    )
    feature, first, last, extra = (_numbers(words[name], "<i8") for name in ("feature", "first", "last", "extra"))
    return Splits(grid, feature, first, last, extra, subsets, prior)


def words_digest(words: Words) -> str:
    return sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def candidates_words(options: Candidates, splits: str | None) -> Words:
    """What a node may answer, its splits by the name ``splits`` that they were told under."""
    return {
        "splits": splits,
        "allowed": None if options.allowed is None else _bits(options.allowed),
        "labelled": options.labelled,
        "stop": options.stop,
        "stop_log_prior": options.stop_log_prior,
    }


def candidates_of(words: Words, splits: Mapping[str, Splits | Multiway], n_classes: int) -> Candidates:
    own = None if words["splits"] is None else splits[words["splits"]]
    allowed = None if words["allowed"] is None or own is None else _flags(words["allowed"], len(own))
    return Candidates(
        own, n_classes, allowed, bool(words["labelled"]), bool(words["stop"]), float(words["stop_log_prior"])
    )


def choice_words(choice: Choice) -> Words:
    labels = None if choice.labels is None else list(choice.labels)
    return [None if choice.split is None else split_words(choice.split), labels]


def choice_of(words: Words) -> Choice:
    split, labels = words
    return Choice(None if split is None else split_of(split), None if labels is None else tuple(map(int, labels)))


def _array(values: np.ndarray, kind: str) -> str:
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def _numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype=kind).copy()


def _bits(flags: np.ndarray) -> str:
    return b64encode(np.packbits(flags).tobytes()).decode()


def _flags(text: str, n: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(b64decode(text), dtype=np.uint8), count=n).astype(bool)
