"""Our ensemble: private boosting, one feature at a time, or trees by joint selection on disjoint parts of the records.

Boosting starts from even odds. Each round chooses one feature, over random public partitions of all of them, by the
gradients of the logistic loss that are left in its cells; measures these gradients, with their Hessians, cell by cell;
and adds one damped Newton step to every record's score, behind the curtain. A record is in one cell, so a round costs
one choice and one sum whatever the number of cells. With little data one tree is better: labels that are chosen need
far fewer records than gradients that are summed. Which of the two is grown follows from a public or measured number of
records (``privet.tree.rounds``); docs/forests.md has the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.algorithms.forest import BoostedForest, ForestClassifier
from privet.algorithms.parameters import choice, hint, whole
from privet.algorithms.private_tree import grow_trees
from privet.algorithms.size import Size
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.privacy.gradients import HESSIAN_BITS
from privet.privacy.scores import GradientNorm
from privet.progress import Progress
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.tally import Step, Tally
from privet.tree.additive import Additive, Round
from privet.tree.forest import Forest
from privet.tree.planning import COUNT_SHARE, plan_levels
from privet.tree.proposals import needs_to_choose
from privet.tree.public_splits import public_splits
from privet.tree.rounds import LARGEST_MOVE, RECIPES, RIDGE, Tables, choice_ratio, noise_of, pays_off, plan_rounds
from privet.tree.tree import Tree

PART_CELLS = 32
"""The most cells of a numeric feature where trees share the records: each has too few of them for finer cuts."""

MOST_COUNTS = 2**27
"""So many 64-bit counts, a gigabyte, are held at once: trees beyond that grow one batch after another."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateForestClassifier(BoostedForest, ForestClassifier):
    """The best private ensemble that we know for a given budget, for two or more classes.

    Costs ``epsilon`` in all (pure differential privacy, add or remove one record) or, with ``delta``, is
    (epsilon, delta)-differentially private, accounted by zCDP: more accurate from about n * epsilon = 1,700 on.

    Parameters
    ----------
    schema, epsilon, n_records, random_state
        As for ``PrivateTreeClassifier``.
    delta : float, optional
        The probability with which the promise of ``epsilon`` may fail: far below one over the number of records, such
        as 1e-6. Left out, it is 0. The receipt states it also where trees were grown, which do not use it: that they
        were may follow from the measured size.
    method : "auto", "boosting" or "trees"
        ``"trees"`` grows trees as ``PrivateTreeClassifier`` does, with counts at their leaves, by answers in pure
        epsilon. ``"auto"`` boosts where that is expected to be better than one tree at what ``aim`` says.
    aim : "labels" or "probabilities"
        What ``"auto"`` decides by. One tree has more labels right with little data, and boosting ranks records better
        long before: ask for ``"probabilities"`` where ``predict_proba`` is what counts.
    n_trees : int
        How many trees ``"trees"`` grows, each on a disjoint part of the records; one is the most accurate.
    max_depth : int
        The largest depth of these trees.
    progress : bool or callable, optional
        Whether to show how far a fit is; by default where stderr is a terminal. A function is given (share, note).

    Attributes
    ----------
    forest_ : Additive or Forest
        What was released: a function of each feature, or trees.
    feature_importances_ : ndarray
        How much each feature matters, as shares: from released numbers only.
    privacy_ : Receipt
        What it cost and why.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = PrivateForestClassifier(schema=schema, epsilon=1, delta=1e-6).fit(X, y)
    >>> bool(model.score(X, y) > 0.83), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    delta: float | None = None
    method: str = choice("auto", "boosting", "trees")
    aim: str = choice("labels", "probabilities")
    n_trees: int = whole(1)
    max_depth: int = whole(4)
    n_records: int | None = hint()
    progress: Any = None

    @property
    def one_currency(self) -> bool:
        """Not where the measured size decides between boosting, in rho, and trees, in epsilon."""
        return self.delta is None or self.n_records is not None or self.method != "auto"

    @property
    def _most_cells(self) -> int | None:  # type: ignore[override]
        return PART_CELLS if self.n_trees > 1 else None

    # -- growing ------------------------------------------------------------------------------------------------------

    def _needs(self, able: frozenset[str]) -> set[str]:
        if self.n_trees > 1:
            return needs_to_choose(able) | {"tally", "parts"}
        if self.method == "boosting" or (self.method == "auto" and self._boosting <= able):
            return self._boosting
        return needs_to_choose(able) | {"tally"}

    @property
    def _boosting(self) -> set[str]:
        """What boosting asks a curator for."""
        return {"tally", "choose", "advance"} | (set() if self.delta is None else {"zcdp"})

    def _boosts(self, curtain: Curtain, n_records: float, budget: Fraction, currency: str) -> bool:
        n_classes = len(curtain.schema.classes or ())
        if n_classes < 2 or not self._may_boost:
            return False
        able = self._boosting <= curtain.capabilities
        return self.method == "boosting" or (able and pays_off(n_records, budget, currency, n_classes, self.aim))

    def _boost(self, curtain: Curtain, start: Node, budget: Fraction, n_records: float, grid: Grid) -> Additive:
        n_classes, scope = len(curtain.schema.classes or ()), curtain.path(start)
        currency = "epsilon" if self.delta is None else "rho"
        mechanism = "permute_and_flip" if currency == "epsilon" else "exponential"
        plan = plan_rounds(n_records, budget, currency, n_classes)
        tables = Tables(grid, RECIPES[currency], n_records, n_classes)
        rounds: list[Round] = []
        with Progress(self.progress, "boosting", len(plan)) as bar:
            for turn in plan:
                options = {start: tables.candidates(turn, choice_ratio(turn.choice_budget, currency))}
                score = GradientNorm(turn.output)
                table = curtain.choose(options, score, turn.choice_budget, mechanism=mechanism)[start].table
                assert table is not None
                asked = {start: Tally((table,), measure="gradient", output=turn.output)}
                sums = curtain.tally(asked, turn.tally_budget)[start]
                noise = noise_of(turn.tally_budget, currency)
                values = _newton(sums, RIDGE * noise, turn.step)
                curtain.advance({start: Step(table, tuple(values.tolist()), turn.output)})
                tables.learn(table, turn.output, sums[:, 0] / GRADIENT_ONE, noise)
                rounds.append(Round.of(table, values, sums[:, 1], turn.output, scope, paid=len(rounds)))
                bar.advance(1)
        return Additive.on(curtain.schema, grid, rounds)

    def _trees_of(self, curtain: Curtain, start: Node, budget: Fraction, size: Size, grid: Grid) -> Forest:
        n_classes, n_trees = len(curtain.schema.classes or ()), self.n_trees
        splits = public_splits(grid)
        counts_budget = size.left * COUNT_SHARE
        budget, margin = size.left - counts_budget, size.margin / n_trees
        plan = plan_levels(size.n / n_trees, budget, len(splits), n_classes, self.max_depth, margin)
        starts = curtain.parts(start, self.n_trees) if self.n_trees > 1 else [start]
        at_once = max(1, MOST_COUNTS // (2 ** len(plan.inner) * splits.grid.n_cells * n_classes))
        trees: tuple[Tree, ...] = ()
        with Progress(self.progress, "growing", self.n_trees * (len(plan.inner) + 1)) as bar:
            for first in range(0, self.n_trees, at_once):
                batch = starts[first : first + at_once]
                trees += grow_trees(curtain, batch, splits, plan, counts_budget, partial(bar.advance, len(batch)))
        return Forest(curtain.schema, trees)

    # -- prediction: post-processing of what was released, free -------------------------------------------------------

    def _votes(self, X: Any) -> np.ndarray:
        """The chance of each class: by the boosted scores, or the mean of the shares of counts in the trees' leaves."""
        check_is_fitted(self, "forest_")
        if isinstance(self.forest_, Forest):
            return super()._votes(X)
        return self.forest_.predictions(self._scores(X))[:, np.argsort(np.array(self.schema_.classes))]


def _newton(sums: np.ndarray, ridge: float, share: float) -> np.ndarray:
    """A share of a damped Newton step for each part, from its noisy sums: whole numbers of 1 / GRADIENT_ONE."""
    gradient, hessian = sums[:, 0] / GRADIENT_ONE, np.maximum(sums[:, 1] / (GRADIENT_ONE >> HESSIAN_BITS), 0)
    step = np.clip(-gradient / (hessian + ridge), -LARGEST_MOVE, LARGEST_MOVE)
    return np.rint(share * step * GRADIENT_ONE).astype(np.int64)
