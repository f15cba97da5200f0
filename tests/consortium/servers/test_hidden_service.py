"""Hidden models in service, over TLS: trained, kept, asked, refused, and asked again after a restart."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from consortium.servers.town import OWNERS, PARAMS, PRIVET, QUERIES, SCHEMA, Town
from cut_mechanisms import CutMechanisms
from hidden_programs import CompleteGrowth
from privet import HiddenTreeClassifier, Ledger, MemoryCurator, Schema
from privet.cli import app
from privet.consortium.net.channel import TlsChannel
from privet.consortium.servers.client import predict, train
from privet.consortium.servers.commitments import SALT_BYTES, check, commitment
from privet.consortium.servers.service import store_of
from privet.consortium.servers.store import public_shape
from privet.errors import MpcError
from privet.evaluate.evaluation import Evaluation
from privet.privacy.receipt import Receipt
from privet.shares.replicated import ReplicatedEngine


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    yield town
    town.stop()
    town.held.close()


def test_a_hidden_model_is_trained_kept_and_asked_also_after_a_restart(town):
    town.start()
    public = town.learn(seed=5)
    table = pd.concat(town.tables)
    expected = HiddenTreeClassifier(**PARAMS)
    expected._growth = CompleteGrowth
    expected.fit_curator(
        MemoryCurator(
            table[["age", "colour"]],
            table.bought,
            SCHEMA,
            ledger=Ledger(9),
            mechanisms=CutMechanisms(np.random.default_rng(5)),
        )
    )
    assert (predict(town.config("ann"), public, QUERIES) == expected.predict(QUERIES)).all()
    town.stop()
    town.start()
    assert (predict(town.config("ann"), public, QUERIES) == expected.predict(QUERIES)).all()
    receipt = Receipt.from_dict(public["receipt"])
    assert receipt.spent == 2
    assert receipt.verify()
    assert "tree" not in public


def test_a_hidden_model_of_persons_comes_with_scores_that_the_servers_have_signed(tmp_path):
    schema = Schema(
        SCHEMA.features, classes=SCHEMA.classes, label=SCHEMA.label, person="who", records_per_person=3
    )  # fmt: skip
    town = Town(tmp_path, schema=schema)
    town.tables = [own.assign(who=np.arange(len(own)) // 3) for own in town.tables]
    town.start()
    try:
        public = town.learn({**PARAMS, "max_depth": 1}, holdout=0.4, by="colour")
        with pytest.raises(MpcError, match="no feature 'size'"):
            town.learn(holdout=0.4, by="size")
        assert len(predict(town.config("ann"), public, QUERIES)) == 40  # whose records these are is not asked
    finally:
        town.stop()
        town.held.close()
    check(public, [peer.certificate for peer in town.config("trainer").servers])
    receipt, scores = Receipt.from_dict(public["receipt"]), Evaluation.from_dict(public["evaluation"])
    assert receipt.unit == "one person, at most 3 records"
    assert receipt.spent == 2
    assert [event.question for event in receipt.events if event.scope == scores.scope] == ["evaluate"]
    assert list(scores.by_group) == ["r", "g", "b"]
    assert abs(scores.n - 20) < 30  # of 50 persons, with noise of scale 1/2 in each of 12 counts
    (tmp_path / "hidden.json").write_text(json.dumps(public))
    run = CliRunner().invoke(app, ["report", str(tmp_path / "hidden.json"), "-o", str(tmp_path / "r.html")])
    assert run.exit_code == 0, run.output
    assert "accuracy" in (tmp_path / "r.html").read_text()


def test_limits_are_kept_and_strangers_are_not_heard(town):
    town.start()
    public = town.learn()
    assert len(predict(town.config("bob"), public, QUERIES[:3])) == 3
    with pytest.raises(MpcError, match="bob may ask 5 queries in all and has 2 left; these are 3"):
        predict(town.config("bob"), public, QUERIES[:3])
    assert len(predict(town.config("bob"), public, QUERIES[:2])) == 2
    with pytest.raises(MpcError, match=r"server 0 has refused this program: it does not know eve.crt, or"):
        predict(town.config("eve"), public, QUERIES[:1])
    owner = OWNERS[0]
    with pytest.raises(
        MpcError, match=rf"server 0 knows {owner}.crt as 'owner {owner}'. What was asked for is for a member"
    ):
        predict(town.config(owner), public, QUERIES[:1])  # at once, where it would wait for its turn
    with pytest.raises(MpcError, match="no such hidden model"):
        predict(town.config("ann"), {**public, "id": "0" * 32}, QUERIES[:1])
    assert len(predict(town.config("ann"), public, QUERIES)) == 40


def test_a_query_that_would_read_the_tree_is_not_answered(town, monkeypatch):
    """Cells of 3^0, 3^1, ... instead of zeros and ones: from the answer one could tell every split."""
    town.start()
    public = town.learn()
    n_cells = public_shape(public).grid.n_cells
    with monkeypatch.context() as patch:
        patch.setattr("privet.consortium.servers.client.query_cells", lambda *_: 3 ** np.arange(n_cells)[:, None])
        with pytest.raises(MpcError, match="A query is not a row"):
            predict(town.config("ann"), public, QUERIES[:1])
    assert len(predict(town.config("ann"), public, QUERIES)) == 40


def test_what_cannot_be_hidden_is_refused_before_anything_is_spent(town):
    town.start()
    with pytest.raises(MpcError, match=r"PMPCID3Classifier does not grow hidden trees.*from Python alone"):
        train(town.config("trainer"), "PMPCID3Classifier", {"epsilon": 1.0}, hidden=True)
    with pytest.raises(MpcError, match="total refuses"):
        train(town.config("trainer"), "HiddenTreeClassifier", {"epsilon": 1.0, "variant": "published"}, hidden=True)
    with pytest.raises(MpcError, match="the categories of a feature, not numbers"):  # no owner was waited for
        train(town.config("trainer"), "HiddenTreeClassifier", PARAMS, hidden=True, holdout=0.2, by={"age": [3.0]})
    assert all(server.ledger.spent == 0 for server in town.running)


SMALL = {"epsilon": 2.0, "max_depth": 1, "branches": "thresholds"}


def left(town, name):
    """How many queries a user has left on each server."""
    return [server.users.left(name) for server in town.running]


def tell_different_jobs(monkeypatch, **changed):
    """The user tells server 2 something else than the two others."""
    real = TlsChannel.send

    def send(line, message):
        if line.peer == "server 2" and message.startswith(b"{") and b'"queries"' in message:
            message = json.dumps({**json.loads(message), **changed}, sort_keys=True).encode()
        real(line, message)

    monkeypatch.setattr(TlsChannel, "send", send)


def test_a_user_who_tells_servers_different_things_is_stopped_and_pays_nothing(town, monkeypatch):
    town.start()
    public, other = town.learn(SMALL), town.learn(SMALL)
    for changed in ({"queries": 1}, {"model": other["id"]}, {"more": "words"}):
        with monkeypatch.context() as patched:
            tell_different_jobs(patched, **changed)
            with pytest.raises(MpcError, match="not asked the same question"):
                predict(town.config("ann"), public, QUERIES[:2])
    assert left(town, "ann") == [100, 100, 100]
    assert len(predict(town.config("ann"), public, QUERIES[:2])) == 2


def test_owners_get_the_receipt_with_the_commitments_that_all_three_servers_have_signed(town):
    town.start()
    with ThreadPoolExecutor(2) as pool:
        owners = town.owners(pool)
        public = town.train(SMALL)
        assert [owner.result() for owner in owners] == [public, public]
    check(public, [peer.certificate for peer in town.config("hospital").servers])
    for party, server in enumerate(town.running):
        stored = store_of(server.config).load(public["id"])
        assert stored.public["commitments"] == public["commitments"]
        unsalted = sha256(b"".join(table.tobytes() for table in stored.tables)).hexdigest()
        assert unsalted != public["commitments"][party]


def test_servers_that_keep_different_models_under_one_name_do_not_answer(town):
    town.start()
    public = town.learn(SMALL)
    store = store_of(town.running[1].config)
    stored = store.load(public["id"])
    (town.running[1].config.models / f"{public['id']}.shares").unlink()
    commitments = list(public["commitments"])
    commitments[1] = commitment(bytes(SALT_BYTES), public["id"], stored.tables)
    store.save(public["id"], {**stored.public, "commitments": commitments}, stored.model(None), bytes(SALT_BYTES))
    with pytest.raises(MpcError, match="not asked the same question"):
        predict(town.config("ann"), public, QUERIES[:2])
    assert left(town, "ann") == [100, 100, 100]


def test_a_trainer_cannot_put_a_model_in_anothers_place_and_nothing_is_spent(town, monkeypatch):
    town.start()
    monkeypatch.setattr("privet.consortium.servers.jobs.secrets.token_hex", lambda n: "ab" * n)
    public = town.learn(SMALL)
    spent = [server.ledger.spent for server in town.running]
    with pytest.raises(MpcError, match="already has a hidden model of this name"):
        train(town.config("trainer"), "HiddenTreeClassifier", {**SMALL, "epsilon": 1.0}, hidden=True)
    assert [server.ledger.spent for server in town.running] == spent
    assert [store_of(server.config).load(public["id"]).public["params"]["epsilon"] for server in town.running] == [
        2
    ] * 3


def test_what_may_have_been_answered_is_paid_for_also_where_a_server_fails_at_the_end(town, monkeypatch):
    town.start()
    public = town.learn(SMALL)
    real = ReplicatedEngine.agree

    def agree(engine, said):
        real(engine, said)
        if said == b"answered" and engine.party == 2:
            raise MpcError("lost. The run has ended.")

    monkeypatch.setattr(ReplicatedEngine, "agree", agree)
    with pytest.raises(MpcError):
        predict(town.config("bob"), public, QUERIES[:3])
    assert left(town, "bob") == [2, 2, 2]  # two servers' shares are an answer


def test_an_answer_to_another_model_than_the_file_describes_is_an_error(town):
    town.start()
    public = town.learn(SMALL)
    schema = Schema(SCHEMA.features, classes=[*SCHEMA.classes, "perhaps"], label=SCHEMA.label).to_dict()
    with pytest.raises(MpcError, match="answer has the wrong length"):
        predict(town.config("ann"), {**public, "schema": schema}, QUERIES[:2])


def test_several_users_at_once_are_answered_one_after_the_other(town):
    town.start()
    public = town.learn()
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(predict, town.config(name), public, QUERIES[:2]) for name in ("ann", "bob", "ann")]
        answers = [each.result() for each in asked]
    assert all((answer == answers[0]).all() for answer in answers)


def test_owners_of_columns_say_so_in_their_files(tmp_path):
    town = Town(tmp_path, columns={"hospital": (["colour"], False), "bank": (["age"], True)})
    table = town.tables[1]
    for name in OWNERS:
        table.to_csv(tmp_path / f"{name}.csv", index=False)  # each reads its own columns of it, and nothing else
    town.start()
    try:
        programs = [subprocess.Popen([*PRIVET, "share", str(tmp_path / f"{name}.toml")]) for name in OWNERS]
        public = train(town.config("trainer"), "HiddenTreeClassifier", PARAMS, hidden=True, seed=5).signed
        assert [program.wait(300) for program in programs] == [0, 0]
        expected = HiddenTreeClassifier(**PARAMS)
        expected._growth = CompleteGrowth
        coins = CutMechanisms(np.random.default_rng(5))
        expected.fit_curator(
            MemoryCurator(table[["age", "colour"]], table.bought, SCHEMA, ledger=Ledger(9), mechanisms=coins)
        )
        assert (predict(town.config("ann"), public, QUERIES) == expected.predict(QUERIES)).all()
        with pytest.raises(MpcError, match="train with --hidden"):
            train(town.config("trainer"), "PrivateTreeClassifier", {"epsilon": 1.0})
    finally:
        town.stop()


def test_a_hidden_models_receipt_is_checked_and_a_server_can_list_and_delete_it(town, tmp_path):
    town.start()
    public = town.learn(SMALL)
    (tmp_path / "hidden.json").write_text(json.dumps(public))

    def privet(*words, code=0):
        files = [str(tmp_path / word) if "." in word else word for word in words]
        result = CliRunner().invoke(app, ["mpc", *files])
        assert result.exit_code == code, result.output
        return result.output

    assert "signed by all three servers" in privet("verify", "hidden.json", "ann.consortium.toml")
    (tmp_path / "forged.json").write_text(json.dumps({**public, "depth": 7}))
    assert "server 0 has not signed" in privet("verify", "forged.json", "ann.consortium.toml", code=1)
    assert f"{public['id']}  HiddenTreeClassifier, epsilon 2" in privet("models", "server0.toml")
    privet("delete", "server0.toml", public["id"])
    assert privet("models", "server0.toml") == ""
    with pytest.raises(MpcError, match="no such hidden model"):
        predict(town.config("ann"), public, QUERIES[:2])
