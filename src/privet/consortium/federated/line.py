"""A party's end of the wire: it dials the coordinator's one port, holds the line, and answers what comes on it.

gRPC with mutual TLS, and nothing of gRPC beyond its streams of bytes. The party knows the coordinator by its very
certificate, and is known by its own. A line that breaks is dialled again, with back-off; what was asked meanwhile is
asked again, with the same bytes, and the party's journal has the answer.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable
from hashlib import sha256

import grpc

from privet.consortium.federated.config import PartyConfig
from privet.consortium.federated.wire import MOST_BYTES
from privet.consortium.net.certificates import names_in

SERVICE, METHOD, CHECK = "privet.Federated", "Line", "Check"

TAG_BYTES = 16

FIRST_PAUSE, MOST_PAUSE = 0.2, 5.0
"""Seconds between two calls: at first, and at most."""

OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES + TAG_BYTES),  # looked at before anything of it is read
    ("grpc.max_send_message_length", MOST_BYTES + TAG_BYTES),
    ("grpc.per_message_decompression", 0),  # nothing small becomes something large
    ("grpc.enable_retries", 0),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)
"""Of both ends. A line whose other end says nothing, not even to a ping, is given up after half a minute."""


def tag(message: bytes) -> bytes:
    """What goes in front of an answer and says which message it answers: late ones are told from others."""
    return sha256(message).digest()[:TAG_BYTES]


class PartyLine:
    """Hands every message to ``handle``, one at a time, and sends back what it says."""

    def __init__(self, config: PartyConfig, handle: Callable[[bytes], bytes]) -> None:
        self._handle = handle
        self._address = f"{config.address[0]}:{config.address[1]}"
        trusted = config.coordinator
        self._credentials = grpc.ssl_channel_credentials(
            trusted, config.key.read_bytes(), config.certificate.read_bytes()
        )
        # The certificate is pinned, so the name that it is compared with is its own.
        self._options = [*OPTIONS, ("grpc.ssl_target_name_override", names_in(trusted)[0])]

    def run(self, progress: Callable[[str], None]) -> None:
        """Hold a line as long as there is a coordinator, for good."""
        told, pause = "", FIRST_PAUSE
        while True:
            start = time.monotonic()
            ended = self._hold(progress)
            if ended != told:
                progress(ended)
            told = ended
            pause = FIRST_PAUSE if time.monotonic() > start + MOST_PAUSE else min(MOST_PAUSE, 1.5 * pause)
            time.sleep(pause * random.uniform(0.5, 1.0))

    def check(self, seconds: float = 10.0) -> str:
        """Why the coordinator cannot be reached, or nothing. No line is held: another process may hold this party's."""
        with grpc.secure_channel(self._address, self._credentials, self._options) as channel:
            try:
                channel.unary_unary(f"/{SERVICE}/{CHECK}")(b"", timeout=seconds)
            except grpc.RpcError as error:
                return self._why(error)
        return ""

    def _hold(self, progress: Callable[[str], None]) -> str:
        """One line, to its end: why it ended."""
        answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        got_through = False
        try:
            with grpc.secure_channel(self._address, self._credentials, self._options) as channel:
                line = channel.stream_stream(f"/{SERVICE}/{METHOD}")(iter(answers.get, None))
                line.initial_metadata()  # comes when the coordinator has recognized this party
                if got_through := line.is_active():
                    progress(f"connected to the coordinator at {self._address}")
                for message in line:
                    answers.put(tag(message) + self._handle(message))
        except grpc.RpcError as error:
            if not got_through:
                return self._why(error)
        finally:
            answers.put(None)
        return "the coordinator has gone"

    def _why(self, error: grpc.RpcError) -> str:
        """Why there is no line, with what gRPC says of it."""
        said = str(error.details())
        if "CERTIFICATE_VERIFY_FAILED" in said:
            why = "it has not the certificate of the consortium's file, or that has expired"
        elif "Socket closed" in said or "reset" in said or error.code() is grpc.StatusCode.UNAUTHENTICATED:
            why = "it does not know this party's certificate, or that has expired"
        elif error.code() is grpc.StatusCode.UNAVAILABLE:
            return f"waiting for a coordinator at {self._address}"
        else:
            why = "it does not hold a line"
        return f"no entry at {self._address}: {why}; trying again ({said})"
