"""Asking how a released model does: how many records there are, then one table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet.evaluate.scorers import Groups, Reading, hidden_reading, n_bins_for, reading_of
from privet.questions.curtain import Curtain, Node
from privet.questions.tally import Tally
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.hidden_tree import HiddenForest, HiddenTree
from privet.tree.planning import SIZE_SHARE
from privet.tree.tree import Tree


def ask(
    curtain: Curtain,
    node: Node,
    released: Tree | Forest | Additive | HiddenTree | HiddenForest,
    groups: Groups | None,
    budget: Fraction,
    variance: float,
    hint: float | None = None,
) -> tuple[Reading, np.ndarray]:
    """How the model was read, and the noisy table.

    Costs ``budget`` on the node: 2% for about how many records there are, which decides how many bins the table can
    have, unless a public ``hint`` says it; and the rest for the table. ``variance`` is about that of a count's noise.
    """
    if isinstance(released, HiddenTree | HiddenForest):  # has labels alone: how many records there are decides nothing
        reading = hidden_reading(released, groups)
        return reading, curtain.evaluate({node: reading.scorer}, budget)[node]
    share = SIZE_SHARE if hint is None else 0
    n = int(curtain.tally({node: Tally(by_class=False)}, budget * share)[node][0]) if hint is None else hint
    cells = 1 if groups is None else len(groups.names)
    n_bins = n_bins_for(n / cells, variance, len(curtain.schema.classes or ()))
    reading = reading_of(released, n_bins, groups)
    return reading, curtain.evaluate({node: reading.scorer}, budget * (1 - share))[node]
