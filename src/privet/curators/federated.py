"""Many owners, one coordinator: sums that nobody can read before they carry their noise.

Each owner counts its own records, adds its share of the noise and masks the result; the masks cancel in the sum, and
the shares add up to the two-sided geometric noise that was paid for. So the curator here holds no records, sees no
owner's counts and draws no noise: it checks and charges a question as any curator does, and asks. It cannot choose
centrally, which would need exact scores; it offers each owner's own choice (``choose_each``) and noisy sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.journal import Journal
from privet.curators.base import Budget, Node, Tally, budgets
from privet.curators.memory import MOST_RECORDS
from privet.curators.owners.party_records import SHARES
from privet.curators.owners.records_at_owner import schema_digest
from privet.curators.remote import RemoteCurator
from privet.errors import FederatedError
from privet.privacy.fixed_point import GRADIENT_ONE, ONE, TARGET_ONE
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import SecureMechanisms
from privet.privacy.scope import Scope
from privet.privacy.scores import Score
from privet.questions.candidates import Candidates, Choice, Split, Splits
from privet.questions.codec import (
    budget_words,
    candidates_words,
    choice_of,
    splits_words,
    tables_words,
    tally_words,
    words_digest,
)
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway
from privet.schema import Schema

if TYPE_CHECKING:
    from privet.consortium.federated.channel import Channel
    from privet.consortium.federated.identity import Known

TAIL = 1024
"""So many noise scales are never exceeded: the chance is exp(-1024)."""


class FederatedCurator(RemoteCurator):
    """The coordinator's curator, for the parties of a channel.

    ``noise="shared"``: each owner adds a share, and sums are masked; the noise is enough against
    ``tolerated_colluders`` owners who collude with the coordinator, with ``tolerated_dropouts`` owners missing.
    ``noise="own"``: each owner adds the whole noise and masks nothing, so that nobody has to be trusted; sums have as
    many times the variance as there are owners. A model with a ``delta`` needs one here, or in the ledger; its noise is
    Skellam's where it is shared, and Gaussian where each owner draws its own. ``journal`` lets a run be taken up again;
    with ``known``, the owners' public keys, their signatures are checked here, too.
    """

    capabilities = frozenset({"tally", "choose_each", "owner_sum", "copies", "parts", "focus", "zcdp"})

    def __init__(
        self,
        schema: Schema,
        channel: Channel,
        *,
        tolerated_colluders: int = 1,
        tolerated_dropouts: int = 0,
        noise: str = "shared",
        delta: float | None = None,
        ledger: Ledger | None = None,
        known: Known | None = None,
        journal: Journal | None = None,
        progress: Callable[[str], None] = lambda said: None,
    ) -> None:
        own = ledger or Ledger.current() or Ledger(math.inf, delta, whole_orders=True)
        super().__init__(schema, own, SecureMechanisms())
        self.coordinator = Coordinator(
            channel,
            schema_digest(schema),
            colluders=tolerated_colluders,
            dropouts=tolerated_dropouts,
            noise=noise,
            known=known,
            journal=journal,
            progress=progress,
        )
        self.trust = self.coordinator.terms.trust
        if noise == "shared":
            self.noises = SHARES
        self.n_owners = len(self.coordinator.terms.parties)
        if self.coordinator.reproducible:
            self.void = (*self.void, "random_state: the noise can be reproduced")
        self._told_splits: WeakKeyDictionary[Splits | Multiway, str] = WeakKeyDictionary()

    def _tell(self, do: str, **what: Any) -> None:
        self.coordinator.tell(do=do, **what)

    def _limits(self, scope: Scope) -> dict[str, Any]:
        return {"limit": None if scope.limit == math.inf else str(scope.limit), "currency": scope.currency}

    def _use(self, grid: Grid) -> None:
        super()._use(grid)
        self._told_splits.clear()

    def _aim(self, low: float, high: float) -> None:
        self._tell("focus", low=low, high=high)

    def choose(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._cannot("choose")

    # -- checked and charged by the base class, answered by the owners -----------------------------------------------

    def tally(self, tallies: Mapping[Node, Tally], budget: Budget) -> dict[Node, np.ndarray]:
        if not tallies:
            return {}
        scales = self._charge_tallies(tallies, budget)
        asked = tally_words({self._numbers[node]: tally for node, tally in tallies.items()})
        question = {"do": "tally", "asked": asked, **_paid(tallies, budget)}
        return self._sum(question, {node: self._shape(tally) for node, tally in tallies.items()}, scales)

    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        if not tables:
            return {}
        scales = self._charge_sums(tables, statistic, budget)
        asked = tables_words({self._numbers[node]: own for node, own in tables.items()})
        question = {"do": "owner_sum", "asked": asked, "statistic": statistic, **_paid(tables, budget)}
        return self._sum(question, {node: (len(own),) for node, own in tables.items()}, scales)

    def _sum(
        self, question: dict[str, Any], shapes: Mapping[Node, tuple[int, ...]], scales: Sequence[float]
    ) -> dict[Node, np.ndarray]:
        n_parties = len(self.coordinator.terms.parties)
        most = n_parties * (MOST_RECORDS * max(TARGET_ONE, GRADIENT_ONE, ONE) + math.ceil(TAIL * max(scales)))
        sizes = [math.prod(shape) for shape in shapes.values()]
        flat = self.coordinator.sum(question, sum(sizes), most)
        pieces = np.split(flat, np.cumsum(sizes)[:-1])
        return {node: own.reshape(shape).copy() for (node, shape), own in zip(shapes.items(), pieces)}

    def choose_each(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, list[Choice]]:
        if not candidates:
            return {}
        self._charge_choice(candidates, score, budget, mechanism)
        asked = [
            (self._numbers[node], candidates_words(options, self._splits_name(options)))
            for node, options in candidates.items()
        ]
        paid = _paid(candidates, budget)
        question = {"do": "choose_each", "asked": asked, "score": score.lemma, "mechanism": mechanism, **paid}

        def read(said: Any) -> list[Choice]:
            choices = [choice_of(words) for words in said]
            if len(choices) != len(candidates):
                raise FederatedError("There is one choice for each node.")
            for choice in choices:
                if choice.split is not None:
                    self._fits(choice.split)
            return choices

        answers = self.coordinator.each(question, read)
        return {node: [choices[i] for choices in answers] for i, node in enumerate(candidates)}

    def _splits_name(self, options: Candidates) -> str | None:
        """The name of a list of splits that all owners know, told to them the first time."""
        if options.splits is None:
            return None
        if options.splits not in self._told_splits:
            words = splits_words(options.splits)
            self._told_splits[options.splits] = words_digest(words)
            self._tell("splits", name=words_digest(words), splits=words)
        return self._told_splits[options.splits]


def _paid(asked: Mapping[Node, Any], budget: Budget) -> dict[str, Any]:
    """What each node is paid for with, and in which currency: that decides which noise every owner adds."""
    currencies = [node.scope.currency for node in asked]
    return {"budgets": budget_words(budgets(list(asked), budget)), "currencies": currencies}
