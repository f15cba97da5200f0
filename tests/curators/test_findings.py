"""Ways through the curtain that were found in reviews, each as somebody who attacks would write it.

An attack is a function of what an algorithm is handed: a curtain, the node of all records and the budget. It is run on
two tables that differ in one record. Whatever it is told for nothing, or more exactly than it has paid for, is a leak;
to be refused is none, as long as both tables are refused in the same words.
"""

import decimal
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    BudgetError,
    Categorical,
    LeakError,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateTreeClassifier,
    PrivetError,
    Schema,
)
from privet.curators.desk import Desk
from privet.curators.records import Records
from privet.curators.room import CountingRoom
from privet.privacy.scope import Scope
from privet.privacy.scores import CorrectCount, Gini
from privet.privacy.zcdp import epsilon_at
from privet.questions.candidates import Candidates
from privet.questions.grid import Cells, Grid, public_grid
from privet.questions.multiway import Multiway
from privet.questions.split import Product, Split
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"income": Numeric(0, 1_000_000), "age": Numeric(0, 100, missing=True), "sex": Categorical(["f", "m"])},
    classes=["n", "y"],
)
PAID = Fraction(10**6)
"""So much that noise is none: what is told is exact."""

LITTLE = Fraction(1, 1000)


def people(n=40, **last):
    """A table, and the same without its last record, which may be told apart from the others."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "income": rng.integers(10_000, 90_000, n).astype(float),
            "age": rng.integers(20, 60, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    for column, value in last.items():
        X.loc[n - 1, column] = value
    y = np.where(rng.random(n) < 0.5, "y", "n")
    return (X, y), (X.iloc[:-1], y[:-1])


class Told(Exception):
    """Carries what an attack has learned out of a fit."""

    def __init__(self, what):
        super().__init__("told")
        self.what = what


class Hostile(PrivateTreeClassifier):
    """An algorithm that attacks instead of growing anything."""

    attack = None

    def _grow(self, curtain, start, budget):
        raise Told(type(self).attack(curtain, start, budget))


def hostile(attack, epsilon=10**9):
    return type("Attacker", (Hostile,), {"attack": staticmethod(attack)})(epsilon=epsilon, n_records=100)


def curator_of(table, schema=SCHEMA, limit=float("inf")):
    return MemoryCurator(*table, schema, ledger=Ledger(limit))


def told(attack, curator, epsilon=10**9):
    """What the attack learns; where it is refused, the kind of error and its words."""
    try:
        hostile(attack, epsilon).fit_curator(curator)
    except Told as learned:
        return learned.what
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("an attack that tells nothing")


def claimed_grid(schema, cuts):
    """A grid with these cuts, and none elsewhere: what its cells are follows, so nothing else can be said of it."""
    plain = [cuts.get(name, [] if isinstance(own, Numeric) else None) for name, own in schema.features.items()]
    return Grid(schema, plain)


def as_it_was(schema, cuts, **claims):
    """The same as grids used to be made: cell by cell, with as many cells as somebody said."""
    cells = [Cells(name, np.array(own), len(own) + 1 + claims[name], claims[name]) for name, own in cuts.items()]
    return Grid(tuple(cells))


def the_same(attack, one, other, schema=SCHEMA):
    """What an attack is told by either of two tables that differ in one record."""
    first, second = (told(attack, curator_of(table, schema)) for table in (one, other))
    assert first == second
    return first


# -- 1 -----------------------------------------------------------------------------------------------------------------


def is_somebody_above(cut, made):
    """Whether a record lies above a cut, asked by a split of cells that are not there: free."""

    def attack(curtain, start, budget):
        curtain.grid(made({"income": [cut]}))
        curtain.split({start: Split(0, bytes(1))})
        return "nobody"

    return attack


@pytest.mark.parametrize("cut", [800_000.0, 100_000.0])
def test_a_grid_cannot_claim_fewer_cells_than_its_cuts_make(cut):
    """A split raised an IndexError if and only if somebody earned more than the cut: bisection found the largest income
    to the cent, for nothing."""
    rich, rest = people(income=900_000.0)
    honest = is_somebody_above(cut, lambda cuts: claimed_grid(SCHEMA, cuts))
    assert "every cell of its feature" in the_same(honest, rich, rest)
    assert "nobody" not in the_same(is_somebody_above(cut, lambda cuts: as_it_was(SCHEMA, cuts, income=-1)), rich, rest)


def test_one_record_is_in_one_cell_of_a_table_whatever_the_grid_claims():
    """Features with fewer cells than cuts overflow into the next one's: all of a record's values were counted in one
    cell, at the price of one."""
    names = [f"x{i}" for i in range(30)]
    schema = Schema({name: Numeric(0, 1) for name in names}, classes=["n", "y"])
    X, y = np.ones((5, 30)), np.array(["y"] * 5)
    cuts = {name: np.linspace(0.1, 0.9, 30 - 1 - i) for i, name in enumerate(names)}

    def one_cell(curtain, start, budget):
        curtain.grid(as_it_was(schema, cuts, **{name: -len(own) for name, own in cuts.items()}))
        return curtain.tally({start: Tally((Split(29, bytes(1)),))}, PAID)[start].tolist()

    assert "Error" in the_same(one_cell, (X, y), (X[1:], y[1:]), schema)

    def last_feature(curtain, start, budget):
        curtain.grid(claimed_grid(schema, cuts))
        return curtain.tally({start: Tally((Split(29, bytes(1)),))}, PAID)[start]

    with_it, without = (told(last_feature, curator_of(table, schema)) for table in ((X, y), (X[1:], y[1:])))
    assert np.abs(with_it - without).sum() == 1


OLD_FEATURES = [
    {"name": "income", "cuts": [800_000.0], "n_cells": 1, "special": -1},
    {"name": "age", "cuts": [50.0], "n_cells": 3, "special": True},
    {"name": "sex", "cuts": None, "n_cells": 3, "special": True},
]


@pytest.mark.parametrize("features", [OLD_FEATURES, [[800_000.0], [50.0], None]])
def test_a_coordinator_cannot_claim_fewer_cells_either(features):
    """The same by messages, to a party that has next to nothing left to spend."""
    pytest.importorskip("cryptography")
    from privet import FederatedCurator
    from privet.consortium.federated.channel import in_process

    def said(table):
        others = [people(20)[0], people(30)[0]]
        channel = in_process([table, *others], SCHEMA, limit=0.001)
        coordinator = FederatedCurator(SCHEMA, channel).coordinator
        coordinator.tell(do="root", node=0, limit="1/2000", currency="epsilon")
        coordinator.tell(do="grid", features=features)
        coordinator.tell(do="split", splits=[[0, 0, "00", [1]]])
        asked = {"tables": [[]], "asked": [[0, 0, True, "records", 0]]}
        question = {"do": "tally", "asked": asked, "budgets": ["1/4000"], "currencies": ["epsilon"]}
        with pytest.raises(PrivetError) as refused:
            coordinator.sum(question, 2, 2**60)
        return str(refused.value)

    rich, rest = people(income=900_000.0)
    assert said(rich) == said(rest)


# -- 2 -----------------------------------------------------------------------------------------------------------------


def test_a_grid_cannot_leave_out_the_cell_of_missing_values():
    """To set such a grid, which is free, raised an error if and only if some record had a missing value."""
    strict = Schema(dict(SCHEMA.features) | {"age": Numeric(0, 100)}, classes=SCHEMA.classes)

    def setting(made):
        def attack(curtain, start, budget):
            curtain.grid(made())
            return "nobody"

        return attack

    unknown, rest = people(age=float("nan"))
    assert the_same(setting(lambda: claimed_grid(SCHEMA, {"age": [50.0]})), unknown, rest) == "nobody"
    assert "the schema's features" in the_same(setting(lambda: claimed_grid(strict, {"age": [50.0]})), unknown, rest)
    assert "Error" in the_same(setting(lambda: as_it_was(SCHEMA, {"age": [50.0]}, age=False)), unknown, rest)


# -- 3 -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [float("inf"), float("nan"), 1e300])
def test_an_endless_cut_does_not_make_a_quantile_exact(cut):
    """The width beside such a cut was infinite, its prior the smallest integer, and its score wrapped around, unless as
    many records lay below the cut as above: then it did not. So one record decided each answer, for a thousandth."""
    n = 40
    X = pd.DataFrame({"income": np.repeat([20_000.0, 70_000.0], n // 2), "age": 30.0, "sex": "f"})
    y = np.array(["y"] * n)

    def attack(curtain, start, budget):
        curtain.grid(claimed_grid(SCHEMA, {"income": [50_000.0, cut]}))
        return [curtain.quantiles(start, [0], [Fraction(1, 2)], LITTLE)[0][0] for _ in range(40)]

    assert "inside its range" in the_same(attack, (X, y), (X.iloc[:-1], y[:-1]))


# -- 4 -----------------------------------------------------------------------------------------------------------------


def hidden_counts(made_up):
    """The largest count below a split by a choice that ``made_up`` makes of a curtain, a node and a forged table."""
    pytest.importorskip("cryptography")
    from hidden_programs import horizontally, on_shares
    from privet.tree.hidden_shape import shape_of

    schema = Schema({"sex": Categorical(["f", "m"], other=False)}, classes=["n", "y"])
    X, y = np.array([["f"]] * 3 + [["m"]] * 2, dtype=object), np.array(["y"] * 3 + ["n"] * 2)
    shape = shape_of(schema, "thresholds", 2)

    def program(curator, engine):
        def attack(curtain, start, budget):
            curtain.grid(shape.grid)
            table = engine.constant(np.full((1, len(shape.splits)), 100_000))
            choice = made_up(curtain, start, Candidates(shape.splits, 2), table)
            children = curtain.split({start: choice})[start]
            return max(
                int(np.abs(counts).max())
                for counts in curtain.tally(dict.fromkeys(children, Tally()), Fraction(30)).values()  # noise: e^-30
            )

        return told(attack, curator, epsilon=10**7)

    return on_shares(program, horizontally(X, y, schema, 2), schema, most_records=8)


def test_a_hidden_choice_that_the_curator_never_made_splits_nothing():
    """A choice on shares is a row of zeros and a one. A row of a made-up choice may hold 100,000: the children's
    counts, paid for as if a record were one, had it a hundred thousand times over."""

    def forged(curtain, start, options, table):
        from privet.curators.hidden import HiddenChoice

        return HiddenChoice(table, 0)

    assert all("that they were made for" in said for said in hidden_counts(forged))


def test_a_hidden_choice_whose_table_was_changed_splits_as_it_was_made():
    def tampered(curtain, start, options, table):
        choice = curtain.choose({start: options}, CorrectCount(), Fraction(1), hidden=True)[start]
        choice.table = table
        return choice

    said = hidden_counts(tampered)
    assert all(isinstance(counts, int) and 1 <= counts <= 5 for counts in said), said


@pytest.mark.parametrize("row", [1, -1, 10**6])
def test_a_hidden_choice_of_another_row_splits_nothing(row):
    def moved(curtain, start, options, table):
        choice = curtain.choose({start: options}, CorrectCount(), Fraction(1), hidden=True)[start]
        choice.row = row
        return choice

    assert all("that they were made for" in said for said in hidden_counts(moved))


# -- 5 -----------------------------------------------------------------------------------------------------------------


def test_splits_cannot_be_changed_once_they_were_checked():
    """Arrays of a checked list of splits stayed writable: a run of cells could be made to reach into the next feature,
    and a record counted twice."""
    splits = public_splits(public_grid(SCHEMA, 4))
    with pytest.raises(ValueError, match="read-only"):
        splits.last[0] += 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        splits.last.setflags(write=True)
    with pytest.raises(AttributeError):
        splits.last = splits.last + 1


def test_a_splits_parts_are_its_own():
    """A part that was an array could be changed between the check and the count."""
    part = np.zeros(4, dtype=np.uint8)
    split = Split(0, part)
    part[3] = 9
    assert split.part == bytes(4)


def test_a_list_of_splits_of_a_callers_own_kind_never_sees_a_count():
    """A subclass of Multiway was handed the exact histogram, to say what the children of its splits are."""
    seen = []

    def subclassed(grid):
        class Spy(Multiway):
            def children(self, histogram):
                seen.append(histogram.copy())
                return super().children(histogram)

        return Spy(grid, (Split(2, bytes([0, 1, 1])),), np.zeros(1))

    class Alike:
        """Everything that a list of splits has, but not one."""

        def __init__(self, grid):
            self.grid, self.splits = grid, (Split(2, bytes([0, 1, 1])),)
            self.log_prior, self.n_children = np.zeros(1), np.array([2])

        def __len__(self):
            return 1

        def children(self, histogram):
            seen.append(histogram.copy())
            return histogram

    for kind in (subclassed, Alike):

        def attack(curtain, start, budget, kind=kind):
            curtain.grid(grid := public_grid(SCHEMA, 4))
            return str(curtain.choose({start: Candidates(kind(grid), 2)}, Gini(), LITTLE))

        assert "Error" in told(attack, curator_of(people()[0]))
    assert not seen


def test_a_score_of_a_callers_own_making_never_sees_a_count():
    """A score is a value, and its method could be replaced by one that keeps what it is handed."""
    seen = []

    class Spy:
        lemma, sensitivity, monotone = "gini", 0, True

        def of(self, counts):
            seen.append(counts.copy())
            return Gini().of(counts)

    def replaced():
        score = Gini()
        object.__setattr__(score, "of", lambda counts: seen.append(counts.copy()) or Gini().of(counts))
        return score

    for made in (Spy, replaced):

        def attack(curtain, start, budget, made=made):
            curtain.grid(grid := public_grid(SCHEMA, 4))
            return str(curtain.choose({start: Candidates(public_splits(grid), 2)}, made(), LITTLE))

        curator = curator_of(people()[0])
        told(attack, curator)
        assert all(event.sensitivity == Gini().sensitivity for event in curator.ledger.events)
    assert not seen


class ShortTuple(tuple):
    """Says that it holds one thing."""

    def __len__(self):
        return 1


class FickleBudget(dict):
    """Is much when it is first asked for, and little when it is charged."""

    def get(self, node, default=None):
        self.asked = getattr(self, "asked", 0) + 1
        return PAID if self.asked == 1 else LITTLE

    __getitem__ = get


class CheapFraction(Fraction):
    """A thousandth, but what is divided by it is as if by a million."""

    def __rtruediv__(self, other):
        return other / PAID


def tally_of_many(curtain, start):
    tables = ShortTuple(Split(2, bytes([0, 1, 1])) for _ in range(50))
    return curtain.tally({start: Tally(tables)}, Fraction(1))[start]


def choice_for_a_fickle_budget(curtain, start):
    labels = Candidates(None, 2, labelled=True, stop=True)
    return curtain.choose({start: labels}, CorrectCount(), FickleBudget({start: LITTLE}))


def tally_for_a_fickle_budget(curtain, start):
    return curtain.tally({start: Tally()}, FickleBudget({start: LITTLE}))


def tally_for_a_cheap_fraction(curtain, start):
    return curtain.tally({start: Tally()}, CheapFraction(1, 1000))


@pytest.mark.parametrize(
    "ask",
    [
        tally_of_many,
        choice_for_a_fickle_budget,
        tally_for_a_fickle_budget,
        tally_for_a_cheap_fraction,
    ],
)
def test_what_is_charged_is_what_the_noise_is_made_for(ask):
    """A tuple with a lying length, a budget that is another the second time and a number that divides as it likes had
    questions checked and charged that were not the ones that were answered."""
    answers = []

    def attack(curtain, start, budget):
        curtain.grid(public_grid(SCHEMA, 4))
        answers.append(ask(curtain, start))
        return "answered"

    curator = curator_of(people()[0])
    if told(attack, curator) == "answered":
        (event,) = curator.ledger.events
        assert event.cost <= Fraction(event.charged)
        if ask is tally_of_many:
            assert event.sensitivity >= len(answers[0]) / 2


def test_nothing_exact_can_be_reached_from_what_an_algorithm_is_handed():
    """The object that an algorithm was handed had the exact counts as a method, with a receipt of 0 that verified."""

    def attack(curtain, start, budget):
        return np.asarray(curtain._totals([start])).tolist()

    assert "AttributeError" in the_same(attack, *people())


def test_no_walk_over_the_attributes_of_a_curtain_or_a_node_leads_behind_it():
    """From attribute to attribute, those of Python's own (with two underscores) aside: no sandbox is claimed."""
    behind = (Desk, Ledger, Records, CountingRoom, MemoryCurator, Scope)

    def attack(curtain, start, budget):
        seen, waiting = {}, [curtain, start]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen[id(one)] = one
            if isinstance(one, str | int | float | tuple | frozenset | dict | type | np.ndarray) or callable(one):
                continue
            names = [name for name in dir(one) if not name.startswith("__") and name != "most_records"]  # which is none
            waiting += [getattr(one, name, None) for name in names]
        return [type(one) for one in seen.values() if isinstance(one, behind)], len(seen)

    found, n = told(attack, curator_of(people()[0]))
    assert not found
    assert n > 20


