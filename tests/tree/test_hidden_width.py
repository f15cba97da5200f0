"""What a training will need is known before it: no number is wider than was said."""

import pytest

from hidden_programs import KINDS, SCHEMA, horizontally, learner, on_shares, table
from privet import HiddenForestClassifier
from privet.privacy.joint import JointMechanisms

MOST = 80


def needed(model):
    """The widest numbers that a training of so many rows asks its engine for."""
    X, y = table(60)

    def program(curator, engine):
        widest, need = [0], engine.need

        def noted(bits):
            widest[0] = max(widest[0], bits)
            need(bits)

        engine.need = noted
        model().fit_curator(curator)
        return widest[0]

    return on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=MOST // 2)[0]


@pytest.mark.parametrize("options", [*KINDS, {"max_depth": 1, "structure": "random"}])
def test_a_tree_needs_no_more_bits_than_it_says(options):
    said = learner(**options).hidden_bits(JointMechanisms(None), SCHEMA, MOST)
    assert needed(lambda: learner(**options)) == said


@pytest.mark.parametrize("sampling", ["parts", "poisson"])
def test_a_forest_needs_no_more_bits_than_it_says(sampling):
    def model():
        return HiddenForestClassifier(epsilon=0.1, n_trees=2, sampling=sampling, max_depth=1, n_values=4)

    assert needed(model) == model().hidden_bits(JointMechanisms(None), SCHEMA, MOST)
