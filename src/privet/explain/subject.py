"""A released model with all that is public about it: what pages, cards and plots are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privet.evaluate.evaluation import Evaluation
from privet.privacy.receipt import Receipt
from privet.schema import Schema
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.tree import Tree

Released = Tree | Forest | Additive


@dataclass(frozen=True)
class Subject:
    """``released`` is None where the model is hidden: then its schema and its receipt are all that anybody has."""

    model: str
    schema: Schema
    released: Released | None
    receipt: Receipt
    evaluation: Evaluation | None = None
    source: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    chosen: str = ""
    """Which of several candidates it is, where a search chose it."""
    note: str = ""
    """What those wrote who released it."""
    one_currency: bool = True
    """Whether all such fits spend alike, in epsilon or in rho (``PrivateEstimator.one_currency``)."""

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees, if it has any."""
        if isinstance(self.released, Tree):
            return (self.released,)
        return self.released.trees if isinstance(self.released, Forest) else ()

    @property
    def boosted(self) -> Additive | None:
        return self.released if isinstance(self.released, Additive) else None

    @property
    def who(self) -> str:
        """Whom the promise covers, as one word."""
        return "person" if "person" in self.receipt.unit else "record"

    @property
    def votes(self) -> bool:
        """Whether classes are predicted by the mean of trees' probabilities, and not by the label of one leaf."""
        return isinstance(self.released, Forest) and self.schema.classes is not None

    @property
    def heading(self) -> str:
        """What it is, in a line."""
        n = len(self.trees)
        if self.boosted is not None:
            kind = "a sum of curves"
        else:
            kind = "a decision tree" if n == 1 else f"a forest of {n} trees" if n else "a hidden model"
        return f"{self.label[:1].upper()}{self.label[1:]}, predicted by {kind}"

    def says(self, label: Any) -> str:
        """A class as people read it: 0 and 1, true and false mean nothing without what they are of."""
        text = str(label)
        bare = text.lower() in ("true", "false") or text.lstrip("+-").replace(".", "", 1).isdecimal()
        return f"{self.label} = {text}" if bare and self.schema.label else text

    @property
    def label(self) -> str:
        return self.schema.label or ("the class" if self.schema.classes else "the target")
