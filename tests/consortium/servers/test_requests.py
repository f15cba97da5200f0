"""What trainers and users have asked for: open, done, failed or lost, for their status and page."""

import json

import pytest

from privet.consortium.servers.requests import MOST_KEPT, Requests


def test_a_request_is_open_and_then_done_or_failed(tmp_path):
    requests = Requests(tmp_path / "trainer.toml")
    assert requests.listed() == []
    with requests.noted("a tree for epsilon 1"):
        (entry,) = requests.listed()
        assert (entry["run"], entry["state"]) == ("a tree for epsilon 1", "open")
        assert "ended" not in entry
    with pytest.raises(KeyError), requests.noted("another"):
        raise KeyError
    assert [entry["state"] for entry in Requests(tmp_path / "trainer.toml").listed()] == ["done", "failed"]
    assert all(entry["ended"] >= entry["began"] for entry in requests.listed())


def test_one_whose_process_has_gone_without_a_word_was_lost(tmp_path):
    kept = [{"run": "x", "state": "open", "began": "then", "process": "999999999"}]
    (tmp_path / "ann.requests.json").write_text(json.dumps(kept))
    assert [entry["state"] for entry in Requests(tmp_path / "ann.toml").listed()] == ["lost"]


@pytest.mark.parametrize("damaged", ["", "{}", "7", "[1]", '[{"run": "x"}]', "\x00"])
def test_a_damaged_file_begins_anew_and_keeps_nobody_from_asking(tmp_path, damaged):
    (tmp_path / "ann.requests.json").write_text(damaged)
    requests = Requests(tmp_path / "ann.toml")
    assert requests.listed() == []
    with requests.noted("x"):
        pass
    assert len(requests.listed()) == 1
    with Requests(tmp_path / "nowhere" / "ann.toml").noted("x"):
        pass


def test_only_the_last_are_kept(tmp_path):
    kept = [{"run": str(i), "state": "done"} for i in range(MOST_KEPT)]
    (tmp_path / "ann.requests.json").write_text(json.dumps(kept))
    with Requests(tmp_path / "ann.toml").noted("one more"):
        pass
    names = [entry["run"] for entry in Requests(tmp_path / "ann.toml").listed()]
    assert names == [*map(str, range(1, MOST_KEPT)), "one more"]
