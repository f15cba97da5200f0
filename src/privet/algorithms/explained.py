"""What a fitted model says about itself, from what was released alone: rules, importances, dependence. All free.

How many records go which way is known only where counts or weights were released. A model of labels alone has no
importances, no dependence and no probabilities: whatever was made up in their place would be read as knowledge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.errors import NotReleasedError, SchemaError
from privet.schema import Numeric, Schema
from privet.schema_file import nearest
from privet.tree.tree import Tree

if TYPE_CHECKING:
    from privet.algorithms.quote import Quote
    from privet.explain.subject import Subject


class Explained:
    """Of a fitted model: ``schema_`` is there, and what was released in the attribute that ``_released`` names."""

    schema_: Schema
    n_features_in_: int
    _released: ClassVar[str]

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much of the gain comes from splits of each feature, by what was released alone."""
        from privet.explain.importance import importances

        check_is_fitted(self, self._released)
        return importances(self._weighed_trees("feature importances"), self.n_features_in_)

    def partial_dependence(self, feature: str, values: Sequence[Any]) -> np.ndarray:
        """The mean prediction (of classes: the probabilities, in their order) for each value of a feature: free.

        The mean is over what the released weights say of the other features; no records are needed.
        """
        from privet.tables.column import encode, open_column

        check_is_fitted(self, self._released)
        if feature not in self.schema_.features:
            raise SchemaError(f"There is no feature {feature!r}{nearest(feature, self.schema_.names)}.")
        own = self.schema_.features[feature]
        column = (
            _numbers(values, feature, own)
            if isinstance(own, Numeric)
            else encode(open_column(np.asarray(values, dtype=object), feature), own.values, feature)
        )
        curve = self._dependence(self.schema_.names.index(feature), column)
        return curve[:, 0] if self.schema_.classes is None else curve[:, np.argsort(np.array(self.schema_.classes))]

    def _dependence(self, feature: int, column: np.ndarray) -> np.ndarray:
        from privet.explain.importance import partial_dependence

        return partial_dependence(self._weighed_trees("partial dependence"), feature, column)

    def quote(self, n_records: int, holdout: float | None = None) -> Quote:
        """What a fit on about so many records would do with its budget, before anything is spent (``quote.py``).

        ``holdout`` is the share of them that scores the model and is not learned from, as in ``fit``.
        """
        from privet.algorithms.quote import quote

        return quote(self, n_records, holdout=holdout)

    def export_text(self) -> str:
        """The rules as indented text, tree by tree."""
        from privet.explain.text import rules_text

        check_is_fitted(self, self._released)
        return rules_text(getattr(self, self._released))

    def _repr_html_(self) -> str | None:
        """What notebooks show: of a fitted model a small card, of another one scikit-learn's table of parameters."""
        if hasattr(self, self._released):
            from privet.explain.card import card

            return card(subject_of(self))
        shown = getattr(super(), "_repr_html_", None)
        return None if shown is None else str(shown())

    def _repr_mimebundle_(self, **asked: Any) -> dict[str, str]:
        """The same for notebooks that ask for all forms at once."""
        plain = {"text/plain": repr(self)}
        drawn = self._repr_html_()
        return plain if drawn is None else plain | {"text/html": drawn}

    def _trees(self) -> list[Tree]:
        grown = getattr(self, self._released)
        return [grown] if isinstance(grown, Tree) else list(getattr(grown, "trees", ()))

    def _weighed_trees(self, wanted: str) -> list[Tree]:
        """All trees, if their leaves say how many records they have; raises otherwise."""
        trees = self._trees()
        if not all(tree.weighed for tree in trees):
            raise self._not_released(wanted, "sklearn.inspection has both for records that may be seen.")
        return trees

    def _not_released(self, wanted: str, instead: str) -> NotReleasedError:
        here = (
            "leaves='counts' (--leaves counts)" if hasattr(self, "leaves") else "PrivateTreeClassifier(leaves='counts')"
        )
        return NotReleasedError(
            f"This model has no {wanted}: it released a label for each leaf, and not how many records are there. "
            f"A fit with {here} or of PrivateForestClassifier(method='boosting') releases what it takes, for some of "
            f"the budget. {instead}"
        )


def subject_of(model: Any) -> Subject:
    """A fitted model with all that is public about it, for pages, cards and plots."""
    from privet.explain.subject import Subject
    from privet.tree.additive import Additive
    from privet.tree.forest import Forest

    check_is_fitted(model, model._released)
    grown = getattr(model, model._released)
    unsaid = ("schema", "random_state", "progress")
    return Subject(
        type(model).__name__,
        model.schema_,
        grown if isinstance(grown, Tree | Forest | Additive) else None,
        model.privacy_,
        model.evaluation_,
        str(getattr(model, "provenance_", "")),
        {name: value for name, value in model.get_params(deep=False).items() if name not in unsaid},
        str(getattr(model, "chosen_", "")),
        str(getattr(getattr(model, "provenance_", None), "note", "")),
        model.one_currency,
    )


def _numbers(values: Sequence[Any], name: str, feature: Numeric) -> np.ndarray:
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise SchemaError(f"Values of {name!r} are numbers.") from None
    if numbers.ndim != 1 or (np.isnan(numbers).any() and not feature.missing):
        raise SchemaError(f"Values of {name!r} are a list of numbers, none of them missing.")
    return numbers
