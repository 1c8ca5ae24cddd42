"""A SOCKS5 proxy (RFC 1928) between a client and its brokers that loses acknowledgements.

kafka-python goes through it with `proxy_url`, whatever addresses the brokers advertise. It counts
bytes and reads none, so that it serves encrypted connections as it serves open ones.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer

LARGE = 100_000
"""Bytes without an answer that only a request with a record of that size can be."""
CHUNK = 65_536
IPV4, NAME, IPV6 = 1, 3, 4
SECONDS = 10


class LossyProxy(ThreadingTCPServer):
    """Cuts the connection in place of the answer to a large request, `to_lose` times."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, to_lose: int) -> None:
        super().__init__(("127.0.0.1", 0), _Link)
        self.lost = 0
        self._to_lose = to_lose
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"socks5://127.0.0.1:{self.server_address[1]}"

    def loses(self) -> bool:
        """Whether to lose this answer, which is then counted."""
        with self._lock:
            if self.lost >= self._to_lose:
                return False
            self.lost += 1
            return True


@contextmanager
def losing_answers(count: int) -> Iterator[LossyProxy]:
    """A proxy that loses the answers to the first `count` requests of at least `LARGE` bytes."""
    with LossyProxy(count) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Link(BaseRequestHandler):
    """One connection of the client, and the one to the broker that it asked for."""

    request: socket.socket
    server: LossyProxy

    def setup(self) -> None:
        self._unanswered = 0

    def handle(self) -> None:
        with suppress(OSError), socket.create_connection(self._target(), SECONDS) as broker:
            broker.settimeout(None)
            # Granted, bound to 0.0.0.0:0.
            self.request.sendall(struct.pack("!BBBB4sH", 5, 0, 0, IPV4, bytes(4), 0))
            forward = threading.Thread(target=self._requests, args=(broker,), daemon=True)
            forward.start()
            self._answers(broker)
            forward.join()

    def _target(self) -> tuple[str, int]:
        """Where the client wants to go."""
        _version, methods = _exactly(self.request, 2)
        _exactly(self.request, methods)
        self.request.sendall(bytes((5, 0)))  # no authentication
        _version, _connect, _reserved, kind = _exactly(self.request, 4)
        if kind == NAME:
            host = _exactly(self.request, _exactly(self.request, 1)[0]).decode()
        elif kind == IPV6:
            host = socket.inet_ntop(socket.AF_INET6, _exactly(self.request, 16))
        else:
            host = socket.inet_ntop(socket.AF_INET, _exactly(self.request, 4))
        (port,) = struct.unpack("!H", _exactly(self.request, 2))
        return host, port

    def _requests(self, broker: socket.socket) -> None:
        """Pass on what the client sends, and count it."""
        with suppress(OSError):
            while data := self.request.recv(CHUNK):
                self._unanswered += len(data)
                broker.sendall(data)
        _shut(broker)

    def _answers(self, broker: socket.socket) -> None:
        """Pass on what the broker sends, until an answer is to be lost."""
        with suppress(OSError):
            while data := broker.recv(CHUNK):
                if self._unanswered >= LARGE and self.server.loses():
                    break
                self._unanswered = 0
                self.request.sendall(data)
        _shut(self.request)
        _shut(broker)


def _exactly(source: socket.socket, count: int) -> bytes:
    """So many bytes; raises ConnectionError if the other end has closed."""
    data = b""
    while len(data) < count:
        chunk = source.recv(count - len(data))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data


def _shut(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
