"""Draws and weights of records in a database: functions of a record's own key, or its person's, and of nothing else."""

import hashlib

import numpy as np
import pytest

import databases
from privet import Categorical, Schema, SqlCurator
from privet.curators.sql.columns import WEIGHT, Cell, Draw
from privet.errors import SchemaError
from privet.questions.grid import public_grid
from privet.tables.persons import BLANKS

TYPES = {"kind": "text", "key": "bigint", "who": "text", "ill": "text"}
ENGINES = ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)]
ROWS = [("a", i, f"p{i % 7}" if i < 40 else f"P{i}", "no") for i in range(90)]
PLAIN = Schema({"kind": Categorical(["a", "b"])}, classes=["no", "yes"], label="ill")


def of_persons(cap):
    features = {"kind": Categorical(["a", "b"])}
    return Schema(features, classes=["no", "yes"], label="ill", person="who", records_per_person=cap)


def answers(engine, schema, rows, columns, salt="s", key="key"):
    """Some columns of all records, in any order."""
    connection = databases.connect(engine)
    databases.store(connection, engine, "people", TYPES, rows)
    desk = SqlCurator(connection, "people", schema, key=key).open()
    source = desk._room._source
    try:
        query = source.rows({own: f"c{i}" for i, own in enumerate(columns)}, salt)
        return source.database.numbers(query)
    finally:
        desk.close()


def part_of(salt, key, weights):
    number = int(hashlib.md5((salt + key).encode()).hexdigest(), 16)
    ends = np.cumsum(weights)
    return next(i for i, end in enumerate(ends) if number < (int(end) << 128) // int(ends[-1]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", [(1, 1), (3, 1), (1, 2, 5)])
def test_a_record_is_in_the_part_that_its_key_says(engine, weights):
    draw = Draw("0123", weights)
    found = sorted(answers(engine, PLAIN, ROWS, [draw])[:, 0])
    assert found == sorted(part_of("0123", str(row[1]), weights) for row in ROWS)
    of_person = sorted(answers(engine, of_persons(3), ROWS, [draw])[:, 0])
    assert of_person == sorted(part_of("0123", row[2], weights) for row in ROWS)


def test_parts_have_their_shares():
    """Of 20,000 records; a false alarm has less than six standard deviations' chance, 2e-9."""
    shares = [part_of("salt", str(key), (1, 3)) for key in range(20_000)]
    assert abs(np.mean(shares) - 0.75) < 6 * np.sqrt(0.75 * 0.25 / 20_000)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cap", [1, 3, 5, 20])
def test_every_person_weighs_the_same_however_many_records(engine, cap):
    schema = of_persons(cap)
    weight = 1 if cap == 1 else max(12, cap)
    rows = [("a" if row[2].startswith("p") else "b", *row[1:]) for row in ROWS]
    cell = Cell(public_grid(schema), 0)
    found = answers(engine, schema, rows, [cell, WEIGHT])
    of_seven, of_others = found[found[:, 0] == 0, 1], found[found[:, 0] == 1, 1]
    assert of_seven.sum() == 7 * weight
    assert (of_others == weight).all()
    counted = [min(n, cap) for n in np.bincount([i % 7 for i in range(40)])]
    expected = sorted(weight // k + (i < weight % k) for k in counted for i in range(k))
    assert sorted(of_seven[of_seven > 0]) == expected
    alone = answers(engine, schema, [row for row in rows if row[0] == "a"], [cell, WEIGHT])
    assert sorted(alone[:, 1]) == sorted(of_seven)  # whoever else is there changes nothing


def test_ids_must_be_there_and_keys_must_tell_a_persons_records_apart():
    with pytest.raises(SchemaError, match="missing or blank ids"):
        answers("duckdb", of_persons(3), [*ROWS, ("a", 99, " \t", "no")], [WEIGHT])
    with pytest.raises(SchemaError, match="missing or blank ids"):
        answers("duckdb", of_persons(3), [*ROWS, ("a", 99, BLANKS, "no")], [WEIGHT])
    for nobody in (None, BLANKS):
        with pytest.raises(SchemaError, match="missing or blank ids"):
            answers("postgres", of_persons(3), [*ROWS, ("a", 99, nobody, "no")], [WEIGHT])
    with pytest.raises(SchemaError, match="apart"):
        answers("postgres", of_persons(3), [*ROWS, ROWS[0]], [WEIGHT])
    with pytest.raises(SchemaError, match="key has missing"):
        answers("duckdb", PLAIN, [*ROWS, ("a", None, "p", "no")], [WEIGHT])
