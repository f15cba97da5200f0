"""Hidden models in service, over TLS: trained, kept, asked, refused, and asked again after a server was killed."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, HiddenTreeClassifier, Ledger, MemoryCurator, Numeric, Schema
from privet.errors import MpcError, PrivetError
from privet.hidden.service import _users_of, predict, store_of
from privet.hidden.store import public_shape, read_public
from privet.mpc.certificates import make_certificate
from privet.mpc.channel import Channel
from privet.mpc.config import Config
from privet.mpc.loopback import held_ports
from privet.mpc.replicated import ReplicatedEngine
from privet.mpc.service import Server, share, train
from privet.privacy.cut import CutMechanisms
from privet.privacy.receipt import Receipt

SCHEMA = Schema(
    {"age": Numeric(0, 7, integer=True), "colour": Categorical(["r", "g", "b"], other=False)},
    classes=["no", "yes"],
    label="bought",
)
OWNERS = ("hospital", "bank")
PARAMS = {"epsilon": 2.0, "max_depth": 2, "branches": "thresholds"}
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()", "mpc"]


def records(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(0, 8, n), "colour": rng.choice(["r", "g", "b"], n)})
    return X.assign(bought=np.where((X.age > 4) ^ (X.colour == "r"), "yes", "no"))


class Town:
    """Everybody's keys and files; servers as threads of this process or as processes."""

    def __init__(self, folder, timeout=20, columns=None, engine="replicated"):
        self.folder = folder
        holds = dict.fromkeys(OWNERS, "")
        for name, (features, label) in (columns or {}).items():
            holds[name] = f"features = {json.dumps(features)}\nlabel = {json.dumps(label)}\n"
        SCHEMA.to_toml(folder / "schema.toml")
        self.held = contextlib.ExitStack()
        ports = self.held.enter_context(held_ports(3))
        servers = "".join(
            f'[[servers]]\naddress = "127.0.0.1:{ports[i]}"\ncertificate = "server{i}.crt"\n'
            f'mpyc_address = "127.0.0.1:1"\n'
            for i in range(3)
        )
        others = "".join(
            f'[[owners]]\nname = "{name}"\ncertificate = "{name}.crt"\n{own}' for name, own in holds.items()
        )
        others += '[trainer]\ncertificate = "trainer.crt"\n'
        for name, queries in (("ann", 100), ("bob", 5)):
            others += f'[[users]]\nname = "{name}"\ncertificate = "{name}.crt"\nqueries = {queries}\n'
        for i, name in enumerate(["server0", "server1", "server2", *OWNERS, "trainer", "ann", "bob", "eve"]):
            make_certificate(name, folder)
            text = f'key = "{name}.key"\ncertificate = "{name}.crt"\nschema = "schema.toml"\ntimeout = {timeout}\n'
            if i < 3:
                text += (
                    f'party = {i}\nepsilon = 100\nrows = 100\nseeds = true\nengine = "{engine}"\n' + servers + others
                )
            else:
                text += holds.get(name, "") + servers
            (folder / f"{name}.toml").write_text(text)
        self.tables = [records(60, 1), records(90, 2)]
        self.running, self.threads = [], []

    def config(self, name):
        return Config.read(self.folder / f"{name}.toml")

    def start(self):
        self.running = [Server(self.config(f"server{i}")) for i in range(3)]
        self.threads = [threading.Thread(target=self._serve, args=(server,)) for server in self.running]
        for thread in self.threads:
            thread.start()

    def _serve(self, server):
        with contextlib.suppress(MpcError):
            server.serve()

    def stop(self):
        for server in self.running:
            server.close()
        for thread in self.threads:
            thread.join(timeout=300)

    def learn(self, params=PARAMS, seed=None, model="HiddenTreeClassifier"):
        with ThreadPoolExecutor(2) as pool:
            owners = [
                pool.submit(share, self.config(name), table[["age", "colour"]], table.bought, SCHEMA)
                for name, table in zip(OWNERS, self.tables)
            ]
            try:
                return train(self.config("trainer"), model, params, hidden=True, seed=seed)
            finally:
                for owner in owners:
                    with contextlib.suppress(PrivetError):
                        owner.result()


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    yield town
    town.stop()
    town.held.close()


