"""The demonstration: what it compares, and what it runs without."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privet.cli.demo import _not_private

SCRIPT = Path(sys.executable).with_name("privet")
PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PRIVET_KERNELS": "numpy", "COLUMNS": "80"}


def test_the_demo_compares_and_shows_its_receipt():
    done = subprocess.run([SCRIPT, "demo", "--epsilon", "0.5"], capture_output=True, text=True, env=PLAIN, timeout=120)
    assert done.returncode == 0, done.stderr
    majority, private, exact = [float(figure) for figure in re.findall(r"([0-9.]+)%", done.stdout)][:3]
    assert majority + 2 < private < exact + 2
    assert "epsilon   0.5" in done.stdout
    assert "schema draft" in done.stdout
    assert max(map(len, done.stdout.partition("The private tree")[0].splitlines())) <= 80


def test_the_demo_needs_no_pandas():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('pandas', 'polars'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['privet', 'demo', '--seed', '1']; from privet.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=PLAIN, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "scikit-learn" in done.stdout
    assert "VOID" in done.stderr


def test_the_tree_beside_it_learns_from_the_same_records_and_is_tested_on_the_others():
    """With the test records' labels turned round it is right as often as it was wrong: it has not seen them."""
    from privet import Numeric, Schema

    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    labels = np.where(X[:, 0] > 0.5, "yes", "no")
    schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
    train, test = np.arange(300), np.arange(300, 400)
    right = _not_private(X, labels, schema, train, test)
    turned = labels.copy()
    turned[test] = np.where(labels[test] == "yes", "no", "yes")
    assert right > 0.9
    assert _not_private(X, turned, schema, train, test) == pytest.approx(1 - right)
