"""A curator that notes what it is asked, and the exact law of every answer of one run."""

from dataclasses import dataclass

import numpy as np

from privet import Ledger, MemoryCurator
from privet.audit.scripted import ScriptedMechanisms
from privet.curators.desk import QUESTIONS, STRUCTURE
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

    def open(self):
        desk = super().open()
        choose, noise = desk.choose, desk.noise

        def chosen(candidates, score, budget, *, mechanism="permute_and_flip", hidden=False):
            if candidates:
                self.choices.append(Asked(tuple(candidates.values()), score, mechanism, desk._room._range))
            return choose(candidates, score, budget, mechanism=mechanism, hidden=hidden)

        def noised(values, scale):
            self.scales += [scale] * np.size(values)
            return noise(values, scale)

        desk.choose, desk.noise = chosen, noised
        return desk


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


class Able(MemoryCurator):
    """Answers what it is said to be able to, as if its room implemented no more."""

    def __init__(self, *args, able=None, **options):
        super().__init__(*args, **options)
        if able is not None:
            self.capabilities = frozenset(able)

    def open(self):
        desk = super().open()
        desk.capabilities = self.capabilities
        return desk


RECORDED = QUESTIONS + STRUCTURE


class Recording(Able):
    """Answers as ever; ``asked`` are the names of the questions, and of the structure that not every curator has.

    A question about no node is none.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.asked: set[str] = set()

    def open(self):
        desk = super().open()
        for name in RECORDED:
            setattr(desk, name, self._recorded(name, getattr(desk, name)))
        root = desk.root

        def rooted(limit=float("inf"), currency="epsilon"):
            if currency == "rho":
                self.asked.add("zcdp")
            return root(limit, currency)

        desk.root = rooted
        return desk

    def _recorded(self, name, plain):
        def ask(*args, **options):
            about = next(iter([*args, *options.values()]))
            if isinstance(about, float | Node) or len(about):
                self.asked.add(name)
            return plain(*args, **options)

        return ask
