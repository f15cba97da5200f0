"""Figures of the page: every method against epsilon, set by set; average ranks with critical differences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privet_bench.experiment import TITLES, Figure, canonical
from privet_bench.experiments.peers import EPSILONS, METHODS, OURS
from privet_bench.page import MEASURES, ROOT, ranked
from privet_bench.registry import EXPERIMENTS
from privet_bench.store import Row, Store, mean
from privet_bench.summary import at, means, ranks

DOCS = ROOT / "docs"
COLOURS = dict(
    zip(METHODS, ("tab:purple", "tab:pink", "tab:orange", "tab:brown", "tab:gray", "tab:olive", "tab:cyan", "tab:blue"))
)


def draw(store: Store, folder: Path = DOCS) -> Iterator[Path]:
    import matplotlib

    matplotlib.use("Agg")
    known = means(store.rows("peers"))
    for measure in MEASURES:
        yield _against_epsilon(known, measure, folder / f"benchmarks_{measure}.png")
    yield _ranks(known, folder / "benchmarks_ranks.png")
    for experiment in EXPERIMENTS.values():
        for figure in experiment.figures:
            rows = [
                row
                for row in store.rows(experiment.name)
                if row.measure.startswith((figure.measure, *figure.bounds)) and figure.where(row.task)
            ]
            if rows:
                yield _curves(rows, figure, folder / figure.file)


def _curves(rows: list[Row], figure: Figure, file: Path) -> Path:
    """Settings that do not vary within a panel are not named; an epsilon without end is a line across."""
    from matplotlib import pyplot

    shown = [(panel, row, row.task.options) for row in rows for panel in figure.panels(row.task)]
    names = list(dict.fromkeys(panel for panel, *_ in shown))
    known = dict.fromkeys(name for _, _, own in shown for name in own if name != figure.x)
    seen: dict[tuple[str, str], set[str]] = {}
    for panel, _, own in shown:
        for name in known:
            seen.setdefault((panel, name), set()).add(str(own.get(name)))
    vary = [name for name in known if any(len(seen[of, name]) > 1 for of in names)]  # in one panel
    lines: dict[tuple[str, str, str], dict[float, list[Row]]] = {}
    for panel, row, own in shown:
        label = ", ".join([row.method, *(f"{name.replace('_', ' ')} {own[name]}" for name in vary if name in own)])
        x = own.get(figure.x, row.measure.split()[-1] if figure.x in row.measure else math.inf)
        kind = next((name for name in figure.bounds if row.measure.startswith(name)), "")
        lines.setdefault((panel, label, kind), {}).setdefault(float(x), []).append(row)
    labels = list(dict.fromkeys(label for _, label, _ in lines))
    columns = 2 if len(names) == 4 else min(len(names), 3)
    high = math.ceil(len(names) / columns)
    plot, axes = pyplot.subplots(
        high, columns, figsize=(max(3.4 * columns, 9), figure.height * high + 0.5 + 0.06 * len(labels)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names):
        for number, label in enumerate(labels):
            points = [(x, m) for x, own in sorted(lines.get((name, label, ""), {}).items()) if (m := mean(own))]
            finite = [(x, m) for x, m in points if x < 1e9]
            errors = [0 if math.isnan(m.error) else m.error for _, m in finite]
            style = {"color": f"C{number % 10}", "linestyle": ("-", "--", ":")[number // 10 % 3], "marker": "o"}
            at_x, values = [x for x, _ in finite], [m.value for _, m in finite]
            axis.errorbar(at_x, values, errors, label=label, markersize=2.5, capsize=2, **style)
            for _, m in points[len(finite) :]:
                axis.axhline(m.value, color=f"C{number % 10}", linewidth=0.8, linestyle=":")
            for kind, thin in figure.bounds.items():
                bound = sorted((x, own[0].value) for x, own in lines.get((name, label, kind), {}).items())
                axis.plot(*zip(*bound) if bound else ([], []), thin, color=f"C{number % 10}", linewidth=1)
        for kind, thin in figure.bounds.items():
            axis.plot([], [], thin, color="grey", linewidth=1, label=kind)
        axis.set(xscale=figure.scale, xlabel=figure.x.replace("_", " "), title=name)
        ticks = sorted({x for own, points in lines.items() if own[0] == name for x in points if x < 1e9})
        if len(ticks) <= 14:
            ticks = _apart(axis, ticks)
            axis.set_xticks(ticks, [f"{x:g}" for x in ticks], fontsize=7, rotation=45)
            axis.minorticks_off()
        axis.tick_params(axis="y", labelsize=7)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel(figure.label or figure.measure)
    found = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels())}
    plot.legend(found.values(), found.keys(), loc="outside lower center", ncols=3, fontsize=7)
    plot.savefig(file, dpi=90)
    pyplot.close(plot)
    return file


def _apart(axis: Any, ticks: list[float]) -> list[float]:
    """The last one, and those before it whose words do not overlap."""
    kept: list[tuple[float, float]] = []
    for x in reversed(ticks):
        place = axis.transAxes.inverted().transform(axis.transData.transform((x, 0)))[0]
        if not kept or kept[-1][1] - place > 0.04:
            kept.append((x, place))
    return [x for x, _ in reversed(kept)]


def _against_epsilon(known: Any, measure: str, file: Path) -> Path:
    from matplotlib import pyplot

    names = sorted({name for name, _, own in known if own == measure})
    columns = 5
    lines = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(3 * columns, 2.3 * lines), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names):
        for method, colour in COLOURS.items():
            points = [(e, own[method]) for e in EPSILONS
                      if (own := known.get((name, canonical({"epsilon": e}), measure))) and method in own]  # fmt: skip
            if points:
                errors = [0 if math.isnan(m.error) else m.error for _, m in points]
                axis.errorbar([e for e, _ in points], [m.value for _, m in points], errors, color=colour, label=method,
                              marker="o", markersize=2.5, linewidth=2 if method == OURS else 1, capsize=2)  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log" if measure == "mse" else "linear")
        axis.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS], fontsize=7)
        axis.minorticks_off()
        axis.tick_params(labelsize=7)
        axis.set_title(name, fontsize=9)
        axis.grid(alpha=0.3)
    found = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels())}
    figure.legend(found.values(), found.keys(), loc="outside upper center", ncols=4, fontsize=8,
                  title=f"{TITLES[measure].removesuffix(' x 1000')} against epsilon")  # fmt: skip
    figure.savefig(file, dpi=80)
    pyplot.close(figure)
    return file


def _ranks(known: Any, file: Path) -> Path:
    """A line for each measure and epsilon: the methods at their average ranks, and a bar as long as the difference."""
    from matplotlib import pyplot

    found = [
        (f"{TITLES[measure].removesuffix(' x 1000')}, {epsilon:g}", own)
        for measure in MEASURES
        for epsilon in EPSILONS
        if (own := ranks(list(at(known, measure, epsilon).values()), ranked(known, measure), measure))
    ]
    figure, axis = pyplot.subplots(figsize=(8, 0.45 * len(found) + 1.4), layout="constrained")
    for y, (_, own) in enumerate(found):
        best = min(own.average.values())
        axis.plot([best, best + own.critical], [y - 0.25] * 2, color="0.6", linewidth=3, solid_capstyle="butt")
        for method, rank in own.average.items():
            axis.plot(rank, y, "o", color=COLOURS[method], label=method)
    axis.set_yticks(range(len(found)), [title for title, _ in found], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("average rank; the grey bar is the critical difference, from the best on")
    handles = dict(zip(*reversed(axis.get_legend_handles_labels())))
    axis.legend(handles.values(), handles.keys(), fontsize=7, loc="best")
    figure.savefig(file, dpi=90)
    pyplot.close(figure)
    return file
