"""A server that is killed, before a request or in the middle of one: real processes over TLS, and what they keep."""

import contextlib
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from consortium.servers.town import PRIVET, QUERIES, Gate, Town
from privet.consortium.servers.client import predict
from privet.consortium.servers.store import read_public
from privet.errors import MpcError
from privet.privacy.receipt import Receipt

pytestmark = pytest.mark.slow  # programs that start

PARAMS = {"epsilon": 2.0, "max_depth": 3, "branches": "thresholds"}
WITHIN = 300
"""Seconds after which a test gives up: far less than the servers' own limit, so that nothing here waits for that."""


@pytest.fixture
def town(tmp_path):
    """Three servers as processes; what server 0 sends to server 2 goes through a gate."""
    town = Town(tmp_path, timeout=3000)
    town.gate = Gate(town.addresses[2])
    town.through(town.gate)
    town.begin(0, 1, 2)
    yield town
    town.gate.shut()
    for party in range(3):
        town.kill(party)
    town.held.close()


def bytes_of(town, request):
    """What a request returns, and how many bytes go through the gate for it: the same number each time, or nearly."""
    before = town.gate.passed
    returned = request()
    return returned, town.gate.passed - before


def level_costs(public):
    """What each level of a tree costs, from the root down."""
    costs = {}
    for event in Receipt.from_dict(public["receipt"]).events:
        costs.setdefault(event.scope.count("/"), event.charged)
    return [costs[level] for level in sorted(costs)]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_server_killed_in_a_training_ends_it_for_everybody_and_what_was_charged_stays_charged(town, lost):
    public, n_bytes = bytes_of(town, lambda: town.learn(PARAMS))
    before = predict(town.config("bob"), public, QUERIES[:2])
    costs, spent = level_costs(public), town.spent()
    assert spent == [sum(costs)] * 3
    marks = [len(town.log(i)) for i in range(3)]
    town.gate.close_after(int(0.7 * n_bytes))
    with ThreadPoolExecutor(3) as pool:
        owners, trainer = town.owners(pool), pool.submit(town.train, PARAMS)
        assert town.gate.reached.wait(WITHIN)
        begun = [town.log(i)[marks[i] :].count("a hidden choice among") for i in range(3)]
        town.kill(lost)
        town.gate.open()
        with pytest.raises(MpcError, match=rf"^server {lost} has left"):
            trainer.result(WITHIN)
        for owner in owners:
            with pytest.raises(MpcError, match=rf"^server {lost} has left"):
                owner.result(WITHIN)
    assert all(1 <= n < len(costs) for n in begun)  # it was in the middle
    town.wait_until_settled({0, 1, 2} - {lost}, WITHIN)
    for i, kept in enumerate(town.spent()):
        levels = town.log(i)[marks[i] :].count("a hidden choice among")
        # Charged first, then said, then computed: whatever was begun is on the disk, and at most one level more. What
        # the killed one had set aside is never settled, and counts in full.
        most = [Fraction(0) + sum(costs[: levels + more]) for more in (0, 1)]
        assert kept - spent[i] in ([Fraction(PARAMS["epsilon"])] if i == lost else most)
        assert levels >= begun[i]
    spent = town.spent()
    town.begin(lost)
    for i in {0, 1, 2} - {lost}:
        assert f"server {lost} has left" in town.log(i)
    assert (predict(town.config("bob"), public, QUERIES[:2]) == before).all()
    town.learn(PARAMS)
    assert town.spent() == [each + sum(costs) for each in spent]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_server_killed_in_a_prediction_ends_it_at_once_and_limits_are_kept(town, lost):
    public = town.learn(PARAMS)
    before, n_bytes = bytes_of(town, lambda: predict(town.config("ann"), public, QUERIES))
    assert town.asked("ann") == [40, 40, 40]
    spent = town.spent()
    town.gate.close_after(int(0.7 * n_bytes))
    with ThreadPoolExecutor(1) as pool:
        user = pool.submit(predict, town.config("ann"), public, QUERIES)
        assert town.gate.reached.wait(WITHIN)
        counted = town.asked("ann")
        town.kill(lost)
        town.gate.open()
        with pytest.raises(MpcError, match=rf"^server {lost} has left"):
            user.result(WITHIN)
    assert counted == [80, 80, 80]  # before anything was answered
    town.begin(lost)
    assert (predict(town.config("ann"), public, QUERIES[:20]) == before[:20]).all()
    # What was not answered was given back, but by the server that could not.
    assert town.asked("ann") == [100 if i == lost else 60 for i in range(3)]
    assert town.spent() == spent  # predictions cost nothing
    with pytest.raises(
        MpcError, match=rf"server {lost} has ended the run: ann may ask 100 queries in all and has 0 left"
    ):
        predict(town.config("ann"), public, QUERIES[:1])
    assert town.asked("ann") == [100 if i == lost else 60 for i in range(3)]
    for i in {0, 1, 2} - {lost}:
        assert f"server {lost} has left" in town.log(i)
    assert len(predict(town.config("bob"), public, QUERIES[:5])) == 5


def test_a_server_killed_before_a_request_is_named_and_nothing_is_lost(tmp_path):
    town = Town(tmp_path, timeout=15)
    town.begin(0, 1, 2)
    try:
        public = town.learn()
        before = predict(town.config("bob"), public, QUERIES[:2])
        town.kill(1)
        with pytest.raises(MpcError, match="server 1 cannot be reached"):
            predict(town.config("bob"), public, QUERIES[:2])
        town.begin(1)
        for _ in range(10):  # server 0 has gone on to look for server 1 for a while
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
        for party in range(3):
            town.kill(party)
        town.held.close()
