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
        place, now = network(address), self._clock()
        with self._lock:
            recent = self._recent(place, now)
            if len(recent) >= MOST_FAILED or self._running >= MOST_AT_ONCE:
                return False
            self._running += 1
        return True

    def end(self, address: str, *, failed: bool) -> None:
        """Count the end of a sign-in."""
        place, now = network(address), self._clock()
        with self._lock:
            self._running -= 1
            if failed:
                self._failed[place] = [*self._recent(place, now), now]
                self._failed.move_to_end(place)
                while len(self._failed) > MOST_NETWORKS:
                    self._failed.popitem(last=False)

    def _recent(self, place: str, now: float) -> list[float]:
        recent = [at for at in self._failed.get(place, ()) if now - at < WINDOW_SECONDS]
        if not recent:
            self._failed.pop(place, None)
        return recent


def network(address: str) -> str:
    """Return what counts as one place: an address, of IPv6 the network that one site has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:  # a socket for both versions shows IPv4 so
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _V6_PREFIX), strict=False))
