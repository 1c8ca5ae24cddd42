"""Connections of browsers: each ends that asks for nothing, or does not read its answer."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class Connection(H11Protocol):
    """A connection on which no further request begins for `seconds`, or twice as long, is ended.

    So slow headers, a slow body, and an answer that nobody reads cannot keep it, either.
    """

    seconds: ClassVar[float] = 60.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch it."""
        super().connection_made(transport)
        self._last: RequestResponseCycle | None = None
        self._watch = self.loop.call_later(self.seconds, self._check)

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
