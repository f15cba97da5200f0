"""Flower's SuperLink behind a gate: parties reach what is for them, and whatever else there is needs a secret.

Flower 1.41 has one port for all: for the nodes' messages (Fleet), where it checks their keys; for the work on tasks
(Runtime), which needs tokens; and for starting and stopping runs and registering nodes (Control), which asks nobody
who they are. So whoever could reach the port could stop a run or let in nodes of their own. Here Control, and all that
is not for nodes or for tasks, is answered to the coordinator alone, who shows a secret that was made for this process.

Started as ``python -m privet.consortium.federated.superlink``, with the options of ``flower-superlink``.
"""

from __future__ import annotations

import hmac
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any

OPEN = ("/v1/fleet/", "/v1/runtime/")
"""What Flower itself lets in only with a node's key, or with a token."""

HEADER = "privet-secret"

SECRET = "--superexec-auth-secret-file"
"""The option that names the file with the secret."""

Message = MutableMapping[str, Any]


class Gate:
    """ASGI middleware: whoever does not show the secret gets to ``OPEN`` and nowhere else."""

    def __init__(self, app: Callable[..., Awaitable[None]], secret: bytes) -> None:
        self._app = app
        self._shown = shown(secret).encode()

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] == "lifespan" or scope["path"].startswith(OPEN) or self._knows(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"This is for the coordinator alone."})
        else:
            await send({"type": "websocket.close"})

    def _knows(self, scope: Message) -> bool:
        headers = [value for name, value in scope["headers"] if name == HEADER.encode()]
        return len(headers) == 1 and hmac.compare_digest(headers[0], self._shown)


def shown(secret: bytes) -> str:
    """What is shown of the secret: Flower uses it, too, for other things."""
    return hmac.digest(secret, b"privet control", sha256).hex()


def main() -> None:
    from flwr.superlink import extensions
    from flwr.superlink.cli import flower_superlink
    from starlette.middleware import Middleware

    secret = Path(sys.argv[sys.argv.index(SECRET) + 1]).read_bytes()
    extensions.get_middleware = lambda: (Middleware(Gate, secret=secret),)
    sys.exit(flower_superlink())


if __name__ == "__main__":
    main()
