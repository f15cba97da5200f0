"""Who is first, level or behind is told by means and their errors; scores are of what was predicted."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from privet import Numeric, Schema

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def peers():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("peers", FOLDER / "peers.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize(
    ("mine", "best", "better", "said"),
    [
        ((0.8, 0.01), (0.7, 0.01), 1, "first"),
        ((0.8, 0.01), (0.81, 0.01), 1, "level"),
        ((0.8, 0.001), (0.81, 0.001), 1, "behind"),
        ((8.0, 0.1), (9.0, 0.1), -1, "first"),
        ((9.0, 0.1), (8.0, 0.1), -1, "behind"),
    ],
)
def test_a_place_is_by_means_and_errors(peers, mine, best, better, said):
    means = {peers.OURS: (*mine, 3), "DP-EBM": (*best, 3), "other": None, peers.OURS_PURE: (99.0, 0.0, 3)}
    assert peers.place(means, better) == said


def test_scores_are_of_labels_of_chances_and_of_clipped_numbers(peers):
    classes = Schema({"x": Numeric(0, 1)}, classes=["n", "y"])
    answer = {"predicted": np.array(["n", "y", "y"]), "chances": np.array([0.1, 0.4, 0.9])}
    assert peers.scored(answer, np.array(["n", "n", "y"]), classes) == {"accuracy": pytest.approx(2 / 3), "auc": 1.0}
    numbers = Schema({"x": Numeric(0, 1)}, target=(0.0, 10.0))
    assert peers.scored({"predicted": np.array([5.0, 99.0])}, np.array([5.0, 9.0]), numbers) == {"mse": 0.005}


def test_wins_and_losses_are_counted_by_measure_and_epsilon(peers, tmp_path, monkeypatch):
    line = {"epsilon": 1.0, "seed": 500}
    scores = {("one", peers.OURS): 0.9, ("one", "DP-EBM"): 0.8, ("two", peers.OURS): 0.7, ("two", "DP-EBM"): 0.8}
    runs = [line | {"set": name, "method": method, "accuracy": share} for (name, method), share in scores.items()]
    found = peers.tables([*runs, line | {"set": "three", "method": peers.OURS, "accuracy": 0.5}])  # nobody beside it
    assert "| Accuracy, epsilon 1 | 1 | 0 | 1 | 1 of 2 (50%) | 2 |" in found
    assert [line.split("|")[-2].strip() for line in found[-3:]] == ["first", "", "behind"]  # one, three, two
    page = tmp_path / "peers.md"
    page.write_text(f"before\n{peers.BEGIN}\nold\n{peers.END}\nafter\n")
    monkeypatch.setattr(peers, "PAGE", page)
    peers.write_page(found)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "\n".join(found) in text
    assert "old" not in text
