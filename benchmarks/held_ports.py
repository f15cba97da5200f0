"""Ports of this machine, for programs that are told a number and bind it a while later."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

HERE = "127.0.0.1"


@contextmanager
def held_ports(n: int) -> Iterator[list[int]]:
    """Free ports of this machine, kept for servers that are told their numbers and bind them later.

    Who keeps them does not listen and lets them be shared, so Linux gives them to a server that asks for them, and to
    nobody who asks for any. Elsewhere a second socket would be refused, so there they are looked up and not kept.
    """
    with ExitStack() as held:
        ports = []
        for _ in range(n):
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((HERE, 0))
            ports.append(int(one.getsockname()[1]))
        if sys.platform != "linux":
            held.close()
        yield ports
