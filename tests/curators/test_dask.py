"""On a cluster a dead worker changes nothing, and nobody waits for ever."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client

from privet import DaskCurator, Ledger, MemoryCurator, Numeric, PrivateForestClassifier, Schema, SchemaError
from privet.curators import dask as module
from privet.curators.dask import Cluster, OnWorkers
from privet.errors import ClusterError
from privet.privacy.mechanisms import mechanisms
from rooms import dask_client

SCHEMA = Schema({f"x{i}": Numeric(0, 1) for i in range(5)}, classes=[0, 1], label="out")
PERSONS = Schema(SCHEMA.features, classes=[0, 1], label="out", person="who", records_per_person=2)


def frame(n=4000):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({f"x{i}": rng.random(n) for i in range(5)})
    return data.assign(out=(data["x1"] > 0.4).astype(int), who=rng.integers(0, 2000, n))


def text_of(curator):
    return PrivateForestClassifier(epsilon=2.0, n_trees=2, max_depth=4).fit_curator(curator).export_text()


def in_memory(schema):
    data = frame()
    return text_of(MemoryCurator(data, data["out"], schema, mechanisms=mechanisms(3), ledger=Ledger(10)))


@pytest.mark.parametrize("schema", [SCHEMA, PERSONS], ids=["rows", "persons"])
def test_a_worker_that_is_killed_in_the_middle_of_a_level_changes_nothing(schema, monkeypatch):
    client = dask_client()
    curator = DaskCurator(
        dd.from_pandas(frame(), npartitions=6), schema, client, mechanisms=mechanisms(3), ledger=Ledger(10)
    )
    asked, asks = OnWorkers._asked, []

    def ask_and_kill(self, fit, log, question):
        futures = asked(self, fit, log, question)
        asks.append(question)
        if len(asks) == 4:
            victim = next(iter(client.nthreads()))
            pid = client.run(os.getpid, workers=[victim])[victim]
            os.kill(pid, signal.SIGKILL)
        return futures

    monkeypatch.setattr(OnWorkers, "_asked", ask_and_kill)
    assert text_of(curator) == in_memory(schema)
    assert len(asks) > 5
    client.wait_for_workers(2, timeout=60)  # Dask's nanny starts another


def test_workers_read_parquet_files(tmp_path):
    pq.write_table(pa.Table.from_pandas(frame()), tmp_path / "t.parquet", row_group_size=900)
    curator = DaskCurator(str(tmp_path), SCHEMA, dask_client(), mechanisms=mechanisms(3), ledger=Ledger(10))
    assert text_of(curator) == in_memory(SCHEMA)
    frame().to_csv(tmp_path / "t.csv")
    with pytest.raises(SchemaError, match=r"t.csv: of files, workers read Parquet"):
        DaskCurator(tmp_path / "t.csv", SCHEMA, dask_client())


@pytest.mark.filterwarnings("ignore:epsilon 2 is too small")
@pytest.mark.parametrize("schema", [SCHEMA, PERSONS], ids=["rows", "persons"])
def test_parquet_files_without_a_record_are_answered_as_any_other(schema, tmp_path):
    data = frame(0)
    data.to_parquet(tmp_path / "t.parquet")
    curator = DaskCurator(str(tmp_path), schema, dask_client(), mechanisms=mechanisms(3), ledger=Ledger(10))
    held = MemoryCurator(data, data["out"], schema, mechanisms=mechanisms(3), ledger=Ledger(10))
    assert text_of(curator) == text_of(held)


def test_what_is_wrong_is_said_before_anything_is_spent_and_quotes_nothing():
    ledger = Ledger(1)
    data = frame(100)
    for bad, message in (({"x1": "SECRET"}, "'x1'"), ({"out": 7}, "the label has values"), ({"who": None}, "missing")):
        wrong = dd.from_pandas(data.assign(**bad), npartitions=2)
        with pytest.raises(SchemaError, match=message) as error:
            DaskCurator(wrong, PERSONS, dask_client(), ledger=ledger)
        assert "SECRET" not in str(error.value)
    with pytest.raises(SchemaError, match="no column 'x3'"):
        DaskCurator(dd.from_pandas(data.drop(columns="x3"), npartitions=2), SCHEMA, dask_client())
    with pytest.raises(SchemaError, match="takes a Dask data frame"):
        DaskCurator(data, SCHEMA, dask_client())
    assert (ledger.spent, ledger.events) == (0, [])


def test_losses_without_end_come_to_an_end(monkeypatch):
    curator = DaskCurator(dd.from_pandas(frame(100), npartitions=2), SCHEMA, dask_client(), ledger=Ledger(10))
    monkeypatch.setattr(module, "MOST_LOSSES", 2)
    monkeypatch.setattr(OnWorkers, "_behind", lambda *args: True)
    with pytest.raises(ClusterError, match="lost 2 times"):
        text_of(curator)


def test_a_cluster_without_workers_and_a_scheduler_that_is_gone_end_the_wait():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    scheduler = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        client = Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False)
        data = dd.from_pandas(frame(100), npartitions=2)
        with pytest.raises(ClusterError, match="has 0 workers"):
            DaskCurator(data, SCHEMA, client, timeout=1)
        threading.Timer(0.5, scheduler.kill).start()
        with pytest.raises(ClusterError, match="scheduler is lost"):
            DaskCurator(data, SCHEMA, client, timeout=300)
        client.close(timeout=2)
    finally:
        scheduler.kill()
        scheduler.wait()


def test_a_scheduler_that_dies_in_the_middle_of_a_level_ends_the_fit_clearly(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    python, quiet = [sys.executable, "-m"], "--no-dashboard"
    scheduler = subprocess.Popen([*python, "distributed.cli.dask_scheduler", quiet, "--host", address], **silent)
    worker = subprocess.Popen([*python, "distributed.cli.dask_worker", address, quiet, "--no-nanny"], **silent)
    asked, asks, paid, ledger = OnWorkers._asked, [], [], Ledger(10)

    def ask_and_kill(self, fit, log, question):
        asks.append(question)
        if len(asks) == 4:
            worker.send_signal(signal.SIGSTOP)  # so that the question is under way, and stays it
            threading.Timer(1.0, scheduler.kill).start()
            paid.append((ledger.spent, time.monotonic()))
        return asked(self, fit, log, question)

    monkeypatch.setattr(OnWorkers, "_asked", ask_and_kill)
    try:
        client = Client(address, timeout=60, set_as_default=False)
        client.wait_for_workers(1, timeout=60)
        data = dd.from_pandas(frame(), npartitions=4)
        curator = DaskCurator(data, SCHEMA, client, ledger=ledger, timeout=300)
        with pytest.raises(ClusterError, match="scheduler is lost"):
            text_of(curator)
        (spent, began), ended = paid[0], time.monotonic()
        assert len(asks) == 4
        assert ended - began < 60  # long before the timeout
        assert 0 < ledger.spent == spent <= 2  # what was asked is paid for, and nothing more
        with pytest.raises(ClusterError, match="scheduler is lost"):
            text_of(curator)
        client.close(timeout=2)
    finally:
        for program in (scheduler, worker):
            program.kill()
            program.wait()
    elsewhere = DaskCurator(data, SCHEMA, dask_client(), ledger=ledger)
    before = ledger.spent
    text_of(elsewhere)
    assert ledger.spent == before + 2


def test_an_asynchronous_client_is_refused():
    class Asynchronous:
        asynchronous = True

    with pytest.raises(ClusterError, match="asynchronous"):
        Cluster(Asynchronous(), 1)
