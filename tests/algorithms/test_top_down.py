"""DP-TopDown: the paper's algorithm where noise vanishes, its budgets and stops, and receipts of what it cost."""

import heapq
import math
from fractions import Fraction

import numpy as np
import pandas
import pytest

from privet import BudgetError, Categorical, Ledger, MemoryCurator, Numeric, Schema, SplittingClass, TopDownClassifier
from privet.errors import PrivetError, SchemaError
from privet.privacy.amounts import exact
from privet.privacy.event import add_up
from privet.tree.criteria import gain

NO_NOISE = 1e15
SCHEMA = Schema(
    {"x": Numeric(0, 8), "z": Numeric(0, 8), "c": Categorical(["a", "b", "c"], other=False)}, classes=["no", "yes"]
)


def some_data(n=400, seed=0, classes=("no", "yes")):
    rng = np.random.default_rng(seed)
    X = pandas.DataFrame({"x": rng.uniform(0, 8, n), "z": rng.uniform(0, 8, n), "c": rng.choice(list("abc"), n)})
    label = (X["x"] + rng.normal(0, 1, n) > 4).astype(int) + (X["c"] == "b") * (X["z"] > 3)
    return X, np.array(classes)[label.to_numpy() % len(classes)]


def model(**options):
    return TopDownClassifier(SCHEMA, **{"epsilon": 1, "splitting_class": 7, "n_records": 400, **options})


def naive_top_down(X, y, max_nodes, criterion="gini", error=0.1, min_gain=0.01):
    """The paper's algorithm without noise, record by record; the labels of all records."""
    cuts = (np.arange(7) + 0.5) / 7 * 8
    questions = [X[name].to_numpy() <= cut for name in ("x", "z") for cut in cuts]
    questions += [(X["c"] == value).to_numpy() for value in "abc"]
    classes = sorted(set(y))

    def cells(rows, side):
        return np.array(
            [[(rows & side & (y == k)).sum() for k in classes], [(rows & ~side & (y == k)).sum() for k in classes]]
        )

    def best(rows):
        gains = [float(gain(criterion, cells(rows, side))) for side in questions]
        return max(gains), int(np.argmax(gains))

    everything = np.ones(len(y), dtype=bool)
    queue, leaves, number = [], [everything], 0

    def push(rows):
        nonlocal number
        value, question = best(rows)
        if value > min_gain and rows.mean() >= error / max_nodes:
            heapq.heappush(queue, (-value * rows.mean(), number, question))
            waiting[number] = rows
            number += 1

    waiting = {}
    push(everything)
    for _ in range(max_nodes):
        if not queue:
            break
        _, i, question = heapq.heappop(queue)
        rows = waiting.pop(i)
        leaves = [leaf for leaf in leaves if leaf is not rows]
        for side in (rows & questions[question], rows & ~questions[question]):
            leaves.append(side)
            push(side)
    labels = np.empty(len(y), dtype=object)
    for rows in leaves:
        if rows.any():
            labels[rows] = max(classes, key=lambda k: (y[rows] == k).sum())
    return labels


# -- the algorithm ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["rnm", "permute_and_flip", "exponential", "noisy_counts", "local_rnm"])
@pytest.mark.parametrize("max_nodes", [1, 3, 8])
def test_without_noise_it_is_the_greedy_algorithm(max_nodes, split):
    X, y = some_data()
    fitted = model(epsilon=NO_NOISE, max_nodes=max_nodes, split=split).fit(X, y)
    agree = (fitted.predict(X) == naive_top_down(X, y, max_nodes)).mean()
    assert agree > 0.99  # of two labels or splits that are equally good either may win


@pytest.mark.parametrize("criterion", ["gini", "entropy", "root_gini"])
def test_every_criterion_without_noise_is_the_greedy_algorithm_sound_and_published(criterion):
    X, y = some_data(seed=3)
    wanted = naive_top_down(X, y, 5, criterion)
    for variant in ("sound", "published"):
        fitted = model(epsilon=NO_NOISE, max_nodes=5, criterion=criterion, variant=variant).fit(X, y)
        assert (fitted.predict(X) == wanted).mean() > 0.99


