"""Pictures of released models for papers, in Matplotlib: ``plot_tree``, ``plot_terms``, ``plot_budget``.

Everything is drawn from released numbers alone, so it costs nothing. Each function draws into the axes it is given, or
into new ones, and gives them back; ``privet report`` has the same as a page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.algorithms.explained import subject_of
from privet.audit.plot import require_matplotlib
from privet.errors import PrivetError
from privet.explain.round_noise import term_noise
from privet.explain.subject import Subject
from privet.explain.text import rule_text
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.report.budget_facts import BudgetFacts
from privet.schema import Categorical, Numeric
from privet.tree.additive import Additive, Term
from privet.tree.tree import Tree, TreeNode

ACCENT, OTHER, LINE = "#226b4b", "#8b9490", "#c9cfcb"
SURE = 2.0  # bands and whiskers are so many standard deviations of the noise wide, on each side
SIGNS = "PuOr"  # two hues that every kind of colour vision tells apart


def _new_axes(width: float, height: float, rows: int = 1, columns: int = 1) -> Any:
    require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False)[1]


# -- trees ------------------------------------------------------------------------------------------------------------


def plot_tree(model: Any, ax: Any = None, *, tree: int = 0, size: float = 8.0) -> Any:
    """A fitted model's tree, root on the left; of a forest number ``tree``. ``size`` is that of the letters."""
    subject = subject_of(model)
    if not subject.trees:
        raise PrivetError(
            "This model has no tree: plot_terms draws what boosting adds up, and hidden models stay hidden."
        )
    if not 0 <= tree < len(subject.trees):
        raise PrivetError(f"This model has {len(subject.trees)} trees, numbered from 0.")
    own = subject.trees[tree]
    if ax is None:
        ax = _new_axes(2.3 * (own.depth + 1), 0.5 * len(own.leaves) + 0.6)[0, 0]
    places = _places(own)
    for i, node in enumerate(own.nodes):
        x, y = places[i]
        for part, child in enumerate(node.children):
            assert node.rule is not None
            below = places[child]
            ax.plot([x, below[0]], [y, below[1]], color=LINE, lw=1, zorder=1)
            words = textwrap.fill(textwrap.shorten(rule_text(node.rule, part, own.schema), 44, placeholder=" …"), 24)
            middle = (x + below[0]) / 2, (y + below[1]) / 2
            ax.text(*middle, words, size=size - 1, color="0.3", ha="center", va="center", zorder=2, bbox=_CLEAR)
        _draw_node(ax, node, x, y, subject, size)
    ax.set_axis_off()
    ax.set_xlim(-0.4, own.depth + 0.4)
    ax.set_ylim(len(own.leaves) - 0.4, -0.6)
    return ax


_CLEAR = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}


def _places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Depth, and a row: leaves have one each, in order, and other nodes the middle of their children's."""
    depths = dict(tree.walk())
    rows = {leaf: float(row) for row, leaf in enumerate(i for i, _ in tree.walk() if tree.nodes[i].is_leaf)}
    for i in reversed(range(len(tree.nodes))):  # children before their parents
        if not tree.nodes[i].is_leaf:
            rows[i] = float(np.mean([rows[child] for child in tree.nodes[i].children]))
    return {i: (float(depths[i]), rows[i]) for i in depths}


def _draw_node(ax: Any, node: TreeNode, x: float, y: float, subject: Subject, size: float) -> None:
    if node.rule is not None:
        words, colour = subject.schema.names[node.rule.feature], OTHER
    else:
        words, colour = _leaf_words(node, subject), ACCENT
    box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": colour, "lw": 1.2}
    ax.text(x, y, words, size=size, ha="center", va="center", zorder=3, bbox=box)


def _leaf_words(node: TreeNode, subject: Subject) -> str:
    if node.value is not None:
        return f"{node.value:.4g}\n≈{node.weight or 0:.0f} records"
    classes = subject.schema.classes or ()
    label = str(classes[node.answer or 0])
    return label if node.counts is None else f"{label}\n≈{', '.join(map(str, node.counts))}"


# -- terms ------------------------------------------------------------------------------------------------------------


