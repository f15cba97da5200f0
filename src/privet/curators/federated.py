"""Many owners, one coordinator: sums that nobody can read before they carry their noise.

Each owner counts its own records, adds its share of the noise and masks the result; the masks cancel in the sum, and
the shares add up to the two-sided geometric noise that was paid for. So the curator here holds no records, sees no
owner's counts and draws no noise: it checks and charges a question as any curator does, and asks. It cannot choose
centrally, which would need exact scores; it offers each owner's own choice (``choose_each``) and noisy sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

import numpy as np

from privet.curators.base import Curator, reasons_void, trust_of_owners
from privet.curators.desk import Desk, capabilities_of
from privet.curators.owners.party_records import SHARES
from privet.curators.records import MOST_RECORDS
from privet.curators.remote import Numbered, RemoteRoom
from privet.errors import FederatedError, LeakError
from privet.privacy.event import Event
from privet.privacy.fixed_point import GRADIENT_ONE, ONE, TARGET_ONE
from privet.privacy.ledger import Ledger
from privet.privacy.scope import Scope
from privet.privacy.scores import Score
from privet.privacy.unit import Unit
from privet.questions.candidates import Candidates
from privet.questions.codec import (
    budget_words,
    candidates_words,
    choice_of,
    entries,
    scorer_words,
    splits_words,
    tables_words,
    tally_words,
    words_digest,
)
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.scorer import Scorer
from privet.questions.split import Choice, Split
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.schema import Schema

TAIL = 1024
"""Noise never exceeds this many of its scales: the chance is exp(-1024)."""


class AgreedTerms(Protocol):
    """What the owners have agreed on before anything is asked. ``noise`` is "shared", a share from each owner, or
    "own", the whole from each.
    """

    @property
    def parties(self) -> Sequence[str]: ...
    @property
    def noise(self) -> str: ...
    @property
    def of(self) -> int | None: ...
    @property
    def trust(self) -> str: ...


class AsksOwners(Protocol):
    """Brings questions to the owners and gives back sums over them (``consortium/federated/coordinator.py``)."""

    @property
    def terms(self) -> AgreedTerms: ...

    @property
    def reproducible(self) -> bool:
        """Whether some owner draws noise from a seed."""

    def tell(self, **what: Any) -> None:
        """Let every owner do something that has no answer."""

    def sum(self, question: dict[str, Any], n: int, largest: int) -> np.ndarray:
        """The sum over owners of ``n`` integers, none of them beyond ``largest``."""

    def each(self, question: dict[str, Any], read: Callable[[Any], Any]) -> list[Any]:
        """What each owner says, as ``read`` understands it; ``read`` raises for what it was not asked for."""


class FederatedCurator(Curator):
    """Charges here, and has its coordinator ask the owners, who noise, mask and answer.

    ``delta`` is for the ledger that it opens where it is given none; a model with a delta needs one in either. Noise is
    then Skellam's where it is shared, and Gaussian where each owner draws its own.
    ``consortium/federated/curator.py`` makes one for the parties of a channel.
    """

    def __init__(
        self, schema: Schema, coordinator: AsksOwners, *, delta: float | None = None, ledger: Ledger | None = None
    ) -> None:
        self.schema = schema
        self.ledger = ledger or Ledger.current() or Ledger(math.inf, delta, whole_orders=True)
        self.coordinator = coordinator
        self.trust = trust_of_owners(coordinator.terms.trust, str(Unit.of(schema)))
        self.void = reasons_void(schema, reproducible=coordinator.reproducible)
        self.capabilities = capabilities_of(FederatedRoom)
        self._numbers = count()

    def open(self) -> Desk:
        room = FederatedRoom(self.schema, self._numbers, self.coordinator)
        return self._desk(room)


class FederatedRoom(RemoteRoom):
    """Questions that were checked and charged, brought to the owners."""

    def __init__(self, schema: Schema, numbers: count[int], coordinator: AsksOwners) -> None:
        super().__init__(schema, numbers)
        self._coordinator = coordinator
        self.n_owners = len(coordinator.terms.parties)
        # Every owner draws the whole noise, or as large a share as is enough if some are missing or collude.
        self.noise_factor = self.n_owners / (coordinator.terms.of or 1)
        if coordinator.terms.noise == "shared":
            self.noises = SHARES
        self._range = schema.target
        self._told_splits: dict[int, tuple[Splits | Multiway | Products, str]] = {}

    def tell(self, do: str, **what: Any) -> None:
        self._coordinator.tell(do=do, **what)

    def limits(self, scope: Scope) -> dict[str, Any]:
        return {"limit": None if scope.limit == math.inf else str(scope.limit), "currency": scope.currency}

    def use(self, grid: Grid) -> None:
        super().use(grid)
        self._told_splits.clear()

    def focus(self, low: float, high: float) -> None:
        if (low, high) != self._range:
            self._range = low, high
            self.tell("focus", low=low, high=high)

    # -- answered by the owners ---------------------------------------------------------------------------------------

    def tally(self, asked: Sequence[tuple[Numbered, Tally]], events: Sequence[Event]) -> list[np.ndarray]:
        words = tally_words((node.number, tally) for node, tally in asked)
        question = {"do": "tally", "asked": words, **_paid(asked, events)}
        return self._sum(question, [self._shape(tally) for _, tally in asked], events)

    def evaluate(self, asked: Sequence[tuple[Numbered, Scorer]], events: Sequence[Event]) -> list[np.ndarray]:
        words = [[node.number, scorer_words(scorer)] for node, scorer in asked]
        question = {"do": "evaluate", "asked": words, **_paid(asked, events)}
        return self._sum(question, [scorer.shape for _, scorer in asked], events)

    def owner_sum(
        self, asked: Sequence[tuple[Numbered, tuple[Split, ...]]], events: Sequence[Event], statistic: str
    ) -> list[np.ndarray]:
        words = tables_words((node.number, tables) for node, tables in asked)
        question = {"do": "owner_sum", "asked": words, "statistic": statistic, **_paid(asked, events)}
        return self._sum(question, [(len(tables),) for _, tables in asked], events)

    def _sum(
        self, question: dict[str, Any], shapes: Sequence[tuple[int, ...]], events: Sequence[Event]
    ) -> list[np.ndarray]:
        largest = MOST_RECORDS * max(TARGET_ONE, GRADIENT_ONE, ONE)
        most = self.n_owners * (largest + math.ceil(TAIL * max(event.scale for event in events)))
        sizes = [math.prod(shape) for shape in shapes]
        flat = self._coordinator.sum(question, sum(sizes), most)
        pieces = np.split(flat, np.cumsum(sizes)[:-1])
        return [own.reshape(shape).copy() for shape, own in zip(shapes, pieces)]

    def choose_each(
        self, asked: Sequence[tuple[Numbered, Candidates]], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[list[Choice]]:
        words = [[node.number, candidates_words(options, self._splits_name(options))] for node, options in asked]
        question = {
            "do": "choose_each",
            "asked": words,
            "score": score.lemma,
            "mechanism": mechanism,
            **_paid(asked, events),
        }

        def read(said: Any) -> list[Choice]:
            try:
                choices = [choice_of(words) for words in entries(said, len(asked))]
                for choice in choices:
                    if choice.product is not None:
                        raise LeakError("Owners choose splits: products are chosen by gradients, where scores are.")
                    if choice.split is not None:
                        choice.split.check(self._cells())
            except LeakError as error:
                raise FederatedError("There is one choice for each node, of splits of the grid.") from error
            return choices

        answers = self._coordinator.each(question, read)
        return [[choices[i] for choices in answers] for i in range(len(asked))]

    def _splits_name(self, options: Candidates) -> str | None:
        """The name of a list of splits that all owners know, told to them the first time."""
        splits = options.splits
        if splits is None:
            return None
        if id(splits) not in self._told_splits:
            words = splits_words(splits)
            self._told_splits[id(splits)] = splits, words_digest(words)
            self.tell("splits", name=words_digest(words), splits=words)
        return self._told_splits[id(splits)][1]


def _paid(asked: Sequence[tuple[Numbered, Any]], events: Sequence[Event]) -> dict[str, Any]:
    """What each node is paid for with, and in which currency: that decides which noise every owner adds."""
    return {
        "budgets": budget_words([Fraction(event.charged) for event in events]),
        "currencies": [node.currency for node, _ in asked],
    }
