"""Histograms by subtraction: the same numbers as by counting, with less counted (rooms' own tests compare more)."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from privet.curators import families
from privet.curators.families import Families


@dataclass(eq=False)
class Rows:
    values: np.ndarray
    parent: "Rows | None" = None
    family: list["Rows"] = field(default_factory=list)

    @property
    def n_rows(self):
        return len(self.values)

    def split(self, n):
        family = []
        family += (Rows(self.values[self.values % n == part], self, family) for part in range(n))
        return family


class Counter:
    def __init__(self):
        self.counted = []

    def __call__(self, nodes):
        self.counted += [node.n_rows for node in nodes]
        return np.array([exact(node) for node in nodes]).reshape(len(nodes), 7, 1)


def exact(node):
    return np.bincount(node.values % 7, minlength=7)[:, None]


@pytest.mark.parametrize("most", [families.KEPT, 0])
@pytest.mark.parametrize("n", [2, 3])
def test_whatever_is_asked_in_which_order_the_counts_are_exact(most, n, monkeypatch):
    monkeypatch.setattr(families, "KEPT", most)
    rng = np.random.default_rng(n)
    nodes = [Rows(rng.integers(100, size=200))]
    for _ in range(6):
        nodes += nodes[rng.integers(len(nodes))].split(n)
    known, count = Families(), Counter()
    for _ in range(40):
        asked = [nodes[i] for i in rng.integers(len(nodes), size=rng.integers(1, 5))]
        np.testing.assert_array_equal(known.histograms(asked, count), [exact(node) for node in asked])
        if rng.random() < 0.2:
            known.forget()


def test_the_largest_of_a_family_follows_from_the_others():
    root = Rows(np.arange(100))
    children = root.split(3)
    known, count = Families(), Counter()
    known.histograms([root], count)
    known.histograms(children, count)
    assert count.counted == [100, 33, 33]
