"""A curator that notes what it is asked, and the exact law of every answer of one run."""

from dataclasses import dataclass

import numpy as np

from privet import Ledger, MemoryCurator
from privet.audit.scripted import ScriptedMechanisms
from privet.privacy.scores import Score
from privet.questions.candidates import Candidates


@dataclass(frozen=True)
class Asked:
    """One private choice for several nodes, and the range that targets were clamped to."""

    candidates: tuple[Candidates, ...]
    score: Score
    mechanism: str
    focus: tuple[float, float] | None

    def splits(self, node=0):
        """The splits that a node may answer."""
        own = self.candidates[node]
        return [own.choice(i).split for i in range(len(own))]


class Listening(MemoryCurator):
    """Answers as ever; ``choices`` are the questions, ``scales`` those of free noise on numbers that it has told."""

    def __init__(self, *args, **options):
        super().__init__(*args, **{"ledger": Ledger(float("inf")), **options})
        self.choices: list[Asked] = []
        self.scales: list[float] = []

    def choose(self, candidates, score, budget, *, mechanism="permute_and_flip", hidden=False):
        if candidates:
            self.choices.append(Asked(tuple(candidates.values()), score, mechanism, self._focus))
        return super().choose(candidates, score, budget, mechanism=mechanism, hidden=hidden)

    def noise(self, values, scale):
        self.scales += [scale] * np.size(values)
        return super().noise(values, scale)


def listened(model, X, y, schema, **options):
    """A curator that the model has been fitted on."""
    curator = Listening(X, y, schema, **options)
    model.fit_curator(curator)
    return curator


def laws(model, X, y, schema):
    """The log-probabilities of the answers to each question of a run in which the first answer is always given."""
    mechanisms = ScriptedMechanisms([], window=(0, 0))
    model.fit_curator(MemoryCurator(X, y, schema, ledger=Ledger(float("inf")), mechanisms=mechanisms))
    return mechanisms.laws
