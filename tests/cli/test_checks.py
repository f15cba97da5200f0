"""What ``privet verify`` says of an event: an inequality that is true, in the currency of its receipt."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.cli import app
from privet.cli.checks import check_event

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1])


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_every_line_is_an_inequality_that_holds(delta):
    x = np.random.default_rng(0).random((500, 1))
    model = PrivateForestClassifier(SCHEMA, epsilon=2, delta=delta, method="boosting").fit(
        x, (x[:, 0] > 0.5).astype(int)
    )
    receipt = model.privacy_
    for i, event in enumerate(receipt.events):
        passed, line = check_event(i, event, receipt)
        assert passed
        cost, charged = re.search(r"= (\S+) <= (\S+)", line).groups()
        assert 0 < float(cost) <= float(charged) * (1 + 1e-5)  # as many digits as are shown
        assert ("rho" in line) == (delta is not None)
    assert receipt.at_delta == Fraction(str(delta or 0))


def test_an_epsilon_that_promises_nothing_is_refused_by_strict_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = ["fit", "no.csv", "--epsilon", "10", "-o", "m.json", "--strict"]
    refused = CliRunner().invoke(app, args)
    assert refused.exit_code == 1
    assert "promises nothing" in refused.stderr
    X = np.random.default_rng(0).random((50, 1))
    for epsilon, code in ((9.0, 0), (10.0, 1)):
        model = PrivateTreeClassifier(SCHEMA, epsilon=epsilon, max_depth=1).fit(X, np.arange(50) % 2)
        model.save("m.json", overwrite=True)
        told = CliRunner().invoke(app, ["verify", "m.json", "--strict"])
        assert told.exit_code == code
        assert ("promises nothing" in told.stderr) == bool(code)
        assert CliRunner().invoke(app, ["verify", "m.json"]).exit_code == 0


def test_a_void_model_is_for_its_owner_alone_and_verify_says_so_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).random((50, 1))
    for seed in (None, 0):
        model = PrivateTreeClassifier(SCHEMA, epsilon=1, max_depth=1, random_state=seed)
        model.fit(X, np.arange(50) % 2).save("m.json")
        for args in (["report", "m.json", "-o", "r.html"], ["export", "m.json", "--to", "python", "-o", "m.py"]):
            assert CliRunner().invoke(app, args).exit_code == 0
        for path in ("m.json", "r.html", "m.py"):
            assert seed is None or Path(path).stat().st_mode & 0o077 == 0
        said = CliRunner().invoke(app, ["verify", "m.json"]).stdout
        assert said.startswith("VOID: no guarantee holds") == (seed is not None)
        for path in ("m.json", "r.html", "m.py"):
            Path(path).unlink()


def scored(**options):
    X = np.random.default_rng(0).random((50, 1))
    model = PrivateTreeClassifier(SCHEMA, epsilon=1, max_depth=1).fit(X, np.arange(50) % 2)
    model.evaluation_ = model.evaluate(X, np.arange(50) % 2, **options)
    return model


@pytest.mark.parametrize("command", ["verify", "show"])
def test_void_scores_beside_a_sound_model_are_told_and_for_their_owner_alone(tmp_path, monkeypatch, command):
    """Their noise can be drawn again: whoever guesses the seed has exact counts of the records that score."""
    monkeypatch.chdir(tmp_path)
    scored(epsilon=1, random_state=0).save("m.json")
    assert CliRunner().invoke(app, ["report", "m.json", "-o", "r.html"]).exit_code == 0
    for path in ("m.json", "r.html"):
        assert Path(path).stat().st_mode & 0o077 == 0
    told = CliRunner().invoke(app, [command, "m.json"])
    assert told.exit_code == 0
    assert "To the records that score it nothing is promised: random_state" in told.stdout


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"epsilon": 1, "random_state": 0}, "receipt is void"),
        ({"epsilon": 5000}, "promises nothing"),
        ({"epsilon": 1}, ""),
    ],
)
def test_strict_asks_scores_with_a_receipt_of_their_own_for_a_promise(tmp_path, monkeypatch, options, refused):
    monkeypatch.chdir(tmp_path)
    scored(**options).save("m.json")
    told = CliRunner().invoke(app, ["verify", "m.json", "--strict"])
    assert told.exit_code == bool(refused)
    assert refused in told.stderr
    assert CliRunner().invoke(app, ["verify", "m.json"]).exit_code == 0
