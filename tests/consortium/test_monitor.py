"""Health, metrics and a page: for this machine alone, most of it for who has the token, and nothing that changes."""

import http.client
import socket
from contextlib import closing

import pytest

from privet.consortium.monitor import Monitor, page, token_in
from privet.errors import PrivetError

TOKEN = "t" * 43
STATUS = {"name": "mercy", "role": "party", "limit": "1", "left": "0.5", "runs": [{"run": "3f2a", "state": "open"}]}


@pytest.fixture
def monitor():
    with closing(Monitor(0, lambda: STATUS, TOKEN)) as monitor:
        yield monitor


def get(monitor, path, method="GET", **headers):
    line = http.client.HTTPConnection("127.0.0.1", monitor.port, timeout=10)
    with closing(line):
        line.request(method, path, headers=headers)
        answer = line.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())


def test_health_and_counts_of_runs_are_for_all_and_the_rest_for_the_token(monitor):
    assert get(monitor, "/health")[:2] == (200, "ok\n")
    code, text, _ = get(monitor, "/metrics")
    assert (code, "privet_runs" in text, "epsilon" in text) == (200, True, False)
    assert "privet_epsilon_left 0.5" in get(monitor, "/metrics", Authorization=f"Bearer {TOKEN}")[1]
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}, {"Cookie": "privet_token=x"}):
        code, text, _ = get(monitor, "/", **headers)
        assert (code, "mercy" in text) == (401, False)
    code, text, _ = get(monitor, "/", Authorization=f"Bearer {TOKEN}")
    assert (code, "mercy (party)" in text) == (200, True)


def test_a_token_in_the_address_becomes_a_cookie_that_no_script_reads(monitor):
    code, _, headers = get(monitor, f"/?token={TOKEN}")
    assert (code, headers["Location"]) == (303, "/")
    assert headers["Set-Cookie"] == f"privet_token={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    code, _, headers = get(monitor, "/", Cookie=headers["Set-Cookie"].split(";")[0])
    assert code == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert get(monitor, "/?token=wrong")[0] == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example", ""])
def test_a_name_from_elsewhere_that_points_here_gets_nothing(monitor, host):
    for path in ("/", "/health", "/metrics", f"/?token={TOKEN}"):
        code, text, headers = get(monitor, path, Host=host, Authorization=f"Bearer {TOKEN}")
        assert code == 421
        assert "privet_" not in text
        assert "Set-Cookie" not in headers
    assert get(monitor, "/health", Host=f"localhost:{monitor.port}")[0] == 200


def test_nothing_can_be_changed_and_other_paths_are_not_there(monitor):
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        assert get(monitor, "/", method)[0] == 501
    assert get(monitor, "/../mercy.key", Authorization=f"Bearer {TOKEN}")[0] == 404


def test_it_listens_on_loopback_alone_and_a_taken_port_is_an_error_in_words(monitor):
    assert monitor._server.server_address[0] == "127.0.0.1"
    with pytest.raises(PrivetError, match="Nothing can listen at"):
        Monitor(monitor.port, dict, TOKEN)


def test_a_status_that_cannot_be_read_is_unhealthy_and_says_nothing(caplog):
    def broken():
        raise ValueError("record 17")

    with closing(Monitor(0, broken, TOKEN)) as monitor:
        for path in ("/health", "/metrics"):
            code, text, _ = get(monitor, path)
            assert (code, "17" in text) == (503, False)
    assert "the status cannot be read" in caplog.text


def test_garbage_is_survived(monitor):
    for said in (
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00" * 100,
        b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\nCookie: ;;=\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", monitor.port), timeout=10) as raw:
            raw.sendall(said)
            raw.shutdown(socket.SHUT_WR)
            assert b"200" not in raw.recv(1000).split(b"\r\n")[0]
    assert get(monitor, "/health")[0] == 200


def test_a_page_escapes_what_others_have_named_and_loads_nothing():
    text = page({"name": "<b>", "runs": [{"run": "<script>", "with": ["a", "<i>"]}], "open": True, "more": ["<u>"]})
    for each in ("<b>", "<script>", "<i>", "<u>"):
        assert each not in text
    assert "&lt;script&gt;" in text
    assert "<th>open</th><td>yes</td>" in text
    assert not any(word in text for word in ("http://", "https://", "src=", "<script", "@import"))


def test_the_token_is_made_once_and_is_its_owners_alone(tmp_path):
    token = token_in(tmp_path / "mercy.token")
    assert token == token_in(tmp_path / "mercy.token")
    assert len(token) >= 43
    assert (tmp_path / "mercy.token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "mercy.token").chmod(0o644)
    with pytest.raises(PrivetError, match="others can read it"):
        token_in(tmp_path / "mercy.token")
    (tmp_path / "short.token").write_text("")
    with pytest.raises(PrivetError, match="is no token"):
        token_in(tmp_path / "short.token")
    with pytest.raises(PrivetError, match="cannot be kept"):
        token_in(tmp_path / "nowhere" / "x.token")
