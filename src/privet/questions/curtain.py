"""The private questions: what an algorithm may ask of the records behind the curtain.

A curator holds records, a ledger and mechanisms. Public structure (which nodes there are, how they are split) is
free, because it follows from answers that were already paid for. Every other question is charged to the scopes of
the nodes it concerns before it is answered; a refused question leaves everything as it was. Nodes are handles
that only a curator makes: whether two of them hold disjoint records is decided by how they came about (``split``,
``parts``, ``copies``), never by what an algorithm says.

No question needs exact data at hand: ``tally`` and ``choose`` ask for linear maps of histograms, noised or selected
from, so they can be answered on one machine, in streams, on masked sums and on secret shares. docs/architecture.md
walks every system of the project through them.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, cast

import numpy as np

from privet.errors import CapabilityError, LeakError
from privet.privacy.ledger import Ledger
from privet.privacy.scope import Scope
from privet.privacy.scores import Score
from privet.questions.candidates import Candidates, Choice, Split
from privet.questions.grid import Grid
from privet.questions.tally import Step, Tally
from privet.schema import Schema

Budget = Fraction | Mapping["Node", Fraction]


@dataclass(frozen=True, eq=False)
class Node:
    """A handle to a set of records. Only curators make nodes, and each knows its own."""

    scope: Scope


class Curtain(ABC):
    """Holds the records and answers private questions about them.

    ``capabilities`` names the private questions it can answer, and what else it can do that others cannot; asking for
    another raises ``CapabilityError``.
    ``trust`` says in one sentence who has to be trusted with what. ``void`` lists reasons why no guarantee holds.
    """

    schema: Schema
    ledger: Ledger
    trust: str
    void: tuple[str, ...] = ()
    roots: list[Scope]  # every scope that ``root`` opened, so that a receipt can show them all
    capabilities: frozenset[str] = frozenset()
    n_owners: int = 1  # how many choose, each from its own records, where nobody can choose for all

    # -- public structure: free -------------------------------------------------------------------------------

    def root(self, limit: Fraction | float = math.inf, currency: str = "epsilon") -> Node:
        """The node of all records, as a scope that may spend up to ``limit``.

        Refused if the ledger has less left. Every call opens a new scope: what roots spend adds up. All budgets on the
        node and on what it is split into are epsilons or, with the currency "rho", zCDP's (``privet.privacy.zcdp``).
        """
        raise NotImplementedError

    def path(self, node: Node) -> str:
        """Where the events of this node stand in the receipt: public, as the structure is."""
        return node.scope.path

    def grid(self, grid: Grid) -> None:
        """Set the public cells of the features. They may be refined later; then histograms are counted anew."""
        raise NotImplementedError

    def split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        """Split nodes by public rules. The children of one node are disjoint: they pay in parallel."""
        raise NotImplementedError

    def parts(self, node: Node, n: int) -> list[Node]:
        """Draw for each record, independently, one of ``n`` disjoint parts: they pay in parallel."""
        raise NotImplementedError

    def copies(self, node: Node, n: int) -> list[Node]:
        """The same records ``n`` times over: what the copies pay adds up."""
        raise NotImplementedError

    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        """``n`` Poisson samples of a node's records: each record is in each of them with chance 1 / inverse_rate,
        independently. What the samples pay adds up, at the amplified price (``receipt.amplified``)."""
        self._cannot("samples")

    def focus(self, low: float, high: float) -> None:
        """Clamp numeric targets to a public part of their range, from now on; what they add up to is of that part.

        The narrower the range, the smaller the noise of a choice by squared error. The ends must be public: the
        schema's, or private answers. A new root begins with the whole range.
        """
        self._cannot("focus")

    def advance(self, steps: Mapping[Node, Step]) -> None:
        """Add released functions to the scores of the nodes' records (boosting); all scores of a root start at 0.

        The score of class k is the logarithm of its odds against the other one of two classes (then only class 1 has
        one), or its exponent in the softmax of several. Free: a record's score follows from its own features and from
        released numbers, and only ``tally`` and ``choose`` ever look at it.
        """
        self._cannot("advance")

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Whole numbers that the algorithm already has, plus two-sided geometric noise of this scale.

        Free, because it is post-processing, and no protection either: for published variants whose noise fits no
        question, on numbers that they were told exactly and at the price of infinity.
        """
        raise NotImplementedError

    # -- private questions: each node pays its own budget -------------------------------------------------------

    def tally(self, tallies: Mapping[Node, Tally], budget: Budget) -> dict[Node, np.ndarray]:
        """Noisy sums for each node: integers, possibly negative, (cells, classes), (cells,) or, of targets, (cells, 2).

        Costs ``budget`` on each node's scope. Two-sided geometric noise on exact integers, or discrete Gaussian noise
        where the budget is in rho; a record is in one cell of each table, so the L1 sensitivity is the number of tables
        (times ``TARGET_ONE`` for targets, ``GRADIENT_ONE`` for gradients), and the L2 sensitivity is at most that.
        """
        self._cannot("tally")

    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
        hidden: bool = False,
    ) -> dict[Node, Choice]:
        """Pick one candidate for each node.

        Costs ``budget`` on each node's scope; nodes that this curator split apart are disjoint, so a level costs
        it once. Selection on exact integer scores, lemma L1 with ``score.sensitivity``; each candidate's public
        prior is added to its score, which cancels in every comparison of neighbouring datasets and is free.
        ``hidden`` keeps the choice on secret shares, for curators that have them.
        """
        self._cannot("choose")

    def choose_each(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, list[Choice]]:
        """Each owner's own choice for each node, from its records alone: one answer for each owner, in their order.

        As ``choose``, and at the same price: a record is with one owner, so the owners' choices are parallel and
        cost ``budget`` on each node's scope once. (LocalRNM of paper 001.)
        """
        self._cannot("choose_each")

    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        """For each node and each of its tables the noisy sum, over owners, of a statistic that each computes alone.

        ``"least_impurity"``: half the Gini impurity times the records, of the two sides of the table's best split, in
        units of 2^-8: a threshold between its parts, or one part against the rest if its feature is categorical. No
        split does better on all records together than the sum of the owners' own best ones, so this bounds from below
        what the feature can do (budget saving of paper 002). Costs ``budget`` on each node's scope: two-sided geometric
        noise on exact integers, L1 sensitivity as many units as there are tables, for all owners together
        (``least_impurity_sensitivity``).
        """
        self._cannot("owner_sum")

    def quantiles(
        self, node: Node, features: Sequence[int], probs: Sequence[Fraction], budget: Fraction
    ) -> dict[int, list[float]]:
        """Noisy quantiles of numeric features, points of the public grid.

        Costs ``budget`` in all, shared evenly by the features. The exponential mechanism over the cuts, each weighted
        by half of the two cells beside it: of one probability with the quantile score, of several over all ordered sets
        of cuts with the joint score, so that all are paid for once. Answers may repeat.
        """
        self._cannot("quantiles")

    def target_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[float]:
        """Noisy quantiles of the numeric target, points of a public grid of its range, in increasing order.

        Costs ``budget`` in all, shared evenly by the probabilities. The exponential mechanism over the grid's cuts,
        each weighted by the width of its cell, with the quantile score.
        """
        self._cannot("target_quantiles")

    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        """Exact histograms, at the price of infinity: for published variants whose claim does not hold."""
        self._cannot("peek")

    # -- for curators ------------------------------------------------------------------------------------------

    def _cannot(self, question: str) -> NoReturn:
        raise CapabilityError(
            f"{type(self).__name__} cannot answer {question!r}; it can answer: "
            f"{', '.join(sorted(self.capabilities)) or 'nothing'}. See docs/architecture.md for which curator can."
        )


def budgets(nodes: Sequence[Node], budget: Budget) -> list[Fraction]:
    """Each node's own budget, exact and positive."""
    each = [budget.get(node) if isinstance(budget, Mapping) else budget for node in nodes]
    if not all(isinstance(amount, Fraction) and amount > 0 for amount in each):
        raise LeakError("Each node needs a budget, a positive Fraction: floats do not add up exactly.")
    return cast("list[Fraction]", each)
