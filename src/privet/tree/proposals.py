"""Choices by proposals: what owners do who can add up, but who have nobody to choose for all of them.

Each owner proposes its own private choice, from its records alone; the children of all that was proposed are counted
over all owners, class by class, with noise; and the proposal that does best by these counts is taken. Proposals cost
once, whoever makes them (owners are disjoint), and no more with more features; the counts cost one table for each
different feature, cut wherever a proposal cuts it, so little is lost where owners nearly agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.privacy.scores import CorrectCount, Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Budget, Curtain, Node, budgets
from privet.questions.split import Choice, Split
from privet.questions.tally import Tally

MOST_PARTS = 255
"""A part's number is a byte."""

PROPOSAL_SHARE = Fraction(2, 3)
"""The part of a choice's budget that pays for the owners' proposals, each from few records; the rest counts them."""


@dataclass(frozen=True, eq=False)
class Counted:
    """A proposed split, or None for not splitting, and the noisy class counts of its children (or of the node)."""

    split: Split | None
    counts: np.ndarray


def proposals(
    curtain: Curtain,
    candidates: Mapping[Node, Candidates],
    score: Score,
    budget: Budget,
    *,
    mechanism: str = "permute_and_flip",
) -> dict[Node, list[Counted]]:
    """Every different split that an owner proposes for a node, counted over all owners.

    Costs ``budget`` on each node's scope: ``PROPOSAL_SHARE`` of it for the choices, the rest for the counts. A node
    whose candidates are labels alone is only counted.
    """
    paid = dict(zip(candidates, budgets(list(candidates), budget)))
    asked = {node: options for node, options in candidates.items() if options.splits is not None}
    choices = curtain.choose_each(
        asked, score, {node: paid[node] * PROPOSAL_SHARE for node in asked}, mechanism=mechanism
    )
    proposed = {node: dict.fromkeys(choice.split for choice in choices.get(node, ())) for node in candidates}
    tables = {node: common_tables([split for split in own if split is not None]) for node, own in proposed.items()}
    counts = curtain.tally(
        {node: Tally(tuple(table.split for table in own)) for node, own in tables.items()},
        {node: paid[node] * (1 - PROPOSAL_SHARE) if node in asked else paid[node] for node in candidates},
    )
    counted = {}
    for node, own in tables.items():
        each = agreed(np.split(counts[node], np.cumsum([table.split.n_children for table in own])[:-1]))
        counted[node] = [
            Counted(split, children @ of_table)
            for table, of_table in zip(own, each)
            for split, children in table.finds.items()
        ]
        if not own or None in proposed[node]:
            counted[node].append(Counted(None, each[0].sum(axis=0, keepdims=True)))
    return counted


@dataclass(frozen=True, eq=False)
class Common:
    """A table that tells apart all that some splits of one feature do, and for each its children as sums of parts."""

    split: Split
    finds: dict[Split, np.ndarray]


def common_tables(splits: Sequence[Split]) -> list[Common]:
    """One table for each feature, or more where the parts would be too many for a byte.

    A record is in one part of a table, however many splits are read off it: so m splits of one feature cost one table
    instead of m, and a child that is a sum of k parts has the noise of k.
    """
    groups: list[list[Split]] = []
    for split in splits:
        for group in groups:
            if group[0].feature == split.feature and len(_parts([*group, split])[0]) <= MOST_PARTS:
                group.append(split)
                break
        else:
            groups.append([split])
    tables = []
    for group in groups:
        kinds, part = _parts(group)
        table = Split(group[0].feature, part.astype(np.uint8).tobytes())
        finds = {
            split: (kinds[:, k] == np.arange(split.n_children)[:, None]).astype(float) for k, split in enumerate(group)
        }
        tables.append(Common(table, finds))
    return tables


def _parts(splits: Sequence[Split]) -> tuple[np.ndarray, np.ndarray]:
    """The different fates of a cell, by the children that these splits of one feature send it to, and each cell's."""
    children = np.stack([split.parts for split in splits], axis=1)
    kinds, part = np.unique(children, axis=0, return_inverse=True)
    return kinds, part.ravel()


def agreed(tables: list[np.ndarray]) -> list[np.ndarray]:
    """Counts of several tables of one node, moved by as little as makes them add up to the same class counts.

    All tables hold the same records, so the mean of their totals is the best guess of the true ones, and the least
    squares way to reach it moves the cells of a table alike. Without it, a table whose noise hides records would look
    as if it left fewer errors.
    """
    totals = np.mean([table.sum(axis=0) for table in tables], axis=0)
    return [table + (totals - table.sum(axis=0)) / len(table) for table in tables]


def choose_by_proposals(
    curtain: Curtain, candidates: Mapping[Node, Candidates], score: Score, budget: Budget
) -> dict[Node, Choice]:
    """What ``choose`` answers where no curator can: for each node the proposal that scores best by its noisy counts.

    Labels, if they are asked for, are the classes that these say are most frequent, whatever owners proposed.
    """
    counted = proposals(curtain, candidates, score, budget)
    chosen = {}
    for node, options in candidates.items():
        judged = CorrectCount() if options.labelled else score
        best = max(counted[node], key=lambda each: judged.of(_whole(each.counts)).item())
        labels = tuple(int(label) for label in best.counts.argmax(axis=1)) if options.labelled else None
        chosen[node] = Choice(best.split, labels)
    return chosen


def choose(curtain: Curtain, candidates: Mapping[Node, Candidates], score: Score, budget: Budget) -> dict[Node, Choice]:
    """One choice for each node, by the curator if it can, else by the owners' proposals."""
    if "choose" in curtain.capabilities:
        return curtain.choose(candidates, score, budget)
    return choose_by_proposals(curtain, candidates, score, budget) if candidates else {}


def needs_to_choose(able: Set[str]) -> set[str]:
    """What ``choose`` asks of a curator that can do all of ``able``."""
    return {"choose"} if "choose" in able else {"choose_each", "tally"}


def _whole(counts: np.ndarray) -> np.ndarray:
    """Noisy counts as a score takes them: one candidate's children, whole numbers, none below 0."""
    return np.rint(np.maximum(counts, 0)).astype(np.int64)[None]
