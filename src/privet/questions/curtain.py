"""The curtain: the private questions and the public structure, which are all that an algorithm sees of the records.

Public structure (which nodes there are, how they are split) is free, because it follows from answers that were already
paid for, and blind: a free call behaves the same whatever the records are. Every other question is charged to the
scopes of the nodes it concerns before it is answered; a refused question leaves everything as it was. Nodes are tokens
that only a curator makes: whether two of them hold disjoint records is decided by how they came about (``split``,
``parts``, ``copies``), never by what an algorithm says.

docs/architecture.md walks every system of the project through the questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from privet.errors import LeakError
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid
from privet.questions.scorer import Scorer
from privet.questions.split import Choice, Split
from privet.questions.tally import Step, Tally
from privet.questions.word import fraction
from privet.schema import Schema
from privet.values import final


@final
class Node:
    """A set of records. Only curators make nodes, and only the one that made a node knows which records it holds."""

    __slots__ = ("__weakref__",)


Budget = Fraction | Mapping[Node, Fraction]


class NamedScore(Protocol):
    """A score of ``privacy/``. Behind the curtain it is made anew from its lemma's name."""

    @property
    def lemma(self) -> str: ...


@final
class Curtain:
    """What an algorithm is handed. It closes when the fit ends, and then its nodes and choices are refused.

    No record, count, ledger or mechanism can be reached from it by attribute. (Python is no sandbox: this is a wall for
    mistakes. For messages from other machines it is one for attacks, too, because they have no code to run.)
    """

    __slots__ = ("__weakref__",)

    # -- what is known beforehand ------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        return _desk(self).schema

    @property
    def trust(self) -> str:
        """In one sentence who has to be trusted with what."""
        return _desk(self).trust

    @property
    def capabilities(self) -> frozenset[str]:
        """The questions that can be answered, and what else can be done that not every curator can."""
        return _desk(self).capabilities

    @property
    def n_owners(self) -> int:
        """How many choose, each from its own records, where nobody can choose for all."""
        return _desk(self).n_owners

    @property
    def most_records(self) -> int:
        """A public bound on the number of records, of curators that have one."""
        return _desk(self).most_records

    def rho_within(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """The rho that may be spent for a promise of epsilon with this delta, by the ledger's conversion."""
        return _desk(self).rho_within(epsilon, delta)

    def covers(self, epsilon: Fraction) -> bool:
        """Whether the ledger has this much pure epsilon left, whatever is asked for it (``Ledger.covers``)."""
        return _desk(self).covers(epsilon)

    # -- public structure: free -------------------------------------------------------------------------------------

    def root(self, limit: Fraction | float = math.inf, currency: str = "epsilon") -> Node:
        """The node of all records, as a scope that may spend up to ``limit``.

        Refused if the ledger has less left. Every call opens a new scope: what roots spend adds up. All budgets on the
        node and on what it is split into are epsilons or, with the currency "rho", zCDP's (``privet.privacy.zcdp``).
        """
        return _desk(self).root(limit, currency)

    def path(self, node: Node) -> str:
        """Where the events of this node stand in the receipt: public, as the structure is."""
        return _desk(self).path(node)

    def grid(self, grid: Grid) -> None:
        """Set the public cells of the features. They may be refined later; then histograms are counted anew."""
        _desk(self).grid(grid)

    def split(self, splits: Mapping[Node, Any]) -> dict[Node, tuple[Node, ...]]:
        """Split nodes by public rules, or by hidden choices of a whole level. A node's children pay in parallel."""
        return _desk(self).split(splits)

    def parts(self, node: Node, shares: int | Sequence[int]) -> list[Node]:
        """Draw for each record (person), independently, one of several disjoint parts: they pay in parallel.

        ``shares`` is how many, all alike, or for each part its weight: with (4, 1) the second has one record in five.
        """
        return _desk(self).parts(node, shares)

    def copies(self, node: Node, n: int) -> list[Node]:
        """The same records ``n`` times over: what the copies pay adds up."""
        return _desk(self).copies(node, n)

    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        """``n`` Poisson samples of a node's records (persons): each is in each of them with chance 1 / inverse_rate,
        independently. What the samples pay adds up, at the amplified price (``receipt.amplified``)."""
        return _desk(self).samples(node, n, inverse_rate)

    def focus(self, low: float, high: float) -> None:
        """Clamp numeric targets to a part of their range, from now on, between ends that are public or private answers.

        A choice by squared error has less noise there. A new root begins with the whole range.
        """
        _desk(self).focus(low, high)

    def advance(self, steps: Mapping[Node, Step]) -> None:
        """Add released functions to the scores of the nodes' records (boosting); all scores of a root start at 0.

        The score of a class is for it and against the rest; of two classes only class 1 has one. A numeric target's is
        a prediction of it, as a part of its range above the low end. Only private questions ever look at it.
        """
        _desk(self).advance(steps)

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Whole numbers that the algorithm was told exactly, plus two-sided geometric noise: for published variants.

        Free, because it is post-processing, and no protection either.
        """
        return _desk(self).noise(values, scale)

    # -- private questions: each node pays its own budget -----------------------------------------------------------

    def tally(self, tallies: Mapping[Node, Tally], budget: Budget) -> dict[Node, np.ndarray]:
        """Noisy sums for each node: integers, possibly negative, (cells, classes), (cells,) or, of targets, (cells, 2).

        Costs ``budget`` on each node's scope. Two-sided geometric noise on exact integers, or discrete Gaussian noise
        where the budget is in rho; a record is in one cell of each table, so the L1 sensitivity is the number of tables
        (times ``TARGET_ONE`` for targets, 9/16 ``GRADIENT_ONE`` for gradients, 5/4 of it for residuals), and the L2
        sensitivity is at most that.

        Where the schema names a person, these are sums over persons, each the mean of their records, rounded to whole
        numbers once they are noisy: noise of the same size, for the promise to a person.
        """
        return _of_persons(self, _desk(self).tally(tallies, budget))

    def evaluate(self, scorers: Mapping[Node, Scorer], budget: Budget) -> dict[Node, np.ndarray]:
        """How a released model does on each node's records: noisy counts of (group, bin of its score, true class).

        Costs ``budget`` on each node's scope: two-sided geometric noise, or discrete Gaussian noise where the budget is
        in rho. The model is released, so which cell a record is in depends on the record alone: it is in one cell of
        the table, and the L1 and the L2 sensitivity are 1, however many cells there are.
        """
        return _desk(self).evaluate(scorers, budget)

    def prefer(self, node: Node, scorers: Sequence[Scorer], budget: Fraction) -> int:
        """The number of the released model that does best on a node's records, chosen privately.

        Costs ``budget`` on the node's scope: permute-and-flip, or the exponential mechanism where the budget is in rho,
        on what the models' predictions are worth (``privacy.scores.Worth``): their correct counts, or closeness to the
        targets. One more record adds to every model's sum at least 0 and at most what a prediction can be worth.
        """
        return _desk(self).prefer(node, scorers, budget)

    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: NamedScore,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
        hidden: bool = False,
    ) -> dict[Node, Any]:
        """Pick one candidate for each node: a ``Choice``.

        Costs ``budget`` on each node's scope; nodes that were split apart are disjoint, so a level costs it once.
        Selection on exact integer scores, lemma L1 with the score's sensitivity; each candidate's public prior is added
        to its score, which cancels in every comparison of neighbouring datasets and is free. ``hidden`` keeps the
        choice on secret shares, where there are any, for all nodes of a level, with one list of candidates and one
        budget; ``mechanism="exact"``, which only a hidden choice may be made by, is charged infinity.
        """
        return _desk(self).choose(candidates, score, budget, mechanism=mechanism, hidden=hidden)

    def draw_hidden(self, nodes: Sequence[Node], options: Candidates) -> dict[Node, Any]:
        """One of the splits that a node may still choose, at random: free, because no record is looked at."""
        return _desk(self).draw_hidden(nodes, options)

    def choose_each(
        self,
        candidates: Mapping[Node, Candidates],
        score: NamedScore,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
    ) -> dict[Node, list[Choice]]:
        """Each owner's own choice for each node, from its records alone: one answer for each owner, in their order.

        As ``choose``, and at the same price: a record is with one owner, so the owners' choices are parallel and
        cost ``budget`` on each node's scope once. (LocalRNM of paper 001.)
        """
        return _desk(self).choose_each(candidates, score, budget, mechanism=mechanism)

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
        return _of_persons(self, _desk(self).owner_sum(tables, statistic, budget))

    def quantiles(
        self, node: Node, features: Sequence[int], probs: Sequence[Fraction], budget: Fraction
    ) -> dict[int, list[float]]:
        """Noisy quantiles of numeric features, points of the public grid.

        Costs ``budget`` in all, shared evenly by the features. The exponential mechanism over the cuts, each weighted
        by half of the two cells beside it: of one probability with the quantile score, of several over all ordered sets
        of cuts with the joint score, so that all are paid for once. Answers may repeat.
        """
        return _desk(self).quantiles(node, features, probs, budget)

    def target_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[float]:
        """Noisy quantiles of the numeric target, points of a public grid of its range, in increasing order.

        Costs ``budget`` in all, shared evenly by the probabilities. The exponential mechanism over the grid's cuts,
        each weighted by the width of its cell, with the quantile score.
        """
        return _desk(self).target_quantiles(node, probs, budget)

    def residual_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[int]:
        """Noisy quantiles of how far targets are from their present scores, up or down, in increasing order.

        Costs ``budget`` in all, shared evenly by the probabilities. The exponential mechanism over public sizes, whole
        numbers of 1 / ``TARGET_ONE`` of the target's range (``RESIDUAL_POINTS``), with the quantile score: a record has
        one such size, which depends on it and on released numbers alone.
        """
        return _desk(self).residual_quantiles(node, probs, budget)

    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        """Exact histograms, at the price of infinity: for published variants whose claim does not hold."""
        return _of_persons(self, _desk(self).peek(nodes))


def budgets(nodes: Sequence[Node], budget: Budget) -> list[Fraction]:
    """Each node's own budget: exact, positive, read once and copied."""
    if not isinstance(budget, Mapping):
        return [positive(budget)] * len(nodes) if len(nodes) else []
    own = dict(budget.items())
    return [positive(own.get(node)) for node in nodes]


def positive(amount: Any) -> Fraction:
    if type(amount) is not Fraction or amount <= 0:
        raise LeakError("Each node needs a budget, a positive Fraction: floats do not add up exactly.")
    return fraction(amount, "A budget")


# What is behind each curtain that is open: a desk, which answers what a curtain is asked. Not an attribute: nothing
# leads there from a curtain.
_DESKS: WeakKeyDictionary[Curtain, Any] = WeakKeyDictionary()


def draw_curtain(desk: Any) -> Curtain:
    """A curtain in front of a curator's desk."""
    curtain = Curtain()
    _DESKS[curtain] = desk
    return curtain


def _desk(curtain: Curtain) -> Curtain:
    desk: Curtain | None = _DESKS.get(curtain)
    if desk is None:
        raise LeakError("This curtain has no curator behind it.")
    return desk


def _of_persons(curtain: Curtain, answers: dict[Node, np.ndarray]) -> dict[Node, np.ndarray]:
    """Sums in units of the persons' weight as sums over persons: an algorithm need not know the difference."""
    unit: Any = _desk(curtain).unit  # type: ignore[attr-defined]
    return {node: unit.whole(own) for node, own in answers.items()}