def test_several_classes():
    schema = Schema(SCHEMA.features, classes=["u", "v", "w"])
    X, y = some_data(classes=("u", "v", "w"), n=2000)
    for criterion in ("gini", "entropy"):
        fitted = TopDownClassifier(schema, epsilon=100.0, criterion=criterion, max_nodes=20, n_records=2000).fit(X, y)
        assert fitted.score(X, y) > 0.7
    with pytest.raises(SchemaError, match="two classes"):
        TopDownClassifier(schema, epsilon=1, criterion="root_gini").fit(X, y)


def test_more_budget_is_more_accurate_and_decay_beats_uniform():
    X, y = some_data(4000)
    score = {
        (budget, epsilon): np.mean(
            [
                model(epsilon=epsilon, budget=budget, n_records=4000, random_state=s).fit(X, y).score(X, y)
                for s in range(8)
            ]
        )
        for budget in ("decay", "uniform")
        for epsilon in (0.05, 1.0, 100.0)
    }
    assert score["decay", 0.05] < score["decay", 1.0] < score["decay", 100.0]
    assert score["decay", 1.0] > score["uniform", 1.0] + 0.02


def test_no_more_splits_than_allowed():
    X, y = some_data(2000)
    for max_nodes in (1, 2, 7):
        tree = model(epsilon=NO_NOISE, max_nodes=max_nodes, min_gain=-1.0).fit(X, y).tree_
        assert len(tree.leaves) <= max_nodes + 1
    assert model(epsilon=NO_NOISE, max_depth=2).fit(X, y).tree_.depth <= 2


def test_small_leaves_and_small_gains_are_not_split():
    X, y = some_data(2000)
    sizes = [
        len(model(epsilon=NO_NOISE, max_nodes=64, n_records=2000, **options).fit(X, y).privacy_.events)
        for options in ({"error": 0.0, "min_gain": 0.0}, {"error": 1.0, "min_gain": 0.0}, {"min_gain": 0.2})
    ]
    assert sizes[0] > sizes[1] > 3
    assert sizes[0] > sizes[2]
    assert model(epsilon=NO_NOISE, min_gain=1.0).fit(X, y).tree_.depth == 0


def test_questions_of_ones_own():
    X, y = some_data(2000)
    own = SplittingClass(of={"x": [4.0], "z": 0, "c": []})
    tree = model(epsilon=NO_NOISE, splitting_class=own).fit(X, y).tree_
    assert {(node.rule.feature, node.rule.cuts) for node in tree.nodes if node.rule} == {(0, (4.0,))}


def test_derived_features_are_learned_from_and_predicted_with():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.uniform(0, 1, (1000, 4)), columns=list("abcd"))
    y = (X.mean(axis=1) > 0.5).astype(int)
    schema = Schema({"mean": Numeric(0, 1, mean_of=list("abcd"))}, classes=[0, 1])
    fitted = TopDownClassifier(schema, epsilon=50.0, max_nodes=4, splitting_class=11, n_records=1000).fit(X, y)
    assert fitted.score(X, y) > 0.95
    assert fitted.n_features_in_ == 4
    assert fitted.score(X.to_numpy(), y) > 0.95
    assert "mean" in fitted.export_text()


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_records_train_without_error(rows, variant):
    X, y = some_data(1)
    fitted = model(epsilon=1.0, variant=variant, n_records=None).fit(X[:rows], y[:rows])
    assert set(fitted.predict(X)) <= {"no", "yes"}


