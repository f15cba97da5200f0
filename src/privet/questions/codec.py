"""Words on the wire: what JSON can carry, and numbers survive it exactly.

What comes from elsewhere becomes a word through the same constructors as any other, so a hostile or mistaken message is
stopped where a mistaken algorithm is. Whatever the bytes say, reading them gives a word or a ``LeakError``.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from privet.errors import LeakError
from privet.questions.candidates import Candidates
from privet.questions.grid import MOST_CELLS, Grid
from privet.questions.levels import Levels
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.scorer import Branches, Scorer, Summand
from privet.questions.split import MOST_FACTORS, Choice, Product, Split, Table
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.questions.word import text, whole
from privet.schema import Schema

Words = Any  # what json.loads returns
MOST_NODES = 2**20
_AMOUNT = re.compile(r"[0-9]{1,600}(/[0-9]{1,600})?", re.ASCII)
_Read = TypeVar("_Read")


def schema_digest(schema: Schema) -> str:
    return sha256(schema.to_json().encode()).hexdigest()


def words_digest(words: Words) -> str:
    return sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


# -- what messages are made of -----------------------------------------------------------------------------------------


def obeyed(verbs: Mapping[str, Callable[..., _Read]], do: Words, what: Mapping[str, Any]) -> _Read:
    """Do what a message says, by a verb of a list and with just the fields that it takes."""
    verb = verbs.get(do) if type(do) is str else None
    if verb is None:
        raise LeakError("A message asks for what is not done here.")
    try:
        bound = signature(verb).bind(**what)
    except TypeError:
        raise LeakError("A message has other fields than it should.") from None
    return verb(*bound.args, **bound.kwargs)


def verb_of(message: Words) -> tuple[Words, dict[str, Any]]:
    """What a message asks for, and the rest of it."""
    if type(message) is not dict or "do" not in message:
        raise LeakError("A message does not say what to do.")
    return message["do"], {name: value for name, value in message.items() if name != "do"}


def entries(words: Words, length: int | None = None, most: int = MOST_NODES) -> list[Any]:
    """A list, of so many things if that is known."""
    if type(words) is not list or len(words) > most or (length is not None and len(words) != length):
        raise LeakError("A message has something else where a list should be.")
    return words


def fields(words: Words, *names: str) -> list[Any]:
    """What a table says under these names, which are all that it has."""
    if type(words) is not dict or set(words) != set(names):
        raise LeakError("A message has other fields than it should.")
    return [words[name] for name in names]


def node_number(words: Words) -> int:
    return whole(words, 0, 2**53, "A node's number")


# -- words -------------------------------------------------------------------------------------------------------------


def grid_words(grid: Grid) -> Words:
    """The cuts of each feature: with the schema, all that a grid is."""
    return [None if cells.cuts is None else cells.cuts.tolist() for cells in grid.features]


def grid_of(words: Words, schema: Schema) -> Grid:
    return Grid(schema, [None if cuts is None else entries(cuts, most=MOST_CELLS) for cuts in entries(words)])


def split_words(split: Split) -> Words:
    return [split.feature, split.part.hex(), split.least]


def split_of(words: Words) -> Split:
    feature, part, least = entries(words, 3)
    try:
        return Split(feature, bytes.fromhex(text(part, "A split's part")), least)
    except ValueError as error:
        raise error if isinstance(error, LeakError) else LeakError("A split's part is not in hexadecimal.") from None


def table_words(table: Table) -> Words:
    """A split as it is, a product as a table that lists its factors."""
    if isinstance(table, Product):
        return {"product": [split_words(own) for own in table.factors]}
    return split_words(table)


def table_of(words: Words) -> Table:
    if type(words) is not dict:
        return split_of(words)
    (factors,) = fields(words, "product")
    return Product(tuple(map(split_of, entries(factors, most=MOST_FACTORS))))


def budget_words(budgets: Sequence[Fraction]) -> Words:
    return [str(amount) for amount in budgets]


def budgets_of(words: Words) -> list[Fraction]:
    return [amount_of(amount) for amount in entries(words)]


def amount_of(words: Words) -> Fraction:
    """An amount as ``str`` writes a fraction. No powers of ten: "1e9999999" would take hours, and all memory."""
    if type(words) is not str or not _AMOUNT.fullmatch(words):
        raise LeakError("This is no amount.")
    try:
        return Fraction(words)
    except ZeroDivisionError:
        raise LeakError("This is no amount.") from None


def tally_words(tallies: Iterable[tuple[int, Tally]]) -> Words:
    """Tallies by their nodes' numbers."""
    return _said(
        (node, own.tables, own.by_class, own.measure, own.output, own.clamp, own.levels and list(own.levels.cuts))
        for node, own in tallies
    )


