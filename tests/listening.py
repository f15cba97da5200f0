"""A curator that notes what it is asked, and the exact law of every answer of one run."""

from dataclasses import dataclass

import numpy as np

from privet import Ledger, MemoryCurator
from privet.audit.scripted import ScriptedMechanisms
from privet.privacy.scores import Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Node


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


QUESTIONS = ("tally", "choose", "choose_each", "owner_sum", "quantiles", "target_quantiles", "peek")
STRUCTURE = ("parts", "copies", "samples", "focus", "advance")


class Recording(MemoryCurator):
    """Answers as ever; ``asked`` are the names of the questions, and of the structure that not every curator has.

    A question about no node is none. ``able`` is what it says that it can answer.
    """

    def __init__(self, *args, able=None, **options):
        super().__init__(*args, **options)
        self.asked: set[str] = set()
        self._inside = False
        if able is not None:
            self.capabilities = frozenset(able)

    def root(self, limit=float("inf"), currency="epsilon"):
        if currency == "rho":
            self.asked.add("zcdp")
        return self._from_outside(super().root, limit, currency)

    def _from_outside(self, ask, *args, **options):
        """Whatever this curator asks itself to answer is nobody's need."""
        inside, self._inside = self._inside, True
        try:
            return ask(*args, **options)
        finally:
            self._inside = inside


def _recorded(name):
    plain = getattr(MemoryCurator, name)

    def ask(self, *args, **options):
        about = next(iter([*args, *options.values()]))
        if not self._inside and (isinstance(about, float | Node) or len(about)):
            self.asked.add(name)
        return self._from_outside(plain, self, *args, **options)

    return ask


for _name in QUESTIONS + STRUCTURE:
    setattr(Recording, _name, _recorded(_name))