# -- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "budget", ["decay", "uniform", lambda depth: Fraction(1, depth * (depth + 1))], ids=["decay", "uniform", "own"]
)
@pytest.mark.parametrize("n_records", [None, 2000])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_sound_spends_at_most_epsilon(budget, n_records, epsilon):
    X, y = some_data(2000)
    for seed in range(3):
        fitted = model(epsilon=epsilon, budget=budget, n_records=n_records, max_nodes=30, random_state=seed).fit(X, y)
        receipt = fitted.privacy_
        assert receipt.verify()
        assert exact(epsilon) * Fraction(1, 4) < receipt.spent <= exact(epsilon)
        assert receipt.shortfall == ""
        assert not any(event.mechanism == "peek" for event in receipt.events)


def test_a_path_pays_its_nodes_shares_and_its_label():
    X, y = some_data(2000)
    fitted = model(epsilon=8.0, leaf_share=0.25, n_records=2000, max_nodes=4, min_gain=0.0).fit(X, y)
    events = fitted.privacy_.events
    charged = {}
    for event in events:
        charged.setdefault((event.scope.count("split"), event.question), set()).add(event.charged)
    for depth in (0, 1):
        share = 6 * Fraction(1, 2 ** (depth + 1)) / 2
        assert charged[depth, "choose a split"] == charged[depth, "tally"] == {share}
    assert {c for (_, question), amounts in charged.items() if question == "choose a label" for c in amounts} == {2}


def test_the_size_is_measured_where_it_is_not_public():
    X, y = some_data()
    first = model(epsilon=1.0, n_records=None).fit(X, y).privacy_.events[0]
    assert (first.question, first.charged) == ("tally", Fraction(1, 50))


def test_published_says_infinity_and_why():
    X, y = some_data()
    receipt = model(epsilon=0.5, variant="published", max_nodes=8).fit(X, y).privacy_
    assert receipt.claimed == Fraction(1, 2)
    assert receipt.epsilon == math.inf
    assert "noisy gain" in receipt.shortfall
    assert receipt.verify()


def test_published_needs_a_ledger_without_limit():
    X, y = some_data()
    with Ledger(10.0), pytest.raises(BudgetError):
        model(variant="published").fit(X, y)


def test_every_split_mechanism_is_on_the_receipt():
    X, y = some_data()
    for split, mechanism in (("rnm", "report_noisy_max"), ("exponential", "exponential")):
        events = model(split=split, epsilon=5.0).fit(X, y).privacy_.events
        assert {event.mechanism for event in events if event.question.startswith("choose")} == {mechanism}


@pytest.mark.parametrize(
    ("criterion", "lemma"), [("gini", "gini"), ("entropy", "entropy(400)"), ("root_gini", "root_gini(400)")]
)
def test_caps_are_the_public_number_of_records(criterion, lemma):
    X, y = some_data(300)  # whatever the data's
    events = model(criterion=criterion, epsilon=5.0).fit(X, y).privacy_.events
    assert events[0].lemma == lemma


@pytest.mark.parametrize("hint", [0, 1, 1e300])
def test_any_hint_is_taken(hint):
    X, y = some_data(50)
    for criterion in ("gini", "root_gini"):
        fitted = model(n_records=hint, criterion=criterion, budget="decay", epsilon=2.0).fit(X, y)
        assert fitted.privacy_.verify()


def test_noise_beyond_all_records_is_not_asked_for():
    """Half the budget at each depth would soon be too small for any noise to fit in 64 bits."""
    X, y = some_data()
    fitted = model(epsilon=0.02, error=0.0, min_gain=-1.0).fit(X, y)
    assert all(event.charged * 400 >= Fraction(1, 2) for event in fitted.privacy_.events)


