"""DP-TopDown's Figures 1 to 3 with the sound variant: accuracy against leaf share, epsilon, and the share of the data.

As in the paper: at most 512 splits, error 0.1, minimum gain 0.01; 10 evenly spaced thresholds (skin 32; MNIST 3 on the
means of 4 x 4 blocks), categories one-hot; a fixed test set of a tenth. Unlike it: Gini, and records counted privately.
The line without privacy is the same algorithm with an epsilon of 10^12.
"""

from __future__ import annotations

from privet_bench.experiment import Experiment, Figure, Fixed, Method, Setting, canonical

SETS = ("adult", "bank_full", "skin", "kddcup99_10pct", "mnist:blocks")
EPSILONS = (0.125, 0.5, 1.0, 2.0, 8.0, 64.0, 512.0)
NOT_PRIVATE = 1e12
LEAF_SHARES = (0.0001, 0.01, 0.1, 0.5, 0.9, 0.99)
FEW = (0.125, 1.0, 8.0, 64.0, 512.0)


def setting(epsilon: float, budget: str = "decay", leaf_share: float = 0.5, data_share: float = 1.0) -> Setting:
    return {"epsilon": epsilon, "budget": budget, "leaf_share": leaf_share, "data_share": data_share}


FIGURES = (
    [setting(e, b, s) for e in (1.0, 8.0) for b in ("decay", "uniform") for s in LEAF_SHARES],
    [setting(e) for e in (*EPSILONS, NOT_PRIVATE)],
    [setting(e, data_share=s) for s in (0.01, 0.1) for e in (0.5, 8.0, NOT_PRIVATE)],
)  # fmt: skip
AS_PRINTED = {canonical(setting(e)) for e in FEW}

EXPERIMENTS = [
    Experiment(
        name="top-down",
        title="Accuracy against leaf share, epsilon and the share of the data",
        source="DP-TopDown, Figures 1 to 3",
        sets=SETS,
        methods={
            name: Method("TopDownClassifier", {"variant": name, "splitting_class": 10}, weaker=weaker,
                         by_set={"skin": {"splitting_class": 32}, "mnist:blocks": {"splitting_class": 3}})
            for name, weaker in {"sound": "", "published": "not private: its own accounting"}.items()
        },
        settings=list({canonical(own): own for figure in FIGURES for own in figure}.values()),
        seeds=3,
        split=Fixed(1),
        points=lambda task: task.method == "sound" or (task.set in SETS[:2] and task.setting in AS_PRINTED),
        columns="epsilon",
        down=("budget", "leaf_share", "data_share"),
        figures=[
            Figure("top_down_leaf_share.png", "leaf_share", scale="logit",
                   where=lambda task: task.method == "sound" and task.value("data_share") == 1
                   and task.value("epsilon") in (1, 8)),
            Figure("top_down_epsilon.png", "epsilon",
                   where=lambda task: task.options == setting(task.value("epsilon"))),
            Figure("top_down_data_share.png", "epsilon", where=lambda task: task.method == "sound"
                   and task.options == setting(task.value("epsilon"), data_share=task.value("data_share"))),
        ],
        seconds=4,
        note="Seven epsilons and six shares, three seeds: an earlier run had thirteen, nine and five.",
    ),
]  # fmt: skip