def tallies_of(words: Words) -> dict[int, Tally]:
    return {
        node: Tally(tables, by_class, measure, output, clamp, None if cuts is None else Levels(entries(cuts)))
        for node, tables, by_class, measure, output, clamp, cuts in _heard(words, 7)
    }


def tables_words(tables: Iterable[tuple[int, tuple[Table, ...]]]) -> Words:
    """Tables by their nodes' numbers."""
    return _said(tables)


def tables_of(words: Words) -> dict[int, tuple[Table, ...]]:
    return {node: tables for node, tables in _heard(words, 2)}  # noqa: C416 - rows are lists


def _said(rows: Iterable[tuple[Any, ...]]) -> Words:
    """Rows of a node, its tables and more; tables that several nodes share are said once."""
    rows = list(rows)
    kinds = {tables: i for i, tables in enumerate(dict.fromkeys(tables for _, tables, *_ in rows))}
    said = [[table_words(table) for table in tables] for tables in kinds]
    return {"tables": said, "asked": [[node, kinds[tables], *more] for node, tables, *more in rows]}


def _heard(words: Words, length: int) -> list[list[Any]]:
    """The same rows again, each node once."""
    said, asked = fields(words, "tables", "asked")
    kinds = [tuple(map(table_of, entries(each))) for each in entries(said)]
    rows = []
    for node, kind, *more in (entries(each, length) for each in entries(asked)):
        tables = kinds[whole(kind, 0, len(kinds) - 1, "The number of a list of tables")]
        rows.append([node_number(node), tables, *more])
    if len({row[0] for row in rows}) < len(rows):
        raise LeakError("A question names each node once.")
    return rows


def splits_words(splits: Splits | Multiway | Products) -> Words:
    """Everything that a list of splits says but its grid."""
    prior = _array(splits.log_prior, "<f8")
    if isinstance(splits, Multiway):
        return {"multiway": [split_words(split) for split in splits.splits], "log_prior": prior}
    if isinstance(splits, Products):
        return {"products": [table_words(table) for table in splits.tables], "log_prior": prior}
    return {
        "feature": _array(splits.feature, "<i8"),
        "first": _array(splits.first, "<i8"),
        "last": _array(splits.last, "<i8"),
        "extra": _array(splits.extra, "<i8"),
        "subsets": [[int(f), len(masks), _bits(masks)] for f, masks in splits.subsets],
        "log_prior": prior,
    }


def splits_of(words: Words, grid: Grid) -> Splits | Multiway | Products:
    if type(words) is dict and "multiway" in words:
        each, prior = fields(words, "multiway", "log_prior")
        return Multiway(grid, tuple(map(split_of, entries(each))), _numbers(prior, "<f8"))
    if type(words) is dict and "products" in words:
        each, prior = fields(words, "products", "log_prior")
        return Products(grid, tuple(map(table_of, entries(each))), _numbers(prior, "<f8"))
    *runs, subsets, prior = fields(words, "feature", "first", "last", "extra", "subsets", "log_prior")
    feature, first, last, extra = (_numbers(own, "<i8") for own in runs)
    masks = []
    for f, n, bits in (entries(each, 3) for each in entries(subsets)):
        f = whole(f, 0, len(grid.features) - 1, "A feature's number")
        n, width = whole(n, 0, MOST_NODES, "The number of subsets"), grid.features[f].n_cells
        masks.append((f, _flags(bits, n * width).reshape(n, width)))
    return Splits(grid, feature, first, last, extra, tuple(masks), _numbers(prior, "<f8"))


def candidates_words(options: Candidates, splits: str | None) -> Words:
    """What a node may answer, its splits by the name ``splits`` that they were told under."""
    return {
        "splits": splits,
        "allowed": None if options.allowed is None else _bits(options.allowed),
        "labelled": options.labelled,
        "stop": options.stop,
        "stop_log_prior": options.stop_log_prior,
    }


