"""Growing a tree of a fixed shape, level by level: in the open, or on secret shares where nobody sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import SchemaError
from privet.privacy.joint import JointMechanisms
from privet.privacy.joint_scores import score_bits, score_range
from privet.privacy.mechanisms import selection_scale
from privet.privacy.scores import CorrectCount, Score
from privet.privacy.unit import ROW, Unit
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.linear_maps import children_of, prior_points
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.tree.frontier import End, Frontier
from privet.tree.planning import stop_log_prior
from privet.tree.tree import Tree

if TYPE_CHECKING:
    from privet.shares.engine import Secret
    from privet.tree.hidden_tree import HiddenTree


class OpenGrowth:
    """Grows a ``Tree`` that everybody may see, by the law of a hidden one.

    Hidden growth must ask about all nodes of the shape, also those that no record can reach, and about all splits. Here
    such nodes and used attributes are left out, and no probability changes.
    """

    def __init__(self, curtain: Curtain, start: Node, shape: Shape) -> None:
        self.shape = shape
        self._frontier = Frontier.sprout(curtain, [start], shape.grid)

    def choose(self, budget: Fraction, score: Score, mechanism: str = "permute_and_flip") -> None:
        """A level, each node's split by a private choice."""
        self._split(self._frontier.choose(self._options(), score, budget, mechanism=mechanism))

    def choose_exactly(self) -> None:
        """A level as if a choice that is hidden were private: by the exact counts, at the price of infinity."""
        options, chosen = self._options(), {}
        for node, histogram in self._frontier.curtain.peek(list(self._frontier)).items():
            indices = options[node].indices
            scores = CorrectCount().of(_children(self.shape, histogram))[indices]
            chosen[node] = self.shape.splits.split(int(indices[np.argmax(scores)]))
        self._split(chosen)

    def draw(self, generator: np.random.Generator) -> None:
        """A level at random: free."""
        chosen = {}
        for node, end in self._frontier.items():
            allowed = np.flatnonzero(self.shape.unused(end.used))
            if len(allowed):
                chosen[node] = self.shape.splits.split(int(generator.choice(allowed)))
        self._split(chosen, asked=False)

    def choose_last(self, budget: Fraction) -> None:
        """The last level: each split with the labels of its children, or one label."""
        options = last_options(self.shape, self._frontier.n_classes, budget)
        self._frontier.split_and_label(dict.fromkeys(self._frontier, options), budget)

    def label(self, budget: Fraction, mechanism: str) -> None:
        """A label for every end."""
        self._frontier.label(budget, mechanism)

    def count(self, budget: Fraction) -> None:
        """Noisy class counts for every end, whose largest is its label."""
        self._frontier.count(budget)

    def label_exactly(self) -> None:
        """The largest class of every end, the first of several: at the price of infinity."""
        for node, counts in self._frontier.exact_counts().items():
            self._frontier[node].leaf.label = int(counts.argmax())

    def finished(self) -> Tree:
        (tree,) = self._frontier.trees
        for number in tree.leaves:  # ends that nothing can reach
            if tree.nodes[number].label is None and tree.nodes[number].counts is None:
                tree.nodes[number].label = 0
        return tree.finish()

    def _options(self) -> dict[Node, Candidates]:
        return {node: self._candidates(end) for node, end in self._frontier.items()}

    def _candidates(self, end: End) -> Candidates:
        allowed = self.shape.unused(end.used) if self.shape.once and end.used else None
        return Candidates(self.shape.splits, self._frontier.n_classes, allowed)

    def _split(self, chosen: Mapping[Node, Split], *, asked: bool = True) -> None:
        """Split these ends; the others stay where they are, and ends that nothing can reach are left alone."""
        grown = self._frontier.split_in_place(chosen, asked=asked)
        self._frontier = grown.only([node for node in grown if grown[node].is_reached])


def _children(shape: Shape, histogram: np.ndarray) -> np.ndarray:
    totals = histogram[: shape.grid.offsets[1]].sum(axis=0)
    return children_of(Candidates(shape.splits, histogram.shape[1]), histogram, totals)


