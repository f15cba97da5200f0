"""Hidden forests (paper 003, appendix D): ID3 forests and extra trees whose trees stay on secret shares.

Each record is in one tree, by an independent draw of its owner: the trees' records are disjoint, so a forest costs what
one tree costs, whichever way its trees are chosen. Or each record is in each tree with some chance (Poisson sampling),
and the trees' costs, amplified, add up: by ln(1 + g (e^epsilon - 1)) for each, not by the paper's g epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from privet.algorithms.forest import ForestClassifier
from privet.algorithms.hidden_tree import HiddenParameters, HiddenTreeClassifier
from privet.algorithms.parameters import choice, whole
from privet.privacy.event import amplified
from privet.questions.curtain import Curtain, Node
from privet.schema import Schema
from privet.tree.forest import Forest
from privet.tree.hidden_growth import HiddenGrowth, OpenGrowth
from privet.tree.hidden_tree import HiddenForest, trees_of


@dataclass(eq=False, repr=False, kw_only=True)
class HiddenForestClassifier(HiddenParameters, ForestClassifier):
    """A forest that can stay hidden: trees of ``HiddenTreeClassifier`` on disjoint parts of the records, which vote.

    Costs ``epsilon``, in the open and on secret shares. ``structure="chosen"`` is the paper's ID3 forest with private
    choices, ``"random"`` its extra trees, whose structure costs nothing. Worth using where records are many: a tree
    sees only its own part of them.

    Parameters
    ----------
    n_trees : int
        How many trees, and so how many parts.
    sampling : "parts" or "poisson"
        Disjoint parts, or samples that each record is in with chance one over ``n_trees``. A tree on a sample has a
        larger budget than its share and records that other trees have too.
    schema, epsilon, max_depth, branches, n_values, structure, labels, n_records, variant, random_state
        As for ``HiddenTreeClassifier``, of every tree; ``n_records`` are all records.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = HiddenForestClassifier(schema, epsilon=1, n_trees=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    n_trees: int = whole(5, most=1000)
    sampling: str = choice("parts", "poisson")

    def _tree(self) -> HiddenTreeClassifier:
        """One of the trees, which sees its part of the records."""
        params = {own.name: getattr(self, own.name) for own in fields(HiddenTreeClassifier)}
        each = None if self.n_records is None else int(self.n_records // self.n_trees)
        return HiddenTreeClassifier(**params | {"n_records": each})

    def _needs(self, able: frozenset[str]) -> set[str]:
        return self._tree()._needs(able) | {"samples" if self.sampling == "poisson" else "parts"}

    def hidden_bits(self, joint: Any, schema: Schema, most: int) -> int:
        """As of one tree: any of them may hold all records."""
        return self._tree().hidden_bits(joint, schema, most, self._of_a_tree(self._budget()), self._together())

    def _together(self) -> int:
        """How many trees grow at once: on samples, which share records, one after the other."""
        return self.n_trees if self.sampling == "parts" else 1

    def _of_a_tree(self, budget: Fraction) -> Fraction:
        return budget if self.sampling == "parts" else budget_of_a_sample(budget, self.n_trees)

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Any:
        tree, of_a_tree, n_classes = self._tree(), self._of_a_tree(budget), len(curtain.schema.classes or ())
        shape = tree.shape(curtain.schema)
        curtain.grid(shape.grid)
        hidden = "hidden" in curtain.capabilities
        if hidden:
            tree.check_size(shape, of_a_tree, n_classes, curtain.most_records, self._together())

        def grown(roots: Sequence[Node]) -> Any:
            growth = HiddenGrowth(curtain, roots, shape) if hidden else OpenGrowth(curtain, roots[0], shape)
            return tree.steps(growth, shape, of_a_tree, n_classes)

        if self.sampling == "poisson":  # a record may be in several samples, so the trees grow one after the other
            each = [grown([root]) for root in curtain.samples(start, self.n_trees, self.n_trees)]
        else:
            roots = curtain.parts(start, self.n_trees)
            each = trees_of(grown(roots), self.n_trees) if hidden else [grown([root]) for root in roots]
        return HiddenForest(curtain.schema, tuple(each)) if hidden else Forest(curtain.schema, tuple(each))


def budget_of_a_sample(budget: Fraction, n_trees: int) -> Fraction:
    """The largest budget, rounded down, of each of so many trees on samples of rate 1 / n_trees that together cost
    ``budget``: ln(1 + k (e^(budget / k) - 1)), the inverse of ``amplified``.

    >>> round(float(budget_of_a_sample(Fraction(1), 5)), 4)
    0.7453
    """
    with localcontext(prec=60):
        share = Decimal(budget.numerator) / Decimal(budget.denominator) / n_trees
        each = (1 + n_trees * (share.exp() - 1)).ln()
        found = Fraction(int(each * 2**40), 2**40)
    while n_trees * amplified(found, n_trees) > budget:
        found -= Fraction(1, 2**40)
    return found