def test_no_algorithm_can_raise_its_limit():
    """The ledger itself was at hand, and took a negative number for what others had spent."""

    def attack(curtain, start, budget):
        curtain.ledger.withhold(-1000)
        again = curtain.root(500)
        return curtain.tally({again: Tally()}, Fraction(500))[again].tolist()

    curator = curator_of(people()[0], limit=1)
    assert "AttributeError" in told(attack, curator, epsilon=0.5)
    assert curator.ledger.spent == 0
    with pytest.raises(PrivetError):
        curator.ledger.withhold(Fraction(-1000))


# -- 6 -----------------------------------------------------------------------------------------------------------------


class Remembers(PrivateTreeClassifier):
    """Asks about a node of the fit before."""

    older = None

    def _grow(self, curtain, start, budget):
        kept, self.older = self.older, (curtain, start)
        if kept is not None:
            before, node = kept
            before.tally({node: Tally()}, Fraction(1, 2))
        return super()._grow(curtain, start, budget / 4)


def test_a_fit_cannot_ask_about_the_nodes_of_another():
    """What was asked of an older node was charged to the ledger, and in no receipt: the fit that asked did not show it,
    and that of the older fit was written already."""
    curator = curator_of(people()[0])
    model = Remembers(epsilon=1, max_depth=1, n_records=40)
    stated = model.fit_curator(curator).privacy_.spent
    with pytest.raises(LeakError, match="This fit has ended"):
        model.fit_curator(curator)
    assert curator.ledger.spent == stated