class HiddenGrowth:
    """Grows a ``HiddenTree`` on a curator that holds rows on secret shares: the same steps, and nobody sees them.

    From several disjoint roots, those of a whole level, as many trees grow together; their tables follow each other.
    """

    def __init__(self, curtain: Curtain, roots: Sequence[Node], shape: Shape) -> None:
        if not len(shape.splits):
            raise SchemaError("No feature of this schema has two values or a range: there is no tree to hide.")
        self.shape = shape
        self._curtain = curtain
        self._n_classes = len(curtain.schema.classes or ())
        self._splits = Candidates(shape.splits, self._n_classes)
        self._frontier: list[Node] = list(roots)
        self._levels: list[Secret] = []
        self._labels: Secret | None = None

    def choose(self, budget: Fraction, score: Score, mechanism: str = "permute_and_flip") -> None:
        self._split(self._ask(self._splits, score, budget, mechanism))

    def choose_exactly(self) -> None:
        self.choose(Fraction(1), CorrectCount(), "exact")

    def choose_last(self, budget: Fraction) -> None:
        options = last_options(self.shape, self._n_classes, budget)
        chosen = _table(self._ask(options, CorrectCount(), budget, "permute_and_flip"))
        splits, labels = last_level(options)
        by_candidate = chosen.transpose(1, 0)
        nodes = chosen.shape[0]
        self._levels.append(chosen.engine.linear(by_candidate, lambda table: splits @ table).transpose(1, 0))
        said = chosen.engine.linear(by_candidate, lambda table: labels @ table)  # (children * classes, nodes)
        self._labels = said.transpose(1, 0).reshape(nodes * self.shape.width, self._n_classes)

    def label(self, budget: Fraction, mechanism: str) -> None:
        options = Candidates(None, self._n_classes, labelled=True, stop=True)
        self._labels = _table(self._ask(options, CorrectCount(), budget, mechanism))

    def label_exactly(self) -> None:
        self.label(Fraction(1), "exact")

    def draw(self, generator: np.random.Generator) -> None:
        """A level at random, drawn by all servers together and known to none; ``generator`` is not theirs."""
        self._split(self._curtain.draw_hidden(self._frontier, self._splits))

    def _ask(self, options: Candidates, score: Score, budget: Fraction, mechanism: str) -> dict[Node, Any]:
        asked = dict.fromkeys(self._frontier, options)
        return self._curtain.choose(asked, score, budget, mechanism=mechanism, hidden=True)

    def _split(self, chosen: Mapping[Node, Any]) -> None:
        children = self._curtain.split(chosen)
        self._frontier = [child for node in self._frontier for child in children[node]]
        self._levels.append(_table(chosen))

    def finished(self) -> HiddenTree:
        from privet.tree.hidden_tree import HiddenTree

        assert self._labels is not None
        return HiddenTree(self._curtain.schema, self.shape, tuple(self._levels), self._labels)


class Width:
    """Takes the steps of a hidden growth without growing anything; ``finished`` says how many bits its numbers need.

    That is known before it, because all of its questions are public.
    """

    def __init__(self, joint: JointMechanisms, shape: Shape, n_classes: int, most: int, unit: Unit = ROW) -> None:
        """``most``: no node has more records."""
        self.shape = shape
        self._joint = joint
        self._weight = unit.weight
        self._most = most = most * ((1 << unit.weight_bits) - 1)
        self._splits = Candidates(shape.splits, n_classes)
        self._labels = Candidates(None, n_classes, labelled=True, stop=True)
        self._bits = most.bit_length() + 2

    def choose(self, budget: Fraction, score: Score, mechanism: str = "permute_and_flip") -> None:
        self._need(self._splits, score, budget, mechanism)

    def choose_exactly(self) -> None:
        self._at_least(self._joint.hidden_bits("exact", self._most, len(self._splits), 1.0))

    def choose_last(self, budget: Fraction) -> None:
        options = last_options(self.shape, self._splits.n_classes, budget)
        self._need(options, CorrectCount(), budget, "permute_and_flip")

    def label(self, budget: Fraction, mechanism: str) -> None:
        self._need(self._labels, CorrectCount(), budget, mechanism)

    def label_exactly(self) -> None:
        self._at_least(self._joint.hidden_bits("exact", self._most, len(self._labels), 1.0))

    def draw(self, generator: Any) -> None:
        self._at_least(self._joint.draw_bits(len(self._splits)))

    def finished(self) -> int:
        return self._bits

    def _need(self, options: Candidates, score: Score, budget: Fraction, mechanism: str) -> None:
        scale = selection_scale(score.sensitivity * self._weight, budget)
        low, high = score_range(score, self._most)
        span = high - low + int(np.ptp(prior_points(options.log_prior, scale)))
        self._at_least(score_bits(score, self._most))
        self._at_least(self._joint.hidden_bits(mechanism, span, len(options), scale))

    def _at_least(self, bits: int) -> None:
        self._bits = max(self._bits, bits)


def last_options(shape: Shape, n_classes: int, budget: Fraction) -> Candidates:
    """Every split with every labelling of its children, and one label for all, which counts as a few records more."""
    return Candidates(shape.splits, n_classes, labelled=True, stop=True, stop_log_prior=stop_log_prior(budget))


def last_level(options: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """What each candidate of a last level says, as tables of 0 and 1: its split, (splits, candidates), and the label
    of each child, (children * classes, candidates). Not splitting has no split and one label for all children.
    """
    assert options.splits is not None
    n_splits, width = len(options.splits), int(options.splits.n_children.max())
    labellings = options.labellings(width)
    n = n_splits * labellings.shape[1]
    splits = np.zeros((n_splits, len(options)), dtype=np.int64)
    splits[np.repeat(np.arange(n_splits), labellings.shape[1]), np.arange(n)] = 1
    labels = np.zeros((width, options.n_classes, len(options)), dtype=np.int64)
    each = np.concatenate([np.tile(labellings, n_splits), np.tile(np.arange(options.n_classes), (width, 1))], axis=1)
    for child in range(width):
        labels[child, each[child], np.arange(len(options))] = 1
    return splits, labels.reshape(width * options.n_classes, len(options))


def _table(chosen: Mapping[Node, Any]) -> Secret:
    return next(iter(chosen.values())).table
