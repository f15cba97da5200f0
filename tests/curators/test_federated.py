"""The federated curator answers what one curator of all records would, and sees none of them."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from scipy.stats import chi2

pytest.importorskip("cryptography")

from consortium.federated.owners import GRID, NO_NOISE, SCHEMA, TABLES, table, tables, together
from privet import (
    Categorical,
    HistogramTreeClassifier,
    HistogramTreeRegressor,
    Ledger,
    MemoryCurator,
    Numeric,
    Schema,
    TopDownClassifier,
)
from privet.consortium.federated.allowance import Allowance
from privet.consortium.federated.channel import Overheard, in_process
from privet.consortium.federated.curator import federated_curator
from privet.consortium.federated.run_state import Entry
from privet.consortium.federated.wire import unpack
from privet.errors import BudgetError, CapabilityError, FederatedError, LeakError
from privet.privacy.event import Event, add_up, spending
from privet.privacy.laws import log_geometric_shares, log_skellam
from privet.privacy.receipt import Receipt
from privet.privacy.scores import CorrectCount, Gini
from privet.privacy.zcdp import rho_within
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, public_grid
from privet.questions.multiway import attributes
from privet.questions.scorer import Scorer, Summand
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

TERMS = [
    {"tolerated_colluders": 0},
    {"tolerated_colluders": 2},
    {"tolerated_colluders": 1, "tolerated_dropouts": 1},
    {"noise": "own"},
]


def asking(owners=None, schema=SCHEMA, *, ledger=None, seed=None, limit=math.inf, delta=None, **terms):
    channel = in_process(owners or tables(), schema, seed=seed, limit=limit, delta=delta)
    return federated_curator(schema, channel, ledger=ledger, delta=delta, **terms)


def federated(*args, **options):
    """The desk of a curator of several owners."""
    return asking(*args, **options).open()


def both(program, **terms):
    """What a program gets from the federated curator and from one of all records."""
    answers = []
    for desk in (federated(**terms), together(tables())):
        desk.grid(GRID)
        answers.append(program(desk, desk.root()))
    return answers


@pytest.mark.parametrize("terms", TERMS)
def test_sums_without_noise_are_those_of_all_records(terms):
    def program(desk, root):
        children = desk.split({root: TABLES[1]})[root]
        one = desk.tally({root: Tally(TABLES), children[0]: Tally(by_class=False)}, NO_NOISE)
        again = desk.tally(dict.fromkeys(desk.copies(children[1], 2), Tally(TABLES[:1])), NO_NOISE)
        return [*one.values(), *again.values()]

    for ours, central in zip(*both(program, **terms)):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, central)


@pytest.mark.parametrize("sizes", [(0, 40, 40), (0, 0, 1), (0, 0, 0)])
@pytest.mark.parametrize("terms", [{"tolerated_colluders": 0}, {"noise": "own"}])
@pytest.mark.filterwarnings("ignore:epsilon 1 is too small")
def test_owners_without_a_record_are_asked_as_any_other(terms, sizes):
    owners = [table(n, seed) for seed, n in enumerate(sizes)]
    for model in (HistogramTreeClassifier(epsilon=1.0), TopDownClassifier(epsilon=1.0, split="local_rnm")):
        model.fit_curator(asking(owners, ledger=Ledger(1), **terms), holdout=0.3, by="colour")
        assert model.verify()
    targets = Schema(SCHEMA.features, target=(0, 1))
    numbers = [(X, X[:, 2].astype(float)) for X, _ in owners]
    model = HistogramTreeRegressor(epsilon=1.0)
    model.fit_curator(asking(numbers, targets, ledger=Ledger(1), **terms), holdout=0.3)
    assert model.verify()


def test_sums_over_owners_add_up_what_each_has_alone():
    own = []
    for each in tables():
        desk = together([each])
        desk.grid(GRID)
        own.append(desk.owner_sum({desk.root(): TABLES}, "least_impurity", NO_NOISE))
    desk = federated()
    desk.grid(GRID)
    (ours,) = desk.owner_sum({desk.root(): TABLES}, "least_impurity", NO_NOISE).values()
    np.testing.assert_array_equal(ours, sum(next(iter(each.values())) for each in own))


@pytest.mark.parametrize("options", [{}, {"labelled": True}, {"stop": True}])
@pytest.mark.parametrize("splits", [public_splits(GRID), attributes(GRID)])
def test_every_owner_chooses_for_itself(options, splits):
    if options.get("labelled") and splits is not public_splits(GRID):
        splits = public_splits(GRID)
    score = CorrectCount() if options.get("labelled") else Gini()
    allowed = np.arange(len(splits)) % 3 > 0 if not options else None
    candidates = Candidates(splits, 3, allowed, **options)
    desk = federated()
    desk.grid(GRID)
    chosen = desk.choose_each({desk.root(): candidates}, score, NO_NOISE)
    alone = []
    for each in tables():
        own = together([each])
        own.grid(GRID)
        alone += own.choose_each({own.root(): candidates}, score, NO_NOISE).popitem()[1]
    (ours,) = chosen.values()  # between equal candidates each draws
    assert [(choice.split.feature, choice.labels) for choice in ours] == [(a.split.feature, a.labels) for a in alone]


def test_targets_are_summed_within_their_focus():
    schema = Schema({"x": Numeric(0, 1)}, target=(0, 10))
    rng = np.random.default_rng(0)
    owners = [(rng.random((30, 1)), rng.uniform(0, 10, 30)) for _ in range(3)]
    desk, central = federated(owners, schema, tolerated_colluders=0), together(owners, schema)
    answers = []
    for each in (desk, central):
        root = each.root()
        each.focus(2.0, 5.0)
        answers.append(each.tally({root: Tally(measure="target")}, Fraction(10**13))[root])
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize(("terms", "shape"), [({"tolerated_colluders": 1}, 5 / 4), ({"tolerated_colluders": 3}, 5 / 2)])
def test_the_noise_of_a_sum_has_the_law_of_all_shares(terms, shape):
    """Chi-squared over 30 sums of 200 cells; a false alarm in one of ten million runs."""
    desk = federated([(X[:0], y[:0]) for X, y in tables()], **terms)
    desk.grid(GRID)
    root = desk.root()
    asked = Tally(TABLES * 3)
    noise = np.concatenate([desk.tally({root: asked}, Fraction(3))[root].ravel() for _ in range(30)])
    law = np.exp(log_geometric_shares(np.arange(-7, 8), 2.0, shape))
    expected = np.append(law, 1 - law.sum()) * len(noise)
    seen = np.append([(noise == k).sum() for k in range(-7, 8)], (np.abs(noise) > 7).sum())
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1) > 1e-7


@pytest.mark.parametrize(("seed", "terms", "shape"), [(None, {}, 5 / 4), (1, {"tolerated_colluders": 3}, 5 / 2)])
def test_in_rho_the_noise_of_a_sum_has_the_law_of_all_shares_of_skellam_noise(seed, terms, shape):
    """Chi-squared over 30 sums of 200 cells; a false alarm in one of ten million runs."""
    desk = federated([(X[:0], y[:0]) for X, y in tables()], delta=1e-6, seed=seed, **terms)
    desk.grid(GRID)
    root = desk.root(math.inf, "rho")
    asked = Tally(TABLES * 3)
    noise = np.concatenate([desk.tally({root: asked}, Fraction(1, 3))[root].ravel() for _ in range(30)])
    scale = desk.ledger.events[-1].scale
    assert 3 < scale < 4.1  # sqrt(6) / sqrt(2 / 3) is 3; noise of so small a scale pays for being discrete
    law = np.exp(log_skellam(np.arange(-9, 10), scale, shape))
    expected = np.append(law, 1 - law.sum()) * len(noise)
    seen = np.append([(noise == k).sum() for k in range(-9, 10)], (np.abs(noise) > 9).sum())
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1) > 1e-7


@pytest.mark.parametrize("terms", [*TERMS, {"tolerated_colluders": 4}])
def test_budgets_in_rho_are_charged_here_and_at_every_owner_who_sign_them(terms):
    curator = asking(delta=1e-6, limit=1, **terms)
    desk = curator.open()
    desk.grid(GRID)
    rho = rho_within(Fraction(1), Fraction(1, 10**6), True)
    root = desk.root(rho, "rho")
    children = desk.split({root: TABLES[1]})[root]
    desk.tally({root: Tally(TABLES)}, rho / 2)
    desk.owner_sum(dict.fromkeys(children, TABLES), "least_impurity", rho / 2)
    with pytest.raises(BudgetError):
        desk.tally({children[0]: Tally()}, rho / 100)
    mechanism = "gaussian" if terms.get("noise") == "own" else "skellam_shares"
    assert {event.mechanism for event in curator.ledger.events} == {mechanism}
    events, delta = tuple(curator.ledger.events), Fraction(1, 10**6)
    spent, reserved = spending(events, delta), add_up(events)
    receipt = Receipt(Fraction(1), spent, delta, (), curator.trust, events, at_delta=delta, reserved=reserved)
    stated = {"at_delta": delta, "reserved": reserved, "released": "ab" * 32}
    receipt = Receipt(Fraction(1), spent, delta, (), curator.trust, events, **stated)
    assert receipt.spent <= 1
    assert len(curator.coordinator.sign(receipt.to_json()).signatures) == 5


def test_a_level_is_charged_once_here_and_at_every_owner():
    channel = in_process(tables(3), SCHEMA, limit=Fraction(1))
    desk = federated_curator(SCHEMA, channel, ledger=Ledger(1)).open()
    desk.grid(GRID)
    root = desk.root(Fraction(1))
    children = desk.split({root: TABLES[1]})[root]
    desk.tally(dict.fromkeys(children, Tally(TABLES)), Fraction(1, 2))
    desk.choose_each(dict.fromkeys(children, Candidates(public_splits(GRID), 3)), Gini(), Fraction(1, 2))
    with pytest.raises(BudgetError):
        desk.tally({children[0]: Tally()}, Fraction(1, 100))
    assert desk.ledger.spent == 1
    for party in channel._parties.values():
        assert party._member.ledger.spent == 1


def test_a_receipt_says_how_noise_was_drawn_and_verifies():
    desk = federated(ledger=Ledger(1), tolerated_colluders=1, tolerated_dropouts=1)
    desk.grid(GRID)
    desk.tally({desk.root(Fraction(1)): Tally(TABLES)}, Fraction(1))
    (event,) = desk.ledger.events
    assert event.mechanism == "geometric_shares"
    receipt = Receipt(Fraction(1), Fraction(1), Fraction(0), (), desk.trust, (event,))
    assert receipt.verify()
    assert "any 1 colluding owners, with up to 1 of them missing" in receipt.trust
    assert not desk.void


@pytest.mark.parametrize("seed", [None, 3])
def test_parts_hold_every_record_once_and_pay_in_parallel(seed):
    desk = federated(seed=seed, ledger=Ledger(math.inf))
    desk.grid(GRID)
    root = desk.root()
    parts = desk.parts(root, 4)
    whole = desk.tally({root: Tally(TABLES)}, NO_NOISE)[root]
    each = desk.tally(dict.fromkeys(parts, Tally(TABLES)), NO_NOISE)
    np.testing.assert_array_equal(sum(each.values()), whole)
    assert desk.ledger.spent == 2 * NO_NOISE
    sizes = [own[: GRID.features[0].n_cells].sum() for own in each.values()]
    # Each of the 200 records is dealt by itself: 50 to a part, give or take six standard errors, and not equally.
    assert all(abs(size - 50) < 6 * math.sqrt(200 * 3 / 16) for size in sizes)


def test_it_says_what_it_cannot_answer():
    desk = federated()
    desk.grid(GRID)
    root = desk.root()
    for ask in (
        lambda: desk.choose({root: Candidates(public_splits(GRID), 3)}, Gini(), Fraction(1)),
        lambda: desk.quantiles(root, [0], [Fraction(1, 2)], Fraction(1)),
        lambda: desk.peek([root]),
        lambda: desk.tally({root: Tally(measure="gradient")}, Fraction(1)),
        lambda: desk.noise(np.zeros(1, np.int64), 1.0),
    ):
        with pytest.raises(CapabilityError):
            ask()
    with pytest.raises(LeakError):
        desk.tally({federated().root(): Tally()}, Fraction(1))
    assert not desk.ledger.events


@pytest.mark.parametrize(
    ("owners", "terms", "message"),
    [
        (2, {}, "at least 3"),
        (3, {"tolerated_dropouts": 1, "tolerated_colluders": 1}, "cannot tolerate"),
        (3, {"tolerated_colluders": 3}, "cannot tolerate"),
        (3, {"noise": "none"}, "noise is one of"),
    ],
)
def test_terms_that_protect_nobody_are_refused(owners, terms, message):
    with pytest.raises(FederatedError, match=message):
        federated(tables(owners), **terms)


def test_seeds_make_the_same_answers_and_void_the_receipt():
    answers = []
    for seed in (5, 5, 6):
        desk = federated(seed=seed)
        desk.grid(GRID)
        answers.append(desk.tally({desk.root(): Tally(TABLES)}, Fraction(1)).popitem()[1].tolist())
        assert desk.void == ("random_state: the noise can be reproduced",)
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize("terms", TERMS[:3])
def test_the_wire_shows_masked_numbers_only(terms):
    """Without noise, so that only masks hide the counts: all 64 bits of what an owner sends look random."""
    overheard = []
    channel = Overheard(in_process(tables(), SCHEMA), lambda name, asked, said: overheard.append((asked, said)))
    desk = federated_curator(SCHEMA, channel, ledger=Ledger(math.inf), **terms).open()
    desk.grid(GRID)
    root = desk.root()
    for _ in range(30):
        desk.tally({root: Tally(TABLES)}, NO_NOISE)
    blobs = [unpack(said)[1] for asked, said in overheard if unpack(asked)[0]["do"] == "ask"]
    numbers = np.frombuffer(b"".join(blobs), dtype="<u8")
    assert len(numbers) > 5_000
    ones = np.unpackbits(numbers.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / math.sqrt(64 * len(numbers))
    assert len(np.unique(numbers)) == len(numbers)  # a count is small and repeats; a mask never does


def test_empty_owners_are_owners_too():
    X, y = table(10)
    desk = federated([(X, y), (X[:0], y[:0]), (X[:0], y[:0])])
    desk.grid(GRID)
    (counts,) = desk.tally({desk.root(): Tally()}, NO_NOISE).values()
    assert counts.sum() == 10


def test_bytes_do_not_depend_on_the_records():
    sizes = []
    for n in (0, 10, 1000):
        overheard = []
        channel = in_process([table(n, seed) for seed in range(3)], SCHEMA)
        channel = Overheard(channel, lambda name, asked, said, into=overheard: into.append((len(asked), len(said))))
        desk = federated_curator(SCHEMA, channel, ledger=Ledger(math.inf)).open()
        desk.grid(GRID)
        desk.tally({desk.root(): Tally(TABLES)}, Fraction(1))
        sizes.append([(asked, said) for asked, said in overheard[6:]])
    # After three messages to join and three to meet. Signatures of keys differ by a byte or two, in the question that
    # carries them.
    assert {said for each in sizes for _, said in each} == {sizes[0][0][1]}
    asked = {asked for each in sizes for asked, _ in each}
    assert max(asked) - min(asked) < 20


@pytest.mark.parametrize("terms", TERMS)
def test_a_model_is_scored_on_records_that_owners_hold_out(terms):
    """The scores of all owners' held-out records together, as one curator of them would have given them."""
    owners = tables()
    y = np.concatenate([own for _, own in owners])
    model = HistogramTreeClassifier(epsilon=10, max_depth=1)
    curator = asking(owners, ledger=Ledger(10), limit=10, **terms)
    model.fit_curator(curator, holdout=0.5)
    assert curator.ledger.spent == model.privacy_.spent == 10
    assert model.verify()
    assert abs(model.evaluation_.n - len(y) / 2) < 8 * len(y) ** 0.5 + 200
    # Owners add more noise than one curator would: the intervals know.
    plain = Event.example(Fraction(98, 10)).variance
    assert model.evaluation_.variance >= plain * (1 - 1e-9)


