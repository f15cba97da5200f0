"""Whether a fitted model is what its receipt pays for, and what its class and parameters say."""

from __future__ import annotations

import math
from typing import Any

from privet.algorithms.held_out import check_evaluation, scored_by_fit
from privet.algorithms.parameters import checked_budget
from privet.errors import ReceiptError
from privet.explain.coverage import OPENED, Stated, check


def check_whole_model(model: Any) -> None:
    """Raise ReceiptError unless the receipt adds up, and pays for all that was released."""
    released, receipt, scored = getattr(model, model._released), model.privacy_, model.evaluation_
    receipt.verify()
    if receipt.claimed not in (checked_budget(model.epsilon), math.inf):
        raise ReceiptError("This receipt is of a fit with another epsilon than the model says.")
    check(released, receipt, stated_of(model), scored_by_fit(scored))
    if scored is not None:
        check_evaluation(released, scored)


def stated_of(model: Any) -> Stated:
    """What a model's class and parameters, and its file, say of what was released."""
    chosen = getattr(model, "chosen_", None)
    return Stated(
        drawn=model._draws_rules or getattr(model, "structure", None) == "random",
        opens=frozenset(model._needs(frozenset())) & OPENED.keys(),
        max_depth=getattr(model, "max_depth", None),
        n_trees=getattr(model, "n_trees", None),
        chosen=None if chosen is None else chosen.to_dict(),
    )
