"""The MPC curator answers like the memory curator: for the same coins exactly, whoever holds the records."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas
import pytest
from scipy.stats import chi2

pytest.importorskip("cryptography")

from cut_mechanisms import CutMechanisms
from in_threads import QueueLine, Queues, run_threads
from privet import Categorical, Ledger, Numeric, PrivateSearch, PrivateTreeClassifier, Schema
from privet.curators.memory import MemoryCurator
from privet.curators.mpc import MpcCurator, Owners
from privet.curators.owners.mpc_owner import Owner
from privet.errors import BudgetError, CapabilityError, LeakError, MpcError, SchemaError
from privet.privacy.event import add_up_slack
from privet.privacy.joint import SeededCoins
from privet.privacy.scores import CorrectCount, Entropy, Gini, Mixed
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import attributes
from privet.questions.scorer import Scorer, Summand
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.shares.comparison import PRIME
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    features={"age": Numeric(0, 20, integer=True), "colour": Categorical(["r", "g", "b"]), "size": Numeric(0, 1)},
    classes=["no", "yes", "perhaps"],
)
HALF = Fraction(1, 2)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = rng.integers(0, 21, n)
    X[:, 1] = rng.choice(["r", "g", "b", "other"], n)
    X[:, 2] = rng.random(n)
    y = np.where(X[:, 0].astype(int) > 12, "yes", np.where(X[:, 1] == "r", "perhaps", "no"))
    return X, np.where(rng.random(n) < 0.1, "no", y)


def jointly(program, tables, *, schema=SCHEMA, most_records=1000, meshes=None, fits=False, **options):
    """What ``program(desk)``, or of the curator, returns on each of three servers that owners of these tables serve."""
    lines = [[QueueLine.pair() for _ in range(3)] for _ in tables]
    owners = [Owner(X, y, schema) for X, y in tables]

    def serve(engine):
        mine = [owner[engine.party][0] for owner in lines]
        try:
            asked = Owners(engine, mine, schema, most_records)
            seed = options.get("seed")
            coins = None if seed is None else SeededCoins(seed)
            extra = {key: value for key, value in options.items() if key != "seed"}
            curator = MpcCurator(schema, engine, asked, coins=coins, ledger=Ledger(math.inf), **extra)
            answer = program(curator if fits else curator.open())
            asked.done()
            return answer
        finally:
            for line in mine:
                line.close()

    with ThreadPoolExecutor(len(tables)) as pool:
        served = [pool.submit(owner.serve, [ends[1] for ends in own]) for owner, own in zip(owners, lines)]
        results = run_threads(serve, meshes=meshes)
        for each in served:
            each.result()
    return results


def in_memory(program, tables, seed, fits=False):
    X, y = (np.concatenate(parts) for parts in zip(*tables))
    curator = MemoryCurator(
        X, y, SCHEMA, ledger=Ledger(math.inf), mechanisms=CutMechanisms(np.random.default_rng(seed))
    )
    return program(curator if fits else curator.open())


def labels_by(grid, number, order):
    """A released model that says one class of three on each side of a split; ``by`` tells colours apart."""
    split = public_splits(grid).split(number)
    values = np.eye(3, dtype=np.int64)[list(order)[: split.n_children]]
    by = Split(1, bytes(range(grid.features[1].n_cells)))
    return Scorer(grid, [Summand(split, values)], None, "shares", [0.5], order=(0, 1, 2), by=by)


def everything(desk):
    """Tallies and choices of every kind, at the root and below."""
    grid = public_grid(SCHEMA, 8)
    splits = public_splits(grid)
    desk.grid(grid)
    root = desk.root()
    table_of = splits.split(0)
    answers = [
        desk.tally({root: Tally()}, HALF)[root],
        desk.tally({root: Tally(by_class=False)}, HALF)[root],
        desk.tally({root: Tally((table_of, splits.split(9)))}, HALF)[root],
        desk.tally({root: Tally((table_of,), by_class=False)}, HALF)[root],
    ]
    chosen = []
    for score in (CorrectCount(), Gini(), Mixed(0), Mixed(100), Mixed(256)):
        for mechanism in ("permute_and_flip", "report_noisy_max"):
            options = Candidates(splits, 3, stop=True, stop_log_prior=1.5)
            chosen.append(desk.choose({root: options}, score, HALF / 5, mechanism=mechanism)[root])
    chosen.append(desk.choose({root: Candidates(attributes(grid), 3)}, Gini(), HALF)[root])
    chosen.append(desk.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), HALF)[root])
    few = np.arange(len(splits)) % 9 == 0
    chosen.append(desk.choose({root: Candidates(splits, 3, few)}, CorrectCount(), HALF, mechanism="exponential")[root])
    children = desk.split({root: table_of})[root]
    last = {
        child: Candidates(splits, 3, few if i else None, labelled=True, stop=True) for i, child in enumerate(children)
    }
    budgets = {child: HALF / (i + 1) for i, child in enumerate(children)}
    chosen += desk.choose(last, CorrectCount(), budgets).values()
    chosen += desk.choose({child: Candidates(splits, 3) for child in children}, Mixed(128), HALF).values()
    scorers = [labels_by(grid, split, order) for split in (0, 9) for order in ((0, 1, 2), (2, 1, 0))]
    chosen.append(desk.prefer(children[0], scorers, HALF))
    answers += desk.evaluate({children[0]: scorers[0], children[1]: scorers[3]}, HALF).values()
    copy = desk.copies(children[0], 2)[1]
    answers += desk.tally({copy: Tally(), children[1]: Tally((table_of,))}, budgets | {copy: HALF}).values()
    return [answer.tolist() for answer in answers], chosen


@pytest.mark.parametrize("sizes", [(300,), (100, 150, 50), (0, 80), (0, 0)])
def test_for_the_same_coins_all_answers_are_those_of_the_memory_curator(sizes):
    tables = [table(n, seed) for seed, n in enumerate(sizes)]
    expected = in_memory(everything, tables, seed=3)
    for got in jointly(everything, tables, seed=3):
        assert got == expected


def fit(curator):
    model = PrivateTreeClassifier(epsilon=2.0, max_depth=3, leaves="counts").fit_curator(curator)
    return model.export_text(), model.privacy_


def test_a_tree_trained_across_owners_is_the_central_tree_for_the_same_coins():
    tables = [table(400, 1), table(300, 2)]
    expected, central = in_memory(fit, tables, seed=5, fits=True)
    results = jointly(fit, tables, seed=5, fits=True)
    assert [text for text, _ in results] == [expected] * 3
    receipt = results[0][1]
    assert receipt.spent == central.spent
    assert receipt.verify()
    assert "reproduced" in receipt.void[0]


@pytest.mark.parametrize("law", ["cut", "dealt"])
def test_a_tree_with_coins_that_nobody_knows_has_a_receipt_with_its_delta(law):
    results = jointly(fit, [table(700, 1)], law=law, fits=True)
    assert len({text for text, _ in results}) == 1
    receipt = results[0][1]
    assert receipt.verify()
    assert receipt.void == ()
    assert receipt.epsilon <= 2
    assert 0 < receipt.delta < Fraction(1, 2**55)
    assert "not independently reviewed" in receipt.trust
    assert all(event.drawn.startswith(law) for event in receipt.events)


def test_questions_are_charged_first_and_a_refused_one_leaves_no_trace():
    def program(desk):
        grid = public_grid(SCHEMA, 8)
        desk.grid(grid)
        root, unlimited = desk.root(Fraction(1)), desk.root()
        told = []
        tell = desk._room._owners.tell
        desk._room._owners.tell = lambda do, **what: told.append(do) or tell(do, **what)
        splits = public_splits(grid)
        for error, ask in (
            (BudgetError, lambda: desk.tally({root: Tally()}, Fraction(2))),
            (BudgetError, lambda: desk.tally({root: Tally()}, Fraction(1, 10**16))),
            (BudgetError, lambda: desk.tally({unlimited: Tally()}, Fraction(90))),  # its delta would be 1
            (CapabilityError, lambda: desk.choose({root: Candidates(splits, 3)}, Entropy(9), HALF)),
            (LeakError, lambda: desk.choose({root: Candidates(splits, 2)}, Gini(), HALF)),
            (MpcError, lambda: desk.choose({root: Candidates(splits, 3)}, Gini(), Fraction(1, 10**12))),
            (CapabilityError, lambda: desk.peek([root])),
            (CapabilityError, lambda: desk.quantiles(root, [0], [HALF], HALF)),
            (CapabilityError, lambda: desk.choose({root: Candidates(splits, 3)}, Gini(), HALF, hidden=True)),
        ):
            with pytest.raises(error):
                ask()
        return list(told), desk.ledger.spent, desk.ledger.events

    assert jointly(program, [table(10)]) == [([], 0, [])] * 3


def test_parts_are_drawn_by_the_owners_and_pay_in_parallel():
    def program(desk):
        desk.grid(public_grid(SCHEMA, 8))
        root = desk.root()
        counts = desk.tally(dict.fromkeys(desk.parts(root, 3), Tally(by_class=False)), Fraction(20))
        return [int(count[0]) for count in counts.values()], desk.ledger.spent

    (counts, spent), *_ = jointly(program, [table(200), table(100)])
    assert sum(counts) == pytest.approx(300, abs=3)  # at epsilon 20 the noise is 0, but for a chance of 1e-8
    assert min(counts) > 50
    assert spent == 20


def transcript(tables):
    """The lengths of all messages of one choice and one tally, and all bytes that each server receives."""
    meshes = Queues.three()
    came = [[] for _ in meshes]
    for mesh in meshes:
        mesh.lengths = []
        get = mesh._get
        mesh._get = lambda sender, n, get=get, at=mesh.party: came[at].append(get(sender, n)) or came[at][-1]

    def program(desk):
        grid = public_grid(SCHEMA, 8)
        desk.grid(grid)
        ask = desk._room._owners.ask

        def noted(*words, **what):
            answer = ask(*words, **what)
            came[desk._room._engine.party].append(answer.parts.tobytes())
            return answer

        desk._room._owners.ask = noted
        root = desk.root()
        desk.choose({root: Candidates(public_splits(grid), 3, stop=True)}, Mixed(100), HALF)
        desk.tally({root: Tally()}, HALF)

    jointly(program, tables, meshes=meshes)
    return [mesh.lengths for mesh in meshes], [b"".join(parts) for parts in came]


def test_neighbouring_records_make_transcripts_of_the_same_form_and_uniform_bytes():
    """Chi-square of all bytes a server receives, for each server and table; false alarm 2e-7.

    Keys, masked messages, shares from owners, opened answers and hashes: all are uniform, or few. Those of comparisons
    are uniform below a prime, so the bytes above it are rarer than the others.
    """
    X, y = table(300)
    lengths, came = transcript([(X, y), table(50, 1)])
    others, other_came = transcript([(X[1:], y[1:]), table(50, 1)])
    assert lengths == others
    assert all(len(own) > 50 for own in lengths)
    for seen in (*came, *other_came):
        counts = np.bincount(np.frombuffer(seen, dtype=np.uint8), minlength=256)
        for alike in (counts[:PRIME], counts[PRIME:]):
            mean = alike.mean()
            assert ((alike - mean) ** 2).sum() / mean < chi2.isf(1e-8, len(alike) - 1)


def test_an_owner_with_more_records_than_the_public_bound_leaves_before_it_shares_anything():
    with pytest.raises((SchemaError, MpcError)):
        jointly(everything, [table(50)], most_records=49)


def test_servers_that_ask_different_questions_learn_nothing():
    def program(desk):
        desk.grid(public_grid(SCHEMA, 8))
        root = desk.root()
        return desk.tally({root: Tally(by_class=desk._room._engine.party == 0)}, HALF)

    with pytest.raises(MpcError):
        jointly(program, [table(50)])


# -- persons -----------------------------------------------------------------------------------------------------------

PEOPLE = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=2)


def people(seed, n=40):
    """A table of persons with two records each."""
    X, y = table(n, seed)
    frame = pandas.DataFrame(X, columns=list(SCHEMA.names)).astype({"age": int, "size": float})
    return frame.assign(who=[f"{seed}.{i // 2}" for i in range(n)]), y


def test_servers_count_persons_and_pay_for_all_their_paths():
    tables = [people(0), people(1)]

    def program(curator):
        model = PrivateTreeClassifier(epsilon=20, max_depth=2, leaves="counts", n_records=40)
        model.fit_curator(curator)
        assert model.verify()
        return model

    model, *_ = jointly(program, tables, schema=PEOPLE, fits=True)
    receipt = model.privacy_
    assert receipt.unit == "one person, at most 2 records"
    assert receipt.weight == 12
    assert "pays m times epsilon" in receipt.trust
    assert receipt.delta == 12 * add_up_slack(receipt.events) > 0
    counted = sum(np.sum(model.tree_.nodes[leaf].counts) for leaf in model.tree_.leaves)
    assert abs(counted - 40) < 20  # noise of scale 1/2 on a dozen cells: further off with a chance below 1e-6


def test_persons_whose_units_do_not_fit_the_integers_are_refused_before_anything_is_asked():
    with pytest.raises(SchemaError, match="lower most_records"):
        jointly(lambda curator: None, [people(0)], schema=PEOPLE, most_records=2**27 // 12 + 1)


# -- scores and searches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["cut", "dealt"])
@pytest.mark.parametrize("persons", [False, True], ids=["rows", "persons"])
def test_a_held_out_score_costs_nothing_more_and_is_that_of_the_model(law, persons):
    tables = [people(0, 900), people(1, 600)] if persons else [table(900), table(600, 1)]

    def program(curator):
        model = PrivateTreeClassifier(epsilon=8, max_depth=3, n_records=1500)
        model.fit_curator(curator, holdout=0.4, by="colour")
        assert model.verify()
        assert curator.ledger.spent == model.privacy_.spent == 8
        return model

    models = jointly(program, tables, schema=PEOPLE if persons else SCHEMA, fits=True, law=law)
    assert len({str(model.evaluation_) for model in models}) == 1
    model = models[0]
    (event,) = [event for event in model.privacy_.events if event.question == "evaluate"]
    assert event.drawn.startswith(law)
    assert 0 < event.delta <= model.privacy_.delta
    X, y = (
        (pandas.concat if persons else np.concatenate)([X for X, _ in tables]),
        np.concatenate([y for _, y in tables]),
    )
    accuracy = float(np.mean(model.predict(X[list(SCHEMA.names)] if persons else X) == y))
    assert abs(model.evaluation_.accuracy.value - accuracy) < 0.2  # 600 records: ten deviations
    assert abs(model.evaluation_.n - (300 if persons else 600)) < 150
    assert len(model.evaluation_.by_group) == 4


def test_a_search_on_shares_is_one_epsilon_and_one_receipt():
    tables = [table(500), table(400, 1)]

    def program(curator):
        candidates = [PrivateTreeClassifier(max_depth=depth, n_records=900) for depth in (1, 3)]
        with pytest.raises(CapabilityError, match="Take method='trials'"):  # the servers would know how many there are
            PrivateSearch(candidates=candidates, epsilon=1, method="random_stopping").fit_curator(curator)
        assert curator.ledger.spent == 0
        search = PrivateSearch(candidates=candidates, epsilon=20).fit_curator(curator, holdout=0.2)
        assert search.verify()
        assert curator.ledger.spent <= 20
        return search

    searches = jointly(program, tables, fits=True)
    assert len({search.best_estimator_.export_text() for search in searches}) == 1
    (event,) = [event for event in searches[0].privacy_.events if event.question == "choose a model"]
    assert event.delta > 0
    assert searches[0].evaluation_.accuracy.value > 0.5
