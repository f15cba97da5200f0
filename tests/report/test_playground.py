"""The playground answers its own page alone, and the page works in a real browser."""

import json
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

import browser
from privet import Categorical, Numeric, Schema
from privet.report.draws import Draws
from privet.report.playground import Playground

FEATURES = {f"lab {i}": Numeric(0, 1) for i in range(5)} | {"age": Numeric(0, 99), "sex": Categorical(["f", "m"])}
SCHEMA = Schema(FEATURES, classes=["well", "ill", "very ill"], label="state")
ASKED = "method=counts&epsilon=1&depth=2&records=1000&draw=0&turn=1&page=p"


@pytest.fixture(scope="module")
def room():
    opened = Playground(Draws.synthetic(SCHEMA))
    thread = threading.Thread(target=opened.run)
    thread.start()
    yield opened
    opened.stop()
    thread.join()


def get(room, path, host=None, token=None):
    line = HTTPConnection("127.0.0.1", room.port, timeout=60)
    line.putrequest("GET", path, skip_host=True)
    line.putheader("Host", host or f"127.0.0.1:{room.port}")
    if token is not None:
        line.putheader("X-Privet-Token", token)
    line.endheaders()
    answer = line.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_the_page_needs_the_token_and_this_host(room):
    place = urlsplit(room.address)
    assert place.hostname == "127.0.0.1"
    path = f"/?{place.query}"
    assert get(room, path)[0] == 200
    assert get(room, "/")[0] == 403
    assert get(room, "/?token=wrong")[0] == 403
    for host in ("evil.example", f"evil.example:{room.port}", "127.0.0.1", f"127.0.0.1:{room.port}.evil.example"):
        assert get(room, path, host=host)[0] == 403
    assert get(room, "/?token=%C3%A4")[0] == 403


def test_answers_are_for_our_page_alone(room):
    status, body, headers = get(room, f"/draw?{ASKED}", token=room.token)
    assert status == 200
    assert 0 < json.loads(body)["score"] <= 1
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert get(room, f"/draw?{ASKED}")[0] == 403
    assert get(room, "/etc/passwd", token=room.token)[0] == 404
    page = get(room, f"/?token={room.token}")
    assert "default-src 'none'" in page[2]["Content-Security-Policy"]
    assert "connect-src 'self'" in page[2]["Content-Security-Policy"]


def test_nonsense_is_refused_in_words_and_old_moves_are_stale(room):
    status, body, _ = get(room, "/draw?method=counts&epsilon=much", token=room.token)
    assert (status, list(json.loads(body))) == (400, ["error"])
    assert get(room, f"/draw?{ASKED.replace('epsilon=1', 'epsilon=nan')}", token=room.token)[0] == 400
    assert get(room, f"/draw?{ASKED.replace('turn=1', 'turn=5')}", token=room.token)[0] == 200
    assert json.loads(get(room, f"/draw?{ASKED}", token=room.token)[1]) == {"stale": True}
    assert "score" in json.loads(get(room, f"/draw?{ASKED.replace('page=p', 'page=q')}", token=room.token)[1])


@pytest.fixture(scope="module")
def chromium():
    with browser.browser() as opened:
        yield opened


def shown(page, epsilon="0.32"):
    """The accuracy, once all draws of this epsilon are there."""
    page.locator(f'#score[data-epsilon="{epsilon}"]').wait_for()
    return float(page.locator("#score").inner_text()[:-1])


def test_the_slider_moves_accuracy_and_risk_together(room, chromium):
    with browser.page_of(chromium, room.address) as page:
        shown(page)
        assert page.locator("#panels article").count() == 4
        cut = "(all) => all.filter((own) => own.scrollWidth > own.clientWidth + 1).length"
        assert page.locator("#panels .tree-window").evaluate_all(cut) == 0
        assert "people" not in page.locator("body").inner_text()  # the schema names no persons
        page.get_by_label("Learn from").select_option("1000")
        page.locator("#slider").focus()
        page.keyboard.press("Home")
        assert page.locator("#epsilon").inner_text() == "0.01"
        assert page.locator("#risk").inner_text() == "50.3%"  # 50.24999: what guesses are at most is rounded up
        assert "odds grow up to 1.02 times" in page.locator("#odds").inner_text()
        assert page.locator("#verdict").inner_text() == "strong privacy"
        private = shown(page, "0.01")
        page.keyboard.press("End")
        assert page.locator("#risk").inner_text() == "100.0%"
        assert shown(page, "10") > private
        page.get_by_label("Method").select_option("boosting")
        page.locator("#panels figure").first.wait_for()
        assert page.get_by_label("Depth").is_disabled()


def test_people_are_named_where_the_schema_has_persons():
    page = Playground(Draws.synthetic(Schema(FEATURES, classes=["well", "ill"], person="who"), 900)).page[0].decode()
    assert '<span id="people">900</span> people' in page
    assert "One person's risk" in page


def test_nobody_is_shut_out_of_the_playground(room, chromium):
    with browser.page_of(chromium, room.address) as page:
        shown(page)
        assert browser.serious_issues(page) == []


def test_the_playground_fits_a_phone_and_the_dark(room, chromium):
    with browser.page_of(chromium, room.address, color_scheme="dark", viewport=browser.PHONE) as page:
        shown(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= browser.PHONE["width"]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 22)"
