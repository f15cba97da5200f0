import pytest

from privet.robustness.plot import drawn, plot_certificate
from sample_certificate import certificate


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_certificate_is_drawn(tmp_path, suffix):
    path = tmp_path / f"found{suffix}"
    plot_certificate(certificate(), path)
    assert path.stat().st_size > 5000


def test_only_guarantees_are_drawn_as_such():
    """What has no confidence is thin, dotted, and called an estimate."""
    axes = drawn(certificate(unit="one person, at most 2 records")).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    estimates = {label for label in lines if "by the mean alone (estimate)" in label}
    assert len(estimates) == 2
    assert all(lines[label].get_linewidth() < 1 and lines[label].get_marker() == "None" for label in estimates)
    assert all(lines[label].is_dashed() for label in estimates)
    assert not any("estimate" in label for label in set(lines) - estimates)
    assert axes.get_xlabel() == "poisoned persons"
    assert all("persons added or removed" in label or "persons changed" in label for label in list(lines)[1:])
