"""A party charges its own ledger for whatever it is asked, by the same rules as any curator, and answers no more."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from privet import BudgetError, Categorical, LeakError, Ledger, Numeric, Schema
from privet.curators.owners import party_records
from privet.curators.owners.party_records import LEAST, MOST_LISTS, MOST_SCALE, MOST_STEPS, PartyRecords
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.sensitivity import SUMS
from privet.questions.candidates import Candidates
from privet.questions.codec import (
    candidates_words,
    choice_of,
    grid_words,
    scorer_words,
    splits_words,
    tables_words,
    tally_words,
)
from privet.questions.grid import public_grid
from privet.questions.scorer import Branches, Scorer
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
TARGET = Schema(dict(SCHEMA.features), target=(0, 10))
GRID = public_grid(SCHEMA)
X = np.array([[0, "a"], [1, "a"], [2, "b"], [3, "b"], [3, "a"]], dtype=object)
Y = ["n", "n", "y", "y", "n"]
TABLE = Split(1, bytes([0, 1]))
PLENTY = str(10**9)


def party(ledger=None, of=None, seed=None, schema=SCHEMA, y=Y):
    own = PartyRecords(X, y, schema, ledger or Ledger(math.inf), of, seed, bytes, TiedBytes(bytes(32)))
    tell(own, "grid", features=grid_words(public_grid(schema)))
    return own


def tell(own, do, **what):
    own.tell(json.loads(json.dumps({"do": do, **what})))


def asked(tally=None, node=0, budget=PLENTY, currency="epsilon", **changed):
    words = tally_words([(node, tally or Tally((TABLE,)))])
    return {"do": "tally", "asked": words, "budgets": [budget], "currencies": [currency], **changed}


def test_a_tally_is_the_partys_own_counts_and_paid_for():
    own = party(Ledger(10**10))
    tell(own, "root", node=0, limit=PLENTY)
    words, numbers = own.answer(asked())
    assert words is None
    assert numbers.tolist() == [3, 0, 0, 2]
    assert own.ledger.spent == 10**9
    with pytest.raises(BudgetError):
        own.answer(asked(budget="1"))


def test_nothing_that_is_said_makes_a_party_answer_more_than_its_limit():
    own = party(Ledger(1))
    with pytest.raises(BudgetError):
        tell(own, "root", node=0, limit="2")
    with pytest.raises(BudgetError):
        tell(own, "root", node=0)  # no limit at all
    tell(own, "root", node=0, limit="1")
    with pytest.raises(BudgetError):
        own.answer(asked(budget="11/10"))
    own.answer(asked(budget="1"))
    with pytest.raises(BudgetError):
        own.answer(asked(budget="1/1000"))
    assert own.ledger.spent == 1


def test_shares_of_noise_are_charged_as_such():
    own = party(of=3)
    tell(own, "root", node=0, limit="1")
    own.tie(b"the first question")
    own.answer(asked(budget="1"))
    assert [event.mechanism for event in own.ledger.events] == ["geometric_shares"]


def test_a_choice_is_the_partys_own():
    own = party()
    splits = public_splits(GRID)
    tell(own, "splits", name="all", splits=splits_words(splits))
    tell(own, "root", node=0)
    options = candidates_words(Candidates(splits, 2), "all")
    question = {"do": "choose_each", "asked": [[0, options]], "score": "gini", "mechanism": "permute_and_flip"}
    (choice,), numbers = own.answer({**question, "budgets": [PLENTY], "currencies": ["epsilon"]})
    assert choice_of(choice).split.feature == 1
    assert not len(numbers)
    with pytest.raises(LeakError, match="no such score"):
        own.answer({**question, "score": "mine", "budgets": ["1"], "currencies": ["epsilon"]})
    wrong = [[0, {**options, "splits": "others"}]]
    with pytest.raises(LeakError, match="nobody was told"):
        own.answer({**question, "asked": wrong, "budgets": ["1"], "currencies": ["epsilon"]})
    with pytest.raises(LeakError, match="each node once"):
        own.answer({**question, "asked": [[0, options]] * 2, "budgets": ["1"] * 2, "currencies": ["epsilon"] * 2})


def test_lists_of_splits_are_of_the_present_grid_and_not_too_many():
    own = party()
    words = splits_words(public_splits(GRID))
    for i in range(MOST_LISTS):
        tell(own, "splits", name=str(i), splits=words)
    with pytest.raises(LeakError, match=f"at most {MOST_LISTS}"):
        tell(own, "splits", name="more", splits=words)
    tell(own, "grid", features=[[], None])
    with pytest.raises(LeakError):
        tell(own, "splits", name="0", splits=words)
    tell(own, "root", node=0)
    options = candidates_words(Candidates(public_splits(GRID), 2), "0")
    question = {"do": "choose_each", "asked": [[0, options]], "score": "gini", "mechanism": "permute_and_flip"}
    with pytest.raises(LeakError, match="nobody was told"):
        own.answer({**question, "budgets": ["1"], "currencies": ["epsilon"]})


def test_sums_over_owners_are_answered_for_their_price():
    own = party()
    tell(own, "root", node=0)
    question = {"do": "owner_sum", "asked": tables_words([(0, (TABLE,))]), "statistic": "least_impurity"}
    _, numbers = own.answer({**question, "budgets": [PLENTY], "currencies": ["epsilon"]})
    assert numbers.tolist() == [0]
    with pytest.raises(LeakError, match="one of"):
        own.answer({**question, "statistic": "mean", "budgets": ["1"], "currencies": ["epsilon"]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"budgets": []},
        {"budgets": ["1", "1"]},
        {"budgets": ["0"]},
        {"budgets": ["-1"]},
        {"budgets": ["1e9"]},
        {"budgets": [1]},
        {"budgets": None},
        {"currencies": ["rho"]},
        {"currencies": []},
        {"currencies": "epsilon"},
        {"asked": {"tables": [], "asked": []}, "budgets": [], "currencies": []},
        {"asked": None},
        {"do": "peek"},
        {"do": "quantiles"},
        {"more": 1},
    ],
)
def test_a_question_that_is_wrong_is_refused_and_costs_nothing(wrong):
    own = party()
    tell(own, "root", node=0)
    with pytest.raises((LeakError, BudgetError)):
        own.answer({**asked(), **wrong})
    assert own.ledger.spent == 0


def test_a_budget_too_small_to_be_of_use_is_refused():
    own = party()
    tell(own, "root", node=0)
    with pytest.raises(BudgetError, match="so small"):
        own.answer(asked(budget=str(LEAST["epsilon"] / 2)))


def by_levels(n):
    """What a residual tally by 256 levels says, of nodes 1 to n."""
    cuts = list(range(255))
    return {"tables": [[]], "asked": [[i, 0, True, "residual", 0, 1, cuts] for i in range(1, n + 1)]}


def test_noise_that_takes_long_to_draw_is_refused_though_the_budget_is_none_of_the_least():
    """A number costs more time, the larger its noise is: sums of residuals have a large sensitivity."""
    for of in (None, 3):
        own = party(schema=TARGET, y=[1.0, 2.0, 3.0, 9.0, 10.0], of=of)
        tell(own, "root", node=1)
        sensitivity = SUMS["residual_tally"](1)
        question = {"do": "tally", "asked": by_levels(1), "currencies": ["epsilon"]}
        for budget in (LEAST["epsilon"], sensitivity / Fraction(MOST_SCALE) / 2):
            with pytest.raises(BudgetError, match="so small"):
                own.answer({**question, "budgets": [str(budget)]})
        assert own.ledger.spent == 0
        own.tie(b"the first question")
        own.answer({**question, "budgets": [str(2 * sensitivity / Fraction(MOST_SCALE))]})


def test_each_level_is_two_numbers_of_an_answer(monkeypatch):
    monkeypatch.setattr(party_records, "MOST_SUMS", 1024)
    own = party(schema=TARGET, y=[1.0, 2.0, 3.0, 9.0, 10.0])
    tell(own, "root", node=0)
    tell(own, "copies", node=0, children=[1, 2, 3])
    three, two = (
        {"do": "tally", "asked": by_levels(n), "budgets": ["1"] * n, "currencies": ["epsilon"] * n} for n in (3, 2)
    )
    with pytest.raises(LeakError, match="at most 1,024 numbers"):
        own.answer(three)
    assert own.ledger.spent == 0
    assert len(own.answer(two)[1]) == 1024


@pytest.mark.parametrize("n", [1, 2])
def test_a_question_takes_so_many_steps_for_a_record_and_no_more(n):
    """However many scorers it is asked with, and whatever number of records a party has."""
    own, steps = party(), MOST_STEPS // n
    for node in range(n):
        tell(own, "root", node=node)

    def question(trees):
        roots = np.arange(trees)
        leaves = Branches((), np.full(trees, -1), roots * 0, roots, np.ones((trees, 1), dtype=int))
        words = scorer_words(Scorer(GRID, [], leaves, "score", [0.0]))
        asked = [[node, words] for node in range(n)]
        return {"do": "evaluate", "asked": asked, "budgets": ["1"] * n, "currencies": ["epsilon"] * n}

    with pytest.raises(LeakError, match=f"at most {MOST_STEPS:,} steps"):
        own.answer(question(steps + 1))
    assert own.ledger.spent == 0
    own.answer(question(steps))


def test_a_party_without_a_delta_answers_no_run_with_one():
    with pytest.raises(BudgetError, match="no delta"):
        tell(party(), "root", node=0, limit="1/100", currency="rho")
    own = party(Ledger(1, delta=1e-6))
    tell(own, "root", node=0, limit="1/1000", currency="rho")
    assert own.currency([[0, 0]]) == "rho"
    with pytest.raises(LeakError, match="another currency"):
        own.answer(asked(budget="1/1000"))
    own.answer(asked(budget="1/1000", currency="rho"))


def test_a_focus_is_a_part_of_the_targets_range():
    own = party(schema=TARGET, y=[1.0, 2.0, 3.0, 9.0, 10.0])
    tell(own, "root", node=0)
    tell(own, "focus", low=0.0, high=5.0)
    for low, high in ((0.0, 11.0), (None, 5.0), ("a", 5.0), (5.0, 1.0)):
        with pytest.raises(LeakError):
            tell(own, "focus", low=low, high=high)
    with pytest.raises(LeakError):
        tell(party(), "focus", low=0.0, high=1.0)


def test_records_are_dealt_to_parts_by_the_partys_secret_stream():
    """A party that starts again has to deal them as before."""
    dealt = []
    for _ in range(2):
        stream = np.random.default_rng(5)
        own = PartyRecords(X, Y, SCHEMA, Ledger(math.inf), None, None, stream.bytes, TiedBytes(bytes(32)))
        own.tell({"do": "root", "node": 0})
        own.tell({"do": "parts", "node": 0, "children": [1, 2], "weights": [1, 1]})
        dealt.append([own.desk.held(own.node(part)).rows.tolist() for part in (1, 2)])
    assert dealt[0] == dealt[1]
    assert sorted(dealt[0][0] + dealt[0][1]) == list(range(5))
    assert Fraction(own.ledger.spent) == 0
