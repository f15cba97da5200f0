"""The picture for choosing epsilon."""

import pytest

from privet.algorithms.choosing import Point
from privet.report.epsilon_plot import plot_epsilons

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_is_drawn(tmp_path, suffix):
    points = [Point(0.1, 0.7, 0.01, 0.525), Point(1.0, 0.8, 0.01, 0.731)]
    plot_epsilons(points, tmp_path / f"plot.{suffix}", "accuracy")
    assert (tmp_path / f"plot.{suffix}").stat().st_size > 1000
