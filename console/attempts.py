"""How many sign-ins may fail: a bounded number from each network, and a few at the same time."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_FAILED = 10
WINDOW_SECONDS = 300.0
MOST_AT_ONCE = 4
MOST_NETWORKS = 10_000
_V6_PREFIX = 64


class Attempts:
    """The failed sign-ins of the last minutes, by network: passwords cannot be tried out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without any."""
        self._clock = clock
        self._failed: OrderedDict[str, list[float]] = OrderedDict()
        self._running = 0
        self._lock = threading.Lock()

    def begin(self, address: str) -> bool:
        """Return whether a sign-in from an address may begin; `end` is called after it."""
        network, now = _network(address), self._clock()
        with self._lock:
            recent = self._recent(network, now)
            if len(recent) >= MOST_FAILED or self._running >= MOST_AT_ONCE:
                return False
            self._running += 1
        return True

    def end(self, address: str, *, failed: bool) -> None:
        """Count the end of a sign-in."""
        network, now = _network(address), self._clock()
        with self._lock:
            self._running -= 1
            if failed:
                self._failed[network] = [*self._recent(network, now), now]
                self._failed.move_to_end(network)
                while len(self._failed) > MOST_NETWORKS:
                    self._failed.popitem(last=False)

    def _recent(self, network: str, now: float) -> list[float]:
        found = [one for one in self._failed.get(network, ()) if now - one < WINDOW_SECONDS]
        if not found:
            self._failed.pop(network, None)
        return found


def _network(address: str) -> str:
    """Return what counts as one place: an address, of IPv6 the network that one site has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:  # noqa: PLR2004, RUF100 - the version of IP
        return str(found)
    return str(ipaddress.ip_network((found, _V6_PREFIX), strict=False))
