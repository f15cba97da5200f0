"""A party's records: it charges its own ledger, counts, and adds its share of the noise. What leaves has noise in it.

The party checks and charges every question by itself, at a desk of its own, so nothing that a coordinator says can make
it answer more than its own limit allows. Its answer to a tally is its own counts with a share of the noise
(``privacy/noise_shares.py``): too little noise to be seen alone, which is why it leaves the party masked
(``consortium/federated``); or, where every owner draws the whole noise, enough for anybody. Its choices are
permute-and-flip on its own records, which protects them whoever sees it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from privet.curators.memory import MemoryCurator, MemoryRoom
from privet.curators.owners.records_at_owner import RecordsAtOwner
from privet.errors import BudgetError, LeakError
from privet.privacy.event import Event
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import party_mechanisms
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.scores import score_of
from privet.questions.codec import (
    Words,
    amount_of,
    budgets_of,
    candidates_of,
    choice_words,
    entries,
    node_number,
    obeyed,
    scorer_of,
    splits_of,
    tables_of,
    tallies_of,
    verb_of,
)
from privet.questions.curtain import Node
from privet.questions.levels import Levels
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.split import Table
from privet.questions.splits import Splits
from privet.questions.word import number, text
from privet.schema import Schema

SUMS = ("tally", "owner_sum", "evaluate")
"""The questions whose answers are added up."""

QUESTIONS = (*SUMS, "choose_each")


SHARES = MappingProxyType({"epsilon": "geometric_shares", "rho": "skellam_shares"})
"""The noise of masked sums, of which every party adds a share."""


LEAST = MappingProxyType({"epsilon": Fraction(1, 2**32), "rho": Fraction(1, 2**64)})
"""Smaller budgets are refused: nobody has so many records."""

TOO_SMALL = "This share of the budget is so small that its noise hides whatever could be counted."

MOST_SCALE = 2.0**36
"""Sums with more noise are refused: a share takes the longer to draw, the larger it is. Measured for three parties:
0.003 ms at 2^26, 0.04 at 2^32, 0.4 at 2^36, 1 at 2^40 and 5 at 2^52. Fits that learn something stay below: a histogram
tree of ten features, for persons with twenty records each, has a scale of 2^34 at an epsilon of 0.01; and noise of this
scale hides the targets of a million records.
"""

MOST_SUMS = 2**22
"""So many numbers of one answer: half an hour's noise at ``MOST_SCALE``, and seconds' where there is much to learn."""

MOST_STEPS = 2**14
"""In so many steps one question takes a record to its scores: a forest of a thousand trees of depth 15, or as many
terms as a scorer may have. A million records take five minutes at most; without a bound a budget of next to nothing
would pay for a day's work.
"""

MOST_LISTS = 64
"""So many lists of splits are kept at a time; an algorithm has one or a few."""


class PartyRoom(MemoryRoom):
    """Counts a party's records, each party with the whole noise."""

    def priced_sum(self, event: Event, asked: Any) -> Event:
        if event.scale > MOST_SCALE:
            raise BudgetError(TOO_SMALL)
        return super().priced_sum(event, asked)


class SharingRoom(PartyRoom):
    """The same, each party with a share of the noise."""

    noises = SHARES


