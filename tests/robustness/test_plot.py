import pytest

from privet.robustness.plot import plot_certificate
from sample_certificate import certificate


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_certificate_is_drawn(tmp_path, suffix):
    path = tmp_path / f"found{suffix}"
    plot_certificate(certificate(), path)
    assert path.stat().st_size > 5000