def candidates_of(words: Words, splits: Mapping[str, Splits | Multiway | Products], n_classes: int) -> Candidates:
    name, allowed, labelled, stop, prior = fields(words, "splits", "allowed", "labelled", "stop", "stop_log_prior")
    own = None if name is None else splits.get(text(name, "The name of a list of splits"))
    if name is not None and own is None:
        raise LeakError("A question names a list of splits that nobody was told.")
    flags = None if allowed is None or own is None else _flags(allowed, len(own))
    return Candidates(own, n_classes, flags, labelled, stop, prior)


def choice_words(choice: Choice) -> Words:
    labels = None if choice.labels is None else list(choice.labels)
    return [None if choice.table is None else table_words(choice.table), labels]


def choice_of(words: Words) -> Choice:
    said, said_labels = entries(words, 2)
    table = None if said is None else table_of(said)
    labels = None if said_labels is None else tuple(entries(said_labels))
    return Choice(None, labels, table) if isinstance(table, Product) else Choice(table, labels)


def scorer_words(scorer: Scorer) -> Words:
    """Everything that a scorer says, its grid included."""
    trees = scorer.branches
    return {
        "grid": grid_words(scorer.grid),
        "terms": [[table_words(term.table), _array(term.values, "<i8")] for term in scorer.terms],
        "trees": None
        if trees is None
        else {
            "splits": [split_words(split) for split in trees.splits],
            **{name: _array(getattr(trees, name), "<i8") for name in ("split", "first", "roots", "values")},
        },
        "link": scorer.link,
        "cuts": _array(scorer.cuts, "<f8"),
        "unit": scorer.unit,
        "base": scorer.base,
        "order": list(scorer.order),
        "turn": scorer.turn,
        "by": None if scorer.by is None else split_words(scorer.by),
        "levels": _array(scorer.levels, "<i8"),
        "lifts": _array(scorer.lifts, "<i8"),
    }


def scorer_of(words: Words, schema: Schema) -> Scorer:
    grid, terms, trees, link, cuts, unit, base, order, turn, by, levels, lifts = fields(
        *(words, "grid", "terms", "trees", "link", "cuts", "unit", "base", "order", "turn", "by", "levels", "lifts")
    )
    outputs = len(entries(order))
    return Scorer(
        grid_of(grid, schema),
        [
            Summand(table_of(table), _rows(values, outputs))
            for table, values in (entries(own, 2) for own in entries(terms))
        ],
        None if trees is None else _branches_of(trees, outputs),
        text(link, "A link"),
        _numbers(cuts, "<f8"),
        unit=unit,
        base=base,
        order=order,
        turn=turn,
        by=None if by is None else split_of(by),
        levels=_numbers(levels, "<i8"),
        lifts=_numbers(lifts, "<i8"),
    )


def _branches_of(words: Words, outputs: int) -> Branches:
    splits, split, first, roots, values = fields(words, "splits", "split", "first", "roots", "values")
    own = [split_of(each) for each in entries(splits)]
    numbered, begins, starts = (_numbers(each, "<i8") for each in (split, first, roots))
    return Branches(own, numbered, begins, starts, _rows(values, outputs))


def _rows(words: Words, width: int) -> np.ndarray:
    """Whole numbers in rows of this width."""
    flat = _numbers(words, "<i8")
    if not width or len(flat) % width:
        raise LeakError("A list of numbers is not whole.")
    return flat.reshape(-1, width)


def _array(values: np.ndarray, kind: str) -> str:
    return b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def _numbers(words: Words, kind: str) -> np.ndarray:
    raw = _raw(words)
    if len(raw) % 8:
        raise LeakError("A list of numbers is not whole.")
    return np.frombuffer(raw, dtype=kind)


def _bits(flags: np.ndarray) -> str:
    return b64encode(np.packbits(flags).tobytes()).decode()


def _flags(words: Words, n: int) -> np.ndarray:
    raw = _raw(words)
    if len(raw) != (n + 7) // 8:
        raise LeakError("A list of yes and no is not whole.")
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8), count=n).astype(bool)


def _raw(words: Words) -> bytes:
    try:
        return b64decode(text(words, "An array"), validate=True)
    except ValueError as error:  # not of its letters, not of its lengths, or not ASCII
        raise error if isinstance(error, LeakError) else LeakError("An array is not in base 64.") from None