class PartyRecords(RecordsAtOwner):
    """One party's records for one run. ``of`` shares make up the noise; with None each party's is the whole.

    ``seed`` makes the noise reproducible, for research: then there is no guarantee. ``parts`` is the secret stream that
    records are dealt to parts with: a party that starts again has to deal them as before. ``tied`` is what shares of
    noise are drawn from (``privacy/repeatable_noise.py``).
    """

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
        curator = MemoryCurator(
            X,
            y,
            schema,
            ledger=ledger,
            mechanisms=party_mechanisms(of, seed, tied),
            kind=PartyRoom if of is None else SharingRoom,
            part_bytes=parts,
        )
        super().__init__(curator.open())
        self.schema = schema
        self.tie = tied.tie
        self._splits: dict[str, Splits | Multiway | Products] = {}

    @property
    def ledger(self) -> Ledger:
        return self.desk.ledger

    @property
    def verbs(self) -> dict[str, Callable[..., None]]:
        return {**super().verbs, "root": self.limited_root, "focus": self.focus, "splits": self.tell_splits}

    def limited_root(self, node: Words, limit: Words = None, currency: Words = "epsilon", within: Words = None) -> None:
        if text(currency, "A currency") != "epsilon" and not self.ledger.delta:
            raise BudgetError("This party's limit has no delta: it answers runs without one, or needs one in its file.")
        most = math.inf if limit is None else amount_of(limit)
        self._open([node], lambda: [self.desk.root(most, currency, within=self._within(within))])

    def grid(self, features: Words) -> None:
        super().grid(features)
        self._splits.clear()

    def focus(self, low: Words, high: Words) -> None:
        self.desk.focus(number(low, "A focus"), number(high, "A focus"))

    def tell_splits(self, name: Words, splits: Words) -> None:
        if len(self._splits) >= MOST_LISTS:
            raise LeakError(f"A run has at most {MOST_LISTS} lists of splits on one grid.")
        self._splits[text(name, "The name of a list of splits")] = splits_of(splits, self.desk.cells)

    def answer(self, question: Words) -> tuple[Words, np.ndarray]:
        """A private answer, paid for: words, or numbers that are to be added up."""
        do, what = verb_of(question)
        answers: dict[str, Callable[..., tuple[Words, np.ndarray]]] = {
            "tally": self._tally,
            "owner_sum": self._owner_sum,
            "evaluate": self._evaluate,
            "choose_each": self._choose_each,
        }
        return obeyed(answers, do, what)

    def _tally(self, asked: Words, budgets: Words, currencies: Words) -> tuple[Words, np.ndarray]:
        tallies = tallies_of(asked)
        self._check_size(tally.parted_by for tally in tallies.values())
        return None, _flat(self.desk.tally(self._by_node(tallies), self._paid(tallies, budgets, currencies)).values())

    def _evaluate(self, asked: Words, budgets: Words, currencies: Words) -> tuple[Words, np.ndarray]:
        pairs = [entries(each, 2) for each in entries(asked)]
        scorers = {node_number(node): scorer_of(words, self.schema) for node, words in pairs}
        if len(scorers) < len(pairs):
            raise LeakError("A question names each node once.")
        if sum(math.prod(scorer.shape) for scorer in scorers.values()) > MOST_SUMS:
            raise LeakError(f"A party answers with at most {MOST_SUMS:,} numbers at once.")
        if sum(scorer.n_steps for scorer in scorers.values()) > MOST_STEPS:
            raise LeakError(
                f"A party scores each record in at most {MOST_STEPS:,} steps at once. Ask about fewer trees."
            )
        paid = self._paid(scorers, budgets, currencies)
        return None, _flat(self.desk.evaluate(self._by_node(scorers), paid).values())

    def _owner_sum(self, asked: Words, statistic: Words, budgets: Words, currencies: Words) -> tuple[Words, np.ndarray]:
        tables = tables_of(asked)
        self._check_size(tables.values())
        paid = self._paid(tables, budgets, currencies)
        return None, _flat(self.desk.owner_sum(self._by_node(tables), statistic, paid).values())

    def _choose_each(
        self, asked: Words, score: Words, mechanism: Words, budgets: Words, currencies: Words
    ) -> tuple[Words, np.ndarray]:
        n_classes = len(self.schema.classes or ())
        pairs = [entries(each, 2) for each in entries(asked)]
        options = {node_number(node): candidates_of(words, self._splits, n_classes) for node, words in pairs}
        if len(options) < len(pairs):
            raise LeakError("A question names each node once.")
        paid = self._paid(options, budgets, currencies)
        chosen = self.desk.choose(self._by_node(options), score_of(score), paid, mechanism=mechanism)
        return [choice_words(choice) for choice in chosen.values()], np.empty(0, dtype=np.int64)

    def _check_size(self, asked: Iterable[tuple[Table | Levels, ...]]) -> None:
        """Refuse a question whose shares of noise would keep this party busy for long."""
        cells = sum(sum(table.n_children for table in tables) or 1 for tables in asked)
        if cells * len(self.schema.classes or range(2)) > MOST_SUMS:
            raise LeakError(f"A party answers with at most {MOST_SUMS:,} numbers at once. Ask about fewer nodes.")

    def _by_node(self, by_number: Mapping[int, Any]) -> dict[Node, Any]:
        return {self.node(own): value for own, value in by_number.items()}

    def _paid(self, asked: Mapping[int, Any], budgets: Words, currencies: Words) -> dict[Node, Fraction]:
        """Each node's budget. All parties must add the same noise: the question says of which currency each node is."""
        nodes, amounts = [self.node(own) for own in asked], budgets_of(budgets)
        own = [self.desk.scope(node).currency for node in nodes]
        if own != entries(currencies) or len(amounts) != len(nodes) or not nodes:
            raise LeakError("This question takes nodes for those of another currency than they were opened with here.")
        if any(amount < LEAST[currency] for amount, currency in zip(amounts, own)):
            raise BudgetError(TOO_SMALL)
        return dict(zip(nodes, amounts))

    def currency(self, asked: Words) -> str:
        """The currency of the first node that a question is about."""
        (first, *_), *_ = [entries(each) for each in entries(asked)]
        return self.desk.scope(self.node(first)).currency


def _flat(answers: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(values, dtype=np.int64).ravel() for values in answers])
