"""Questions survive their words: JSON and back, nothing is lost."""

import json
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.curators.base import Tally
from privet.questions import codec as words
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import attributes
from privet.questions.split import Choice, Split
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"age": Numeric(0, 20, integer=True, missing=True), "colour": Categorical(["r", "g", "b"]), "size": Numeric(0, 1)},
    classes=["no", "yes"],
)
GRID = public_grid(SCHEMA)
TABLES = (Split(0, bytes([0, 1, 2])), Split(1, bytes([1, 0])))


def carried(said):
    return json.loads(json.dumps(said))


def test_tallies_survive_and_shared_tables_are_said_once():
    tallies = {
        3: Tally(TABLES),
        5: Tally(TABLES, by_class=False),
        6: Tally((), measure="target"),
        7: Tally(TABLES[:1], measure="gradient", output=2),
    }
    said = carried(words.tally_words(tallies))
    assert len(said["tables"]) == 3
    assert words.tallies_of(said) == tallies
    tables = {1: TABLES, 2: TABLES[:1], 9: TABLES}
    assert words.tables_of(carried(words.tables_words(tables))) == tables


@pytest.mark.parametrize("splits", [public_splits(GRID), attributes(GRID)])
def test_splits_survive(splits):
    again = words.splits_of(carried(words.splits_words(splits)), GRID)
    assert type(again) is type(splits)
    assert [again.split(i) for i in range(len(splits))] == [splits.split(i) for i in range(len(splits))]
    np.testing.assert_array_equal(again.log_prior, splits.log_prior)


def test_candidates_survive_with_their_splits_by_name():
    splits = public_splits(GRID)
    allowed = np.arange(len(splits)) % 3 == 0
    options = Candidates(splits, 2, allowed, labelled=True, stop=True, stop_log_prior=0.1)
    again = words.candidates_of(carried(words.candidates_words(options, "name")), {"name": splits}, 2)
    np.testing.assert_array_equal(again.indices, options.indices)
    np.testing.assert_array_equal(again.log_prior, options.log_prior)
    assert len(again) == len(options)
    labels = Candidates(None, 2, labelled=True, stop=True)
    assert len(words.candidates_of(carried(words.candidates_words(labels, None)), {}, 2)) == len(labels)


@pytest.mark.parametrize("choice", [Choice(TABLES[0], None), Choice(TABLES[1], (0, 1)), Choice(None, (1,))])
def test_choices_survive(choice):
    assert words.choice_of(carried(words.choice_words(choice))) == choice


def test_budgets_survive_exactly():
    budgets = [Fraction(1, 3), Fraction(10**20, 7)]
    assert words.budgets_of(carried(words.budget_words(budgets))) == budgets
