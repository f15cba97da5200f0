"""``privet report``."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from in_threads import Queues
from privet import Ledger, Numeric, PrivateTreeClassifier, Schema
from privet.cli import app
from privet.consortium.consortium_file import OWNER, SERVER, TERMS, TRAINER, Consortium, Participant
from privet.consortium.net.certificates import make_certificate
from privet.consortium.net.channel import TlsIdentity
from privet.consortium.servers.commitments import SALT_BYTES, commitment, committed_by_all
from privet.robustness import Pure
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
    own = certificate(guarantee=str(Pure(0.5)), unit="one row")
    (tmp_path / "certificate.json").write_text(own.to_json())
    page = tmp_path / "report.html"
    said = run(model, "-o", page, "--ledger", tmp_path / "l.ledger", "--certificate", tmp_path / "certificate.json")
    assert said.exit_code == 0, said.output
    text = page.read_text(encoding="utf-8")
    assert "UTC, epsilon 1.5 of 2 is left (all that was spent is together epsilon 0.5: " in text
    assert "by the ledger of everybody, which lists this release." in text
    assert "Poisoned records" in text


def test_a_ledger_that_does_not_know_the_model_is_told(model, tmp_path):
    Ledger.create(tmp_path / "other.ledger", 1, records="others")
    run(model, "-o", tmp_path / "r.html", "--ledger", tmp_path / "other.ledger")
    assert "does NOT list this release" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_wrong_input_writes_nothing(model, tmp_path):
    (tmp_path / "no.json").write_text("{}")
    another = re.sub('"label": ([01])', lambda own: f'"label": {1 - int(own[1])}', model.read_text(), count=1)
    (tmp_path / "broken.json").write_text(another)
    page = tmp_path / "r.html"
    assert run(model, "-o", tmp_path / "r.pdf").exit_code == 2
    assert run(tmp_path / "no.json", "-o", page).exit_code == 2
    assert run(tmp_path / "broken.json", "-o", page).exit_code == 1
    assert run(model, "-o", page, "--certificate", tmp_path / "no.json").exit_code == 2
    (tmp_path / "forest.json").write_text(certificate(estimator="PrivateForestClassifier").to_json())
    refused = run(model, "-o", page, "--certificate", tmp_path / "forest.json")
    assert refused.exit_code == 2
    assert "of another model" in refused.stderr
    assert not page.exists()
    page.write_text("mine")
    assert run(model, "-o", page).exit_code == 2
    assert page.read_text() == "mine"


def hidden_words(model):
    known = json.loads(model.read_text())
    return {
        "format": "privet-hidden-2",
        "id": "0123456789abcdef0123456789abcdef",
        "model": "HiddenTreeClassifier",
        "params": {"branches": "thresholds", "n_values": 5, "epsilon": 0.5},
        "depth": 3,
        "ring_bits": 32,
        "schema": known["schema"],
        "receipt": known["receipt"],
    }


def test_a_hidden_model_is_reported_from_what_is_public(model, tmp_path):
    (tmp_path / "hidden.json").write_text(json.dumps(hidden_words(model)))
    said = run(tmp_path / "hidden.json", "-o", tmp_path / "h.html")
    assert said.exit_code == 0, said.output
    page = (tmp_path / "h.html").read_text(encoding="utf-8")
    assert "This model is hidden" in page
    assert "signatures were NOT checked" in page


def test_a_hidden_models_signatures_are_checked_if_the_consortium_is_given(model, tmp_path):
    identities = [TlsIdentity(*make_certificate(name, tmp_path)) for name in ("alpha", "beta", "gamma")]
    servers = [SimpleNamespace(certificate=own.certificate.read_bytes()) for own in identities]
    salted = commitment(bytes(SALT_BYTES), "0123456789abcdef" * 2, [np.ones((2, 3), dtype=np.uint32)])

    def signed(mesh):
        config = SimpleNamespace(identity=identities[mesh.party], servers=servers)
        return committed_by_all(hidden_words(model), salted, config, mesh)

    with ThreadPoolExecutor(3) as pool:
        words = next(iter(pool.map(signed, Queues.three())))
    (tmp_path / "hidden.json").write_text(json.dumps(words))
    named = [
        Participant(own.certificate.stem, SERVER, f"127.0.0.1:{i + 1}", certificate=own.certificate.read_bytes())
        for i, own in enumerate(identities)
    ]
    schema = Schema.from_dict(words["schema"])
    members = (*named, Participant("owner", OWNER), Participant("trainer", TRAINER))
    Consortium("mpc", schema, members, TERMS["mpc"]).write(tmp_path / "c.toml")
    said = run(tmp_path / "hidden.json", "-o", tmp_path / "h.html", "--consortium", tmp_path / "c.toml")
    assert said.exit_code == 0, said.output
    assert "who have signed it, by the certificates in c.toml" in (tmp_path / "h.html").read_text(encoding="utf-8")
    (tmp_path / "hidden.json").write_text(json.dumps({**words, "depth": 4}))
    said = run(tmp_path / "hidden.json", "-o", tmp_path / "i.html", "--consortium", tmp_path / "c.toml")
    assert said.exit_code == 1
    assert not (tmp_path / "i.html").exists()
    assert run(model, "-o", tmp_path / "i.html", "--consortium", tmp_path / "c.toml").exit_code == 2


def test_a_hidden_models_receipt_is_for_whom_its_schema_names_and_pays_for_its_scores(model, tmp_path):
    public = hidden_words(model)
    people = {**public["schema"], "person": {"name": "who", "records": 3}}
    scores = {
        "classes": ["no", "yes"], "shape": [1, 2, 2], "counts": [99, 0, 0, 99], "predicts": [0, 1], "marks": [0, 1],
        "widths": [0, 0], "groups": ["all"], "variance": 1, "weight": 1, "by": "", "scope": "/fit0:0",
    }  # fmt: skip
    for forged, why in (({"schema": people}, "covers somebody else"), ({"evaluation": scores}, "No answer paid for")):
        (tmp_path / "forged.json").write_text(json.dumps({**public, **forged}))
        said = run(tmp_path / "forged.json", "-o", tmp_path / "f.html")
        assert said.exit_code == 1
        assert why in said.output
