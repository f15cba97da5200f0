"""What every curator is: it holds records and answers private questions about them."""

from __future__ import annotations

from privet.questions.curtain import Budget, Curtain, Node, budgets
from privet.questions.tally import Step, Tally

Curator = Curtain

__all__ = ["Budget", "Curator", "Node", "Step", "Tally", "budgets"]
