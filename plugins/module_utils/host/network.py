"""Whether somebody listens at an address, seen from this host."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection

CONNECT_SECONDS = 0.5
POLL_SECONDS = 0.1


def connect(address: str) -> None:
    """Open a connection to `host:port` and close it again.

    Raises:
        OSError: the connection is refused, or not accepted in time.

    """
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


def listens(address: str) -> bool:
    """Tell whether somebody accepts connections at `host:port`."""
    try:
        connect(address)
    except OSError:
        return False
    return True


def wait_for_any(addresses: Collection[str], seconds: float) -> bool:
    """Wait until somebody listens at one of `addresses`; tell whether it came within `seconds`."""
    deadline = time.monotonic() + seconds
    while not any(map(listens, addresses)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
