"""``privet federated``: refusals, receipts, and both programs without the wire."""

from __future__ import annotations

import importlib.util
import json
import math
from contextlib import ExitStack
from fractions import Fraction

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography")
pytest.importorskip("grpc")

from consortium.federated.owners import GRID, SCHEMA, TABLES, asking, receipt_of, table
from privet import Ledger
from privet.cli import app
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.federated.channel import InProcess
from privet.consortium.federated.config import PartyConfig
from privet.consortium.federated.identity import Identity, certified
from privet.consortium.federated.party import Party
from privet.consortium.federated.service import open_party, train
from privet.consortium.membership import assembled, renew
from privet.consortium.own_file import OwnFile
from privet.questions.tally import Tally

NAMES = ("general", "mercy", "north")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    result = CliRunner().invoke(app, ["federated", *map(str, args)], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_help_says_what_has_to_be_trusted():
    assert "Not independently reviewed" in " ".join(run("--help").stdout.split())


def lay_out(folder, epsilon=1.0, schema=SCHEMA, delta=None, port=1, **settings):
    """Three parties and a coordinator, all in one folder; their own files by name."""
    for name in NAMES:
        if not (folder / f"{name}.parquet").exists():
            (folder / f"{name}.parquet").write_bytes(b"")
    members = [Participant("coordinator", "coordinator", f"127.0.0.1:{port}")]
    members += [Participant(name, "party") for name in NAMES]
    terms = {**TERMS["federated"], "epsilon": epsilon, **({} if delta is None else {"delta": delta})}
    own = {name: {"data": f"{name}.parquet", "state": f"{name}-state"} for name in NAMES}
    consortium = Consortium("federated", schema, tuple(members), terms)
    return assembled(consortium, dict.fromkeys(consortium.names(), folder), {**own, "coordinator": settings})


def test_a_coordinator_is_refused_before_anybody_is_asked(here):
    lay_out(here)
    for options, says in (
        (["--epsilon", "-1"], "epsilon"),
        (["--epsilon", "1", "--set", "x=1"], "no parameter"),
        (["--epsilon", "1", "--model", "Nothing"], "no model"),
        (["--epsilon", "1", "--holdout", "0.2", "--by", "weight"], "no feature"),
    ):
        result = run("coordinator", "coordinator.toml", "-o", "m.json", *options)
        assert result.exit_code != 0
        assert says in result.stderr
    (here / "m.signed.json").write_text("")
    assert "--force" in run("coordinator", "coordinator.toml", "-o", "m.json", "--epsilon", "1").stderr


def test_a_signed_receipt_is_checked_with_the_parties_certificates(here):
    lay_out(here)
    known = {name: certified((here / f"{name}.crt").read_bytes()) for name in NAMES}
    own = {name: Identity.read(name, here / f"{name}.key", here / f"{name}.crt") for name in NAMES}
    parties = [Party(own[name], *table(20), SCHEMA, known) for name in NAMES]
    curator = asking(SCHEMA, InProcess(parties), ledger=Ledger(math.inf))
    curator.grid(GRID)
    curator.tally({curator.root(Fraction(1)): Tally(TABLES)}, Fraction(1))
    receipt = receipt_of(curator)
    signed = curator.coordinator.sign(receipt)
    (here / "m.signed.json").write_text(signed.to_json())
    result = run("verify", "m.signed.json", "north.consortium.toml")
    assert result.exit_code == 0
    assert "signed by general, mercy, north" in result.stdout
    members = Consortium.read(here / "north.consortium.toml")
    members.with_member(Participant("north", "party")).write(here / "before.toml")
    assert "no certificate of north" in run("verify", "m.signed.json", "before.toml").stderr
    renew(OwnFile(here / "north.toml"), 1)
    result = run("verify", "m.signed.json", "north.consortium.toml")
    assert result.exit_code == 1
    assert "in the name of north" in result.stderr
    members.write(here / "north.consortium.toml")
    (here / "m.signed.json").write_text(signed.to_json().replace('"spent\\": \\"1\\"', '"spent\\": \\"1/2\\"'))
    assert run("verify", "m.signed.json", "north.consortium.toml").exit_code == 1


@pytest.mark.parametrize(("delta", "person"), [(None, "who"), (1e-6, None)], ids=["persons", "delta"])
def test_parties_as_their_files_say_train_a_model_and_keep_a_log(here, delta, person):
    """The whole of both programs but the wire."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from privet import HistogramTreeClassifier, Schema
    from privet.consortium.federated.config import CoordinatorConfig

    several = {} if person is None else {"person": person, "records_per_person": 4}
    schema = Schema(SCHEMA.features, classes=SCHEMA.classes, label="answer", **several)
    for i, name in enumerate(NAMES):
        X, y = table(200, i)
        columns = {column: X[:, j].tolist() for j, column in enumerate(schema.names)}
        columns |= {"who": [f"{name} {row // 3}" for row in range(200)]}
        pq.write_table(pa.table({**columns, "answer": y.tolist()}), here / f"{name}.parquet")
    own = lay_out(here, schema=schema, delta=delta)
    parties = [open_party(PartyConfig.read(own[name])) for name in NAMES]
    config = CoordinatorConfig.read(own["coordinator"])
    model = HistogramTreeClassifier(epsilon=1.0, delta=delta, max_depth=2)
    signed = train(config, model, channel=InProcess(parties), journal=here / "run", holdout=0.25)
    assert model.evaluation_.accuracy.value > 0
    assert signed.verify({name: certified(own) for name, own in config.parties.items()}).spent <= 1
    assert model.privacy_.spent > 0.99
    assert not model.privacy_.void
    model.save(here / "m.json")
    (here / "m.signed.json").write_text(signed.to_json())
    assert (
        "receipt of m.json" in run("verify", "m.signed.json", "coordinator.consortium.toml", "--model", "m.json").stdout
    )
    assert model.privacy_.unit == ("one row" if person is None else "one person, at most 4 records")
    rows = Schema(SCHEMA.features, classes=SCHEMA.classes, label="answer")
    HistogramTreeClassifier(rows, epsilon=1.0, max_depth=2).fit(X, y).save(here / "other.json")
    result = run("verify", "m.signed.json", "coordinator.consortium.toml", "--model", "other.json")
    assert result.exit_code == 1
    assert "nother receipt" in result.stderr
    for name in NAMES:
        log = (here / f"{name}-state" / "questions.log").read_text()
        assert "question 0: tally" in log
        assert "signed the receipt" in log
    again = HistogramTreeClassifier(epsilon=1.0, delta=delta, max_depth=2)
    # From the journal: nothing is asked.
    train(config, again, channel=InProcess(parties), journal=here / "run", holdout=0.25)
    assert again.tree_.to_dict() == model.tree_.to_dict()


def test_status_is_shown_at_every_role_and_a_check_that_fails_is_a_refusal(here):
    from consortium.federated.wired import line, switchboard

    parties = {}

    def to(name):
        return lambda message: parties[name].handle(message)

    own = lay_out(here, epsilon=2.0, port=1234, wait=20)
    with switchboard(here, {name: to(name) for name in NAMES}) as (town, board):
        for name in own:
            copy = here / f"{name}.consortium.toml"
            copy.write_text(copy.read_text().replace("127.0.0.1:1234", f"127.0.0.1:{town.port}"))
        shown = run("status", "mercy.toml", "--check")
        assert shown.exit_code == 0, shown.stdout + shown.stderr
        assert "left          2" in shown.stdout
        assert "is reached" in shown.stdout
        assert json.loads(run("status", "coordinator.toml", "--json").stdout)["parties"] == "general, mercy, north"
        taken = run("status", "coordinator.toml", "--check")
        assert taken.exit_code == 1
        assert "Address already in use" in taken.stderr
        board.close()
        refused = run("status", "mercy.toml", "--check")
        assert refused.exit_code == 1
        assert "cannot be reached" in refused.stdout
        known = {name: certified(own) for name, own in town.parties.items()}
        for name in NAMES:
            own = Identity.read(name, here / f"{name}.key", here / f"{name}.crt")
            parties[name] = Party(own, *table(20), SCHEMA, known, limit=Fraction(1))
        with ExitStack() as stack:
            for name in NAMES:
                stack.enter_context(line(town.party(name), to(name)))
            good = run("status", "coordinator.toml", "--check", "--epsilon", "1")
            assert good.exit_code == 0, good.stdout + good.stderr
            assert good.stdout.count("left 1") == 3
            small = run("status", "coordinator.toml", "--check", "--epsilon", "1.5")
            assert small.exit_code == 1
            assert "north has epsilon 1 left of its limit of 1, and this run needs epsilon 1.5" in small.stdout


@pytest.mark.parametrize("missing", ["cryptography", "grpc"])
def test_without_its_packages_the_command_says_what_to_install(monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    result = run("fingerprint", "x")
    assert result.exit_code == 2
    assert "privet[federated]" in result.stderr


def test_no_value_of_a_record_is_in_a_log_a_status_a_metric_a_page_a_message_or_a_kept_file(here, capsys):
    """A category that no schema lists and a number with many digits, in every record: both would be seen anywhere."""
    import struct

    import pyarrow as pa
    import pyarrow.parquet as pq

    from privet import HistogramTreeClassifier, Schema
    from privet.cli.logs import LogForm, speaking
    from privet.cli.roles import status_of
    from privet.consortium.federated.channel import Overheard
    from privet.consortium.federated.config import CoordinatorConfig
    from privet.consortium.metrics import prometheus
    from privet.consortium.monitor import page

    canaries = [b"very-rare-colour", b"0.36787944117", struct.pack("<d", 0.36787944117144233)]
    schema = Schema(SCHEMA.features, classes=SCHEMA.classes, label="answer")
    for i, name in enumerate(NAMES):
        X, y = table(50, i)
        columns = {"age": X[:, 0].tolist(), "colour": ["very-rare-colour"] * 50, "size": [0.36787944117144233] * 50}
        pq.write_table(pa.table({**columns, "answer": y.tolist()}), here / f"{name}.parquet")
    own, wire = lay_out(here, schema=schema), []
    with ExitStack() as stack:
        speakers = [
            stack.enter_context(speaking(own[name], LogForm.json, None, here / f"{name}-state" / "errors.log"))
            for name in NAMES
        ]
        parties = [open_party(PartyConfig.read(own[name]), say) for name, say in zip(NAMES, speakers)]
        channel = Overheard(InProcess(parties), lambda name, *messages: wire.extend(messages))
        model = HistogramTreeClassifier(epsilon=1.0, max_depth=2)
        train(CoordinatorConfig.read(own["coordinator"]), model, channel=channel, journal=here / "run")
        parties[0].handle(b"nonsense")  # a refusal
        parties[0]._data = (None, None)
        parties[0].handle(wire[0])  # and something that goes wrong
        for party in parties:
            party.close()
    model.save(here / "m.json")
    seen = [json.dumps(status_of(path)) for path in own.values()]
    seen += [prometheus(status_of(path), everything=True) + page(status_of(path)) for path in own.values()]
    said = capsys.readouterr()
    texts = [*(text.encode() for text in (*seen, said.out, said.err)), *filter(None, wire)]
    kept = [path for path in here.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    texts += [path.read_bytes() for path in kept]
    assert len(wire) > 20
    assert any(b"question 1: tally" in text for text in texts)
    assert not [text for text in texts for canary in canaries if canary in text]
