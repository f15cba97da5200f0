"""The coordinator's end of the wire: one port that parties call, and the channel that asks those who hold a line.

Only who shows one of the parties' certificates gets in: they are the only roots of the server's TLS, and whoever comes
through is compared with them byte for byte. A party whose line breaks while it is asked is asked again when it is back,
with the same bytes.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import grpc

from privet.consortium.federated.config import CoordinatorConfig
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.line import CHECK, METHOD, OPTIONS, SERVICE, TAG_BYTES, tag
from privet.consortium.federated.strangers import HANDSHAKE, Strangers
from privet.consortium.net.certificates import fingerprint
from privet.errors import FederatedError

_logger = logging.getLogger("privet.coordinator")

Result = TypeVar("Result")

AWAY = 10.0
"""Seconds that a party whose line broke has to come back, before it counts as away."""

POLL = 0.05

BETWEEN_LINES = 1.0
"""Seconds between two lines about refused strangers, who could fill the disk with them."""

SERVER_OPTIONS = (
    *OPTIONS,
    ("grpc.so_reuseport", 0),  # two coordinators would share a port, and the parties
    ("grpc.max_concurrent_streams", 2),
    ("grpc.server_handshake_timeout_ms", round(1000 * HANDSHAKE)),  # strangers that say nothing
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),  # parties ping more often than gRPC's five minutes
)


class _Held:
    """A line that a party holds: what is to be sent on it, of which the newest counts, and its end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._next: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)

    def send(self, message: bytes) -> None:
        if self._next.full():
            self._next.get_nowait()
        self._next.put_nowait(message)

    async def write(self, context: grpc.aio.ServicerContext) -> None:
        while True:
            await context.write(await self._next.get())


