"""Routing rows through a level that nobody sees: on share arrays of any engine, all nodes and rows at once.

A row is in one node of a level, so the split of its node is one sum over the nodes, and its child one sum over the
splits. What is computed depends on public sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.privacy.joint import knock_out
from privet.questions.shape import Shape
from privet.questions.splits import Splits
from privet.shares.engine import Engine, Secret


def children_map(shape: Shape) -> np.ndarray:
    """For every child but the last, which flat cells each split sends there: 0 or 1, (width - 1, splits, cells)."""
    offsets = shape.grid.offsets
    sends = np.zeros((shape.width - 1, len(shape.splits), shape.grid.n_cells), dtype=np.int64)
    for s in range(len(shape.splits)):
        split = shape.splits.split(s)
        cells = offsets[split.feature] + np.arange(len(split.part))
        for child in range(shape.width - 1):
            sends[child, s, cells] = split.parts == child
    return sends


def child_of(engine: Engine, shape: Shape, choices: Secret, members: Secret, cells: Secret) -> Secret:
    """For every child but the last, whether a row goes there: 0 or 1, (width - 1, rows). Two multiplications.

    ``choices``: one 1 among the splits for each node, (nodes, splits); all zeros send a node's rows to the last child.
    ``members``: the rows of each node, (nodes, rows). ``cells``: the rows themselves, one 1 for each feature, (flat
    cells, rows).
    """
    sends = children_map(shape)
    rows = cells.shape[1]
    if isinstance(shape.splits, Splits):
        # Cells that go left at each node, then at each row's own node, then whether the row is in one of them.
        left = engine.linear(choices.transpose(1, 0), lambda table: sends[0].T @ table)
        return engine.dot(left @ members, cells, 0).reshape(1, rows)
    # An attribute's cells are its own: first the attribute of each row's node, then the row's value of it.
    attribute = choices.transpose(1, 0) @ members
    of_cell = sends.sum(axis=0)  # every cell is of one attribute, or goes to the last child
    own = np.flatnonzero(of_cell.any(axis=0))
    which = of_cell[:, own].argmax(axis=0)
    part = sends[:, which, own].argmax(axis=0)
    children = [part == child for child in range(shape.width - 1)]
    return engine.dots([(attribute[which[mine]], cells[own[mine]]) for mine in children])


def members_of_children(engine: Engine, members: Secret, goes: Secret) -> Secret:
    """The rows of every child of every node, (nodes * width, rows). One multiplication; the last child has the rest."""
    nodes, rows = members.shape
    ways = goes.shape[0]
    first = members.reshape(nodes, 1, rows) * goes.reshape(1, ways, rows)
    last = members - first.sum(1)
    return engine.concatenate([first, last.reshape(nodes, 1, rows)], axis=1).reshape(nodes * (ways + 1), rows)


def said_by(engine: Engine, shape: Shape, levels: Sequence[Secret], labels: Secret, cells: Secret) -> Secret:
    """Shares of the class that a hidden tree says of each row, (rows, classes): Algorithm 4, all rows at once.

    ``levels``: for every level one 1 among the splits for each node, (nodes, splits), all zeros where a node's rows go
    to the last child. ``labels``: one 1 among the classes for each leaf. ``cells``: one 1 for each feature, (flat
    cells, rows). Three multiplications for each level but the last, which has four; what they are depends on the shape
    and the number of rows alone.
    """
    rows, classes = cells.shape[1], labels.shape[1]
    members = engine.constant(np.ones((1, rows), dtype=np.int64))
    for choices in levels[:-1]:
        members = members_of_children(engine, members, child_of(engine, shape, choices, members, cells))
    goes = child_of(engine, shape, levels[-1], members, cells)
    # The last level's leaves are not built: first what each child of a row's node says, then which child it is.
    ways = shape.width
    says = labels.reshape(members.shape[0], ways * classes).transpose(1, 0) @ members
    says = says.reshape(ways, classes, rows)
    last = says[ways - 1]
    first = says[: ways - 1] - last.reshape(1, classes, rows)
    return (engine.dot(first, goes.reshape(ways - 1, 1, rows), 0) + last).transpose(1, 0)


def said_by_most(
    engine: Engine,
    shape: Shape,
    trees: Sequence[tuple[Sequence[Secret], Secret]],
    classes: Sequence[Any],
    cells: Secret,
) -> Secret:
    """Shares of the class that most trees say of each row, (rows, classes), of several the first by name.

    How many trees said so is told to nobody.
    """
    votes, *others = (said_by(engine, shape, levels, labels, cells) for levels, labels in trees)
    if not others:
        return votes
    for other in others:
        votes = votes + other
    n_classes = votes.shape[1]
    first_by_name = np.argsort(np.argsort(np.array(classes)))
    keys = votes * n_classes + (n_classes - 1 - first_by_name)
    return knock_out(engine, keys, ((len(trees) + 1) * n_classes).bit_length() + 2)[0]
