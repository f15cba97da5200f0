"""Scores that cost nothing more: records that are held out of a fit, by a draw for each, score the model.

A record is either among those that are learned from or among those that score, so what the two cost is counted once:
the model depends on the first, and the table of scores on the model, which is released, and on the second. Neither the
model nor the algorithm ever sees the second part: every root that it opens is of the first (``Desk.learning``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privet.algorithms.receipts import receipt_of
from privet.curators.desk import Desk
from privet.errors import BudgetError, CapabilityError, PrivetError, ReceiptError, SchemaError
from privet.evaluate.ask import ask
from privet.evaluate.evaluation import Evaluation
from privet.evaluate.scorers import Groups, check_scorable
from privet.explain.coverage import check_scores, sealed
from privet.privacy.amounts import exact
from privet.privacy.ledger import Ledger
from privet.privacy.unit import Unit
from privet.questions.curtain import Node
from privet.schema import Schema

By = str | Mapping[str, Iterable[float]] | None

NEEDS = frozenset({"tally", "parts", "evaluate"})
"""What scoring asks of a curator."""

FINEST = 1000
"""A share is a whole number of this part of the records."""


@dataclass(frozen=True)
class Holdout:
    """Hold this share of the records out; ``by`` tells the scores of public groups apart."""

    share: Fraction
    groups: Groups | None

    @classmethod
    def of(cls, share: float | Fraction | None, by: By, schema: Schema) -> Holdout | None:
        """Checked: before anything is spent."""
        groups = Groups.of(schema, by)
        if share is None:
            if groups is not None:
                raise PrivetError("Groups are scored on records that are held out: give holdout a share, such as 0.2.")
            return None
        try:
            own = Fraction(share).limit_denominator(FINEST)
        except (TypeError, ValueError, OverflowError):
            raise PrivetError("holdout is the share of the records that score the model, such as 0.2.") from None
        if isinstance(share, bool) or not 0 < own < 1:
            raise PrivetError("holdout is the share of the records that score the model: between 0 and 1, such as 0.2.")
        return cls(own, groups)

    def check(self, able: frozenset[str], needs: set[str]) -> None:
        """Raise for what rows on shares cannot be scored by: before anything is spent."""
        if "hidden" not in able:
            return
        if "hidden" not in needs:
            raise CapabilityError(
                "On shares of rows only hidden models are scored. Train this one on shares of counts (MpcCurator), or "
                "leave holdout out."
            )
        if self.groups is not None and self.groups.cuts is not None:
            raise SchemaError("Groups that a hidden model is scored by are the categories of a feature, not numbers.")

    def part(self, desk: Desk) -> Node:
        """Part the records of a fit that begins: what learns starts from the first part. Gives back the second."""
        weights = self.share.denominator - self.share.numerator, self.share.numerator
        desk.learning, scoring = desk.parts(desk.gather(), weights)
        desk.learning_share = 1 - self.share
        return scoring

    def score(
        self, desk: Desk, scoring: Node, released: Any, budget: Fraction, n_records: float | None = None
    ) -> Evaluation:
        """Score the model on the part that was held out, for no more than learning was allowed.

        ``n_records`` is about how many there are in all, if that is public.
        """
        in_rho = [root.scope.limit for root in desk.roots if root.scope.currency == "rho"]
        if in_rho:
            budget = Fraction(max(in_rho))
        elif desk.ledger.delta and desk.learning is not None and desk.scope(scoring).remaining < math.inf:
            # A ledger in rho charges half an epsilon's square: for the table no more than all that learning came to.
            budget = min(budget, _root_below(2 * Fraction(desk.scope(desk.learning).spent)))
        node = desk.root(budget, "rho" if in_rho else "epsilon", within=scoring)
        hint = None if n_records is None else n_records * float(self.share)
        return evaluated(desk, node, released, self.groups, budget, hint)


def evaluated(
    desk: Desk, node: Node, released: Any, groups: Groups | None, budget: Fraction, hint: float | None = None
) -> Evaluation:
    """Ask for the table, and say what noise it has."""
    rho = desk.scope(node).currency == "rho"
    about = (1 / (2 * float(budget)) if rho else 2 / float(budget) ** 2) * desk.noise_factor
    reading, counts = ask(desk.curtain, node, released, groups, budget, about, hint)
    event = desk.events[-1]
    found = Evaluation.of(reading, groups, counts, event.variance * desk.noise_factor, desk.unit.weight)
    return replace(found, scope=event.scope)


def evaluate_on(released: Any, X: Any, y: Any, epsilon: float | None, by: By, random_state: Any = None) -> Evaluation:
    """Score a model on a table that it was not learned from, spending ``epsilon`` of it, with a receipt of its own.

    On records that the model was learned from, the epsilons add up, and the scores flatter it.
    """
    from privet.curators.files import curator_of
    from privet.privacy.mechanisms import mechanisms

    check_scorable(released)
    if epsilon is None:
        raise BudgetError(
            "evaluate needs an epsilon, such as epsilon=0.5: scores tell something about the records that they are "
            "measured on, and these pay for it. fit(..., holdout=0.2) scores a model for nothing more."
        )
    budget, schema = exact(epsilon), released.schema
    groups = Groups.of(schema, by)
    ledger = Ledger.current() or Ledger(budget)
    curator = curator_of(X, y, schema, None, ledger=ledger, mechanisms=mechanisms(random_state))
    desk = curator.open()
    desk.trust = curator.scoring_trust
    desk.reservation, paid = ledger.reserve(budget, "epsilon", "evaluation"), ""
    try:
        found = evaluated(desk, desk.root(budget), released, groups, budget)
        receipt = sealed(receipt_of(desk, budget, Fraction(0)), released, found.to_dict())
        paid = receipt.released
    finally:
        desk.close()
        desk.reservation.settle(paid)
    if Ledger.current() is None:
        curator.tell_if_seen(budget, scored=True)
    return replace(found, privacy_=receipt)


def scored_by_fit(scored: Evaluation | None) -> dict[str, Any] | None:
    """What the model's own receipt has to cover: an evaluation on records of its own has another one."""
    return scored.to_dict() if scored is not None and scored.privacy_ is None else None


def check_evaluation(released: Any, scored: Evaluation) -> None:
    """Raise ReceiptError unless an evaluation on records of its own fits the model and its receipt."""
    if scored.privacy_ is not None:
        scored.privacy_.verify()
        if scored.privacy_.unit != str(Unit.of(released.schema)):
            raise ReceiptError("The scores' receipt covers others than the schema names: rows, or persons.")
        check_scores(replace(scored, privacy_=None).to_dict(), scored.privacy_, released)


def _root_below(value: Fraction) -> Fraction:
    """A fraction that is not above the square root."""
    return Fraction(math.isqrt(int(value * 2**64)), 2**32)
