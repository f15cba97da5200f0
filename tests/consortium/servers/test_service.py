"""Three servers, two owners and a trainer as real processes over TLS, by the commands that people use."""

import contextlib
import json
import math
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from cut_mechanisms import CutMechanisms
from held_ports import held_ports
from privet import Categorical, Ledger, MemoryCurator, Numeric, PrivateTreeClassifier, Schema, load
from privet.algorithms.model_file import from_dict
from privet.cli import app
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.membership import assembled, renew
from privet.consortium.net.channel import connect
from privet.consortium.own_file import OwnFile
from privet.consortium.servers.client import share, train
from privet.consortium.servers.config import Config
from privet.consortium.servers.service import Server
from privet.errors import MpcError, PrivetError
from privet.privacy.ledger_file import LedgerFile

SCHEMA = Schema(
    features={"age": Numeric(0, 7, integer=True), "colour": Categorical(["r", "g", "b"], other=False)},
    classes=["no", "yes"],
    label="bought",
)
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()", "mpc"]
OWNERS = ("hospital", "bank")


def records(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(0, 8, n), "colour": rng.choice(["r", "g", "b"], n)})
    return X.assign(bought=np.where((X.age > 4) ^ (X.colour == "r"), "yes", "no"))


class Town:
    """A folder with everybody's keys, files and records, and the programs that were started there."""

    def __init__(self, folder, timeout=30, seeds=False):
        self.folder = folder
        self.programs = []
        self.held = contextlib.ExitStack()
        ports = self.held.enter_context(held_ports(3))
        members = [Participant(f"server{i}", "server", f"127.0.0.1:{port}") for i, port in enumerate(ports)]
        members += [*(Participant(name, "owner") for name in OWNERS), Participant("trainer", "trainer")]
        settings = {f"server{i}": {"timeout": timeout, "seeds": seeds} for i in range(3)}
        settings |= {name: {"data": f"{name}.csv", "timeout": 120, "patience": 60, "seeds": seeds} for name in OWNERS}
        settings["trainer"] = {"timeout": 120}  # to wait for servers that start
        terms = {**TERMS["mpc"], "epsilon": 3.0, "most_records": 1000}
        assembled(Consortium("mpc", SCHEMA, tuple(members), terms), dict.fromkeys(settings, folder), settings)
        self.tables = [records(60, 1), records(90, 2)]
        for name, table in zip(OWNERS, self.tables):
            table.to_csv(folder / f"{name}.csv", index=False)

    def start(self, *words):
        words = [str(self.folder / word) if word.endswith((".toml", ".csv", ".json")) else word for word in words]
        program = subprocess.Popen([*PRIVET, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.programs.append(program)
        return program

    def servers(self, *options):
        return [self.start("server", f"server{i}.toml", *options) for i in range(3)]

    def owners(self):
        return [self.start("share", f"{name}.toml") for name in OWNERS]

    def trainer(self, output="model.json", epsilon="2", *options):
        return self.start("train", "trainer.toml", "--epsilon", epsilon, "-o", output, "--set", "max_depth=2", *options)


@pytest.fixture
def town(tmp_path, request):
    town = Town(tmp_path, **getattr(request, "param", {}))
    yield town
    for program in town.programs:
        if program.poll() is None:
            program.kill()
        program.communicate()
    town.held.close()


def ended(programs, code=0, within=300):
    texts = []
    for program in programs:
        text, _ = program.communicate(timeout=within)
        assert program.returncode == code, text
        texts.append(text)
    return texts


@pytest.mark.parametrize("town", [{"seeds": True}], indirect=True)
def test_real_processes_learn_the_memory_curators_tree_for_the_same_coins(town):
    programs = [*town.servers("--once"), *town.owners()]
    trained = town.trainer("model.json", "2", "--set", "n_records=150", "--seed", "7")
    (said,) = ended([trained], within=300)
    texts = ended(programs)
    assert "choosing for" in said
    assert "not independently reviewed" in said
    assert all("nothing but shares" in text for text in texts[3:])
    table = pd.concat(town.tables)
    coins = CutMechanisms(np.random.default_rng(7))
    curator = MemoryCurator(
        table[["age", "colour"]], table["bought"], SCHEMA, ledger=Ledger(math.inf), mechanisms=coins
    )
    central = PrivateTreeClassifier(epsilon=2, max_depth=2, n_records=150).fit_curator(curator)
    model = load(town.folder / "model.json")
    assert model.export_text() == central.export_text()
    assert model.privacy_.spent == central.privacy_.spent
    assert model.privacy_.delta > 0
    assert model.privacy_.verify()
    assert model.privacy_.void == ("random_state: the noise can be reproduced",)
    assert model.privacy_.epsilon == math.inf
    assert "the receipt is VOID" in said


@pytest.mark.slow
def test_servers_serve_one_run_after_another_up_to_their_own_limit_and_stop_when_told(town):
    servers = town.servers()
    for i, (epsilon, code) in enumerate((("1.5", 0), ("1.5", 0), ("0.1", 1))):
        owners = town.owners()
        (said,) = ended([town.trainer(f"model{i}.json", epsilon)], code)
        if code == 0:
            ended(owners)
            assert load(town.folder / f"model{i}.json").privacy_.void == ()
    assert "ledger" in said
    assert not (town.folder / "model2.json").exists()
    for server in servers:
        server.send_signal(signal.SIGTERM)
    ended(servers, code=130)
    again, owners = town.servers("--once"), town.owners()  # new processes, and nothing is forgotten
    (said,) = ended([town.trainer("model3.json", "0.1")], code=1)
    assert "ledger" in said
    ended([*again, *owners], code=1)


@pytest.mark.parametrize(
    ("town", "how"),
    [
        pytest.param({"timeout": 120}, signal.SIGKILL, id="killed"),
        pytest.param({"timeout": 15}, signal.SIGSTOP, id="stalled", marks=pytest.mark.slow),
    ],
    indirect=["town"],
)
def test_a_killed_or_stalled_server_ends_the_run_for_everybody_and_a_new_one_works(town, how):
    servers, owners = town.servers("--once"), town.owners()
    _read_until(owners[0], "connected")
    owners[0].send_signal(signal.SIGSTOP)  # does not answer, so that the run is under way for as long as it takes us
    trainer = town.trainer("model.json", "1", "--set", "n_records=150")
    _read_until(trainer, "whether they take part")
    servers[1].send_signal(how)
    owners[0].send_signal(signal.SIGCONT)
    ended([trainer, servers[0], servers[2], *owners], code=1, within=300)
    assert not (town.folder / "model.json").exists()
    servers[1].kill()
    servers[1].wait()
    if how == signal.SIGSTOP:
        ended([*town.servers("--once"), *town.owners(), town.trainer()], within=300)
        assert load(town.folder / "model.json").privacy_.verify()


def _read_until(program, word):
    for line in program.stdout:
        if word in line:
            return
    raise AssertionError(f"no {word!r} was said")


def test_whoever_has_a_foreign_certificate_takes_no_part(town):
    for name in ("hospital", "bank", "trainer"):
        renew(OwnFile(town.folder / f"{name}.toml"), 1)  # and nobody has accepted it
    servers = town.servers()
    ended([*town.owners(), town.trainer()], code=1)
    assert all(server.poll() is None for server in servers)


# -- the same programs on threads of this process, which start at once ------------------------------------------------


class Square:
    """A town's three servers and two owners, each on a thread."""

    def __init__(self, town, serving=True):
        self.town = town
        self.said = [[] for _ in range(3)]
        self.servers = [Server(self.config(f"server{i}"), self.said[i].append) for i in range(3)]
        self.pool = ThreadPoolExecutor(8)
        self.serving = self.serve() if serving else []

    def config(self, name):
        return Config.read(self.town.folder / f"{name}.toml")

    def serve(self):
        return [self.pool.submit(server.serve, once=True) for server in self.servers]

    def owners(self):
        columns = ["age", "colour"]
        return [
            self.pool.submit(share, self.config(name), table[columns], table["bought"])
            for name, table in zip(OWNERS, self.town.tables)
        ]

    def train(self, epsilon=1.0, seed=None, **params):
        asked = {"epsilon": epsilon, "max_depth": 2, **params}
        return train(self.config("trainer"), "PrivateTreeClassifier", asked, seed=seed).model

    def close(self):
        for server in self.servers:
            server.close()
        self.pool.shutdown()


@pytest.fixture
def square(town):
    square = Square(town)
    yield square
    square.close()


def test_what_a_server_has_spent_outlives_it(town, square):
    owners = square.owners()
    model = from_dict(square.train(epsilon=2.0))
    assert model.privacy_.epsilon <= 2
    for done in (*square.serving, *owners):
        done.result(300)
    square.close()
    restarted = Square(town)
    try:
        assert [server.ledger.spent for server in restarted.servers] == [model.privacy_.spent] * 3
        owners = restarted.owners()
        with pytest.raises(MpcError, match="left of 3"):
            restarted.train(epsilon=2.0)
        for done in (*restarted.serving, *owners):
            with pytest.raises(PrivetError):
                done.result(300)
    finally:
        restarted.close()


def test_a_server_whose_ledger_has_another_past_agrees_with_the_others(square):
    """As one that was killed and started again: it numbers its runs anew."""
    square.servers[1].ledger.root.copy("fit")
    owners = square.owners()
    assert from_dict(square.train()).privacy_.verify()
    for done in (*square.serving, *owners):
        done.result(300)


def test_a_trainer_cannot_make_servers_draw_noise_that_it_knows(square):
    with pytest.raises(MpcError, match="noise that it knows"):
        square.train(seed=7)
    assert [server.ledger.spent for server in square.servers] == [0] * 3


def test_whatever_goes_wrong_ends_the_run_and_not_the_server_and_does_not_say_why(square, monkeypatch):
    def fails(self, curator, **options):
        raise RuntimeError("record 17")

    monkeypatch.setattr(PrivateTreeClassifier, "fit_curator", fails)
    owners = square.owners()
    with pytest.raises(MpcError, match="RuntimeError") as told:
        square.train()
    assert "17" not in str(told.value)
    for done in (*square.serving, *owners):
        with pytest.raises(MpcError):
            done.result(300)


def test_a_server_whose_ledger_is_away_refuses_and_goes_on(town):
    with contextlib.closing(Square(town, serving=False)) as square:
        serving = [square.pool.submit(server.serve) for server in square.servers]
        kept = town.folder / "server0.ledger"
        kept.rename(town.folder / "away")
        with pytest.raises(MpcError, match="cannot be used, so nothing is answered"):
            square.train()
        with pytest.raises(MpcError, match="the schema of PrivateTreeClassifier is a Schema"):
            square.train(schema={})
        (town.folder / "away").rename(kept)
        owners = square.owners()
        assert from_dict(square.train()).privacy_.verify()
        for owner in owners:
            owner.result(300)
        assert not any(server.done() for server in serving)
        assert any("cannot be used" in said and "waiting" in said for said in square.said[0])


def test_a_trainer_who_has_left_before_its_turn_takes_no_owners_time(town):
    with contextlib.closing(Square(town, serving=False)) as square:
        owners = square.owners()
        _ask_and_leave(square)
        time.sleep(0.5)
        for done in square.serve():
            with pytest.raises(MpcError, match="has left"):
                done.result(300)
        assert [server.ledger.spent for server in square.servers] == [0] * 3
        assert not any(owner.done() for owner in owners)


def _ask_and_leave(square):
    known = square.config("trainer")
    job = {"run": "00" * 16, "model": "PrivateTreeClassifier", "params": {"epsilon": 1.0}, "seed": None}
    for i, peer in enumerate(known.servers):
        with connect(peer.address, known.identity, peer.certificate, peer=f"server {i}", timeout=20) as line:
            line.send(json.dumps(job).encode())


def test_for_a_trainer_who_has_left_nothing_more_is_spent(square, monkeypatch):
    import privet.consortium.servers.client as client

    left, said = threading.Event(), Server._said

    def leaves(lines, timeout, progress):
        lines[0].receive()
        for line in lines:
            line.close()
        left.set()
        raise MpcError("I have to go")

    def says_and_waits(server, trainer, what):
        said(server, trainer, what)
        left.wait(300)  # otherwise servers that are quicker than the trainer would be done

    monkeypatch.setattr(client, "_answers", leaves)
    monkeypatch.setattr(Server, "_said", says_and_waits)
    owners = square.owners()
    with pytest.raises(MpcError, match="have to go"):
        square.train(epsilon=3.0, max_depth=40)
    for done in (*square.serving, *owners):
        with pytest.raises(MpcError):
            done.result(300)
    assert all(server.ledger.spent < 3 for server in square.servers)


def test_an_owners_small_limit_costs_nobody_anything_and_it_is_named(square):
    path = square.town.folder / "bank.toml"
    path.write_text(path.read_text().replace("epsilon = 3.0", "epsilon = 0.5"))
    owners = square.owners()
    with pytest.raises(MpcError, match="owner bank takes no part: its own limit has no room for this run"):
        square.train(epsilon=1.0)
    for owner in owners:
        with pytest.raises(PrivetError):
            owner.result(60)
    assert [server.ledger.spent for server in square.servers] == [0] * 3
    for name in OWNERS:
        assert LedgerFile(square.town.folder / f"{name}.ledger").tightest().spent == 0


def test_owners_pay_what_the_servers_have_signed_and_can_check_it(square):
    owners = square.owners()
    params = {"epsilon": 1.0, "max_depth": 2}
    trained = train(square.config("trainer"), "PrivateTreeClassifier", params, holdout=0.25, by="colour")
    assert from_dict(trained.model).verify()
    assert len(from_dict(trained.model).evaluation_.by_group) == 3  # by a model's own receipt, which all have signed
    for name, owner in zip(OWNERS, owners):
        assert owner.result(60) == trained.signed
        (line,) = LedgerFile(square.town.folder / f"{name}.ledger").lines()
        assert (line.amount, line.settled) == (from_dict(trained.model).privacy_.spent, True)
        assert line.released == from_dict(trained.model).privacy_.released
    folder = square.town.folder
    from_dict(trained.model).save(folder / "m.json")
    (folder / "m.signed.json").write_text(json.dumps(trained.signed))
    files = [str(folder / name) for name in ("m.signed.json", "bank.consortium.toml")]
    result = CliRunner().invoke(app, ["mpc", "verify", *files, "--model", str(folder / "m.json")])
    assert result.exit_code == 0, result.output
    assert "signed by all three servers" in result.stdout
    assert "records of bank, hospital are in all answers" in result.stdout
    (folder / "m.signed.json").write_text(json.dumps({**trained.signed, "owners": ["bank"]}))
    assert CliRunner().invoke(app, ["mpc", "verify", *files]).exit_code == 1
