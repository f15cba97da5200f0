"""What every estimator of the project shares: from data to a curator, from a grown tree to a fitted model.

A subclass is one algorithm. It says how it spends its budget in ``_grow``; all it sees of the records is a curator.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privet.algorithms.explained import Explained
from privet.algorithms.given_schema import resolved_schema
from privet.algorithms.held_out import NEEDS, By, Holdout, evaluate_on, scored_by_fit
from privet.algorithms.parameters import check_choice, check_misplaced, check_parameters, checked_budget
from privet.algorithms.prediction import fast_leaves
from privet.algorithms.receipts import receipt_of
from privet.algorithms.verification import check_whole_model
from privet.curators.base import Curator
from privet.curators.desk import Desk
from privet.errors import BudgetError, BudgetWarning, PrivetError, SchemaError
from privet.explain.coverage import sealed
from privet.privacy.amounts import Amount, checked_delta
from privet.privacy.ledger import Ledger
from privet.privacy.meaning import as_float, too_few, warn_about
from privet.privacy.receipt import Receipt
from privet.privacy.zcdp import rho_within
from privet.questions.curtain import Curtain, Node
from privet.schema import Numeric, Schema
from privet.tree.forest import Forest
from privet.tree.tree import Tree

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from privet.evaluate.evaluation import Evaluation
    from privet.privacy.mechanisms import Mechanisms
    from privet.tables.draft import Task
    from privet.tables.table import Table


VARIANTS = ("sound", "published")


@dataclass(eq=False, repr=False)
class PrivateEstimator(Explained, BaseEstimator):
    """Base of all estimators. A subclass is a dataclass of its own parameters, all of them given by name.

    ``variant="sound"``, of a paper's, spends at most ``epsilon``. ``variant="published"`` is the printed algorithm,
    which may spend more than its paper says: there ``epsilon`` is the claim, and the receipt has what it really cost
    and, in ``_shortfall``'s words, why.
    """

    schema: Schema | str | None = None
    _: KW_ONLY
    epsilon: float | None = None  # scikit-learn wants a default; a fit refuses it (``checked_budget``)
    random_state: Any = None

    variant = "sound"
    _task: ClassVar[Task]
    _shortfall = ""
    _draws_rules = False  # whether rules are drawn without asking anything
    _released = "tree_"  # the attribute that holds what was grown: "tree_" or "forest_"
    _chosen: ClassVar[dict[str, Any] | None] = None  # of a search: what it chose among

    @property
    def one_currency(self) -> bool:
        """Whether all fits spend alike, in epsilon or in rho: not if an answer decides whether the delta is used."""
        return True

    @property
    def delta(self) -> float | None:
        """Of those that can spend with one."""
        return None

    @property
    def _uses_delta(self) -> bool:
        """Whether it would spend rho if it were given a delta."""
        return "delta" in {own.name for own in fields(self)}

    @property
    def _trial_weight(self) -> int:
        """How much of a trial's budget it takes, against a tree, to see what a model of this kind can do."""
        return 1

    @property
    def _poor_score(self) -> bool:
        """Whether it promises nothing on small data: random splits, or many questions."""
        return False

    @abstractmethod
    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Any:
        """Ask private questions about ``start``, spending at most ``budget``; return a Tree or Forest."""

    def _check_params(self) -> None:
        """Raise for parameters that make no sense together; each by itself was checked before."""

    def _needs(self, able: frozenset[str]) -> set[str]:
        """What this asks of a curator that can do all of ``able`` (``Curator.capabilities``)."""
        return set()

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        holdout: float | None = None,
        by: By = None,
        **misplaced: Any,
    ) -> Self:
        """Learn from a table and its labels, spending ``epsilon`` of the surrounding ledger, if there is one.

        ``y`` may be left out where ``X`` has the label's column that the schema names. ``X`` may also say where records
        are, which are then read as a stream: a Parquet or CSV file, a folder, a pattern such as ``"folder/*.parquet"``,
        or a list of them. ``groups`` says whose record is whose, where the schema names a person that is no column of
        ``X``. ``holdout``, such as 0.2, is the share of the records that is not learned from and scores the model
        instead, for nothing more (``evaluation_``); ``by`` a feature whose groups are scored apart. Wrong input is
        refused before anything is spent.
        """
        from privet.curators.files import curator_of
        from privet.tables.misfit import tell_misfits
        from privet.tables.table import open_frame

        check_misplaced(self, misplaced)
        budget = self._budget()
        noise = self._mechanisms()
        ledger = Ledger.current() or self._ledger(budget)
        schema = resolved_schema(self.schema, X, y, self._task)
        self._check_schema(schema)
        held_out = Holdout.of(holdout, by, schema)
        curator = curator_of(X, y, schema, groups, ledger=ledger, mechanisms=noise)
        tell_misfits(X, y, schema)
        named = schema is not self.schema and open_frame(X) is not None
        self._fit(curator, budget, held_out)
        if Ledger.current() is None:
            curator.tell_if_seen(budget)
        self._fitted_names = schema.names if named else None
        return self

    def fit_curator(self, curator: Curator, *, holdout: float | None = None, by: By = None) -> Self:
        """Learn from the records of any curator, spending ``epsilon`` of its ledger; ``holdout``, ``by`` as in fit."""
        budget = self._budget()
        if not isinstance(curator, Curator):
            raise PrivetError("fit_curator takes a curator, such as MemoryCurator(X, y, schema); fit takes a table.")
        if self.schema is not None and self.schema != curator.schema:
            raise SchemaError(
                "The model and the curator have different schemas. Leave the model's schema out, or make both equal."
            )
        if self.random_state is not None:
            raise BudgetError("random_state has no effect here: a curator draws its own noise. Leave it out.")
        if Ledger.current() not in (None, curator.ledger):
            raise BudgetError(
                "This curator has another ledger than the one that is open. Make it inside `with ledger:`."
            )
        self._fit(curator, budget, Holdout.of(holdout, by, curator.schema))
        return self

    def _budget(self) -> Fraction:
        """The budget, exact, once the parameters make sense."""
        self._check_all()
        return checked_budget(self.epsilon)

    def _check_all(self) -> None:
        """Raise for parameters that make no sense, each by itself or together; the budget is looked at elsewhere."""
        check_choice("variant", self.variant, VARIANTS)
        check_parameters(self)
        self._check_params()

    def _limit(self, budget: Fraction) -> Fraction | float:
        """What a fit may spend: a published variant has no limit but its ledger's, because its claim may not hold."""
        return math.inf if self.variant == "published" else budget

    def _ledger(self, budget: Fraction) -> Ledger:
        """The ledger of a fit that has no other; with a delta the limits are the fit's own scopes'."""
        return Ledger(self._limit(budget)) if self.delta is None else Ledger(math.inf, delta=self.delta)

    def _check_own_delta(self) -> None:
        """Raise for a delta that makes no sense."""
        if self.delta is None:
            return
        if self.variant == "published":
            raise PrivetError("The published variant knows no delta: leave it out, or take variant='sound'.")
        rho_within(checked_budget(self.epsilon), checked_delta(self.delta), True)

    def _with_delta(self, curtain: Curtain, start: Node, budget: Fraction) -> tuple[Node, Fraction]:
        """Where to start and what to spend: with a delta, from a root in rho, and as much as both come to in it."""
        if self.delta is None:
            return start, budget
        rho = curtain.rho_within(budget, checked_delta(self.delta))
        return curtain.root(rho, "rho"), rho

    @classmethod
    def _check_schema(cls, schema: Schema) -> None:
        """Raise SchemaError for a schema of another task."""
        if cls._task == "classification" and schema.classes is None:
            raise SchemaError("A classifier needs a schema with classes; this one has a numeric target.")
        if cls._task == "regression" and schema.target is None:
            raise SchemaError("A regressor needs a schema with target=(low, high); this one has classes.")

    def check_affordable(self, ledger: Ledger) -> None:
        """Raise if the parameters make no sense, or a fit may spend more than is left: what ``fit_curator`` would do
        first, without any records."""
        budget = self._budget()
        self._check_total(ledger, budget)
        if self.delta is None:
            ledger.afford(self._limit(budget))

    def _check_total(self, ledger: Ledger, budget: Fraction) -> None:
        if self._limit(budget) == math.inf and ledger.remaining < math.inf:
            raise BudgetError(
                "A published variant may cost more than it claims, so a ledger with a total refuses it. Fit it "
                "outside of that ledger, in Ledger(math.inf), or take variant='sound'."
            )

    def _fit(self, curator: Curator, budget: Fraction, held_out: Holdout | None = None) -> None:
        ledger = curator.ledger
        self._check_schema(curator.schema)
        self._check_total(ledger, budget)
        if self.delta is not None and not ledger.delta:
            raise BudgetError(
                "This ledger adds up pure epsilons. Open it with a delta, Ledger(total, delta=...), or leave the "
                "model's delta out."
            )
        hint = getattr(self, "n_records", None)
        learned = hint if hint is None or held_out is None else hint * float(1 - held_out.share)
        warn_about(budget, self.delta, learned)
        desk, released = curator.open(), ""
        try:
            desk.reservation = ledger.reserve(*self._most(ledger, budget), type(self).__name__)
            needs = self._needs(desk.capabilities) | (NEEDS if held_out else set())
            for question in sorted(needs - desk.capabilities):
                desk.cannot(question)  # now, before others were answered
            if held_out:
                held_out.check(desk.capabilities, needs)
            scoring = held_out.part(desk) if held_out else None
            tree = self._learn_with_hint(desk, budget)
            if tree is None or isinstance(tree, tuple):
                raise TypeError(
                    f"{type(self).__name__}._grow must return a Tree or a Forest, not a {type(tree).__name__}: "
                    "frontier.finish() has one tree for each root, so finish()[0] or Forest(schema, finish())."
                )
            scored = held_out.score(desk, scoring, tree, budget, hint) if held_out and scoring else None
            self.privacy_ = sealed(self._receipt(desk, budget), tree, scored_by_fit(scored), self._chosen)
            released = self.privacy_.released
        finally:
            desk.close()
            if desk.reservation is not None:
                desk.reservation.settle(released)
        self.schema_ = curator.schema
        setattr(self, self._released, tree)
        self.evaluation_ = scored
        self._set_fitted()
        self.n_records_ = desk.told_size if hint is None else learned
        if hint is None and desk.told_size is not None:
            noise = self.privacy_.events[0].scale / self.privacy_.weight
            for words in too_few(as_float(budget), desk.told_size, noise):
                warnings.warn(words, BudgetWarning, stacklevel=3)

    def _learn_with_hint(self, desk: Desk, budget: Fraction) -> Any:
        """``_learn``, where ``n_records`` is about all records: a plan is for those that are left to learn from."""
        hint = getattr(self, "n_records", None)
        if hint is None or desk.learning_share == 1:
            return self._learn(desk, budget)
        try:
            self.n_records = hint * float(desk.learning_share)
            return self._learn(desk, budget)
        finally:
            self.n_records = hint

    def _learn(self, desk: Desk, budget: Fraction) -> Any:
        """What is released, from the records that are there to learn from."""
        return self._grow(desk.curtain, desk.root(self._limit(budget)), budget)

    def _most(self, ledger: Ledger, budget: Fraction) -> tuple[Amount, str]:
        """The most that a fit may spend, and in which currency."""
        if self.delta is None:
            return self._limit(budget), "epsilon"
        return rho_within(budget, checked_delta(self.delta), ledger.whole_orders), "rho"

    def _receipt(self, curator: Desk, budget: Fraction) -> Receipt:
        """What was charged at a desk."""
        delta = Fraction(0) if self.delta is None else checked_delta(self.delta)
        return receipt_of(curator, budget, delta, self._shortfall)

    def _mechanisms(self) -> Mechanisms:
        from privet.privacy.mechanisms import mechanisms

        try:
            return mechanisms(self.random_state)
        except (TypeError, ValueError):
            raise PrivetError("random_state must be None, a whole number of at least 0, or a generator.") from None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _set_fitted(self) -> None:
        """The attributes scikit-learn expects, all of them from the public schema."""
        self._fitted_names = None
        self.__dict__.pop("provenance_", None)  # of an earlier fit
        self.__dict__.pop("chosen_", None)
        self.feature_names_in_ = np.array(self.schema_.columns, dtype=object)
        self.n_features_in_ = len(self.schema_.columns)

    # -- prediction: post-processing of the released tree, free -------------------------------------------------

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row falls into, as a number of its tree's nodes; of a forest one for each tree."""
        table, released = self._table(X), getattr(self, self._released)
        leaves = fast_leaves(released, table) if isinstance(released, Tree | Forest) else None
        return np.asarray(released.apply(*self._columns(table))) if leaves is None else leaves

    def _table(self, X: Any) -> Table:
        from privet.tables.files import Files, names_files
        from privet.tables.table import read_table

        check_is_fitted(self, self._released)
        if names_files(X):
            return Files(X, self.schema_, columns=self.schema_.columns).table()
        return read_table(X, self.schema_, fitted_names=self._fitted_names, tells=True)

    def _columns(self, table: Table) -> tuple[dict[int, np.ndarray], int]:
        """A table as columns, numbers or codes of categories, by the number of their feature; and how many rows."""
        # Every column is read, also where the tree does not use it: a table that does not fit the schema is refused.
        columns = {
            f: table.numeric(name) if isinstance(feature, Numeric) else table.codes(name)
            for f, (name, feature) in enumerate(self.schema_.features.items())
        }
        return columns, table.n_rows

    # -- checking, reading and keeping --------------------------------------------------------------------------------

    def verify(self) -> bool:
        """True if the receipt adds up and pays for all that was released; raises ReceiptError otherwise."""
        check_is_fitted(self, self._released)
        check_whole_model(self)
        return True

    def evaluate(
        self, X: Any, y: Any = None, *, epsilon: float | None = None, by: By = None, random_state: Any = None
    ) -> Evaluation:
        """How the model does on other records, such as a test set, told for ``epsilon`` of these (``held_out.py``).

        ``X`` alone may say where they are, as in ``fit``.
        """
        check_is_fitted(self, self._released)
        return evaluate_on(getattr(self, self._released), X, y, epsilon, by, random_state)

    def save(self, path: Any, note: str = "", *, overwrite: bool = False) -> None:
        """Write the fitted model as JSON: parameters, schema, trees and receipt, nothing that was not released.

        A file of that name is an error, unless ``overwrite``: it may be a release that somebody has approved.
        The day, Privet's version and ``note``, free text on where the model comes from, are written too: all public.
        """
        from privet.algorithms.model_file import save

        check_is_fitted(self, self._released)
        save(self, path, note, overwrite=overwrite)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of the tree classifiers."""

    _task = "classification"
    tree_: Tree

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags

    def _set_fitted(self) -> None:
        super()._set_fitted()
        # Sorted, whatever the schema's order: scikit-learn's metrics take the columns of probabilities to be so.
        self.classes_ = np.sort(np.array(self.schema_.classes))
        self.n_classes_ = len(self.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row's leaf."""
        leaves = self.apply(X)
        return np.array(self.schema_.classes)[self.tree_.labels[leaves]]

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """Each class's share of the noisy counts of a row's leaf, in the order of ``classes_``.

        A model that released labels alone has no probabilities, and no such method: 0 and 1 in their place would be
        taken for certainty. Whether it has is known before a fit where ``leaves`` is a parameter.
        """
        if self._labels_only:
            raise self._not_released("probabilities", "predict has the labels.")

        def predict_proba(X: Any) -> np.ndarray:  # scikit-learn's scorers look at this name
            return self._predict_proba(X)

        return predict_proba

    @property
    def predict_log_proba(self) -> Callable[[Any], np.ndarray]:
        """The logarithm of ``predict_proba``; minus infinity where a probability is 0."""
        probabilities = self.predict_proba

        def predict_log_proba(X: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):
                return np.log(probabilities(X))

        return predict_log_proba

    def _predict_proba(self, X: Any) -> np.ndarray:
        leaves = self.apply(X)
        return self.tree_.shares[:, np.argsort(np.array(self.schema_.classes))][leaves]

    @property
    def _labels_only(self) -> bool:
        """Whether leaves have labels and no counts; by the tree, and before there is one by the parameters."""
        trees = self._trees() if hasattr(self, self._released) else []
        if not trees:
            return getattr(self, "leaves", "counts") == "labels"
        return len(trees) == 1 and self.n_classes_ > 1 and not trees[0].weighed


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """Base of the tree regressors: predictions are inside the public range of the target."""

    _task = "regression"
    tree_: Tree

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_score
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """The value of each row's leaf."""
        leaves = self.apply(X)
        return self.tree_.values[leaves]
