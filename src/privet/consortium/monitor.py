"""Health, metrics and a page about one program, for its own machine alone: read-only, on a loopback address.

Whoever else is on the machine can ask whether the program lives and how many runs it has. All the rest, budgets, names
and certificates, is for who has the token, which is in a file that only the operator can read. Requests that name
another host than this machine are refused: a web page from elsewhere could have pointed its own name here.
"""

from __future__ import annotations

import hmac
import html
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from privet.consortium.metrics import prometheus
from privet.disk import write_whole
from privet.errors import PrivetError

_logger = logging.getLogger("privet.monitor")

HERE = "127.0.0.1"
COOKIE = "privet_token"
SECONDS = 5
"""That a request may take, and between two looks at the page."""

Status = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; } th { font-weight: 600; }
footer { margin-top: 2rem; opacity: .7; }
"""


def token_in(path: Path) -> str:
    """The token in a file, which only its owner can read; a fresh one where there is none."""
    try:
        if not path.exists():
            write_whole(path, secrets.token_urlsafe(32).encode(), new=True)
        token = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise PrivetError(f"The token of the page cannot be kept in {path}: {error}.") from error
    if len(token) < 32 or path.stat().st_mode & 0o077:
        raise PrivetError(f"{path} is no token, or others can read it. Delete it, and start again.")
    return token


class Monitor:
    """Answers on a port of this machine until it is closed. ``status`` is asked anew for every request."""

    def __init__(self, port: int, status: Callable[[], Status], token: str) -> None:
        handler = type("_Handler", (MonitorHandler,), {"status": staticmethod(status), "token": token})
        try:
            self._server = ThreadingHTTPServer((HERE, port), handler)
        except (OSError, OverflowError) as error:
            raise PrivetError(f"Nothing can listen at {HERE}:{port} for --metrics ({error}).") from error
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class MonitorHandler(BaseHTTPRequestHandler):
    """GET of /health, /metrics and /; nothing changes anything."""

    server_version, sys_version = "privet", ""
    timeout = SECONDS
    status: Callable[[], Status]
    token: str

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        if not self._is_for_this_machine():
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", "This is for http://127.0.0.1 alone.\n")
        elif where.path == "/" and "token" in parse_qs(where.query):
            self._let_in(parse_qs(where.query)["token"][0])
        elif where.path not in ("/", "/health", "/metrics"):
            self._say(HTTPStatus.NOT_FOUND, "text/plain", "There are /health, /metrics and /.\n")
        elif where.path == "/" and not self._has_token():
            self._say(HTTPStatus.UNAUTHORIZED, "text/plain", "Open /?token=..., with what is in NAME.token.\n")
        else:
            self._show(where.path)

    def _show(self, path: str) -> None:
        try:
            status = type(self).status()
        except Exception:
            _logger.exception("the status cannot be read")
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "The status cannot be read; the log says why.\n")
            return
        if path == "/health":
            self._say(HTTPStatus.OK, "text/plain", "ok\n")
        elif path == "/metrics":
            self._say(HTTPStatus.OK, "text/plain; version=0.0.4", prometheus(status, everything=self._has_token()))
        else:
            self._say(HTTPStatus.OK, "text/html", page(status))

    def _is_for_this_machine(self) -> bool:
        port = int(self.server.server_address[1])  # type: ignore[index] # host and port
        return self.headers.get("Host") in {f"{host}:{port}" for host in (HERE, "localhost", "[::1]")}

    def _has_token(self) -> bool:
        kind, _, shown = self.headers.get("Authorization", "").partition(" ")
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        given = [shown.strip() if kind == "Bearer" else "", "" if cookie is None else cookie.value]
        return any(self._is_token(each) for each in given)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    def _let_in(self, given: str) -> None:
        """A right token becomes a cookie, so that it does not stay in the address."""
        if not self._is_token(given):
            self._say(HTTPStatus.UNAUTHORIZED, "text/plain", "This is not the token.\n")
            return
        cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        self._say(HTTPStatus.SEE_OTHER, "text/plain", "", {"Location": "/", "Set-Cookie": cookie})

    def _say(self, code: HTTPStatus, kind: str, text: str, more: Mapping[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(code)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Connection": "close",
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: an address may have a token in it."""


def page(status: Status) -> str:
    """The same data as the status, as one HTML page that needs nothing else."""
    title = f"{status.get('name', '')} ({status.get('role', '')})"
    plain = {name: value for name, value in status.items() if not isinstance(value, list)}
    lists = {name: value for name, value in status.items() if isinstance(value, list) and value}
    rows = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in plain.items())
    tables = "".join(f"<h2>{_text(name)}</h2>{_table(value)}" for name, value in lists.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Privet: {_text(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="{SECONDS}">'
        f"<style>{_STYLE}</style></head><body><h1>{_text(title)}</h1><table>{rows}</table>{tables}"
        "<footer>Read-only, for this machine alone. No record, and nothing that depends on one, is shown here."
        "</footer></body></html>\n"
    )


def _table(entries: list[Any]) -> str:
    known = [entry for entry in entries if isinstance(entry, Mapping)]
    names = list(dict.fromkeys(name for entry in known for name in entry))
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(entry.get(name, ''))}</td>" for name in names) + "</tr>" for entry in known
    )
    rest = "".join(f"<tr><td>{_text(entry)}</td></tr>" for entry in entries if not isinstance(entry, Mapping))
    return f"<table><tr>{head}</tr>{rows}{rest}</table>"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return html.escape(", ".join(map(str, value)) if isinstance(value, list) else str(value))