def test_nor_by_its_own_curtain():
    curator, kept = curator_of(people()[0]), []

    def attack(curtain, start, budget):
        kept.append(start)
        return str(curtain.tally({kept[0]: Tally()}, LITTLE))

    assert "Error" not in told(attack, curator)
    assert "not of this fit" in told(attack, curator)
    assert curator.ledger.spent == LITTLE


# -- 7 -----------------------------------------------------------------------------------------------------------------


def test_a_grid_that_another_thread_sets_waits_for_the_question():
    """While one thread counted the smaller of two siblings, another set a grid: the larger one was then its parent's
    counts on the old grid less its sibling's on the new, and no longer what the noise was made for."""
    (X, y), _ = people(400)
    desk = curator_of((X, y)).open()
    cuts = (20_000.0, 60_000.0)
    grids = [claimed_grid(SCHEMA, {"income": [cut]}) for cut in cuts]
    table = Tally((Split(0, bytes([0, 1])),), by_class=False)
    desk.grid(grids[0])
    root = desk.root()
    right = [
        [[low := int((X.income[X.sex == sex] <= cut).sum()), int((X.sex == sex).sum()) - low] for cut in cuts]
        for sex in "fm"
    ]
    stopped = threading.Event()

    def set_grids():
        while not stopped.is_set():
            for grid in grids:
                desk.grid(grid)

    setter = threading.Thread(target=set_grids)
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        setter.start()
        for _ in range(2000):
            desk.tally({root: table}, PAID)
            children = desk.split({root: Split(2, bytes([0, 1, 1]))})[root]
            answers = desk.tally(dict.fromkeys(children, table), PAID)
            assert all(answers[child].tolist() in own for child, own in zip(children, right))
    finally:
        stopped.set()
        setter.join()
        sys.setswitchinterval(often)


