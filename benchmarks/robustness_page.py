"""Writes the tables and figures of docs/robustness.md from what benchmarks/robustness.py has measured.

The page's own words stay: each table stands between two comments that name it.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "robustness.md"
PUBLISHED = HERE / "published_robustness.toml"
TREE, PRINTED, LOGISTIC = "PrivateTree", "PrivaTree, as printed", "logistic"
SHARES = ("0.1%", "0.5%", "1%")

Line = dict[str, Any]


def write_page(lines: Sequence[Line]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = {
        "guarantees 0.01": guarantees(lines, 0.01),
        "guarantees 0.1": guarantees(lines, 0.1),
        "as printed": as_printed(lines),
        "aggregation": aggregation(lines),
        "backdoor mnist": backdoor(lines, "mnist"),
        "backdoor held out": backdoor(lines, "held out"),
        "backdoor adult": backdoor(lines, "adult"),
        "attacks": attacks(lines),
        "boosting": boosting(lines),
    }
    for name, rows in tables.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
        if not pattern.search(text):
            raise SystemExit(f"docs/robustness.md has no place for the table {name!r}")
        text = pattern.sub(lambda match, rows=rows: match[1] + "\n".join(rows) + "\n" + match[2], text)
    PAGE.write_text(text, encoding="utf-8")
    for table in ("mnist", "adult"):
        draw(lines, table)


def published() -> dict[str, Line]:
    with open(PUBLISHED, "rb") as file:
        return {row["dataset"]: row for row in tomllib.load(file)["row"]}


def of_kind(lines: Sequence[Line], kind: str, **wanted: Any) -> list[Line]:
    """The latest line of each key."""
    found = {
        str(line["key"]): line
        for line in lines
        if line["key"]["kind"] == kind and all(line["key"].get(k) == v for k, v in wanted.items())
    }
    return list(found.values())


def digits(values: Sequence[float]) -> str:
    return " / ".join("–" if math.isnan(value) else f"{value:.3f}" for value in values)


def guarantees(lines: Sequence[Line], epsilon: float) -> list[str]:
    """Ours beside PrivaTree's printed guarantees."""
    paper = published()
    rows = [
        "| data set | k | our mean accuracy | certified, records added or removed | certified, records changed | "
        "Corollary 2 on our mean | PrivaTree, printed: accuracy; guarantees |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in of_kind(lines, "table", epsilon=epsilon, method=TREE):
        name, ks = line["key"]["set"], " / ".join(map(str, line["levels"]))
        theirs = paper.get(name, {}).get("privatree", {}).get(f"{epsilon:g}")
        printed = "" if theirs is None else f"{theirs[0]:.3f}; {digits(theirs[1:])}"
        rows.append(
            f"| {name} | {ks} | {line['mean']:.3f} ± {line['error']:.4f} | {digits(line['certified'])} | "
            f"{digits(line['changed'])} | {digits(line['corollary'])} | {printed} |"
        )
    return rows


def as_printed(lines: Sequence[Line]) -> list[str]:
    """PrivaTree and private logistic regression re-run, beside the printed numbers."""
    paper, titles = published(), {PRINTED: "privatree", LOGISTIC: "logistic"}
    rows = [
        "| data set | epsilon | method | accuracy, ours to repeat | printed | guarantees, ours to repeat | printed |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in of_kind(lines, "table"):
        name, method, epsilon = line["key"]["set"], line["key"]["method"], line["key"]["epsilon"]
        if method not in titles or name not in paper:
            continue
        theirs = paper[name].get(titles[method], {}).get(f"{epsilon:g}")
        accuracy, levels = ("", "") if theirs is None else (f"{theirs[0]:.3f}", digits(theirs[1:]))
        rows.append(
            f"| {name} | {epsilon:g} | {titles[method].replace('privatree', 'PrivaTree')} | "
            f"{line['mean']:.3f} ± {line['error']:.3f} | {accuracy} | {digits(line['corollary'])} | {levels} |"
        )
    return rows


def aggregation(lines: Sequence[Line]) -> list[str]:
    ours = {line["key"]["set"]: line for line in of_kind(lines, "table", epsilon=0.01, method=TREE)}
    rows = ["| data set | ensemble | accuracy | certified at 0.1 / 0.5 / 1% | seconds | our tree, epsilon 0.01 |"]
    rows.append("|---|---|---|---|---|---|")
    for line in of_kind(lines, "table", epsilon=None):
        name = line["key"]["set"]
        beside = digits(ours[name]["certified"]) if name in ours else ""
        rows.append(
            f"| {name} | {line['key']['method']} | {line['mean']:.3f} | {digits(line['certified'])} | "
            f"{line['seconds']:.0f} | {beside} |"
        )
    return rows


def backdoor(lines: Sequence[Line], table: str) -> list[str]:
    points = of_kind(lines, "backdoor", table=table)
    bounds = {line["key"]["method"]: line for line in of_kind(lines, "bound", table=table)}
    levels = sorted({line["key"]["k"] for line in points})
    rows = [f"| learner | {' | '.join(f'k = {k}' for k in levels)} | accuracy without poison |"]
    rows.append("|---|" + "---|" * (len(levels) + 1))
    for name in dict.fromkeys(line["key"]["method"] for line in points):
        own = {line["key"]["k"]: line for line in points if line["key"]["method"] == name}
        bound = dict(zip(bounds[name]["levels"], bounds[name]["bound"])) if name in bounds else {}
        cells = []
        for k in levels:
            cell = "" if k not in own else _with_error(own[k]["success"], own[k]["error"])
            cells.append(f"{cell} (≤ {bound[k]:.3f})" if cell and k in bound else cell)
        clean = f"{own[0]['accuracy']:.3f}" if 0 in own else ""
        rows.append(f"| {name} | {' | '.join(cells)} | {clean} |")
    return rows


def _with_error(mean: float, error: float | None) -> str:
    """The standard error is not known of a single run."""
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"


def attacks(lines: Sequence[Line]) -> list[str]:
    rows = [
        "| data set | epsilon | k | clean | label flips | removal | search | minutes of it | certified |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in of_kind(lines, "attack"):
        key, left = line["key"], line["left"]
        cells = " | ".join(f"{left[name][0]:.4f} ± {left[name][1]:.4f}" for name in left)
        rows.append(
            f"| {key['set']} | {key['epsilon']:g} | {line['k']} ({key['share']}) | {line['clean']:.4f} | {cells} | "
            f"{line['minutes']:g} | {line['certified']:.4f} |"
        )
    return rows


def boosting(lines: Sequence[Line]) -> list[str]:
    keyed = [(line["key"], line) for line in of_kind(lines, "boosting")]
    order = [((key["set"], -key["epsilon"], key["delta"] is None), line) for key, line in keyed]
    found = [line for _, line in sorted(order, key=lambda pair: pair[0])]
    distances = found[0]["distances"] if found else []
    rows = [f"| data set | budget | accuracy | certificate | {' | '.join(f'k = {k}' for k in distances)} |"]
    rows.append("|---|---|---|---|" + "---|" * len(distances))
    for line in found:
        key = line["key"]
        budget = f"({key['epsilon']:g}, {key['delta']:g})" if key["delta"] else f"{key['epsilon']:g}"
        kind = "zCDP" if key["delta"] else "pure"
        for title, values in ((f"{kind}, accuracy", line["certified"]), (f"{kind}, majority kept", line["majority"])):
            cells = " | ".join(f"{value:.3f}" for value in values)
            rows.append(f"| {key['set']} | {budget} | {line['mean']:.3f} ± {line['error']:.4f} | {title} | {cells} |")
    return rows


def draw(lines: Sequence[Line], table: str) -> None:
    """Success against poisoned records: measured with marks, certified with lines, Corollary 3 with dots."""
    from matplotlib.figure import Figure

    points = of_kind(lines, "backdoor", table=table)
    if not points:
        return
    figure = Figure(figsize=(9.5, 4.8), dpi=120, layout="constrained")
    axes = figure.add_subplot(
        xscale="symlog", xlabel="poisoned records of 11,200", ylabel="attack success", ylim=(-0.02, 1.02)
    )
    names = list(dict.fromkeys(line["key"]["method"] for line in points))
    for i, name in enumerate(names):
        own = [line for line in points if line["key"]["method"] == name]
        measured = sorted((line["key"]["k"], line["success"], line["error"] or 0.0) for line in own)
        k, success, error = zip(*measured)
        axes.errorbar(k, success, error, marker="o", ms=4, lw=1.2, capsize=2, color=f"C{i}", label=name)
        for line in of_kind(lines, "bound", table=table, method=name):
            axes.plot(line["levels"], line["bound"], "--", lw=1, color=f"C{i}")
            axes.plot(line["levels"], line["corollary"], ":", lw=1, color=f"C{i}")
    axes.plot([], [], "--", lw=1, color="grey", label="certified bound")
    axes.plot([], [], ":", lw=1, color="grey", label="Corollary 3 on the clean mean")
    figure.legend(fontsize=7.5, frameon=False, loc="outside right upper")
    figure.savefig(PAGE.parent / f"robustness_{table}.png")
