"""A picture of audits: what is proven to the right, what was found upwards, the diagonal between them.

A mark above the diagonal would be a proof refuted. A line goes up from what was claimed to what was found: red where
more was found. Both axes are logarithmic and end in a band for infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.audit.bound import exceeds
from privet.errors import PrivetError

CAUGHT, WITHIN, BROKEN = "#b3261e", "#1b6e3c", "#7b1fa2"
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
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise PrivetError("A plot needs Matplotlib; install it with: pip install 'privet[report]'") from None


def plot(marks: Sequence[Mark], path: Path | str, kind: str | None = None) -> None:
    """Draw the marks into a file; ``kind``, by default its suffix, is .png, .svg or .pdf."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not marks:
        raise PrivetError("There is nothing to draw.")
    figure = Figure(figsize=(12.5, 8), dpi=150, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    scale = _Scale.of(marks)
    _frame(axes, scale)
    places = _places(marks, scale)
    for mark, (x, y) in zip(marks, places):
        claimed = scale.at(mark.claimed)
        axes.plot([x, x], [claimed, y], color=mark.color, lw=1.2, alpha=0.55, zorder=2)
        axes.plot([x], [claimed], marker="_", color=mark.color, ms=11, mew=1.8, zorder=3)
        axes.plot([x], [y], marker="o", color=mark.color, ms=7, mec="white", mew=0.8, zorder=4)
    _key(axes, marks)
    canvas.draw()  # settles the layout, which placing the labels needs
    figure.set_layout_engine("none")
    _label(axes, marks, places, [scale.at(mark.claimed) for mark in marks], scale, canvas)
    figure.savefig(path, format=(kind or Path(path).suffix).lstrip(".").lower())


@dataclass(frozen=True)
class _Scale:
    """Both axes' logarithmic scale, from ``low`` to ``high``; infinity lies between ``edge`` and ``high``."""

    low: float
    edge: float
    high: float

    @classmethod
    def of(cls, marks: Sequence[Mark]) -> _Scale:
        finite = [v for m in marks for v in (m.claimed, m.proven, m.found) if LEAST <= v < math.inf] or [1.0]
        low = math.log10(min(finite)) if all(m.found >= LEAST for m in marks) else math.log10(LEAST)
        low, top = math.floor(low * 2 - 0.2) / 2, math.ceil(math.log10(max(finite)) * 2 + 0.2) / 2
        return cls(low, top, top + 0.68 * (top - low))

    def at(self, value: float) -> float:
        return self.infinity if value == math.inf else math.log10(max(value, LEAST))

    @property
    def infinity(self) -> float:
        return self.edge + 0.2 * (self.high - self.edge)


def _frame(axes: Any, scale: _Scale) -> None:
    top = scale.edge + 0.36 * (scale.high - scale.edge)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(scale.low, top)
    axes.axvspan(scale.edge, scale.high, color="0.94", zorder=0)
    axes.axhspan(scale.edge, top, color="0.94", zorder=0)
    axes.plot([scale.low, scale.edge], [scale.low, scale.edge], color="0.35", lw=1.2, zorder=1)
    end = scale.low + 0.06 * (scale.edge - scale.low)
    axes.text(
        end, end, " bound found = proven", rotation=45, rotation_mode="anchor", transform_rotates_text=True,
        va="bottom", color="0.35", fontsize=9,
    )  # fmt: skip
    ticks = [k / 2 for k in range(math.ceil(2 * scale.low), math.floor(2 * scale.edge) + 1)]
    names = [f"{float(f'{10**tick:.1g}'):g}" for tick in ticks]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks([*ticks, scale.infinity], [*names, "∞"])
    axes.grid(color="0.88", lw=0.6, zorder=0)
    axes.set_axisbelow(True)
    axes.set_xlabel("proven epsilon", fontsize=11)
    axes.set_ylabel("lower bound that the auditor found", fontsize=11)
    axes.set_title("What the guarantees are worth", loc="left", fontsize=13)


def _places(marks: Sequence[Mark], scale: _Scale) -> list[tuple[float, float]]:
    """Where the marks go: those with no finite proof stand side by side in the band for infinity, the highest first.

    So the space to the right of each is free for its label.
    """
    unbounded = sorted((i for i, m in enumerate(marks) if m.proven == math.inf), key=lambda i: -marks[i].found)
    first, last = scale.edge + 0.05 * (scale.high - scale.edge), scale.edge + 0.35 * (scale.high - scale.edge)
    step = (last - first) / max(1, len(unbounded) - 1)
    xs = {i: first + step * k for k, i in enumerate(unbounded)}
    return [(xs.get(i, scale.at(mark.proven)), scale.at(mark.found)) for i, mark in enumerate(marks)]


def _key(axes: Any, marks: Sequence[Mark]) -> None:
    from matplotlib.lines import Line2D

    words = {CAUGHT: "more than claimed", WITHIN: "within the claim", BROKEN: "MORE THAN PROVEN"}
    handles = [
        Line2D([], [], marker="o", color=color, lw=1.2, mec="white", ms=7, label=f"found: {word}")
        for color, word in words.items()
        if any(mark.color == color for mark in marks)
    ]
    handles.append(Line2D([], [], marker="_", color="0.3", lw=0, ms=11, mew=1.8, label="claimed"))
    axes.legend(handles=handles, loc="upper left", frameon=True, fontsize=9)


def _label(
    axes: Any,
    marks: Sequence[Mark],
    places: list[tuple[float, float]],
    claimed: list[float],
    scale: _Scale,
    canvas: Any,
) -> None:
    """Write each label at the nearest free spot around its mark, with a thin line where that is not beside it."""
    renderer, data = canvas.get_renderer(), axes.transData
    inside = axes.get_window_extent(renderer)
    taken = [_box(data.transform(place), 18, 18) for place in places]
    taken += [_box(data.transform((x, c)), 20, 10) for (x, _), c in zip(places, claimed)]
    for (x, y), c in zip(places, claimed):
        (px, low), (_, high) = data.transform((x, min(y, c))), data.transform((x, max(y, c)))
        taken.append((px - 3, low, px + 3, high))
    span = (scale.edge - scale.low) / 200
    taken += [_box(data.transform((scale.low + span * t, scale.low + span * t)), 8, 8) for t in range(200)]
    taken.append(tuple(axes.get_legend().get_window_extent(renderer).extents))
    for i in sorted(range(len(marks)), key=lambda i: (-places[i][1], -places[i][0])):
        text = axes.text(0, 0, marks[i].label, fontsize=8.5, color=marks[i].color, zorder=5, ha="left", va="center")
        extent = text.get_window_extent(renderer)
        spot = _free(data.transform(places[i]), extent.width + 6, extent.height + 4, taken, inside)
        taken.append(spot)
        left, middle = spot[0] + 3, (spot[1] + spot[3]) / 2
        text.set_position(data.inverted().transform((left, middle)))
        px, py = data.transform(places[i])
        near = min(max(px, spot[0]), spot[2]), min(max(py, spot[1]), spot[3])
        if math.dist(near, (px, py)) > 16:
            (ax, ay), (bx, by) = places[i], data.inverted().transform(near)
            axes.plot([ax, bx], [ay, by], color=marks[i].color, lw=0.6, alpha=0.7, zorder=2)


Box = tuple[float, float, float, float]


def _box(at: Sequence[float], width: float, height: float) -> Box:
    x, y = at
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _free(at: Sequence[float], width: float, height: float, taken: Sequence[Box], inside: Any) -> Box:
    """The nearest box of that size around a point, within the axes, that overlaps none of those taken."""
    (x, y), best, least = at, None, math.inf
    for ring in range(40):
        radius = 12 + 8 * ring
        for angle in range(0, 360, 15):
            dx, dy = radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))
            left = x + dx if dx > 1 else x + dx - width if dx < -1 else x - width / 2
            box = (left, y + dy - height / 2, left + width, y + dy + height / 2)
            within = inside.x0 < box[0] and box[2] < inside.x1 and inside.y0 < box[1] and box[3] < inside.y1
            cost = radius + (4 if dx < 0 else 0) + (2 if dy < 0 else 0)
            if within and cost < least and not any(_overlap(box, other) for other in taken):
                best, least = box, cost
        if best is not None:
            return best
    return x + 12, y - height / 2, x + 12 + width, y + height / 2


def _overlap(one: Box, other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
