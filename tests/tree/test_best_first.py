"""Best-first growth: the most promising leaf is next, siblings are asked together, and it ends."""

import numpy as np

from privet import Categorical, MemoryCurator, Schema
from privet.tree.best_first import Offer, grow_best_first
from privet.tree.frontier import Frontier
from privet.tree.splitting_class import SplittingClass

SCHEMA = Schema({f"f{j}": Categorical([0, 1], other=False) for j in range(3)}, classes=[0, 1])


class Scripted:
    """Offers the feature of a leaf's depth, with gains laid down by the path of sides that leads to the leaf."""

    def __init__(self, gains, curator):
        self.gains, self.curator = gains, curator
        self.functions = SplittingClass().functions(SCHEMA)
        self.asked = []
        self.paths = {}

    def offers(self, leaves):
        for node in leaves:
            self.paths.setdefault(node, "")
        self.asked.append([self.paths[node] for node in leaves])
        return {
            node: Offer(self.functions.split(leaf.depth), self.gains[self.paths[node]])
            for node, leaf in leaves.items()
            if self.paths[node] in self.gains
        }

    def weights(self, offer, children):
        self.paths |= {node: self.path(end) for node, end in children.items()}
        return (0.5, 0.5)

    def path(self, end):
        return "" if end.above is None else self.path(end.above) + "lr"[end.part]


def grown(gains, max_nodes=10):
    curator = MemoryCurator(np.zeros((4, 3)), [0, 0, 1, 1], SCHEMA).open()
    private_split = Scripted(gains, curator)
    curator.grid(private_split.functions.grid)
    frontier = Frontier.sprout(curator, [curator.root()], private_split.functions.grid)
    leaves = grow_best_first(frontier, private_split, max_nodes)
    return leaves.trees[0], private_split, leaves


def test_the_most_promising_leaf_is_split_next():
    _, private_split, leaves = grown({"": 0.1, "l": 0.2, "r": 0.3, "rl": 0.25})
    # Root, then r (0.3), then rl (0.25), then l (0.2): each split asks about its two children.
    assert private_split.asked == [[""], ["l", "r"], ["rl", "rr"], ["rll", "rlr"], ["ll", "lr"]]
    assert sorted(private_split.paths[node] for node in leaves) == ["ll", "lr", "rll", "rlr", "rr"]


def test_growth_ends_after_so_many_splits_and_asks_nothing_in_vain():
    tree, private_split, leaves = grown({"": 0.1, "l": 0.2, "r": 0.3}, max_nodes=2)
    assert private_split.asked == [[""], ["l", "r"]]  # the children of the last split are not asked about
    assert len(leaves) == 3
    assert len(tree.nodes) == 5


def test_without_an_offer_the_root_is_a_leaf():
    tree, _, leaves = grown({})
    assert len(tree.nodes) == len(leaves) == 1


def test_leaves_know_their_depth_and_what_can_reach_them():
    _, private_split, leaves = grown({"": 0.1, "l": 0.2})
    depths = {private_split.paths[node]: leaf.depth for node, leaf in leaves.items()}
    assert depths == {"r": 1, "ll": 2, "lr": 2}
    for leaf in leaves.values():
        assert leaf.reachable.sum() == 6 - leaf.depth  # each split above takes one cell away


def test_equal_promises_are_kept_in_the_order_in_which_they_came():
    _, private_split, _ = grown({"": 0.1, "l": 0.3, "r": 0.3, "ll": 0.3, "rl": 0.3}, max_nodes=5)
    assert private_split.asked == [[""], ["l", "r"], ["ll", "lr"], ["rl", "rr"], ["lll", "llr"]]
