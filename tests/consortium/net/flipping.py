"""Somebody on the way who changes one bit."""

import contextlib
import socket
import threading


class FlippingProxy:
    """Passes on what one client and a server send, and flips a bit of what the client sends.

    ``flip`` is its number, counted from the next byte that comes when it is set; None again when it was done.
    """

    def __init__(self, address):
        self.flip = None
        self.passed = 0  # bytes that the client has sent
        self._target = address
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = self._server.getsockname()
        self._sockets = [self._server]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            client, _ = self._server.accept()
            target = socket.create_connection(self._target)
            self._sockets += [client, target]
            threading.Thread(target=self._pump, args=(target, client, False), daemon=True).start()
            self._pump(client, target, True)

    def _pump(self, source, sink, flips):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if flips:
                    self.passed += len(data)
                    data = self._changed(data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _changed(self, data):
        if self.flip is None:
            return data
        if self.flip >= 8 * len(data):
            self.flip -= 8 * len(data)
            return data
        data = bytearray(data)
        data[self.flip // 8] ^= 1 << self.flip % 8
        self.flip = None
        return data

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for each in self._sockets:
            each.close()
