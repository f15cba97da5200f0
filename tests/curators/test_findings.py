"""Ways through the curtain that were found in reviews, each as somebody who attacks would write it.

An attack is a function of what an algorithm is handed: a curtain, the node of all records and the budget. It is run on
two tables that differ in one record. Whatever it is told for nothing, or more exactly than it has paid for, is a leak;
to be refused is none, as long as both tables are refused in the same words.
"""

import sys
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import BudgetError, Categorical, Ledger, MemoryCurator, Numeric, PrivateTreeClassifier, PrivetError, Schema
from privet.privacy.scores import CorrectCount, Gini
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, public_grid
from privet.questions.multiway import Multiway
from privet.questions.split import Split
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


def grid_of(schema, **cuts):
    """A grid with these cuts, and one more for each other numeric feature. Nothing else about it can be said."""
    middle = {name: [(own.low + own.high) / 2] for name, own in schema.features.items() if isinstance(own, Numeric)}
    return Grid(schema, [(middle | cuts).get(name) for name in schema.names])


# -- 1 -----------------------------------------------------------------------------------------------------------------


def is_somebody_above(cut):
    """Whether a record lies above a cut, asked by a split of cells that are not there: free."""

    def attack(curtain, start, budget):
        curtain.grid(grid_of(SCHEMA, income=[cut]))
        curtain.split({start: Split(0, bytes(1))})  # two cells, of which the second is left out
        return "nobody"

    return attack


def test_a_grid_cannot_claim_fewer_cells_than_its_cuts_make():
    """A split raised an IndexError if and only if somebody earned more than the cut: bisection found the largest income
    to the cent, for nothing."""
    rich, rest = people(income=900_000.0)
    for cut in (800_000.0, 100_000.0):
        assert told(is_somebody_above(cut), curator_of(rich)) == told(is_somebody_above(cut), curator_of(rest))


def test_one_record_is_in_one_cell_of_a_table_whatever_the_grid_claims():
    """Features with fewer cells than cuts overflow into the next one's: all of a record's values were counted in one
    cell, at the price of one."""
    names = [f"x{i}" for i in range(30)]
    schema = Schema({name: Numeric(0, 1) for name in names}, classes=["n", "y"])
    X, y = np.ones((5, 30)), np.array(["y"] * 5)

    def attack(curtain, start, budget):
        curtain.grid(grid_of(schema, **{name: np.linspace(0.1, 0.9, 30 - 1 - i) for i, name in enumerate(names)}))
        return curtain.tally({start: Tally((Split(29, bytes(1)),))}, PAID)[start].tolist()

    with_it, without = (told(attack, curator_of(table, schema)) for table in ((X, y), (X[1:], y[1:])))
    if isinstance(with_it, str):
        assert with_it == without
    else:
        assert np.abs(np.array(with_it) - np.array(without)).sum() <= 1


def test_a_coordinator_cannot_claim_fewer_cells_either():
    """The same by messages, to a party that has next to nothing left to spend."""
    pytest.importorskip("cryptography")
    from privet import FederatedCurator
    from privet.consortium.federated.channel import in_process

    def said(table):
        others = [people(20)[0], people(30)[0]]
        curator = FederatedCurator(SCHEMA, in_process([table, *others], SCHEMA, limit=0.001))
        coordinator = curator.coordinator
        coordinator.tell(do="root", node=0, limit="1/2000", currency="epsilon")
        coordinator.tell(do="grid", features=[[800_000.0], [50.0], None])
        coordinator.tell(do="split", splits=[[0, 0, "00", [1]]])
        asked = {"tables": [[]], "asked": [[0, 0, True, "records", 0]]}
        question = {"do": "tally", "asked": asked, "budgets": ["1/4000"], "currencies": ["epsilon"]}
        try:
            coordinator.sum(question, 2, 2**60)
        except PrivetError as error:
            return str(error)
        return "answered"

    rich, rest = people(income=900_000.0)
    assert said(rich) == said(rest)


# -- 2 -----------------------------------------------------------------------------------------------------------------


def test_a_grid_cannot_leave_out_the_cell_of_missing_values():
    """To set such a grid, which is free, raised an error if and only if some record had a missing value."""

    def attack(curtain, start, budget):
        curtain.grid(grid := grid_of(SCHEMA, age=[50.0]))
        return grid.features[1].n_cells

    unknown, rest = people(age=float("nan"))
    assert told(attack, curator_of(unknown)) == told(attack, curator_of(rest)) == 3


# -- 3 -----------------------------------------------------------------------------------------------------------------