class Switchboard:
    """A channel to the parties of a file. It listens from the start, and waits for all of them to call."""

    def __init__(self, config: CoordinatorConfig, progress: Callable[[str], None] = lambda said: None) -> None:
        self.parties = tuple(sorted(config.parties))
        self._config, self._progress = config, progress
        self._pinned = {fingerprint(certificate): name for name, certificate in config.parties.items()}
        self._lines: dict[str, _Held] = {}
        self._here = {name: asyncio.Event() for name in self.parties}
        self._left = dict.fromkeys(self.parties, -AWAY)
        self._strangers = Strangers(config.address[1])
        self._expected: dict[str, tuple[bytes, asyncio.Future[bytes]]] = {}
        Identity.read("coordinator", config.key, config.certificate)  # raises if they do not fit together
        _check_port(*config.address)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._server = self._wait_for(self._serve())
            self._await_parties()
        except BaseException:
            self.close()
            raise

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        return self._wait_for(self._ask(messages))

    def status(self) -> dict[str, Any]:
        """Who holds a line now, and how many connections were refused."""
        members = [{"name": name, "connected": name in self._lines} for name in self.parties]
        return {"members": members, "refused connections": self._strangers.refused}

    def close(self) -> None:
        if self._loop.is_running():
            self._wait_for(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Have something done on the thread of the lines."""
        doing = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return doing.result()
        except BaseException:
            doing.cancel()
            raise

    # -- the port ----------------------------------------------------------------------------------------------------

    async def _serve(self) -> grpc.aio.Server:
        server = grpc.aio.server(options=SERVER_OPTIONS)
        handlers = {
            METHOD: grpc.stream_stream_rpc_method_handler(self._hold),
            CHECK: grpc.unary_unary_rpc_method_handler(self._greet),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        own = self._config.key.read_bytes(), self._config.certificate.read_bytes()
        known = b"\n".join(self._config.parties.values())
        host, port = self._config.address
        pinned = grpc.ssl_server_certificate_configuration([own], known)
        credentials = grpc.dynamic_ssl_server_credentials(pinned, self._strangers.began, True)
        server.add_secure_port(f"{host}:{port}", credentials)
        await server.start()
        self._looking = asyncio.create_task(self._look())
        return server

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(BETWEEN_LINES)
            self._strangers.look()

    async def _stop(self) -> None:
        for line in self._lines.values():
            line.ended.set()
        if hasattr(self, "_server"):
            await self._server.stop(1.0)
            self._looking.cancel()

    def _await_parties(self) -> None:
        """Wait until all parties are there, or for as long as the file says."""
        end, told = time.monotonic() + self._config.wait, ""
        while (missing := [name for name in self.parties if name not in self._lines]) and time.monotonic() < end:
            if (said := f"waiting for {', '.join(missing)}") != told:
                self._progress(said)
            told = said
            time.sleep(POLL)

    # -- a line ------------------------------------------------------------------------------------------------------

    async def _hold(self, answers: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
        """What gRPC calls when somebody calls: returns when the line has ended."""
        name = await self._name_of(context)
        await context.send_initial_metadata(())
        await self._hold_for(name, answers, context)

    async def _greet(self, said: bytes, context: grpc.aio.ServicerContext) -> bytes:
        """A party's dry run: it has come through."""
        await self._name_of(context)
        return b""

    async def _name_of(self, context: grpc.aio.ServicerContext) -> str:
        """The party whose very certificate is shown; whoever has one that a party's has signed is sent away."""
        shown = context.auth_context().get("x509_pem_cert", [b""])[0]
        name = self._pinned.get(fingerprint(shown)) if shown else None
        if name is None:
            _logger.warning("refused %s: it shows a certificate that is no party's", context.peer())
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "This is not the certificate of a party.")
            raise FederatedError("This is not the certificate of a party.")
        self._strangers.recognized(context.peer())
        return name

    async def _hold_for(self, name: str, answers: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
        line = _Held()
        if (before := self._lines.get(name)) is not None:
            before.ended.set()
        self._lines[name] = line
        self._here[name].set()
        _logger.info("%s is there, from %s", name, context.peer())
        works = self._read(name, answers), line.write(context), line.ended.wait()
        parts = [asyncio.create_task(work) for work in works]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            line.ended.set()
            if self._lines.get(name) is line:
                del self._lines[name]
                self._here[name].clear()
                self._left[name] = self._loop.time()
                _logger.info("%s has left", name)
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def _read(self, name: str, answers: AsyncIterator[bytes]) -> None:
        """Take the answer that is waited for. Whatever else a party says is dropped."""
        async for said in answers:
            awaited, answer = self._expected.get(name, (None, None))
            if answer is not None and not answer.done() and said[:TAG_BYTES] == awaited:
                answer.set_result(said[TAG_BYTES:])

    # -- a round -----------------------------------------------------------------------------------------------------

    async def _ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        replies: dict[str, bytes] = {}
        asking = [asyncio.create_task(self._ask_one(name, own, replies)) for name, own in messages.items()]
        if asking:
            await asyncio.wait(asking, timeout=self._config.timeout)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return {name: replies[name] for name in messages if name in replies}

    async def _ask_one(self, name: str, message: bytes, replies: dict[str, bytes]) -> None:
        """Add the answer, on whichever line it comes; none if the party is away."""
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._expected[name] = tag(message), answer
        while not answer.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._here[name].wait(), self._left[name] + AWAY - self._loop.time())
            if (line := self._lines.get(name)) is None:
                return
            line.send(message)
            ended: asyncio.Future[Any] = asyncio.create_task(line.ended.wait())
            await asyncio.wait([answer, ended], return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
        replies[name] = answer.result()


def _check_port(host: str, port: int) -> None:
    """Raise if the port cannot be had, saying why."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host.strip("[]"), port))
            probe.listen()
    except OSError as error:
        raise FederatedError(
            f"The coordinator cannot have {host}:{port}: {error.strerror}. Another coordinator may have this port, or "
            "the address is not one of this machine."
        ) from error
