"""An owner's records, asked about from elsewhere: the other end of ``remote.py``.

Nodes are numbers that the asking side gives out; here each stands for the owner's own records that the released splits
send there. Owners that share counts among servers and owners that mask them (``mpc_owner.py``, ``party_records.py``)
differ in what they let out, not in this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from privet.curators.desk import Desk
from privet.errors import LeakError
from privet.questions.codec import Words, entries, grid_of, node_number, obeyed, split_of, verb_of
from privet.questions.curtain import Node


class RecordsAtOwner:
    """Nodes by number, at a desk of the owner's own. ``verbs`` is what ``tell`` can do."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._nodes: dict[int, Node] = {}

    @property
    def verbs(self) -> dict[str, Callable[..., None]]:
        return {
            "root": self.root,
            "gather": self.gather,
            "grid": self.grid,
            "split": self.split,
            "parts": self.parts,
            "copies": self.copies,
        }

    def tell(self, message: Words) -> None:
        """Do what the asking side says; LeakError for what there is not."""
        do, what = verb_of(message)
        obeyed(self.verbs, do, what)

    def root(self, node: Words, within: Words = None) -> None:
        self._open([node], lambda: [self.desk.root(within=self._within(within))])

    def gather(self, node: Words) -> None:
        self._open([node], lambda: [self.desk.gather()])

    def _within(self, number: Words) -> Node | None:
        return None if number is None else self.node(number)

    def grid(self, features: Words) -> None:
        self.desk.grid(grid_of(features, self.desk.schema))

    def split(self, splits: Words) -> None:
        asked, numbers = {}, []
        for node, feature, part, children in (entries(each, 4) for each in entries(splits)):
            numbers += entries(children)
            split = asked[self.node(node)] = split_of([feature, part, max(1, len(children))])
            if split.n_children != len(children):
                raise LeakError("A split names each of its children once.")
        if len(asked) < len(splits):
            raise LeakError("A message names each node once.")
        self._open(numbers, lambda: [child for own in self.desk.split(asked).values() for child in own])

    def parts(self, node: Words, children: Words, weights: Words) -> None:
        if len(entries(weights)) != len(entries(children)):
            raise LeakError("Every part has a weight.")
        self._open(children, lambda: self.desk.parts(self.node(node), weights))

    def copies(self, node: Words, children: Words) -> None:
        self._open(entries(children), lambda: self.desk.copies(self.node(node), len(children)))

    def node(self, number: Words) -> Node:
        node = self._nodes.get(node_number(number))
        if node is None:
            raise LeakError("There is no node of this number here.")
        return node

    def _open(self, numbers: Sequence[Words], made: Callable[[], Sequence[Node]]) -> None:
        """Give new nodes their numbers, which no other node has."""
        own = [node_number(number) for number in numbers]
        if len(set(own)) < len(own) or not self._nodes.keys().isdisjoint(own):
            raise LeakError("A new node has a number that no other has.")
        self._nodes.update(zip(own, made(), strict=True))
