"""What the page shows, read again and again by threads that hold it in memory.

Each service has a thread of its own: one that hangs keeps no other one, and no request, waiting.
"""

from __future__ import annotations

import gzip
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import views
from .settings import Settings

LOG = logging.getLogger("console")
Reader = Callable[[], Any]
"""Returns a part of the snapshot; `hosts` is added to what the settings say of each host."""
STALE = 4
"""Times the interval after which a service that has not answered counts as one that hangs."""
_LEAST_SECONDS = 20.0


class Collector:
    """The last answer of each service, and the page's snapshot made of them."""

    def __init__(self, settings: Settings, readers: Mapping[str, Reader]) -> None:
        """Keep what reads each service, by the service's name in the snapshot."""
        self._settings, self._readers = settings, readers
        self._views = views.described(views.read(settings.views))
        self._found: dict[str, Any] = {}
        self._at: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._begun = time.time()
        self._body = b""
        self._body_of = ""

    def start(self) -> None:
        """Begin to read; the threads end with the process."""
        for name in self._readers:
            threading.Thread(target=self._loop, args=(name,), name=name, daemon=True).start()

    def stop(self) -> None:
        """Read nothing more."""
        self._stopping.set()

    def read(self, name: str) -> None:
        """Read one service once."""
        try:
            result = self._readers[name]()
        except Exception as error:  # whatever it is, the page shows it
            LOG.warning("%s cannot be read: %s: %s", name, type(error).__name__, error)
            result = {"error": f"{type(error).__name__}: {error}"}
        with self._lock:
            self._found[name], self._at[name] = result, time.time()

    def snapshot(self) -> dict[str, Any]:
        """Return what the page shows."""
        now = time.time()
        limit = max(_LEAST_SECONDS, STALE * self._settings.refresh_seconds)
        services: dict[str, Any] = {}
        with self._lock:
            for name in self._readers:
                at = self._at.get(name, self._begun)
                if now - at > limit:
                    services[name] = {"error": f"no answer for {now - at:.0f} s"}
                else:
                    services[name] = self._found.get(name, {"error": "it is being read"})
        host_states = services.pop("hosts", {})
        if isinstance(host_states.get("error"), str):  # nothing is known of any host
            host_states = {}
        return {
            "version": 1,
            "name": self._settings.name,
            "made": now,
            "hosts": [
                {**host, **host_states.get(host["name"], {})} for host in self._settings.hosts
            ],
            "views": self._views,
            **services,
        }

    def body(self) -> bytes:
        """Return the snapshot as compressed JSON, made once for each change of it."""
        with self._lock:
            mark = repr(sorted(self._at.items()))
        stale = mark != self._body_of
        if (
            stale
            or not self._body
            or any(time.time() - at > _LEAST_SECONDS for at in self._at.values())
        ):
            text = json.dumps(self.snapshot(), separators=(",", ":"))
            self._body, self._body_of = gzip.compress(text.encode(), 5), mark
        return self._body

    def _loop(self, name: str) -> None:
        while not self._stopping.is_set():
            self.read(name)
            self._stopping.wait(self._settings.refresh_seconds)