def test_an_endless_cut_does_not_make_a_quantile_exact():
    """The width beside such a cut was infinite, its prior the smallest integer, and its score wrapped around, unless as
    many records lay below the cut as above: then it did not. So one record decided each answer, for a thousandth. With
    noise the two tables differ in all of forty answers with a chance far below 1e-6."""
    n = 40
    X = pd.DataFrame({"income": np.repeat([20_000.0, 70_000.0], n // 2), "age": 30.0, "sex": "f"})
    y = np.array(["y"] * n)

    def attack(curtain, start, budget):
        curtain.grid(grid_of(SCHEMA, income=[50_000.0, float("inf")]))
        return [curtain.quantiles(start, [0], [Fraction(1, 2)], LITTLE)[0][0] for _ in range(40)]

    with_it, without = (told(attack, curator_of(table)) for table in ((X, y), (X.iloc[:-1], y[:-1])))
    if isinstance(with_it, str):
        assert with_it == without
    else:
        assert set(with_it) & set(without)


# -- 4 -----------------------------------------------------------------------------------------------------------------


def test_a_hidden_choice_that_the_curator_never_made_splits_nothing():
    """A choice on shares is a row of zeros and a one. A row of a made-up choice may hold 100,000: the children's
    counts, paid for as if a record were one, had it a hundred thousand times over."""
    pytest.importorskip("cryptography")
    from hidden_programs import horizontally, on_shares
    from privet.curators.hidden import HiddenChoice
    from privet.tree.hidden_shape import shape_of

    schema = Schema({"sex": Categorical(["f", "m"], other=False)}, classes=["n", "y"])
    X, y = np.array([["f"]] * 3 + [["m"]] * 2, dtype=object), np.array(["y"] * 3 + ["n"] * 2)
    shape = shape_of(schema, "thresholds", 2)

    def program(curator, engine):
        def attack(curtain, start, budget):
            curtain.grid(shape.grid)
            table = engine.constant(np.full((1, len(shape.splits)), 100_000))
            children = curtain.split({start: HiddenChoice(table, 0)})[start]
            return max(
                int(np.abs(counts).max()) for counts in curtain.tally(dict.fromkeys(children, Tally()), PAID).values()
            )

        return told(attack, curator, epsilon=10**7)

    for said in on_shares(program, horizontally(X, y, schema, 2), schema, most_records=8):
        assert isinstance(said, str) or said <= 5


# -- 5 -----------------------------------------------------------------------------------------------------------------


def test_splits_cannot_be_changed_once_they_were_checked():
    """Arrays of a checked list of splits stayed writable: a run of cells could be made to reach into the next feature,
    and a record counted twice."""
    splits = public_splits(public_grid(SCHEMA, 4))
    before = [splits.split(i) for i in range(len(splits))]
    try:
        splits.last[0] += 1
    except (AttributeError, TypeError, ValueError):
        return
    try:
        assert [splits.split(i) for i in range(len(splits))] == before
    finally:
        splits.last[0] -= 1  # it is kept and shared: others must not see it


def test_a_splits_parts_are_its_own():
    """A part that was an array could be changed between the check and the count."""
    part = np.zeros(4, dtype=np.uint8)
    try:
        split = Split(0, part)
    except (PrivetError, TypeError):
        return
    part[3] = 9
    assert bytes(split.part) == bytes(4)


def test_a_list_of_splits_of_a_callers_own_kind_never_sees_a_count():
    """A subclass of Multiway was handed the exact histogram, to say what the children of its splits are."""
    seen = []

    def attack(curtain, start, budget):
        class Spy(Multiway):
            def children(self, histogram):
                seen.append(histogram.copy())
                return super().children(histogram)

        curtain.grid(grid := public_grid(SCHEMA, 4))
        spy = Spy(grid, (Split(2, bytes([0, 1, 1])),), np.zeros(1))
        return str(curtain.choose({start: Candidates(spy, 2)}, Gini(), LITTLE))

    told(attack, curator_of(people()[0]))
    assert not seen


def test_a_score_of_a_callers_own_making_never_sees_a_count():
    """A score is a value, and its method could be replaced by one that keeps what it is handed."""
    seen = []

    def attack(curtain, start, budget):
        curtain.grid(grid := public_grid(SCHEMA, 4))
        score = Gini()
        score.__dict__["of"] = lambda counts: seen.append(counts.copy()) or Gini().of(counts)
        return str(curtain.choose({start: Candidates(public_splits(grid), 2)}, score, LITTLE))

    told(attack, curator_of(people()[0]))
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

    one, other = people()
    assert told(attack, curator_of(one)) == told(attack, curator_of(other))


def test_no_algorithm_can_raise_its_limit():
    """The ledger itself was at hand, and took a negative number for what others had spent."""

    def attack(curtain, start, budget):
        curtain.ledger.withhold(-1000)
        again = curtain.root(500)
        return curtain.tally({again: Tally()}, Fraction(500))[again].tolist()

    curator = curator_of(people()[0], limit=1)
    told(attack, curator, epsilon=0.5)
    assert curator.ledger.spent <= 1


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
    try:
        stated += model.fit_curator(curator).privacy_.spent
    except PrivetError:
        return
    assert curator.ledger.spent <= stated


# -- 7 -----------------------------------------------------------------------------------------------------------------


def test_a_grid_that_another_thread_sets_waits_for_the_question():
    """While one thread counted the smaller of two siblings, another set a grid: the larger one was then its parent's
    counts on the old grid less its sibling's on the new, and no longer what the noise was made for."""
    (X, y), _ = people(400)
    curator = curator_of((X, y)).open().curtain
    cuts = (20_000.0, 60_000.0)
    grids = [grid_of(SCHEMA, income=[cut]) for cut in cuts]
    table = Tally((Split(0, bytes([0, 1])),), by_class=False)
    curator.grid(grids[0])
    root = curator.root()
    right = [
        [[low := int((X.income[X.sex == sex] <= cut).sum()), int((X.sex == sex).sum()) - low] for cut in cuts]
        for sex in "fm"
    ]
    stopped = threading.Event()

    def set_grids():
        while not stopped.is_set():
            for grid in grids:
                curator.grid(grid)

    setter = threading.Thread(target=set_grids)
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        setter.start()
        for _ in range(2000):
            curator.tally({root: table}, PAID)
            children = curator.split({root: Split(2, bytes([0, 1, 1]))})[root]
            answers = curator.tally(dict.fromkeys(children, table), PAID)
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