# -- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_nodes": 0}, "max_nodes"),
        ({"max_nodes": 2.5}, "max_nodes"),
        ({"max_nodes": True}, "max_nodes"),
        ({"max_depth": 0}, "max_depth"),
        ({"criterion": "mse"}, "'root_gini'"),
        ({"split": "loudest"}, "'permute_and_flip'"),
        ({"split": "exponential", "variant": "published"}, "published"),
        ({"variant": "fixed"}, "'sound'"),
        ({"leaf_share": 0}, "leaf_share"),
        ({"leaf_share": 1}, "leaf_share"),
        ({"leaf_share": math.nan}, "leaf_share"),
        ({"leaf_share": "half"}, "leaf_share"),
        ({"error": -0.1}, "error"),
        ({"min_gain": math.inf}, "min_gain"),
        ({"min_gain": None}, "min_gain"),
        ({"splitting_class": 0}, "splitting_class"),
        ({"splitting_class": "ten"}, "splitting_class"),
        ({"n_records": -1}, "n_records"),
        ({"budget": "half"}, "'uniform'"),
        ({"budget": 0.5}, "'uniform'"),
        ({"budget": lambda depth: 0.5}, "exceed 1"),
        ({"budget": lambda depth: -1}, "greater than zero"),
        ({"budget": lambda depth: "x"}, "a share of the budget"),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_wrong_parameters_are_refused_before_anything_is_spent(options, message):
    X, y = some_data()
    with Ledger(10.0) as ledger, pytest.raises(PrivetError, match=message):
        model(**options).fit(X, y)
    assert ledger.spent == 0


def test_a_splitting_class_that_does_not_fit_costs_nothing():
    X, y = some_data()
    with Ledger(10.0) as ledger, pytest.raises(SchemaError, match="'height'"):
        model(splitting_class=SplittingClass(of={"height": 3})).fit(X, y)
    assert ledger.spent == 0


def test_any_curator_will_do():
    X, y = some_data()
    curator = MemoryCurator(X, y, SCHEMA, ledger=Ledger(2.0))
    fitted = TopDownClassifier(epsilon=1.5, max_nodes=8).fit_curator(curator)
    assert curator.ledger.spent == fitted.privacy_.spent <= Fraction(3, 2)


def test_it_is_saved_and_loaded_with_its_splitting_class(tmp_path):
    from privet import load

    X, y = some_data()
    own = SplittingClass(5, of={"x": [2.0, 4.0], "c": [["a", "b"]]})
    fitted = model(epsilon=5.0, splitting_class=own, max_nodes=16).fit(X, y)
    fitted.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.splitting_class == own
    assert (again.predict(X) == fitted.predict(X)).all()
    with pytest.raises(PrivetError, match="cannot be saved"):
        model(budget=lambda depth: Fraction(1, 2**depth)).fit(X, y).save(tmp_path / "n.json")


def test_numbers_of_numpy_and_halves_in_floats_are_taken_as_they_are_meant():
    schema = Schema({"a": Numeric(0, 1)}, classes=["n", "y"])
    model = TopDownClassifier(schema, epsilon=1.0, max_nodes=np.int64(5), budget="uniform", max_depth=np.int8(3))
    assert model.fit(np.zeros((4, 1)), ["n", "y", "n", "y"]).privacy_.verify()
    halves = TopDownClassifier(schema, epsilon=1.0, budget=lambda depth: 0.5**depth)
    assert halves.fit(np.zeros((4, 1)), ["n", "y", "n", "y"]).privacy_.epsilon <= 1
    with pytest.raises(PrivetError, match="budget"):
        halves.save("/tmp/never-written.json")
    for odd in ({"criterion": ["gini"]}, {"split": ["rnm"]}, {"budget": ["decay"]}):
        with pytest.raises(PrivetError, match="must be"):
            TopDownClassifier(schema, **odd).fit(np.zeros((2, 1)), ["n", "y"])


def test_the_epsilon_at_a_delta_does_not_depend_on_when_the_tree_stopped():
    """Trees of different sizes have used different amounts; what they state was fixed before the first answer."""
    X, y = np.random.default_rng(0).random((300, 2)), np.arange(300) % 2
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=[0, 1])
    receipts = [
        TopDownClassifier(schema, epsilon=1, delta=1e-6, split="noisy_counts", max_nodes=6, random_state=seed)
        .fit(X, y)
        .privacy_
        for seed in range(8)
    ]
    assert len({add_up(receipt.events) for receipt in receipts}) > 1
    assert len({receipt.spent for receipt in receipts}) == 1
    assert all(receipt.verify() for receipt in receipts)
