"""A party's records: it charges its own ledger, counts, and adds its share of the noise. What leaves has noise in it.

The party checks and charges every question by itself, with the same code as any curator, so nothing that a coordinator
says can make it answer more than its own limit allows. Its answer to a tally is its own counts with a share of the
noise (``privacy/noise_shares.py``): too little noise to be seen alone, which is why it leaves the party
masked (``consortium/federated``); or, where every owner draws the whole noise, enough for anybody. Its choices are
permute-and-flip on its own records, which protects them whoever sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from privet.curators.base import Tally
from privet.curators.memory import MemoryCurator
from privet.curators.owners.records_at_owner import OwnRecords
from privet.errors import BudgetError, LeakError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import party_mechanisms
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.scores import score_of
from privet.questions.candidates import Splits
from privet.questions.codec import (
    Words,
    amount_of,
    budgets_of,
    candidates_of,
    choice_words,
    splits_of,
    tables_of,
    tallies_of,
)
from privet.questions.multiway import Multiway
from privet.schema import Schema

SUMS = ("tally", "owner_sum")
"""The questions whose answers are added up."""

QUESTIONS = (*SUMS, "choose_each")


SHARES = MappingProxyType({"epsilon": "geometric_shares", "rho": "skellam_shares"})
"""The noise of masked sums, of which every party adds a share."""


LEAST = MappingProxyType({"epsilon": Fraction(1, 2**32), "rho": Fraction(1, 2**64)})
"""Smaller budgets are refused: nobody has so many records, and noise of larger scales takes a long time to draw."""


class _Shares(MemoryCurator):
    """Draws a share of the noise, and says so."""

    noises = SHARES


class PartyRecords(OwnRecords):
    """One party's records for one run. ``of`` shares make up the noise; with None each party's is the whole.

    ``seed`` makes the noise reproducible, for research: then there is no guarantee. ``parts`` is the secret stream that
    records are dealt to parts with: a party that starts again has to deal them as before. ``tied`` is what shares of
    noise are drawn from (``privacy/repeatable_noise.py``).
    """

    do: ClassVar[dict[str, str]] = {**OwnRecords.do, "parts": "parts", "focus": "focus", "splits": "tell_splits"}

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        ledger: Ledger,
        of: int | None,
        seed: Any,
        parts: Callable[[int], bytes],
        tied: TiedBytes,
    ) -> None:
        kind: type[MemoryCurator] = MemoryCurator if of is None else _Shares
        super().__init__(kind(X, y, schema, ledger=ledger, mechanisms=party_mechanisms(of, seed, tied)))
        self.records.part_bytes = parts
        self.schema = schema
        self.tie = tied.tie
        self._splits: dict[str, Splits | Multiway] = {}

    def root(self, node: int, limit: str | None = None, currency: str = "epsilon") -> None:
        if currency != "epsilon" and not self.records.ledger.delta:
            raise BudgetError("This party's limit has no delta: it answers runs without one, or needs one in its file.")
        self.nodes[node] = self.records.root(math.inf if limit is None else amount_of(limit), currency)

    def grid(self, features: list[dict[str, Any]]) -> None:
        super().grid(features)
        self._splits.clear()

    def focus(self, low: float, high: float) -> None:
        self.records.focus(low, high)

    def tell_splits(self, name: str, splits: Words) -> None:
        self._splits[name] = splits_of(splits, self.records._cells())

    def answer(self, do: str, **what: Any) -> tuple[Words, np.ndarray]:
        """A private answer, paid for: words, or numbers that are to be added up."""
        answers: dict[str, Callable[..., tuple[Words, np.ndarray]]] = {
            "tally": self._tally,
            "owner_sum": self._owner_sum,
            "choose_each": self._choose_each,
        }
        return answers[do](**what)

    def _tally(self, asked: Words, **paid: Words) -> tuple[Words, np.ndarray]:
        tallies: dict[int, Tally] = tallies_of(asked)
        return None, _flat(self.records.tally(self._by_node(tallies), self._paid(tallies, **paid)).values())

    def _owner_sum(self, asked: Words, statistic: str, **paid: Words) -> tuple[Words, np.ndarray]:
        tables = tables_of(asked)
        sums = self.records.owner_sum(self._by_node(tables), statistic, self._paid(tables, **paid))
        return None, _flat(sums.values())

    def _choose_each(self, asked: Words, score: str, mechanism: str, **paid: Words) -> tuple[Words, np.ndarray]:
        n_classes = len(self.schema.classes or ())
        options = {node: candidates_of(words, self._splits, n_classes) for node, words in asked}
        chosen = self.records.choose(
            self._by_node(options), score_of(score), self._paid(options, **paid), mechanism=mechanism
        )
        return [choice_words(choice) for choice in chosen.values()], np.empty(0, dtype=np.int64)

    def _by_node(self, by_number: dict[int, Any]) -> dict[Any, Any]:
        return {self.nodes[number]: value for number, value in by_number.items()}

    def _paid(self, asked: dict[int, Any], budgets: Words, currencies: Words) -> dict[Any, Fraction]:
        """Each node's budget. All parties must add the same noise: the question says of which currency each node is."""
        own = [self.nodes[number].scope.currency for number in asked]
        if own != list(currencies):
            raise LeakError("This question takes nodes for those of another currency than they were opened with here.")
        paid = self._by_node(dict(zip(asked, budgets_of(budgets), strict=True)))
        if any(budget < LEAST[node.scope.currency] for node, budget in paid.items()):
            raise BudgetError("This share of the budget is so small that its noise hides whatever could be counted.")
        return paid


def _flat(answers: Any) -> np.ndarray:
    return np.concatenate([np.asarray(values, dtype=np.int64).ravel() for values in answers])