def plot_terms(model: Any, axes: Sequence[Any] | None = None, *, terms: int = 6, output: int = 0) -> Any:
    """What features add to the scores of a boosted model, the most important first, with two deviations of noise.

    ``output`` is the number of the class, of several. Gives back the axes, one for each term.
    """
    subject = subject_of(model)
    boosted = subject.boosted
    if boosted is None:
        raise PrivetError("Only boosting adds up terms: plot_tree draws trees.")
    if not 0 <= output < boosted.n_outputs:
        raise PrivetError(f"This model has {boosted.n_outputs} scores, numbered from 0.")
    shown = [term for term in boosted.terms if term.values[..., output].any()][:terms]
    if axes is None:
        rows = -(-len(shown) // 3)
        axes = _new_axes(9.6, 2.7 * max(rows, 1), max(rows, 1), 3).ravel()
    for ax, term in zip(axes, shown):
        _draw_term(ax, boosted, term, subject, output)
    for ax in list(axes)[len(shown) :]:
        ax.set_axis_off()
    return axes


def _draw_term(ax: Any, boosted: Additive, term: Term, subject: Subject, output: int) -> None:
    names = [boosted.schema.names[f] for f in term.features]
    low, high = boosted.schema.target or (0.0, 1.0)
    unit = (high - low) / GRADIENT_ONE
    ax.set_title(" × ".join(names), fontsize=9)
    ax.tick_params(labelsize=7)
    if len(names) > 1:
        table = term.means_of(term.features[:2])[..., output] - term.mean[output]
        return _draw_table(ax, boosted, term, table * unit, names)
    values = (term.values[:, output] - term.mean[output]) * unit
    errors = term_noise(boosted, subject.receipt, term)[:, output] * SURE * unit * GRADIENT_ONE
    if isinstance(boosted.schema.features[names[0]], Categorical):
        return _draw_categories(ax, boosted, term, values, errors)
    return _draw_curve(ax, boosted, term, values, errors)


def _draw_curve(ax: Any, boosted: Additive, term: Term, values: np.ndarray, errors: np.ndarray) -> None:
    feature = boosted.schema.features[boosted.schema.names[term.features[0]]]
    cuts = boosted.cuts[term.features[0]] or ()
    assert isinstance(feature, Numeric)
    ends = np.array([float(feature.low), *cuts, float(feature.high)])
    cells = term.stretches[0][: len(cuts) + 1]  # without the one for missing values
    line, band = values[cells], errors[cells]
    ax.axhline(0, color=OTHER, lw=0.6, ls=":")
    ax.stairs(line + band, ends, baseline=line - band, fill=True, color=ACCENT, alpha=0.16, lw=0)
    ax.stairs(line, ends, baseline=None, color=ACCENT, lw=1.4)
    if feature.log:
        ax.set_xscale("symlog")


def _draw_categories(ax: Any, boosted: Additive, term: Term, values: np.ndarray, errors: np.ndarray) -> None:
    feature = boosted.schema.features[boosted.schema.names[term.features[0]]]
    assert isinstance(feature, Categorical)
    names = [*map(str, feature.values), *(["any other value"] if feature.other else [])]
    cells = term.stretches[0]
    order = np.argsort(values[cells], kind="stable")
    ax.axvline(0, color=OTHER, lw=0.6, ls=":")
    ax.errorbar(values[cells][order], range(len(order)), xerr=errors[cells][order], fmt="o", ms=3, lw=1, color=ACCENT)
    ax.set_yticks(range(len(order)), [textwrap.shorten(names[i], 18, placeholder="…") for i in order], fontsize=6)


def _draw_table(ax: Any, boosted: Additive, term: Term, table: np.ndarray, names: Sequence[str]) -> None:
    most = float(np.abs(table).max()) or 1.0
    drawn = ax.pcolormesh(table, cmap=SIGNS, vmin=-most, vmax=most)
    ax.figure.colorbar(drawn, ax=ax, pad=0.02).ax.tick_params(labelsize=6)
    ax.set_ylabel(f"{names[0]} (stretches)", fontsize=7)
    others = f"; mean over {', '.join(names[2:])}" if len(names) > 2 else ""
    ax.set_xlabel(f"{names[1]} (stretches){others}", fontsize=7)
    ax.set_xticks([])
    ax.set_yticks([])


# -- the budget -------------------------------------------------------------------------------------------------------


def plot_budget(model: Any, ax: Any = None) -> Any:
    """Where the budget went along the path that cost most: one bar, and below it what each part was spent on."""
    receipt = subject_of(model).receipt
    facts = BudgetFacts(receipt).facts()
    if not facts["dearest"]:
        raise PrivetError("Exact values were read, so there is no budget that could be drawn.")
    if ax is None:
        ax = _new_axes(8, 0.9 + 0.26 * len(facts["dearest"]))[0, 0]
    at = 0.0
    for i, (group, amount) in enumerate(facts["dearest"]):
        shade = {"color": ACCENT, "alpha": 1.0 - 0.7 * i / len(facts["dearest"])}
        ax.barh(0, amount, left=at, height=0.9, ec="white", **shade)
        row = {"transform": ax.get_yaxis_transform(), "clip_on": False}  # x is a share of the width, y a row
        ax.plot([0.01], [i + 1.2], "s", ms=6, **shade, **row)
        words = f"{amount:.3g}  {facts['groups'][int(group)]['asked']}"
        ax.text(0.03, i + 1.2, words, size=8, va="center", transform=row["transform"])
        at += amount
    ax.set_xlim(0, max(facts["total"], at))
    ax.set_ylim(len(facts["dearest"]) + 0.8, -0.6)
    ax.set_yticks([])
    ax.xaxis.tick_top()
    ax.set_xlabel(facts["currency"], loc="right")
    ax.xaxis.set_label_position("top")
    for side in ("bottom", "left", "right"):
        ax.spines[side].set_visible(False)
    return ax
