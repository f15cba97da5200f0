"""What docs/robustness.md says is what was measured: our guarantees beside the printed ones, attacks beside bounds."""

import json
import math
import tomllib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LINES = [json.loads(line) for line in (BENCHMARKS / "results" / "robustness.jsonl").read_text().splitlines()]
NUMERIC = ("magic", "california", "electricity", "default_credit_card", "breast_w", "diabetes")
BELOW = {("diabetes", 1)}  # at 0.5%: the page says why


def measured(kind, **wanted):
    return [
        line
        for line in LINES
        if line["key"]["kind"] == kind and all(line["key"].get(k) == v for k, v in wanted.items())
    ]


@pytest.mark.parametrize("name", NUMERIC)
def test_our_guarantees_are_above_the_printed_ones_at_an_epsilon_of_a_hundredth(name):
    with open(BENCHMARKS / "published_robustness.toml", "rb") as file:
        printed = {row["dataset"]: row["privatree"]["0.01"][1:] for row in tomllib.load(file)["row"]}[name]
    (ours,) = measured("table", set=name, epsilon=0.01, method="PrivateTree")
    for i, (certified, theirs) in enumerate(zip(ours["certified"], printed)):
        assert math.isnan(theirs) or certified >= theirs or (name, i) in BELOW


def test_no_attack_crosses_its_bound():
    for line in measured("attack"):
        for mean, error in line["left"].values():
            assert mean + 5 * error >= line["certified"]
    for line in measured("bound"):
        own = measured("backdoor", table=line["key"]["table"], method=line["key"]["method"])
        bounds = dict(zip(line["levels"], line["bound"]))
        assert own
        for point in own:
            assert point["success"] - 5 * (point["error"] or 0) <= bounds[point["key"]["k"]]


def test_a_few_images_open_a_backdoor_in_a_tree_without_privacy_and_none_in_ours():
    success = {
        (line["key"]["method"], line["key"]["k"]): line["success"] for line in measured("backdoor", table="mnist")
    }
    plain = {k: share for (method, k), share in success.items() if method == "tree without privacy"}
    assert plain[0] < 0.05
    assert plain[5] > 0.95
    ours = {name for name, _ in success if name.startswith("Private")} - {"PrivateTree, 0.1"}  # as it comes: it falls
    assert len(ours) == 4
    levels = {k for name, k in success if name == "tree without privacy"}
    for name in ours:
        assert max(success[name, k] for k in levels) < 0.2


def test_on_digits_that_nothing_was_chosen_on_the_backdoor_stays_shut_in_ours():
    points = measured("backdoor", table="held out")
    ours = [line["success"] for line in points if line["key"]["method"].startswith("Private")]
    assert len(ours) == 10
    assert max(ours) < 0.2
    assert max(line["success"] for line in points if line["key"]["method"] == "tree without privacy") > 0.8
