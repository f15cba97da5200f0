"""Whatever is asked, in whatever order, one record (person) moves an exact answer by no more than was charged for.

Two curators of tables that differ in one record, or in one person, are asked the same. In the place of noise there is
a stub that notes the exact numbers it would go on: sums must not differ by more than the sensitivities of what was
charged, nor scores by more than theirs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.errors import PrivetError
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.scores import (
    CorrectCount,
    Entropy,
    Gini,
    GradientNorm,
    Mixed,
    Quantile,
    ResidualNorm,
    SquaredError,
)
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, public_grid
from privet.questions.levels import Levels
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.split import Product, Split
from privet.questions.tally import Step, Tally
from privet.tree.public_splits import public_splits

FEATURES = {"a": Numeric(0, 100, missing=True), "b": Numeric(0, 9, integer=True), "c": Categorical(["f", "m"])}
SCHEMAS = [
    Schema(FEATURES, classes=["no", "yes"]),
    Schema(FEATURES, target=(0, 10)),
    Schema(FEATURES, classes=["no", "yes"], person="who", records_per_person=5),
    Schema(FEATURES, target=(0, 10), person="who", records_per_person=2),
]
CUTS = [[[], [], None], [[50], [4], None], [[10, 20, 30], [], None], [[99.9], list(range(9)), None]]
SCORES = [Gini(), Mixed(100), Entropy(3), CorrectCount(), Quantile(1, 3), GradientNorm(1), SquaredError(TARGET_ONE)]
SCORES += [ResidualNorm(9), ResidualNorm(TARGET_ONE)]
ROWS = [[10.0, 4, "f"], [50.0, 0, "m"], [100.0, 9, "x"], [np.nan, 5, "f"], [20.0, 4, "m"], [99.95, 1, "f"]]
BUDGET = Fraction(1, 1000)


class Bare:
    """No noise: notes the exact numbers, and answers nothing that depends on them."""

    reproducible, generator = False, None

    def __init__(self):
        self.sums, self.scores = [], []

    def geometric(self, values, scale):
        self.sums.append(np.array(values))
        return np.zeros_like(values)

    def select(self, mechanism, scores, scales):
        found = [np.array(own) for own in scores]
        self.scores += found
        return [0] * len(found)

    def joint_quantiles(self, counts, score, weights, scale):
        return [0] * (len(score.spacings) - 1)


class World:
    """A curator with its nodes, which the same calls make in both worlds."""

    def __init__(self, rows, answers, people, schema):
        self.noise = Bare()
        X = np.array(rows, dtype=object).reshape(len(rows), 3)
        options = {"ledger": Ledger(10**6), "mechanisms": self.noise, "part_bytes": bytes}
        curator = MemoryCurator(X, answers, schema, groups=None if schema.person is None else people, **options)
        self.desk = curator.open()
        self.nodes = [self.desk.root(Fraction(10**5))]
        self.desk.grid(public_grid(schema, 4))


def question(draw, schema, grids):
    """A call with words that are well made, but perhaps not for now; the nodes by number."""
    which, at, other = draw(st.sampled_from(grids)), draw(st.integers(0, 8)), draw(st.integers(0, 8))
    n_classes = len(schema.classes or ())

    def a_split():
        feature = draw(st.integers(0, 2))
        n = which.features[feature].n_cells
        part = draw(st.one_of(st.just(bytes(range(n))), st.binary(min_size=n, max_size=n).map(_small)))
        return Split(feature, part, draw(st.sampled_from([1, 1, 2, 3])))

    def a_table():
        factors = {split.feature: split for split in (a_split() for _ in range(draw(st.integers(1, 3))))}
        return Product([factors[f] for f in sorted(factors)]) if len(factors) > 1 else a_split()

    tables = tuple(a_table() if draw(st.booleans()) else a_split() for _ in range(draw(st.integers(0, 3))))
    splits = tuple(table for table in tables if type(table) is Split)
    lists = [public_splits(which), Multiway.of(which, splits), Products(which, tables)]
    flags = {"labelled": draw(st.booleans()), "stop": draw(st.booleans())}
    measure, output = draw(st.sampled_from(["records", "target", "gradient", "residual"])), min(n_classes, 1)
    clamp, levels = draw(st.sampled_from([1, 700, TARGET_ONE])), Levels(draw(st.sampled_from([(), (0,), (-9, 20_000)])))
    score, splits, hook = draw(st.sampled_from(SCORES)), draw(st.sampled_from([*lists, None])), draw(st.booleans())
    values = tuple(draw(st.lists(st.integers(-(2**20), 2**20), min_size=4, max_size=4))) * 16

    def regridding(desk):
        """Tables that set another grid while they are read."""
        yield from tables
        if hook:
            desk.grid(grids[0])

    calls = {
        "grid": lambda desk, node: desk.grid(which),
        "split": lambda desk, node: next(iter(desk.split({node(at): tables[0]}).values())),
        "copies": lambda desk, node: desk.copies(node(at), 2),
        "parts": lambda desk, node: desk.parts(node(at), [1, 3]),
        "advance": lambda desk, node: desk.advance({node(at): Step(tables[0], values[: tables[0].n_children], output)}),
        "focus": lambda desk, node: desk.focus(*sorted(abs(v) % 11 for v in values[:2])),
        "tally": lambda desk, node: desk.tally(
            {node(at): Tally(tables, flags["stop"], measure, output, clamp)}, BUDGET
        ),
        "levels": lambda desk, node: desk.tally(
            {node(at): Tally(measure="residual", clamp=clamp, levels=levels)}, BUDGET
        ),
        "residual_quantiles": lambda desk, node: desk.residual_quantiles(node(at), [Fraction(9, 10)], BUDGET),
        "two tallies": lambda desk, node: desk.tally({node(at): Tally(tables), node(other): Tally()}, BUDGET),
        "owner_sum": lambda desk, node: desk.owner_sum({node(at): regridding(desk)}, "least_impurity", BUDGET),
        "choose": lambda desk, node: desk.choose({node(at): Candidates(splits, n_classes, **flags)}, score, BUDGET),
        "quantiles": lambda desk, node: desk.quantiles(node(at), [0], [Fraction(1, 3)], BUDGET),
    }
    return draw(st.sampled_from([*sorted(calls), "choose", "tally"])), calls


def _small(part):
    return bytes(byte % 4 for byte in part)


def hostile_questions(data, schema):
    rows = data.draw(st.lists(st.sampled_from(ROWS), min_size=1, max_size=6))
    answers = [data.draw(st.sampled_from(schema.classes or [0.0, 3.3, 10.0])) for _ in rows]
    people = np.sort(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    fewer = np.searchsorted(people, people[-1]) if schema.person is not None else len(rows) - 1
    worlds = [World(rows[:n], answers[:n], people[:n], schema) for n in (len(rows), fewer)]
    grids = [Grid(schema, cuts) for cuts in CUTS]
    for _ in range(data.draw(st.integers(2, 10))):
        try:
            name, calls = question(data.draw, schema, grids)
        except PrivetError:
            continue  # such words cannot be made
        said = [_asked(world, calls[name]) for world in worlds]
        assert said[0] == said[1], name
        _compare(name, worlds)


def _asked(world, call):
    desk, before = world.desk, len(world.desk.ledger.events)
    try:
        made = call(desk, lambda i: world.nodes[i % len(world.nodes)])
    except PrivetError as error:
        assert len(desk.ledger.events) == before, "a refusal was charged"
        return str(error)
    except IndexError:
        assert len(desk.ledger.events) == before
        return "no table was drawn"
    world.nodes += made if isinstance(made, list | tuple) else ()
    world.new = desk.ledger.events[before:]
    return len(world.new)


def _compare(name, worlds):
    (more, less), charged = worlds, sum(event.sensitivity for event in getattr(worlds[0], "new", ()))
    for a, b in zip(more.noise.sums, less.noise.sums, strict=True):
        assert np.abs(a - b).sum() <= charged, name
    for a, b in zip(more.noise.scores, less.noise.scores, strict=True):
        assert np.ptp(a - b) <= charged, name
    for world in worlds:
        world.noise.sums.clear(), world.noise.scores.clear()
        world.new = ()


FEW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
each_schema = pytest.mark.parametrize(
    "schema", SCHEMAS, ids=["classes", "target", "persons, classes", "persons, target"]
)


@each_schema
@FEW
@given(data=st.data())
def test_one_record_moves_answers_by_no_more_than_was_charged(schema, data):
    hostile_questions(data, schema)


@pytest.mark.slow
@each_schema
@MANY
@given(data=st.data())
def test_one_record_moves_answers_by_no_more_than_was_charged_however_many(schema, data):
    hostile_questions(data, schema)
