"""A private choice among models: try all of them, choose one, and learn it again with the rest of the budget.

The records that are learned from are parted in two, by a draw for each. On the first part the candidates share a part t
of epsilon, and on the second the best of them is chosen by permute-and-flip, for t as well: by correct counts, or by
how close predictions are to a numeric target (``privacy.scores.Worth``). A record is in one of the two parts, so both
cost t once. Then the winner is learned again, from both parts together, with the rest: 1 - t. All of it costs epsilon,
and a record that a score is held out on is in none of it. With a delta all of this is in rho.

A candidate that needs much budget to shine gets more of the trials: with even shares, boosting loses trials that it
would win with the whole budget (docs/model_selection.md).

With random stopping each run takes a candidate by chance, learns it with a third of epsilon on one part of the records
and scores it on the other, and the best of a secret number of runs is what is released: however many candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from privet.algorithms.base import PrivateEstimator
from privet.algorithms.chosen import Chosen
from privet.algorithms.parameters import choice, fraction, whole
from privet.curators.base import Curator
from privet.curators.desk import Desk
from privet.curators.secret_runs import best_of_secret_runs
from privet.errors import CapabilityError, PrivetError
from privet.evaluate.scorers import reading_of
from privet.privacy.amounts import checked_delta, exact
from privet.privacy.random_stopping import MOST_EXPECTED
from privet.privacy.zcdp import epsilon_at, ratio_for, rho_within
from privet.questions.curtain import Curtain, Node
from privet.schema import Schema

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from privet.algorithms.held_out import Holdout

PARTS = (6, 1)
"""Of seven records that are learned from, six try the candidates and one chooses: to compare takes few records."""

BINS = 48
"""Of errors, where candidates are compared; classes are right or wrong."""

RUNS_FOR_EACH = 10
"""So many runs there are for each candidate, on average, where their number is drawn: then one search in eleven never
runs the best one."""

FEWEST_BINS = 4
"""Of the noisy tables that candidates are compared by where nobody can choose: every cell more is noise more."""

MOST_CANDIDATES = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateSearch(PrivateEstimator):
    """The best of several models for these records, chosen privately: one epsilon, one receipt.

    Parameters
    ----------
    candidates : list of estimators
        Any of Privet's, with any parameters, all for the same task. Their own ``epsilon`` and ``schema`` do not count.
        Sound variants without a delta of their own.
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``; what the whole search costs.
    delta : float, optional
        As for ``PrivateForestClassifier``. Candidates that can spend rho do; the others spend the epsilon that their
        share of rho allows whatever they ask, which is much less than the search's.
    trial : float
        The share of the budget that tries the candidates, who share it, and chooses among them. The winner has the
        rest. Those that boost have six times the share of others: they need it to show what they can do.
    method : "trials" or "random_stopping"
        Trials, or the best of a secret number of runs with a third of epsilon each: for more candidates than can share
        a budget, in memory or files, without a delta. How long a fit took must stay secret then, too.
    expected_runs : int, optional
        How many runs there are on average; by default ten for each candidate. More cost time, and nothing else.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, fitted. Its receipt is that of the whole search; it can be saved and verified as any other model.
    best_index_ : int
        Which of the candidates it is.
    privacy_, evaluation_
        As of any model: ``fit(X, y, holdout=0.2)`` scores the winner on records that no choice has seen.
    """

    candidates: Sequence[Any] = ()
    delta: float | None = None
    trial: float = fraction(0.3)
    method: str = choice("trials", "random_stopping")
    expected_runs: int | None = whole(None, most=MOST_EXPECTED)

    def _check_params(self) -> None:
        if not 1 <= len(self.candidates) <= MOST_CANDIDATES:
            raise PrivetError(f"A search is among 1 to {MOST_CANDIDATES} candidates.")
        for own in self.candidates:
            if not isinstance(own, PrivateEstimator) or isinstance(own, PrivateSearch):
                raise PrivetError("Candidates are estimators of Privet, such as PrivateTreeClassifier(max_depth=3).")
            if own.variant != "sound" or own.delta is not None:
                raise PrivetError(
                    "Candidates are sound variants without a delta: what they spend must add up. Give the delta to the "
                    "search."
                )
            if self.delta is not None and own._uses_delta and getattr(own, "method", "") == "auto":
                raise PrivetError(
                    "With a delta a candidate must say whether it boosts, which spends rho, or grows trees, which "
                    "spend epsilon: method='boosting' or method='trees' in place of 'auto'."
                )
            own._check_all()
        if len({own._task for own in self.candidates}) > 1:
            raise PrivetError("Candidates are all classifiers or all regressors.")
        self._check_own_delta()
        if self.method == "random_stopping" and self.delta is not None:
            raise PrivetError("Random stopping is for pure epsilon: leave the delta out, or take method='trials'.")

    def _check_schema(self, schema: Schema) -> None:  # type: ignore[override]
        for own in self.candidates:
            own._check_schema(schema)

    @property
    def _task(self) -> Any:  # type: ignore[override]
        return self.candidates[0]._task

    def _needs(self, able: frozenset[str]) -> set[str]:
        noisy = "prefer" not in able and "hidden" not in able  # of hidden models nobody can compare scores
        comparing = {"evaluate"} if noisy else {"prefer"}
        if self.method == "random_stopping":
            comparing = {"evaluate", "secret_runs"}
        needs = [self._tried(own)._needs(able) for own in self.candidates]
        return {"parts", *comparing, *([] if self.delta is None else ["zcdp"])}.union(*needs)

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Any:
        raise PrivetError("A search has several roots: it learns at the desk.")

    def _learn(self, desk: Desk, budget: Fraction) -> Any:
        if self.method == "random_stopping":
            expected = self.expected_runs or RUNS_FOR_EACH * len(self.candidates)
            best = best_of_secret_runs(desk, budget, expected, len(self.candidates), self._run)
            self.best_index_, self._winner, grown = best
            return self._take_over(grown)
        if self.delta is not None:
            budget = desk.rho_within(budget, checked_delta(self.delta))
        trial = budget * exact(self.trial)
        everybody = desk.learning if desk.learning is not None else desk.gather()
        trying, choosing = desk.parts(everybody, PARTS)
        weights = [own._trial_weight for own in self.candidates]
        share = Fraction(PARTS[0], sum(PARTS))
        tried = [
            self._grown(own, desk, trying, trial * weight / sum(weights), share)[1]
            for own, weight in zip(self.candidates, weights)
        ]
        self.best_index_ = self._best(desk, desk.root(trial, self._currency, within=choosing), tried, trial)
        self._winner, grown = self._grown(self.candidates[self.best_index_], desk, everybody, budget - trial)
        return self._take_over(grown)

    def _take_over(self, grown: Any) -> Any:
        for name in ("n_records", "progress"):  # as they were before the run
            if hasattr(self._winner, name):
                setattr(self._winner, name, getattr(self.candidates[self.best_index_], name))
        self._released = self._winner._released  # type: ignore[misc]
        self._draws_rules = self._winner._draws_rules or getattr(self._winner, "structure", None) == "random"
        return grown

    def _run(self, desk: Desk, everybody: Node, number: int) -> tuple[tuple[int, Any, Any], int]:
        """One run: what a candidate learned from most records, and its noisy score on the others."""
        budget = Fraction(desk.ledger.remaining)
        trying, choosing = desk.parts(everybody, PARTS)
        quiet = clone(self.candidates[number])
        if hasattr(quiet, "progress"):
            quiet.progress = False  # a bar for each run would count them
        copy, grown = self._grown(quiet, desk, trying, budget, Fraction(PARTS[0], sum(PARTS)))
        score = self._noisy_worth(desk, desk.root(budget, within=choosing), grown, budget)
        return (number, copy, grown), score

    def _noisy_worth(self, desk: Desk, node: Node, grown: Any, budget: Fraction) -> int:
        """What a model's predictions are worth, by a noisy table of as few cells as it takes."""
        scorer = reading_of(grown, BINS if self._task == "regression" else FEWEST_BINS, None).scorer
        return int((desk.evaluate({node: scorer}, budget)[node] * scorer.gains).sum())

    @property
    def _currency(self) -> str:
        return "epsilon" if self.delta is None else "rho"

    def _best(self, desk: Desk, node: Node, tried: list[Any], budget: Fraction) -> int:
        """The number of the one that is chosen. Where nobody can choose, by noisy tables that share the budget."""
        if "prefer" in desk.capabilities:
            return desk.prefer(node, [reading_of(own, BINS, None).scorer for own in tried], budget)
        return int(np.argmax([self._noisy_worth(desk, node, own, budget / len(tried)) for own in tried]))

    def _tried(self, own: Any) -> Any:
        """A copy of a candidate; with the search's delta if it spends rho."""
        copy = clone(own)
        return copy.set_params(delta=self.delta) if self.delta is not None and own._uses_delta else copy

    def _grown(
        self, own: Any, desk: Desk, part: Node, budget: Fraction, share: Fraction = Fraction(1)
    ) -> tuple[Any, Any]:
        """A copy of a candidate, and what it learns from a part of the records with a budget of its own."""
        copy = self._tried(own)
        if getattr(copy, "n_records", None) is not None:
            copy.n_records *= float(share * desk.learning_share)
        if self.delta is not None:
            budget = _epsilon_within(desk, budget, copy.delta)
        desk.learning = part
        return copy, copy._grow(desk.curtain, desk.root(budget), budget)

    def _fit(self, curator: Curator, budget: Fraction, held_out: Holdout | None = None) -> None:
        if self.method == "random_stopping" and "secret_runs" not in curator.capabilities:
            raise CapabilityError(
                "method='random_stopping' learns a secret number of times. Where these records are, others would see "
                "how often: in a database's log, on a cluster's dashboard, or on their own machine. Take "
                "method='trials', or learn from a table, or from files, on one machine whose disk has space for a copy "
                "(MemoryCurator, FileCurator)."
            )
        super()._fit(curator, budget, held_out)
        winner = self._winner
        del self._winner
        winner.set_params(epsilon=self.epsilon, schema=curator.schema, random_state=None)
        winner.schema_, winner.privacy_, winner.evaluation_ = self.schema_, self.privacy_, self.evaluation_
        setattr(winner, winner._released, getattr(self, self._released))
        winner._set_fitted()
        self.chosen_ = winner.chosen_ = Chosen.read(self._chosen)
        self.best_estimator_ = winner

    @property
    def _chosen(self) -> dict[str, Any]:  # type: ignore[override]
        return Chosen(tuple(map(_as_given, self.candidates)), self.best_index_).to_dict()

    # -- what the winner says -----------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The winner's predictions."""
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.predict(X))

    @property
    def predict_proba(self) -> Any:
        """The winner's probabilities, if it released any."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.classes_)

    def score(self, X: Any, y: Any) -> float:
        """The winner's accuracy, or R^2, on records that need no protection."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    def _repr_html_(self) -> str | None:
        """Of a fitted search the winner's card, which says what it was chosen among."""
        winner = getattr(self, "best_estimator_", None)
        return super()._repr_html_() if winner is None else winner._repr_html_()

    def save(self, path: Any, note: str = "", *, overwrite: bool = False) -> None:
        """Write the winner, with the receipt of the whole search."""
        check_is_fitted(self, "best_estimator_")
        self.best_estimator_.save(path, note, overwrite=overwrite)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.candidates:
            own = self.candidates[0].__sklearn_tags__()
            tags.estimator_type = own.estimator_type
            tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        return tags


def _as_given(candidate: Any) -> str:
    """A candidate by its name and the parameters that differ from the defaults; the search has the schema."""
    unsaid = {"schema", "random_state", "progress"} & set(candidate.get_params(deep=False))
    plain = clone(candidate).set_params(**dict.fromkeys(unsaid))
    return " ".join(repr(plain).split())


def _epsilon_within(desk: Desk, rho: Fraction, delta: float | None) -> Fraction:
    """An epsilon with which a candidate reserves no more than ``rho``: with a delta, or in pure epsilon.

    Whoever spends l in pure epsilon reserves l^2 / 2 (``scope.reserved_rho``).
    """
    if delta is None:
        return ratio_for("geometric", rho)
    exactly = checked_delta(delta)
    epsilon = epsilon_at(rho, exactly, desk.ledger.whole_orders)
    while max(rho_within(epsilon, exactly), desk.rho_within(epsilon, exactly)) > rho:
        epsilon *= 1 - Fraction(1, 10**6)
    return epsilon
