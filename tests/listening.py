"""A curator that notes what it is asked, and the exact law of every answer of one run."""

from dataclasses import dataclass

import numpy as np

from privet import Ledger, MemoryCurator
from privet.audit.scripted import ScriptedMechanisms
from privet.curators.desk import QUESTIONS, STRUCTURE, Desk
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


class ListeningDesk(Desk):
    """Notes choices, and the scales of free noise, with its curator."""

    def __init__(self, *args, curator, **options):
        super().__init__(*args, **options)
        self._curator = curator
        self._focus = self.schema.target

    def focus(self, low, high):
        self._focus = low, high
        super().focus(low, high)

    def choose(self, candidates, score, budget, *, mechanism="permute_and_flip", hidden=False):
        if candidates:
            self._curator.choices.append(Asked(tuple(candidates.values()), score, mechanism, self._focus))
        return super().choose(candidates, score, budget, mechanism=mechanism, hidden=hidden)

    def noise(self, values, scale):
        self._curator.scales += [scale] * np.size(values)
        return super().noise(values, scale)


class Listening(MemoryCurator):
    """Answers as ever; ``choices`` are the questions, ``scales`` those of free noise on numbers that it has told."""

    def __init__(self, *args, **options):
        super().__init__(*args, **{"ledger": Ledger(float("inf")), **options})
        self.choices: list[Asked] = []
        self.scales: list[float] = []

    def open(self):
        return ListeningDesk(self.schema, self.ledger, self.room(), trust=self.trust, void=self.void, curator=self)


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


class RecordingDesk(Desk):
    """Notes with its curator the names of what it is asked. A question about no node is none."""

    def __init__(self, *args, curator, **options):
        super().__init__(*args, **options)
        self.capabilities = curator.capabilities
        self._curator = curator
        self._inside = False

    def root(self, limit=float("inf"), currency="epsilon"):
        if currency == "rho":
            self._curator.asked.add("zcdp")
        return self.answered(super().root, limit, currency)

    def answered(self, ask, *args, **options):
        """Whatever a desk asks itself to answer is nobody's need."""
        inside, self._inside = self._inside, True
        try:
            return ask(*args, **options)
        finally:
            self._inside = inside

    def note(self, name, about):
        if not self._inside and (isinstance(about, float | Node) or len(about)):
            self._curator.asked.add(name)


def _recorded(name):
    plain = getattr(Desk, name)

    def ask(self, *args, **options):
        self.note(name, next(iter([*args, *options.values()])))
        return self.answered(plain, self, *args, **options)

    return ask


for _name in QUESTIONS + STRUCTURE:
    setattr(RecordingDesk, _name, _recorded(_name))


class Recording(MemoryCurator):
    """Answers as ever; ``asked`` are the names of the questions, and of the structure that not every curator has.

    ``able`` is what it says that it can do.
    """

    def __init__(self, *args, able=None, **options):
        super().__init__(*args, **options)
        self.asked: set[str] = set()
        if able is not None:
            self.capabilities = frozenset(able)

    def open(self):
        return RecordingDesk(self.schema, self.ledger, self.room(), trust=self.trust, void=self.void, curator=self)