def test_scores_without_noise_are_those_of_all_records():
    grid = Grid(SCHEMA, [[] if isinstance(own, Numeric) else None for own in SCHEMA.features.values()])
    categorical = next(f for f, own in enumerate(SCHEMA.features.values()) if isinstance(own, Categorical))
    n_cells = grid.features[categorical].n_cells
    split = Split(categorical, bytes(range(n_cells)))
    values = np.arange(3 * n_cells).reshape(n_cells, 3) % 5
    scorer = Scorer(grid, [Summand(split, values)], None, "shares", [0.5], order=(1, 0, 2), by=split)
    one, other = both(lambda desk, root: desk.evaluate({root: scorer}, NO_NOISE)[root])
    np.testing.assert_array_equal(one, other)
    assert one.sum() == sum(len(own) for _, own in tables())


# -- persons -----------------------------------------------------------------------------------------------------------

PEOPLE = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=4)


def people(n_owners=3, n=48):
    """Tables of owners who each hold whole persons: 23 with 1 or 2 records, and one with 13."""
    found = []
    for seed in range(n_owners):
        X, y = table(n, seed)
        frame = pandas.DataFrame(X, columns=list(SCHEMA.names)).astype({"age": int, "size": float})
        found.append((frame.assign(who=[f"{seed}.{i % 24 if i < 36 else 23}" for i in range(n)]), y))
    return found


