"""A curator that notes its answers: what is told stays what it was."""

from fractions import Fraction

import numpy as np

from privet.audit.claims.law import binary
from privet.audit.claims.watched import Watched
from privet.privacy.scores import CorrectCount
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import attributes
from privet.questions.tally import Tally


def test_answers_to_the_watched_question_are_noted_and_no_others():
    schema, budget = binary(1), Fraction(1, 2)
    grid = public_grid(schema)
    for watched in ("tally", "choose"):
        curator = Watched(np.array([[0], [1]]), np.array([0, 1]), schema, watched)
        curtain = curator.open().curtain
        root = curtain.root(Fraction(1))
        curtain.grid(grid)
        answers = {
            "tally": curtain.tally({root: Tally()}, budget)[root],
            "choose": curtain.choose({root: Candidates(attributes(grid), 2)}, CorrectCount(), budget)[root],
        }
        assert len(curator.told) == 1
        assert np.array_equal(curator.told[0], answers[watched])
