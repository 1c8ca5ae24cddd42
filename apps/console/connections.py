"""Connections of browsers: few of each network, and each ends that asks for nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .attempts import networks

MOST = 200
MOST_OF_NETWORK = 32
_REFUSED = "too many connections of this network"


class Listener(socket.socket):
    """A socket that takes a bounded number of connections of each network, and in all.

    They are counted from when they are accepted, before the TLS handshake. If there are too many
    in all, the oldest one ends of the network that has most.
    """

    most: ClassVar[int] = MOST
    most_of_network: ClassVar[int] = MOST_OF_NETWORK

    @classmethod
    def at(cls, address: str, port: int) -> Listener:
        """Return a socket that listens at an address; at all of both versions of IP if empty."""
        both = not address and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both or ":" in address else socket.AF_INET
        made = socket.create_server((address, port), family=family, dualstack_ipv6=both)
        return cls(fileno=made.detach())

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Begin without connections."""
        super().__init__(*arguments, **options)
        self._connections: list[tuple[dict[str, int], socket.socket]] = []

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection, and its address.

        Raises:
            ConnectionAbortedError: its network has too many; it was closed.

        """
        connection, address = super().accept()
        places = networks(address[0])
        self._connections = [entry for entry in self._connections if entry[1].fileno() >= 0]
        sizes = Counter(place for counted, _ in self._connections for place in counted)
        if any(sizes[place] >= self.most_of_network * times for place, times in places.items()):
            connection.close()
            raise ConnectionAbortedError(_REFUSED)
        if len(self._connections) >= self.most:
            self._end_oldest_of(sizes.most_common(1)[0][0])
        self._connections.append((places, connection))
        return connection, address

    def _end_oldest_of(self, place: str) -> None:
        oldest = next(entry for entry in self._connections if place in entry[0])
        self._connections.remove(oldest)
        with contextlib.suppress(OSError):  # it has just ended by itself
            oldest[1].shutdown(socket.SHUT_RDWR)


class Connection(H11Protocol):
    """A connection whose first request is not whole in `first_seconds` is ended.

    It also ends if no further one begins for `seconds`, or twice as long: so slow headers, a slow
    body, and an answer that nobody reads cannot keep it, either.
    """

    first_seconds: ClassVar[float] = 10.0
    seconds: ClassVar[float] = 60.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # its caller gives it nothing else
        """Begin to watch it."""
        super().connection_made(transport)
        self._last: RequestResponseCycle | None = None
        self._watch = self.loop.call_later(self.first_seconds, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch it no longer."""
        self._watch.cancel()
        super().connection_lost(exc)

    def _check(self) -> None:
        if self.cycle is self._last:
            self.transport.abort()
            return
        self._last = self.cycle
        self._watch = self.loop.call_later(self.seconds, self._check)