QUERIES = records(40, 7)[["age", "colour"]]


def test_a_hidden_model_is_trained_kept_and_asked_also_after_a_restart(town):
    town.start()
    public = town.learn(seed=5)
    table = pd.concat(town.tables)
    expected = HiddenTreeClassifier(**PARAMS)
    expected._complete = True
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


def test_limits_are_kept_and_strangers_are_not_heard(town):
    town.start()
    public = town.learn()
    assert len(predict(town.config("bob"), public, QUERIES[:3])) == 3
    with pytest.raises(MpcError, match="bob may ask 5 queries in all and has 2 left; these are 3"):
        predict(town.config("bob"), public, QUERIES[:3])
    assert len(predict(town.config("bob"), public, QUERIES[:2])) == 2
    with pytest.raises(MpcError):
        predict(town.config("eve"), public, QUERIES[:1])
    with pytest.raises(MpcError, match="no such hidden model"):
        predict(town.config("ann"), {**public, "id": "0" * 32}, QUERIES[:1])
    assert len(predict(town.config("ann"), public, QUERIES)) == 40


def test_a_query_that_would_read_the_tree_is_not_answered(town, monkeypatch):
    """Cells of 3^0, 3^1, ... instead of zeros and ones: from the answer one could tell every split."""
    town.start()
    public = town.learn()
    n_cells = public_shape(public).grid.n_cells
    with monkeypatch.context() as patch:
        patch.setattr("privet.curators.owner.query_cells", lambda *_: 3 ** np.arange(n_cells)[:, None])
        with pytest.raises(MpcError, match="A query is not a row"):
            predict(town.config("ann"), public, QUERIES[:1])
    assert len(predict(town.config("ann"), public, QUERIES)) == 40


def test_what_cannot_be_hidden_is_refused_before_anything_is_spent(town):
    town.start()
    with pytest.raises(MpcError, match=r"PMPCID3Classifier does not grow hidden trees.*from Python alone"):
        train(town.config("trainer"), "PMPCID3Classifier", {"epsilon": 1.0}, hidden=True)
    with pytest.raises(MpcError, match="total refuses"):
        town.learn({"epsilon": 1.0, "variant": "published"})
    assert all(server.ledger.spent == 0 for server in town.running)


SMALL = {"epsilon": 2.0, "max_depth": 1, "branches": "thresholds"}


def left(town, name):
    """How many queries a user has left on each server."""
    return [_users_of(server).left(name) for server in town.running]


def tell_different_jobs(monkeypatch, **changed):
    """The user tells server 2 something else than the two others."""
    real = Channel.send

    def send(line, message):
        if line.peer == "server 2" and message.startswith(b"{") and b'"queries"' in message:
            message = json.dumps({**json.loads(message), **changed}, sort_keys=True).encode()
        real(line, message)

    monkeypatch.setattr(Channel, "send", send)


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


def test_servers_that_keep_different_models_under_one_name_do_not_answer(town):
    town.start()
    public = town.learn(SMALL)
    store = store_of(town.running[1].config)
    stored = store.load(public["id"])
    (town.running[1].config.models / f"{public['id']}.shares").unlink()
    store.save(
        public["id"], {**stored.public, "params": {**stored.public["params"], "epsilon": 3.0}}, stored.model(None)
    )
    with pytest.raises(MpcError, match="not asked the same question"):
        predict(town.config("ann"), public, QUERIES[:2])
    assert left(town, "ann") == [100, 100, 100]


def test_a_trainer_cannot_put_a_model_in_anothers_place_and_nothing_is_spent(town, monkeypatch):
    town.start()
    monkeypatch.setattr("privet.mpc.service.secrets.token_hex", lambda n: "ab" * n)
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


