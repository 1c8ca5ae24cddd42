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
_V6_WIDE_PREFIX = 48
_V6_WIDE_TIMES = 4


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
        now = self._clock()
        with self._lock:
            full = any(
                len(self._recent(place, now)) >= MOST_FAILED * times
                for place, times in networks(address).items()
            )
            if full or self._running >= MOST_AT_ONCE:
                return False
            self._running += 1
        return True

    def end(self, address: str, *, failed: bool) -> None:
        """Count the end of a sign-in."""
        now = self._clock()
        with self._lock:
            self._running -= 1
            if failed:
                for place in networks(address):
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


def networks(address: str) -> dict[str, int]:
    """Return in which networks an address counts, and how often each may have a place's limit.

    A site may have many networks of IPv6: those of a wider prefix have a limit together, too.
    """
    place = network(address)
    if not place.endswith(f"/{_V6_PREFIX}"):
        return {place: 1}
    wide = ipaddress.ip_network(place).supernet(new_prefix=_V6_WIDE_PREFIX)
    return {place: 1, str(wide): _V6_WIDE_TIMES}