@pytest.mark.parametrize("terms", TERMS[1::2])
def test_sums_over_persons_are_those_of_one_curator_of_all(terms):
    owners = people()
    frames, labels = zip(*owners)
    whole = MemoryCurator(pandas.concat(frames), np.concatenate(labels), PEOPLE, ledger=Ledger(math.inf))
    answers = []
    for desk in (federated(owners, PEOPLE, **terms), whole.open()):
        curtain = desk.curtain
        curtain.grid(public_grid(PEOPLE))
        root = curtain.root()
        assert desk.unit.weight == 12
        answers.append(curtain.tally({root: Tally()}, NO_NOISE)[root])
    assert answers[0].sum() == pytest.approx(3 * 24, abs=2)
    assert np.abs(answers[0] - answers[1]).max() <= 1  # of 13 records 4 count, which are drawn


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_a_model_of_several_owners_covers_persons(delta):
    model = HistogramTreeClassifier(epsilon=5, max_depth=1) if delta is None else with_delta(delta)
    curator = asking(people(), PEOPLE, delta=delta, tolerated_colluders=1)
    model.fit_curator(curator)
    assert model.verify()
    assert model.privacy_.unit == "one person, at most 4 records"
    assert "pays m times epsilon" in model.privacy_.trust
    assert curator.ledger.unit == "one person (column 'who')"
    assert all(event.sensitivity >= 12 for event in model.privacy_.events)


def with_delta(delta):
    return TopDownClassifier(epsilon=5, delta=delta, split="noisy_counts", max_nodes=1, n_records=70)


def test_a_party_refuses_rows_after_persons(tmp_path):
    """What it has spent on persons does not add up with what it would spend on rows."""
    entry = Entry({"spent": "1", "currency": "epsilon", "unit": "one person (column 'who')"}, b"", b"")
    diary = SimpleNamespace(last=entry)
    assert Allowance("mercy", Fraction(2), None, "one person (column 'who')").spent([diary]) == 1
    with pytest.raises(BudgetError, match="do not add up"):
        Allowance("mercy", Fraction(2), None).spent([diary])
