"""An owner's records, asked about in words: the other end of ``remote.py``.

Nodes are numbers that the curator gives out; here each stands for the owner's own records that the released splits send
there. Owners that share counts among servers and owners that mask them (``owner.py``, ``party.py``) differ in what they
let out, not in this.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np

from privet.curators.base import Node
from privet.curators.memory import MemoryCurator
from privet.questions.candidates import Split
from privet.questions.grid import Cells, Grid
from privet.schema import Schema


class OwnRecords:
    """Nodes by number, over an in-memory curator. ``do`` names what ``tell`` can do."""

    do: ClassVar[dict[str, str]] = {"root": "root", "grid": "grid", "split": "split", "copies": "copies"}

    def __init__(self, records: MemoryCurator) -> None:
        self.records = records
        self.nodes: dict[int, Node] = {}

    def tell(self, do: str, **what: Any) -> None:
        """Do what the curator says, with the names of its words; raises KeyError for what there is not."""
        method: Callable[..., None] = getattr(self, self.do[do])
        method(**what)

    def root(self, node: int) -> None:
        self.nodes[node] = self.records.root()

    def grid(self, features: list[dict[str, Any]]) -> None:
        self.records.grid(grid_of(features))

    def split(self, splits: list[tuple[int, int, str, list[int]]]) -> None:
        asked = {
            self.nodes[node]: Split(feature, bytes.fromhex(part), len(children))
            for node, feature, part, children in splits
        }
        for (_, _, _, children), made in zip(splits, self.records.split(asked).values()):
            self.nodes.update(zip(children, made, strict=True))

    def parts(self, node: int, children: list[int]) -> None:
        self.nodes.update(zip(children, self.records.parts(self.nodes[node], len(children))))

    def copies(self, node: int, children: list[int]) -> None:
        self.nodes.update(zip(children, self.records.copies(self.nodes[node], len(children))))


def schema_digest(schema: Schema) -> str:
    return sha256(schema.to_json().encode()).hexdigest()


def grid_words(grid: Grid) -> list[dict[str, Any]]:
    """A grid in words; numbers survive JSON exactly."""
    return [
        {
            "name": cells.name,
            "cuts": None if cells.cuts is None else [float(cut) for cut in cells.cuts],
            "n_cells": cells.n_cells,
            "special": cells.special,
        }
        for cells in grid.features
    ]


def grid_of(features: list[dict[str, Any]]) -> Grid:
    return Grid(
        tuple(
            Cells(
                cells["name"],
                None if cells["cuts"] is None else np.array(cells["cuts"], dtype=np.float64),
                cells["n_cells"],
                cells["special"],
            )
            for cells in features
        )
    )
