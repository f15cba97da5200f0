"""Growing level by level: which splits still part a branch, one private choice for each, and the new branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.questions.candidates import Candidates, Split, Splits
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.tree.planning import Level
from privet.tree.proposals import choose
from privet.tree.tree import Rule, Tree


@dataclass(frozen=True, eq=False)
class Branch:
    """A growing end of the tree: its number, the flat cells that can still reach it, and budget it has not used."""

    number: int
    reachable: np.ndarray
    saved: Fraction = Fraction(0)


def sprout(tree: Tree, start: Node, grid: Grid) -> dict[Node, Branch]:
    """The frontier of a tree that is still a single leaf."""
    return {start: Branch(0, np.ones(grid.n_cells, dtype=bool))}


def grow_level(
    curtain: Curtain, tree: Tree, frontier: Mapping[Node, Branch], splits: Splits, level: Level
) -> dict[Node, Branch]:
    """Split every branch that something can still part; the others keep their share for their leaves."""
    return grow_together(curtain, [tree], [frontier], splits, level)[0]


def grow_together(
    curtain: Curtain, trees: Sequence[Tree], frontiers: Sequence[Mapping[Node, Branch]], splits: Splits, level: Level
) -> list[dict[Node, Branch]]:
    """``grow_level`` for the frontiers of several trees, in one question to the curator."""
    candidates = [candidates_of(tree, frontier, splits) for tree, frontier in zip(trees, frontiers)]
    ready = {node: options for own in candidates for node, options in own.items() if len(options)}
    answers = choose(curtain, ready, level.score, level.budget) if ready else {}
    choices = {node: choice.split for node, choice in answers.items() if choice.split is not None}
    children = curtain.split(choices)
    grown: list[dict[Node, Branch]] = []
    for tree, frontier in zip(trees, frontiers):
        next_level: dict[Node, Branch] = {}
        for node, branch in frontier.items():
            if node in children:
                next_level |= zip(children[node], branches(tree, branch, choices[node], splits.grid))
            else:
                next_level[node] = replace(branch, saved=branch.saved + level.budget)
        grown.append(next_level)
    return grown


def candidates_of(
    tree: Tree, frontier: Mapping[Node, Branch], splits: Splits | None, **options: Any
) -> dict[Node, Candidates]:
    """For every node the splits that part what can reach it."""
    n_classes = len(tree.schema.classes or ())
    return {
        node: Candidates(
            splits, n_classes, None if splits is None else splits.allowed_within(branch.reachable), **options
        )
        for node, branch in frontier.items()
    }


def branches(tree: Tree, branch: Branch, split: Split, grid: Grid) -> list[Branch]:
    """Grow the tree at a branch by a split: its new ends, each with the cells that reach it."""
    cells = slice(grid.offsets[split.feature], grid.offsets[split.feature + 1])
    part = np.frombuffer(split.part, dtype=np.uint8)
    ends = []
    for child, number in enumerate(tree.grow(branch.number, Rule.of(split, grid), split.n_children)):
        reachable = branch.reachable.copy()
        reachable[cells] &= part == child
        ends.append(Branch(number, reachable))
    return ends
