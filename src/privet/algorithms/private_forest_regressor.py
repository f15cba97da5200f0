"""Our ensemble for numeric targets: private boosting of clamped residuals, or trees by joint selection.

Boosting starts at a private median. Each round chooses a table, of one feature or of two together, by the residuals
that are left in its parts; measures them; and adds their damped means to every record's score, behind the curtain.
Residuals are clamped to a private quantile of their sizes, which shrinks as they do, and so does the noise. The last
sums are over the whole range, by levels of the score. With little data one tree is better, and which of the two is
grown follows from a public or measured number of records (docs/regression.md has the comparison).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.algorithms.forest import BoostedForest, ForestRegressor
from privet.algorithms.parameters import choice, hint, whole
from privet.algorithms.private_tree_regressor import grow_means
from privet.algorithms.size import Size
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.scores import ResidualNorm
from privet.progress import Progress
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.questions.tally import Step, Tally
from privet.tree.additive import Additive, Calibration, Round
from privet.tree.forest import Forest
from privet.tree.rounds import Tables, choice_ratio
from privet.tree.target_rounds import (
    CLAMP_AT,
    RECIPES,
    calibrated,
    damped_means,
    levels_around,
    pays_off,
    plan_targets,
    residual_noise,
)

WORTH_A_TREE = 1_000_000
"""The n * epsilon that each tree should have for itself, where trees are asked for."""

MOST_TREES = 8


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateForestRegressor(BoostedForest, ForestRegressor):
    """The best private ensemble that we know for a numeric target and a given budget.

    Costs ``epsilon`` in all (pure differential privacy, add or remove one record) or, with ``delta``, is
    (epsilon, delta)-differentially private, accounted by zCDP. Predictions stay inside the target's public range.

    Parameters
    ----------
    schema, epsilon, n_records, random_state
        As for ``PrivateTreeRegressor``.
    delta, progress
        As for ``PrivateForestClassifier``.
    method : "auto", "boosting" or "trees"
        ``"trees"`` averages trees as ``PrivateTreeRegressor`` grows them, on all records, by answers in pure epsilon.
        ``"auto"`` boosts where that is expected to be more accurate.
    n_trees : int, optional
        How many trees ``"trees"`` grows; by default as many as n * epsilon supports, often one.
    max_depth : int
        The largest depth of a tree.

    Attributes
    ----------
    forest_ : Additive or Forest
        What was released: functions of features, or trees.
    privacy_ : Receipt
        What it cost and why.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivateForestRegressor, Schema
    >>> x = np.linspace(0, 1, 20000)[:, None]
    >>> schema = Schema({"x": Numeric(0, 1)}, target=(-1, 1))
    >>> model = PrivateForestRegressor(schema, epsilon=1).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(model.score(x, np.sin(6 * x[:, 0])) > 0.8), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    delta: float | None = None
    method: str = choice("auto", "boosting", "trees")
    n_trees: int | None = whole(None)
    max_depth: int = whole(10)
    n_records: int | None = hint()
    progress: Any = None

    @property
    def one_currency(self) -> bool:
        """Not where the measured size decides between boosting, in rho, and trees, in epsilon."""
        decided = self.n_records is not None or self.method != "auto" or self._asks_for_trees
        return self.delta is None or decided

    # -- growing ------------------------------------------------------------------------------------------------------

    @property
    def _boosting(self) -> set[str]:
        """What boosting asks a curator for."""
        asked = {"tally", "choose", "advance", "target_quantiles", "residual_quantiles"}
        return asked | (set() if self.delta is None else {"zcdp"})

    def _needs(self, able: frozenset[str]) -> set[str]:
        if self.method == "boosting":
            return self._boosting
        if self._may_boost and self._boosting <= able:
            return self._boosting | {"focus"}  # of one tree, if that is what the records are worth
        return {"tally", "choose", "target_quantiles", "focus"} | (set() if self.n_trees == 1 else {"copies"})

    def _boosts(self, curtain: Curtain, n_records: float, budget: Fraction, currency: str) -> bool:
        if not self._may_boost:
            return False
        able = self._boosting <= curtain.capabilities
        return self.method == "boosting" or (able and pays_off(n_records, budget, currency))

    def _boost(self, curtain: Curtain, start: Node, budget: Fraction, n_records: float, grid: Grid) -> Additive:
        scope, currency = curtain.path(start), "epsilon" if self.delta is None else "rho"
        mechanism = "permute_and_flip" if currency == "epsilon" else "exponential"
        plan, tables = plan_targets(n_records, budget, currency), Tables(grid, RECIPES[currency], n_records, 0)
        median = self._part_of_range(curtain.target_quantiles(start, [Fraction(1, 2)], plan.median_budget)[0], curtain)
        curtain.advance({start: Step(Split(0, bytes(grid.features[0].n_cells)), (median,))})  # one part for all records
        rounds: list[Round] = []
        clamps: list[int] = []
        with Progress(self.progress, "boosting", len(plan.turns)) as bar:
            for t, turn in enumerate(plan.turns):
                if t in plan.clamped:
                    clamps += curtain.residual_quantiles(start, [CLAMP_AT], plan.clamp_budget)
                clamp, noise = clamps[-1], residual_noise(turn.tally_budget, currency)
                options = {start: tables.candidates(turn, choice_ratio(turn.choice_budget, currency))}
                score = ResidualNorm(clamp)
                table = curtain.choose(options, score, turn.choice_budget, mechanism=mechanism)[start].table
                assert table is not None
                asked = {start: Tally((table,), measure="residual", clamp=clamp)}
                sums = curtain.tally(asked, turn.tally_budget)[start]
                values = damped_means(sums, clamp, noise)
                curtain.advance({start: Step(table, tuple(values.tolist()))})
                shrunk = clamp / clamps[0]
                tables.learn(table, 0, sums[:, 0] / GRADIENT_ONE * shrunk, noise * shrunk)
                rounds.append(Round.of(table, values, sums[:, 1], 0, scope, paid=len(rounds)))
                bar.advance(1)
        levels = levels_around(median, clamps[0])
        asked = {start: Tally(measure="residual", clamp=TARGET_ONE, levels=levels)}
        sums = curtain.tally(asked, plan.calibration_budget)[start]
        lifts = calibrated(sums, clamps[-1], residual_noise(plan.calibration_budget, currency))
        calibration = Calibration(median, levels.cuts, tuple(lifts.tolist()), scope)
        return Additive.on(curtain.schema, grid, rounds, calibration)

    def _part_of_range(self, target: float, curtain: Curtain) -> int:
        assert curtain.schema.target is not None
        low, high = curtain.schema.target
        return round((target - low) / max(high - low, np.finfo(float).tiny) * TARGET_ONE)

    def _trees_of(self, curtain: Curtain, start: Node, budget: Fraction, size: Size, grid: Grid) -> Forest:
        def n_trees(worth: float) -> int:
            return self.n_trees or min(max(int(worth / WORTH_A_TREE), 1), MOST_TREES)

        return Forest(curtain.schema, grow_means(curtain, start, budget, size, self.max_depth, n_trees, grid))

    # -- prediction: post-processing of what was released, free -------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The boosted value of each row, or the mean over the trees."""
        check_is_fitted(self, "forest_")
        if isinstance(self.forest_, Forest):
            return super().predict(X)
        return self.forest_.predictions(self._scores(X))[:, 0]
