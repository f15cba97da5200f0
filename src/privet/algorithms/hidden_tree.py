"""Hidden trees and forests (paper 003): ID3 whose structure and labels stay on secret shares, and what of it shows.

The paper adds noise at the leaves only, because nobody sees the structure (ODP+FMPC-ID3, Algorithm 1). But a prediction
recombines the shares: whoever may ask sees what the exact structure does, and one record can change it (docs/hidden.md
has the witness). So here a hidden choice is a private choice: permute-and-flip by the correct count, inside the joint
computation. Then the whole tree is private whether it is opened or not, and the same algorithm runs in the open, which
is the reference for tests, audits and benchmarks, and on secret shares (``curators/hidden.py``).

In a forest (appendix D) each record is in one tree, by an independent draw of its owner: the trees' records are
disjoint, so a forest costs what one tree costs, whichever way its trees are chosen. Or each record is in each tree with
some chance (Poisson sampling), and the trees' costs, amplified, add up: by ln(1 + g (e^epsilon - 1)) for each, not by
the paper's g epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privet.algorithms.base import PrivateClassifier, PrivateEstimator
from privet.algorithms.forest import ForestClassifier
from privet.algorithms.parameters import choice, hint, public_generator, whole
from privet.errors import PrivetError
from privet.privacy.event import amplified
from privet.privacy.unit import Unit
from privet.questions.curtain import Curtain, Node
from privet.questions.multiway import MOST_CHILDREN
from privet.questions.shape import Shape
from privet.schema import Schema
from privet.tree.forest import Forest
from privet.tree.hidden_growth import HiddenGrowth, OpenGrowth, Width, last_options
from privet.tree.hidden_shape import BRANCHES, check_training, shape_of
from privet.tree.hidden_tree import HiddenForest, trees_of
from privet.tree.planning import MOST_LEVELS, Plan, plan_levels, plan_values
from privet.tree.tree import Tree
from privet.values import decimals

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
        width = Width(joint, shape, n_classes, most, Unit.of(schema))
        return int(self.steps(width, shape, budget, n_classes))

    def _growth(self, curtain: Curtain, start: Node, shape: Shape) -> Any:
        if "hidden" in curtain.capabilities:
            return HiddenGrowth(curtain, [start], shape)
        return OpenGrowth(curtain, start, shape)


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
    with decimals(60):
        share = Decimal(budget.numerator) / Decimal(budget.denominator) / n_trees
        each = (1 + n_trees * (share.exp() - 1)).ln()
        found = Fraction(int(each * 2**40), 2**40)
    while n_trees * amplified(found, n_trees) > budget:
        found -= Fraction(1, 2**40)
    return found