# -- 8 -----------------------------------------------------------------------------------------------------------------


def test_a_ledger_inside_another_does_not_hide_what_is_spent():
    """A fit inside two ledgers was charged to the inner one: the outer, of 0.1, was left at 0."""
    X, y = people()[0]
    with Ledger(0.1) as outer:
        try:
            with Ledger(100):
                PrivateTreeClassifier(SCHEMA, epsilon=50, max_depth=1, n_records=40).fit(X, y)
        except BudgetError:
            assert outer.spent <= Fraction(1, 10)
            return
    assert outer.spent >= 50


# -- the caller's arithmetic -------------------------------------------------------------------------------------------


def test_a_callers_decimal_context_changes_no_price():
    """An answer of epsilon 43 on half of the records was charged 0.54 in a context of few exponents and no traps."""
    X, y = people()[0]
    curtain = MemoryCurator(X, y, SCHEMA, ledger=Ledger(2)).open().curtain
    (half,) = curtain.samples(curtain.root(Fraction(2)), 1, 2)
    context = decimal.Context(Emax=18, Emin=-99, rounding=decimal.ROUND_DOWN, traps=[])
    with decimal.localcontext(context), pytest.raises(BudgetError):
        curtain.tally({half: Tally()}, Fraction(43))


@pytest.mark.parametrize("digits", [1, 9, 10, 28])
def test_a_callers_decimal_context_changes_no_conversion(digits):
    """An epsilon of 27.8 was converted to 10."""
    rho, delta = Fraction(8) + Fraction(digits, 10**6), Fraction(1, 10**6)  # not one that was converted before
    with decimal.localcontext(decimal.Context(digits, decimal.ROUND_DOWN, Emax=0, Emin=0, traps=[])):
        found = epsilon_at(rho, delta)
    epsilon_at.cache_clear()
    assert found == epsilon_at(rho, delta) > 27


