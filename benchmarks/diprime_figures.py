"""DiPriMe's Figures 2 and 3: accuracy on banknote by epsilon, and how much of wall_robot's data is in each leaf.

    make diprime-figures
    python benchmarks/diprime_figures.py --seeds 20

Noise is seeded; the plots go to docs/.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shared_data

DOCS = Path(__file__).parents[1] / "docs"
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def methods(depth: int, binned: int) -> dict[str, Callable[[Any, float], Any]]:
    from privet import DiPriMeForestClassifier
    from privet.algorithms.baselines import DPDFClassifier, DPERTClassifier, DPRFClassifier

    def diprime(attribute: str) -> Callable[[Any, float], Any]:
        return lambda schema, epsilon: DiPriMeForestClassifier(
            schema, epsilon=epsilon, attribute=attribute, max_depth=depth
        )

    return {
        "DiPriMe": diprime("random"),
        "DiPriMeExp": diprime("exp"),
        "DiPriMeFlip": diprime("flip"),
        "DP-ERT": lambda schema, epsilon: DPERTClassifier(schema, epsilon=epsilon, max_depth=depth),
        "DP-RF": lambda schema, epsilon: DPRFClassifier(schema, epsilon=epsilon, max_depth=binned),
        "DP-DF": lambda schema, epsilon: DPDFClassifier(schema, epsilon=epsilon, max_depth=binned),
    }


def without_noise(depth: int) -> dict[str, Callable[[Any], Any]]:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    from privet import DiPriMeForestClassifier

    return {
        "Median, no privacy": lambda schema: DiPriMeForestClassifier(
            schema, epsilon=1e9, attribute="exp", max_depth=depth, partition=False, variant="published"
        ),
        "random forest, no privacy": lambda _: RandomForestClassifier(10, max_depth=depth),
        "extra trees, no privacy": lambda _: ExtraTreesClassifier(10, max_depth=depth),
    }


def banknote(seeds: int) -> None:
    """Figure 2: depth 5, ten trees, 90/10 splits; sound variants."""
    data = shared_data.load("banknote")
    curves = {}
    print("| method | " + " | ".join(f"eps {epsilon:g}" for epsilon in EPSILONS) + " |")
    for name, make in methods(5, 3).items():
        each = [score(data, lambda schema, e=epsilon, make=make: make(schema, e), seeds) for epsilon in EPSILONS]
        curves[name] = np.transpose(each)
        print(f"| {name} | " + " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in each) + " |", flush=True)
    lines = {name: score(data, make, seeds) for name, make in without_noise(5).items()}
    for name, (mean, error) in lines.items():
        print(f"| {name} | {mean:.3f} ± {error:.3f} |", flush=True)
    plot_banknote(curves, lines)


def score(data: Any, make: Callable[[Any], Any], seeds: int) -> tuple[float, float]:
    """The accuracy over splits, with its error."""
    scores = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.split(order, [len(order) * 9 // 10])
        model = make(data.schema).set_params(random_state=seed)
        model.fit(data.X.iloc[train], data.y.iloc[train])
        scores.append(model.score(data.X.iloc[test], data.y.iloc[test]))
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(seeds))


def plot_banknote(curves: dict[str, Any], lines: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(8, 4))
    for name, (mean, error) in curves.items():
        ax.errorbar(EPSILONS, mean, error, marker="o", markersize=3, capsize=2, label=name)
    for (name, (mean, _)), style in zip(lines.items(), (":", "--", "-.")):
        ax.axhline(mean, color="0.4", linestyle=style, linewidth=1, label=name)
    ax.set(xscale="log", xlabel="epsilon", ylabel="accuracy", title="banknote, ten trees, sound variants")
    ax.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    fig.tight_layout()
    fig.savefig(DOCS / "diprime-banknote.png", dpi=150)


def wall_robot() -> None:
    """Figure 3: the share of all records in each leaf, over the leaves of ten trees; epsilon 10, depth 4."""
    import matplotlib.pyplot as plt

    data = shared_data.load("wall_robot")
    fig, ax = plt.subplots(figsize=(6.5, 4))
    for name, make in methods(4, 3).items():
        model = make(data.schema, 10.0).set_params(random_state=0).fit(data.X, data.y)
        shares = []
        for tree, leaves in zip(model.forest_.trees, model.apply(data.X).T):
            shares += [(leaves == leaf).mean() for leaf in tree.leaves]
        ax.plot(np.sort(shares), (np.arange(len(shares)) + 1) / len(shares), label=name)
        leaves, nodes = (len(own) / len(model.forest_.trees) for own in (shares, model.forest_.nodes))
        print(f"{name}: {nodes:.0f} nodes and {leaves:.0f} leaves a tree, half of them below {np.median(shares):.4f}")
    ax.set(
        xlabel="share of the records in a leaf (log scale beyond 0.001)",
        ylabel="share of the leaves with at most that",
        title="wall_robot, epsilon 10",
    )
    ax.set_xscale("symlog", linthresh=1e-3)
    ax.set_xlim(0, 1)
    ax.legend(loc="lower right")
    fig.tight_layout()
    fig.savefig(DOCS / "diprime-occupancy.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    asked = parser.parse_args()
    if not shared_data.available():
        raise SystemExit(f"skipped: there are no shared data in {shared_data.SHARED}")
    wall_robot()
    banknote(asked.seeds)


if __name__ == "__main__":
    main()
