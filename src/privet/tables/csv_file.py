"""CSV files, read by a schema: whole, or as a stream of Arrow record batches. No message contains a value."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.errors import SchemaError
from privet.schema import Categorical, Schema
from privet.schema_values import kind_of
from privet.tables.column import attempt, check_columns

BLOCK = 2**24
"""Bytes of a CSV file that are read at a time; no line may be longer."""


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written: its encoding, by its first bytes, and what its header has between names."""

    encoding: str
    delimiter: str


DELIMITERS = ",;\t|"
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def is_csv(path: Path) -> bool:
    """Whether it is CSV by its name; also compressed by gzip."""
    return path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def csv_form(path: Path) -> CsvForm:
    """What the first bytes say: a mark of the encoding, or UTF-8; the separator that the header has most of."""
    start = attempt(_first_bytes, path) or b""
    encoding = next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in start:
        raise SchemaError(f"{path} is no text in UTF-8, or UTF-16 without a mark at its start; save it as UTF-8")
    line = start.decode(encoding, errors="ignore").partition("\n")[0]
    outside_quotes = "".join(line.split('"')[::2])
    return CsvForm(encoding, max(DELIMITERS, key=outside_quotes.count))


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV file."""
    form = csv_form(path)

    def first_line() -> list[str]:
        # A wrong byte further down is some column's problem, and reported as such.
        encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
        with io.TextIOWrapper(_opened(path), encoding=encoding, errors="replace", newline="") as file:
            return next(csv.reader(file, delimiter=form.delimiter), [])

    names = attempt(first_line)
    if not names:
        raise SchemaError(f"{path} has no header line")
    if len(set(names)) < len(names):
        raise SchemaError(f"{path} has several columns of the same name, or no header; rename them")
    return list(names)


def _first_bytes(path: Path) -> bytes:
    with _opened(path) as file:
        return bytes(file.read(2**16))


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def csv_columns(path: Path, types: dict[str, Any]) -> Any:
    """Columns of a CSV file as the given Arrow types. Text is kept as it is, empty fields included."""
    import pyarrow.csv as pc

    read, parse, convert = _options(path, types)
    table = attempt(lambda: pc.read_csv(path, read, parse_options=parse, convert_options=convert))
    if table is None:
        raise _fault(path, types)
    return table


def csv_batches(path: Path, types: dict[str, Any]) -> Iterator[Any]:
    """The same as record batches, one after another."""
    reader = attempt(_stream, path, types)
    while True:
        try:
            batch = None if reader is None else attempt(reader.read_next_batch)
        except StopIteration:
            return
        if batch is None:
            raise _fault(path, types)
        yield batch


def csv_types(path: Path, schema: Schema, names: Sequence[str]) -> dict[str, Any]:
    """The Arrow types that a schema wants of columns of a CSV file; those that it does not know are text."""
    import pyarrow as pa

    check_columns(csv_header(path), names)
    listed = _listed(schema)
    types = {}
    for name in names:
        kind = kind_of(listed[name]) if name in listed else "numbers"
        large = name in listed and any(isinstance(v, int) and abs(v) > 2**53 for v in listed[name])
        # Integers are read as floats, so that 1.0 is 1, unless that would round them.
        numeric = pa.int64() if large else pa.float64()
        types[name] = {"text": pa.string(), "booleans": pa.bool_(), "numbers": numeric}[kind]
        if name not in (*schema.columns, schema.label):
            types[name] = pa.string()  # an id is text, whatever it looks like
    return types


def as_schema(table: Any, schema: Schema) -> Any:
    """A table or batch of CSV columns with nothing in the place of empty text, unless that is a listed category."""
    import pyarrow as pa

    for name, values in _listed(schema).items():
        place = table.schema.get_field_index(name)
        if place >= 0 and table.schema.field(place).type == pa.string() and "" not in values:
            table = table.set_column(place, name, empty_is_missing(table.column(place)))
    return table


def empty_is_missing(column: Any) -> Any:
    """A column of text with nothing in the place of empty text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _listed(schema: Schema) -> dict[str, Any]:
    listed = {name: f.values for name, f in schema.features.items() if isinstance(f, Categorical)}
    return listed if schema.label is None or schema.classes is None else listed | {schema.label: schema.classes}


def _options(path: Path, types: dict[str, Any]) -> tuple[Any, Any, Any]:
    import pyarrow.csv as pc

    form = csv_form(path)
    convert = pc.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=False)
    parse = pc.ParseOptions(delimiter=form.delimiter, newlines_in_values=True)
    return pc.ReadOptions(encoding=form.encoding), parse, convert


def _stream(path: Path, types: dict[str, Any]) -> Any:
    import pyarrow.csv as pc

    read, parse, convert = _options(path, types)
    read.block_size = BLOCK
    return pc.open_csv(path, read, parse_options=parse, convert_options=convert)


def _reads(path: Path, types: dict[str, Any]) -> bool:
    return attempt(lambda: sum(1 for _ in _stream(path, types))) is not None


def _fault(path: Path, types: dict[str, Any]) -> SchemaError:
    """What is wrong with a file that Arrow does not read.

    Arrow's message has the value and not always the name; finding the name is slow but happens once.
    """
    import pyarrow as pa

    for name, kind in types.items():
        if not _reads(path, {name: kind}) and _reads(path, {name: pa.binary()}):
            wanted = {pa.string(): "UTF-8 text", pa.bool_(): "true or false"}.get(kind, "a number")
            hint = {
                "a number": ", and write decimal points, not commas",
                "UTF-8 text": f": save the file as UTF-8, or iconv -f LATIN1 -t UTF-8 {path.name} > new.csv",
            }.get(wanted, "")
            return SchemaError(f"column {name!r} of {path} has fields that are not {wanted}; mend them{hint}")
    return SchemaError(f"{path} is not valid CSV: some lines have more or fewer fields than the header")
