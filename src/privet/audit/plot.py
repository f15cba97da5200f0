"""A picture of audits: a row for each estimator or variant, with what was claimed, what is proven and what was found.

A dot to the right of its diamond would be a proof refuted. A line goes from what was claimed to what was found: red
where more was found. The axis is logarithmic and ends in a band for infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.audit.bound import exceeds
from privet.errors import PrivetError
from privet.extras import need

CAUGHT, WITHIN, BROKEN = "#b3261e", "#1b6e3c", "#7b1fa2"
WORDS = {CAUGHT: "more than claimed", WITHIN: "within the claim", BROKEN: "MORE THAN PROVEN"}
LEAST = 1e-3  # a bound of zero, or nearly, is drawn here


@dataclass(frozen=True)
class Mark:
    """One estimator or variant: what it claims, what is proven, and the bound that was found."""

    label: str
    claimed: float
    proven: float
    found: float

    @property
    def color(self) -> str:
        if exceeds(self.found, self.proven):
            return BROKEN
        return CAUGHT if exceeds(self.found, self.claimed) else WITHIN


def require_matplotlib() -> None:
    need("report", "matplotlib")


def plot(marks: Sequence[Mark], path: Path | str, kind: str | None = None) -> None:
    """Draw the marks into a file; ``kind``, by default its suffix, is .png, .svg or .pdf."""
    require_matplotlib()
    from matplotlib.figure import Figure

    if not marks:
        raise PrivetError("There is nothing to draw.")
    numbers = [max(value, LEAST) for mark in marks for value in (mark.claimed, mark.proven, mark.found)]
    finite = [value for value in numbers if value < math.inf] or [1.0]
    low, edge = min(finite) / 2, 2 * max(finite)
    infinity = edge * (edge / low) ** 0.05
    figure = Figure(figsize=(11, 1.6 + 0.23 * len(marks)), dpi=150, layout="constrained")
    axes = figure.add_subplot(xscale="log", xlim=(low, infinity**2 / edge), ylim=(len(marks) - 0.4, -0.6))
    axes.axvspan(edge, infinity**2 / edge, color="0.94", zorder=0)
    said: set[str] = set()
    for row, mark in enumerate(marks):
        claimed, proven, found = (min(max(value, LEAST), infinity) for value in (mark.claimed, mark.proven, mark.found))
        word = f"found: {WORDS[mark.color]}"
        axes.plot([claimed, found], [row, row], color=mark.color, lw=1.2, alpha=0.55)
        axes.plot(claimed, row, "|", color="0.3", ms=11, mew=1.8, label=None if said else "claimed")
        axes.plot(proven, row, "D", color="0.3", ms=9, mfc="none", label=None if said else "proven")
        axes.plot(found, row, "o", color=mark.color, ms=6, mec="white", label=None if word in said else word)
        said.add(word)
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(edge)) + 1)
    axes.set_xticks([*(10.0**k for k in decades), infinity], [*(f"{10.0**k:g}" for k in decades), "∞"])
    axes.set_yticks(range(len(marks)), [mark.label for mark in marks], fontsize=8.5)
    axes.grid(color="0.88", lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("epsilon")
    axes.set_title("What the guarantees are worth", loc="left", fontsize=13)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, format=(kind or Path(path).suffix).lstrip(".").lower())
