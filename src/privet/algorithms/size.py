"""How many records there are, which plans follow from: a public hint, or a small part of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.questions.curtain import Curtain, Node
from privet.questions.tally import Tally
from privet.tree.planning import SIZE_SHARE


@dataclass(frozen=True)
class Size:
    """About ``n`` records, and what is ``left`` of the budget.

    ``margin`` is two noise scales, times epsilon: a noisy number must not buy a depth that the true one would not.
    """

    n: float
    left: Fraction
    margin: float = 0.0

    @property
    def trusted(self) -> float:
        """A number that the true one seldom is below (1 in 15): two noise scales less than what was measured."""
        return max(self.n - self.margin / float(self.left), 0.0)

    @classmethod
    def of(cls, curtain: Curtain, start: Node, budget: Fraction, hint: float | None) -> Size:
        """By the public hint, free; or by a noisy count, for 2% of the budget, and never more than an epsilon of 1."""
        if hint is not None:
            return cls(hint, budget)
        share = size_share(budget)
        n = int(curtain.tally({start: Tally(by_class=False)}, share)[start][0])
        return cls(n, budget - share, 2 * float(budget / share))


def size_share(budget: Fraction) -> Fraction:
    """What measuring the number costs."""
    return min(budget * SIZE_SHARE, Fraction(1))
