"""A picture for choosing epsilon: how well a model does at each, and what each means for one person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privet.algorithms.choosing import Point
from privet.extras import need

SCORE, GUESS = "#1b6e3c", "#b3261e"


def plot_epsilons(points: Sequence[Point], path: Path | str, score: str, kind: str | None = None) -> None:
    """Draw the points into a file; ``kind``, by default its suffix, is png, svg or pdf."""
    need("report", "matplotlib")
    from matplotlib.figure import Figure

    epsilons = [point.epsilon for point in points]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    left = figure.subplots()
    left.set_xscale("log")
    means, errors = [point.score for point in points], [point.error for point in points]
    left.errorbar(epsilons, means, yerr=errors, color=SCORE, marker="o", capsize=3)
    left.set_xlabel("epsilon")
    left.set_ylabel(f"{score} on the stand-in", color=SCORE)
    right = left.twinx()
    right.plot(epsilons, [100 * point.guess for point in points], color=GUESS, linestyle="--")
    right.set_ylim(50, 100)
    right.set_ylabel("a guess who is in the records is right, at most (%)", color=GUESS)
    figure.savefig(path, format=kind)
