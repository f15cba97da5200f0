"""The playground's server: a page on this machine alone, and fits on public records as its slider moves.

It listens on the loopback address, answers only what names that address as its host (so that no other site's page can
reach it under a name of its own) and brings the token that is in the address the user was given.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import traceback
from contextlib import suppress
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from privet.errors import PrivetError
from privet.report.draws import Draws, Wish
from privet.report.model_facts import schema_facts
from privet.report.page import embedded, filled, policy, web_file, web_script

SCRIPTS = ("dom", "walker", "tree", "terms", "tradeoff", "playground")
HOST = "127.0.0.1"
TOKEN_HEADER = "X-Privet-Token"
MOST_PAGES = 1000

ROWS = {"one": "record", "many": "records"}
PERSONS = {"one": "person", "many": "people"}
"""What is learned from, in words: a row is a person only where the schema says whose it is."""


class Playground:
    """A server that is ready to run; ``address`` is where its page is, with the token."""

    def __init__(self, draws: Draws, port: int = 0) -> None:
        self.draws = draws
        self.token = secrets.token_urlsafe(24)
        self.fitting = threading.Lock()  # one fit at a time: several would only slow each other down
        self.newest: dict[str, int] = {}  # the latest turn of each page that is open
        self._server = ThreadingHTTPServer((HOST, port), _handler_of(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.page = _page(draws)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Answer until ``stop``, or until the user interrupts it."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        self._server.shutdown()

    def allows(self, host: str, token: str) -> bool:
        """Whether a request is from the page that was opened with our address."""
        ours = (f"{HOST}:{self.port}", f"localhost:{self.port}")
        return host in ours and hmac.compare_digest(token.encode(), self.token.encode())

    def answer(self, asked: dict[str, str]) -> dict[str, Any]:
        """One fit; or only that it is stale, where the slider has moved on in the meantime."""
        try:
            wish = Wish(
                asked["method"], float(asked["epsilon"]), int(asked["depth"]), int(asked["records"]), int(asked["draw"])
            )
            page, turn = asked["page"][:40], int(asked["turn"])
        except (KeyError, ValueError):
            raise PrivetError("the playground was asked for something that it does not know") from None
        if page not in self.newest and len(self.newest) >= MOST_PAGES:
            self.newest.clear()
        self.newest[page] = max(self.newest.get(page, 0), turn)
        with self.fitting:
            return {"stale": True} if turn < self.newest.get(page, 0) else self.draws.fit(wish)


def _page(draws: Draws) -> tuple[bytes, str]:
    """The page, and its policy."""
    style = web_file("style.css") + web_file("playground.css")
    script = web_script(SCRIPTS)
    words = PERSONS if draws.schema.person is not None else ROWS
    facts = {
        "schema": schema_facts(draws.schema),
        "methods": [[name, own.title, own.deep] for name, own in draws.methods.items()],
        "sizes": draws.sizes,
        "baseline": round(draws.baseline, 5),
        "score": "accuracy" if draws.schema.classes is not None else "R²",
        **words,
    }
    text = filled(
        web_file("playground.html"),
        source=escape(draws.source),
        people=f"{draws.sizes[-1]:,}",
        one=words["one"],
        many=words["many"],
        style=style,
        facts=embedded(facts),
        script=script,
    )
    return text.encode(), policy(script, style, "connect-src 'self'", "frame-ancestors 'none'")


def _handler_of(playground: Playground) -> type[BaseHTTPRequestHandler]:
    class PlaygroundHandler(BaseHTTPRequestHandler):
        server_version, sys_version = "privet", ""

        def do_GET(self) -> None:
            place = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(place.query).items()}
            token = self.headers.get(TOKEN_HEADER) or asked.get("token", "")
            if not playground.allows(self.headers.get("Host", ""), token):
                return self._send(403, b"This is somebody's playground. Open the address that privet playground says.")
            if place.path == "/":
                page, rules = playground.page
                return self._send(200, page, "text/html; charset=utf-8", rules)
            if place.path == "/draw":
                return self._draw(asked)
            return self._send(404, b"There is nothing here.")

        def _draw(self, asked: dict[str, str]) -> None:
            try:
                status, said = 200, playground.answer(asked)
            except PrivetError as error:
                status, said = 400, {"error": str(error)}
            except Exception:
                traceback.print_exc()  # for whoever runs it; the page is told that there is something to read there
                status, said = 500, {"error": "This fit failed; the terminal says why."}
            self._send(status, json.dumps(said, allow_nan=False).encode(), "application/json")

        def _send(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8", rules: str = "") -> None:
            self.send_response(status)
            headers = {
                "Content-Type": kind,
                "Content-Length": str(len(body)),
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Content-Security-Policy": rules or "default-src 'none'",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            with suppress(BrokenPipeError, ConnectionResetError):  # the page has left, or moved on
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing: every move of the slider would be a line."""

    return PlaygroundHandler