@pytest.mark.parametrize("kind", ["users", "owners"])
def test_two_of_one_name_are_refused(tmp_path, kind):
    town = Town(tmp_path)
    path = tmp_path / "server0.toml"
    old, new = ("bob", "ann") if kind == "users" else ("bank", "hospital")
    path.write_text(path.read_text().replace(f'name = "{old}"', f'name = "{new}"'))
    with pytest.raises(PrivetError, match=rf"two of \[\[{kind}\]\] have the name '{new}'"):
        town.config("server0")


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
    table.to_csv(tmp_path / "records.csv", index=False)  # each reads its own columns of it, and nothing else
    town.start()
    try:
        programs = [
            subprocess.Popen([*PRIVET, "share", str(tmp_path / f"{name}.toml"), str(tmp_path / "records.csv")])
            for name in OWNERS
        ]
        public = train(town.config("trainer"), "HiddenTreeClassifier", PARAMS, hidden=True, seed=5)
        assert [program.wait(300) for program in programs] == [0, 0]
        expected = HiddenTreeClassifier(**PARAMS)
        expected._complete = True
        coins = CutMechanisms(np.random.default_rng(5))
        expected.fit_curator(
            MemoryCurator(table[["age", "colour"]], table.bought, SCHEMA, ledger=Ledger(9), mechanisms=coins)
        )
        assert (predict(town.config("ann"), public, QUERIES) == expected.predict(QUERIES)).all()
        with pytest.raises(MpcError, match="train with --hidden"):
            train(town.config("trainer"), "PrivateTreeClassifier", {"epsilon": 1.0})
    finally:
        town.stop()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"bank": (["age"], True)}, "all have"),
        ({"hospital": ([], True), "bank": (["age"], False)}, "at least one"),
        ({"hospital": (["colour"], "no"), "bank": (["age"], True)}, "true or false"),
    ],
)
def test_files_of_columns_are_checked(tmp_path, columns, message):
    with pytest.raises(PrivetError, match=message):
        Town(tmp_path, columns=columns).config("server0")


def test_mpyc_does_not_serve_and_says_so(tmp_path):
    town = Town(tmp_path, engine="mpyc")
    town.start()
    try:
        with pytest.raises(MpcError, match='engine = "replicated" in every'):
            train(town.config("trainer"), "HiddenTreeClassifier", PARAMS, hidden=True)
    finally:
        town.stop()


@pytest.mark.slow  # programs that start, and others that wait for one that does not answer
def test_a_killed_server_ends_a_request_with_a_clear_message_and_nothing_is_lost(tmp_path):
    town = Town(tmp_path, timeout=15)

    def begin(i):
        return subprocess.Popen(
            [*PRIVET, "server", str(tmp_path / f"server{i}.toml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    programs = [begin(i) for i in range(3)]
    try:
        for server in town.config("ann").servers:
            _until_it_listens(server.address)
        public = town.learn()
        before = predict(town.config("bob"), public, QUERIES[:2])
        programs[1].kill()
        programs[1].wait()
        with pytest.raises(MpcError, match=r"cannot be reached|has left|in time|broke"):
            predict(town.config("bob"), public, QUERIES[:2])
        programs[1] = begin(1)
        _until_it_listens(town.config("ann").servers[1].address)
        for _ in range(10):  # servers that were left alone wait a while before they give up
            with contextlib.suppress(MpcError):
                after = predict(town.config("bob"), public, QUERIES[:2])
                break
        assert (after == before).all()  # and what was not answered was not counted
        (tmp_path / "hidden.json").write_text(json.dumps(public))
        QUERIES[:1].to_csv(tmp_path / "queries.csv", index=False)
        files = [str(tmp_path / name) for name in ("bob.toml", "hidden.json", "queries.csv")]
        said = subprocess.run([*PRIVET, "predict", *files], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        assert said.stdout.splitlines()[1].strip('"') == before[0]
        assert read_public(tmp_path / "hidden.json")["id"] == public["id"]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _until_it_listens(address):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("a server has not started")