def test_prices_and_draws_take_no_context_over():
    """``values.decimals`` sets all of one; ``localcontext`` alone keeps the caller's rounding, range and traps."""
    for file in Path(privet.__file__).parent.rglob("*.py"):
        if file.name != "values.py":
            assert "localcontext(" not in file.read_text(encoding="utf-8"), file


def test_a_callers_error_state_does_not_show_exact_counts():
    """Joint quantiles raised FloatingPointError under ``np.seterr(all="raise")`` or not, by one record."""
    schema = Schema({"a": Numeric(0, 1)}, classes=[0, 1])
    for n in (100, 625, 626, 5000):
        X = np.repeat([0.05, 0.15, 0.3, 0.6, 0.8, 0.95], n)[:, None]
        curtain = MemoryCurator(X, np.zeros(len(X), int), schema).open().curtain
        curtain.grid(Grid(schema, [[0.1, 0.2, 0.5, 0.7, 0.9]]))
        with np.errstate(all="raise"):
            curtain.quantiles(curtain.root(), [0], [Fraction(1, 3), Fraction(2, 3)], Fraction(1, 2))


def test_a_product_of_one_part_and_256_is_answered():
    """It was charged, and ended in OverflowError."""
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1])
    X = np.random.default_rng(0).random((50, 2))
    curtain = MemoryCurator(X, (X[:, 0] > 0.5).astype(int), schema).open().curtain
    grid = public_grid(schema)
    curtain.grid(grid)
    one, many = (own.n_cells for own in grid.features)
    product = Product([Split(0, bytes(one)), Split(1, bytes(i % 256 for i in range(many)), 256)])
    root = curtain.root()
    assert curtain.tally({root: Tally([product], measure="gradient", output=1)}, PAID)[root].shape == (256, 2)
