"""``privet report``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from privet import Ledger, Numeric, PrivateTreeClassifier, Schema
from privet.cli import app
from sample_certificate import certificate

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"], label="it")
X, Y = np.linspace(0, 1, 200)[:, None], ["no"] * 100 + ["yes"] * 100


@pytest.fixture
def model(tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", 2, records="everybody")
    with ledger:
        fitted = PrivateTreeClassifier(SCHEMA, epsilon=0.5).fit(X, Y)
    fitted.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def run(*args):
    return CliRunner().invoke(app, ["report", *map(str, args)])


def test_a_page_is_written_with_what_the_ledger_has_left_and_the_certificate(model, tmp_path):
    (tmp_path / "certificate.json").write_text(certificate().to_json())
    page = tmp_path / "report.html"
    said = run(model, "-o", page, "--ledger", tmp_path / "l.ledger", "--certificate", tmp_path / "certificate.json")
    assert said.exit_code == 0, said.output
    text = page.read_text(encoding="utf-8")
    assert "epsilon 1.5 of 2 is left. That ledger lists this release." in text
    assert "Poisoned records" in text


def test_a_ledger_that_does_not_know_the_model_is_told(model, tmp_path):
    Ledger.create(tmp_path / "other.ledger", 1, records="others")
    run(model, "-o", tmp_path / "r.html", "--ledger", tmp_path / "other.ledger")
    assert "does NOT list this release" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_wrong_input_writes_nothing(model, tmp_path):
    (tmp_path / "no.json").write_text("{}")
    (tmp_path / "broken.json").write_text(model.read_text().replace('"label": 0', '"label": 1'))
    page = tmp_path / "r.html"
    assert run(model, "-o", tmp_path / "r.pdf").exit_code == 2
    assert run(tmp_path / "no.json", "-o", page).exit_code == 2
    assert run(tmp_path / "broken.json", "-o", page).exit_code == 1
    assert run(model, "-o", page, "--certificate", tmp_path / "no.json").exit_code == 2
    assert not page.exists()
    page.write_text("mine")
    assert run(model, "-o", page).exit_code == 2
    assert page.read_text() == "mine"


def test_a_hidden_model_is_reported_from_what_is_public(model, tmp_path):
    known = json.loads(model.read_text())
    public = {
        "format": "privet-hidden-2",
        "id": "0123456789abcdef0123456789abcdef",
        "model": "HiddenTreeClassifier",
        "params": {"branches": "thresholds", "n_values": 5, "epsilon": 0.5},
        "depth": 3,
        "ring_bits": 32,
        "schema": known["schema"],
        "receipt": known["receipt"],
    }
    (tmp_path / "hidden.json").write_text(json.dumps(public))
    said = run(tmp_path / "hidden.json", "-o", tmp_path / "h.html")
    assert said.exit_code == 0, said.output
    assert "This model is hidden" in (tmp_path / "h.html").read_text(encoding="utf-8")
