"""Hidden trees (paper 003): ID3 whose structure and labels stay on secret shares, and what of it is private.

The paper adds noise at the leaves only, because nobody sees the structure (ODP+FMPC-ID3, Algorithm 1). But a prediction
recombines the shares: whoever may ask sees what the exact structure does, and one record can change it (docs/hidden.md
has the witness). So here a hidden choice is a private choice: permute-and-flip by the correct count, inside the joint
computation. Then the whole tree is private whether it is opened or not, and the same algorithm runs in the open, which
is the reference for tests, audits and benchmarks, and on secret shares (``curators/hidden.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.algorithms.base import PrivateClassifier, PrivateEstimator
from privet.algorithms.parameters import choice, hint, public_generator, whole
from privet.errors import PrivetError
from privet.questions.curtain import Curtain, Node
from privet.questions.multiway import MOST_CHILDREN
from privet.questions.shape import Shape
from privet.schema import Schema
from privet.tree.hidden_growth import HiddenGrowth, OpenGrowth, Width, last_options
from privet.tree.hidden_shape import BRANCHES, check_training, shape_of
from privet.tree.planning import MOST_LEVELS, Plan, plan_levels, plan_values
from privet.tree.tree import Tree

LABELS = {"permute_and_flip": 1, "report_noisy_max": 1, "exponential": 2}
"""How leaves may be labelled, and by what a published budget is divided: exp(epsilon q / 2) costs half of it."""


@dataclass(eq=False, repr=False, kw_only=True)
class HiddenParameters(PrivateEstimator):
    """What one hidden tree and a forest of them are told alike; ``HiddenTreeClassifier`` explains it."""

    _shortfall = (
        "the structure was chosen exactly: predictions show it, so that one record can change them without bound"
    )

    max_depth: int = whole(3)
    branches: str | None = choice(None, *BRANCHES)
    n_values: int = whole(5, 2, MOST_CHILDREN - 1)
    structure: str = choice("chosen", "random")
    labels: str = choice(*LABELS)
    n_records: int | None = hint()
    variant: str = "sound"

    def _check_params(self) -> None:
        if self.variant == "published" and self.structure == "random":
            raise PrivetError("A random structure is private as it is: there is no published variant of it.")

    def branches_used(self) -> str:
        """What ``branches`` is where it is not given."""
        if self.branches is not None:
            return self.branches
        return "thresholds" if self.variant == "sound" and self.structure == "chosen" else "values"


class HiddenTreeClassifier(HiddenParameters, PrivateClassifier):
    """A tree that can stay hidden: every node looks alike from outside, and all choices can be made on secret shares.

    ``fit`` grows it in the open, on one machine, by exactly the law of the hidden one. ``fit_curator`` with a
    ``HiddenCurator`` grows it on three servers' shares, and then nobody holds a tree: ``tree_`` is each server's shares
    of it, and predictions come from ``privet mpc predict``. Costs ``epsilon`` either way: hiding a choice does not make
    it cheaper. Worth using where the model is worth hiding; otherwise ``PrivateTreeClassifier`` on the same owners'
    counts is faster and more accurate.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth; all leaves have the same, which is less if ``n_records`` are too few for it.
    branches : "thresholds" or "values", optional
        ``"thresholds"`` has two children at a node, which makes deeper trees affordable and is the more accurate on
        average (docs/hidden.md). ``"values"`` has one for each value of an attribute (Algorithm 1): each level
        multiplies the leaves, and the work, by the largest number of values, and takes a third of the rounds. By
        default thresholds, and values where the structure is the paper's: published, or random.
    n_values : int
        Into how many bins of one width numeric ranges are cut, and how many groups categories fall into.
    structure : "chosen" or "random"
        ``"random"`` draws the structure without looking at any record, which costs nothing.
    labels : "permute_and_flip", "report_noisy_max" or "exponential"
        How leaves are labelled where they are not chosen with the last split. The paper's Laplace mechanism is
        ``"report_noisy_max"``.
    n_records : int, optional
        About how many records there are, as far as is publicly known: then the tree is only as deep as they allow.
    variant : "sound" or "published"
        ``"published"`` is ODP+FMPC-ID3 as printed: an exact structure and noise at the leaves; its receipt says
        infinity.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = HiddenTreeClassifier(schema, epsilon=1, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.7), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    def _needs(self, able: frozenset[str]) -> set[str]:
        if "hidden" in able:
            return {"choose", "hidden"}
        return {"choose"} | ({"peek"} if self.variant == "published" else set())

    def shape(self, schema: Schema) -> Shape:
        """All that is public about the trees that this grows."""
        return shape_of(schema, self.branches_used(), self.n_values)

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        shape = self.shape(curtain.schema)
        curtain.grid(shape.grid)
        n_classes = len(curtain.schema.classes or ())
        if "hidden" in curtain.capabilities:
            self.check_size(shape, budget, n_classes, curtain.most_records)
        return self.steps(self._growth(curtain, start, shape), shape, budget, n_classes)

    def check_size(self, shape: Shape, budget: Fraction, n_classes: int, rows: int, trees: int = 1) -> None:
        """Refuse what servers cannot hold on shares of so many rows, if so many trees grow together."""
        plan = self.plan(shape, budget, n_classes)
        candidates = max(len(shape.splits), shape.width * n_classes)
        if plan.joint:
            candidates = len(last_options(shape, n_classes, plan.last_budget))
        check_training(shape, len(plan.inner) + plan.joint, candidates, trees, rows)

    def steps(self, growth: Any, shape: Shape, budget: Fraction, n_classes: int) -> Any:
        """How a budget is spent: the same in the open and hidden, for one tree and for those of a forest."""
        plan = self.plan(shape, budget, n_classes)
        if self.variant == "published":
            for _ in plan.inner:
                growth.choose_exactly()
            growth.label(budget / LABELS[self.labels], self.labels)
        elif self.structure == "random":
            generator = public_generator(None, self.random_state)
            for _ in plan.inner:
                growth.draw(generator)
            growth.label(budget, self.labels)
        else:
            for level in plan.inner:
                growth.choose(level.budget, level.score)
            if plan.joint:
                growth.choose_last(plan.last_budget)
            else:
                growth.label(plan.last_budget, self.labels)
        return growth.finished()

    def plan(self, shape: Shape, budget: Fraction, n_classes: int) -> Plan:
        """The depth and what each level spends: public, from the schema, the budget and a hint.

        Without a hint the tree is as deep as it may be. No attribute is used twice on a path.
        """
        n_records = math.inf if self.n_records is None or self.variant == "published" else self.n_records
        depth = min(self.max_depth, MOST_LEVELS)
        if shape.once or not len(shape.splits):
            depth = min(depth, len(shape.splits))
        if self.structure == "chosen" and self.variant == "sound" and not shape.once and depth:
            return plan_levels(n_records, budget, len(shape.splits), n_classes, depth)
        return plan_values(n_records, budget, len(shape.splits), shape.width, n_classes, depth)

    def hidden_bits(self, joint: Any, schema: Schema, most: int, budget: Fraction | None = None, trees: int = 1) -> int:
        """How many bits the numbers of a hidden training may need, by what is public: ``most`` records, the budget.

        An error if ``trees`` of that size, which grow together, would be too large.
        """
        shape = self.shape(schema)
        n_classes = len(schema.classes or ())
        budget = self._budget() if budget is None else budget
        self.check_size(shape, budget, n_classes, most, trees)
        return int(self.steps(Width(joint, shape, n_classes, most), shape, budget, n_classes))

    def _growth(self, curtain: Curtain, start: Node, shape: Shape) -> Any:
        if "hidden" in curtain.capabilities:
            return HiddenGrowth(curtain, [start], shape)
        return OpenGrowth(curtain, start, shape)
