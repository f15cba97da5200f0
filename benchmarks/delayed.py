"""A line with a delay, for measuring and for faults: connections are passed on, every byte so many seconds later."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

HERE = "127.0.0.1"


class Delayed:
    """Connections to ``port``, of this machine, go on to the port ``to``. ``cut`` ends those that there are."""

    def __init__(self, to: int, seconds: float = 0.0) -> None:
        self._to, self.seconds = to, seconds
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Delayed:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._pass_on, HERE, 0))
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self.cut()
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def changed(self, data: bytes) -> bytes:
        """What arrives of what was sent: for those who want to spoil it."""
        return data

    def cut(self) -> None:
        async def cut() -> None:
            for writer in list(self._writers):
                writer.transport.abort()

        self._do(cut())

    async def _end(self) -> None:
        own = asyncio.all_tasks() - {asyncio.current_task()}
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(HERE, self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        await asyncio.gather(self._one_way(reader, back), self._one_way(there, writer), return_exceptions=True)
        self._writers -= {writer, back}

    async def _one_way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while True:
                at, data = await due.get()
                await asyncio.sleep(at - self._loop.time())
                if not data:
                    writer.close()
                    return
                writer.write(data)

        writing = asyncio.create_task(write())
        try:
            while data := await reader.read(2**16):
                due.put_nowait((self._loop.time() + self.seconds, self.changed(data)))
        except OSError:
            pass
        due.put_nowait((self._loop.time() + self.seconds, b""))
        await writing
