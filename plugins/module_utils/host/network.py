"""Whether a service listens at an address, seen from this host."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection

CONNECT_SECONDS = 0.5
POLL_SECONDS = 0.1


def connect(address: str, seconds: float = CONNECT_SECONDS) -> None:
    """Open a connection to `host:port` and close it again.

    Raises:
        OSError: the connection is refused, or not accepted within `seconds`.

    """
    connected(address, seconds).close()


def connected(address: str, seconds: float) -> socket.socket:
    """Return a connection to `host:port`.

    Raises:
        OSError: as `connect`.

    """
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), seconds)


def listens(address: str, seconds: float = CONNECT_SECONDS) -> bool:
    """Return whether a connection to `host:port` is accepted within `seconds`."""
    try:
        connect(address, seconds)
    except OSError:
        return False
    return True


def addresses(name: str) -> list[str]:
    """Return what this host resolves a name to, nothing if it cannot."""
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None)})
    except (OSError, UnicodeError):
        return []


def sources(name: str) -> list[str]:
    """Return from which addresses this host connects to another, by each address of its name."""
    return sorted({source for address in addresses(name) if (source := _source(address))})


def _source(address: str) -> str:
    """Return the address that the routes of this host choose, empty without a route."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as udp_socket:
        try:
            udp_socket.connect((address, 1))  # of a datagram's socket, which sends nothing
        except OSError:
            return ""
        return str(udp_socket.getsockname()[0])


def wait_for_any(addresses: Collection[str], seconds: float) -> None:
    """Wait until one of `addresses` accepts connections, or `seconds` have passed."""
    deadline = time.monotonic() + seconds
    while not any(map(listens, addresses)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
