"""What a training will need is known before it: no number is wider than was said."""

import pandas
import pytest

from hidden_programs import KINDS, SCHEMA, horizontally, learner, on_shares, table
from privet import HiddenForestClassifier, Schema
from privet.curators.owners.mpc_owner import Owner
from privet.privacy.joint import JointMechanisms

MOST = 80


PEOPLE = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=20)


def needed(model, schema=SCHEMA):
    """The widest numbers that a training of so many rows asks its engine for."""
    X, y = table(60)
    if schema is PEOPLE:
        X = pandas.DataFrame(X, columns=list(SCHEMA.names)).astype({"age": int, "size": float}).assign(who=range(60))
        return _widest(model, [Owner(X[:30], y[:30], PEOPLE), Owner(X[30:], y[30:], PEOPLE)], PEOPLE)
    return _widest(model, horizontally(X, y, SCHEMA, 2), SCHEMA)


def _widest(model, owners, schema):

    def program(curator, engine):
        widest, need = [0], engine.need

        def noted(bits):
            widest[0] = max(widest[0], bits)
            need(bits)

        engine.need = noted
        model().fit_curator(curator)
        return widest[0]

    return on_shares(program, owners, schema, most_records=MOST // 2)[0]


@pytest.mark.parametrize("options", [KINDS[1], KINDS[3]])
def test_a_tree_of_persons_needs_no_more_bits_than_it_says(options):
    said = learner(**options).hidden_bits(JointMechanisms(None), PEOPLE, MOST)
    assert needed(lambda: learner(**options), PEOPLE) == said


@pytest.mark.parametrize("options", [*KINDS, {"max_depth": 1, "structure": "random"}])
def test_a_tree_needs_no_more_bits_than_it_says(options):
    said = learner(**options).hidden_bits(JointMechanisms(None), SCHEMA, MOST)
    assert needed(lambda: learner(**options)) == said


@pytest.mark.parametrize("sampling", ["parts", "poisson"])
def test_a_forest_needs_no_more_bits_than_it_says(sampling):
    def model():
        return HiddenForestClassifier(epsilon=0.1, n_trees=2, sampling=sampling, max_depth=1, n_values=4)

    assert needed(model) == model().hidden_bits(JointMechanisms(None), SCHEMA, MOST)
