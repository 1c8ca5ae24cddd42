"""Starts of a service that show whether it works, and its previous files where it does not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import paths, restart, unit
from .unit import State, Unit

READY_SECONDS = 300.0
"""After that a process that runs counts as started: its first work may take long."""
STOP_SECONDS = 120.0
_POLL_SECONDS = 0.2


class NotStartedError(Exception):
    """A unit ended before it was ready; the message has the end of its journal."""


@dataclass(frozen=True)
class Watched:
    """A unit, its restart mark, and the file that is there once it works."""

    unit: Unit
    mark: Path
    """Its restart mark."""
    ready: Path
    """The file that is there once it works."""

    def restart(self) -> None:
        """Start it with its current files, and wait until it works.

        Raises:
            NotStartedError: it ended before that.
            OSError: systemd refuses.

        """
        self.stop()
        self.unit.start(wait=True)
        self.wait()

    def stop(self) -> None:
        """Ask it to stop, and wait until no process is left."""
        if not self.unit.state().stopped:
            self.unit.stop()
            _wait_until(lambda: self.unit.state().stopped, STOP_SECONDS)

    def wait(self) -> None:
        """Wait until it works, or `READY_SECONDS` have passed; raises as `restart`."""
        _wait_until(
            lambda: self._has_ended(self.unit.state()) or self.ready.exists(), READY_SECONDS
        )
        if self._has_ended(self.unit.state()):
            lines = "\n".join(self.unit.journal())
            text = f"{self.unit.name} ended before it was ready:\n{lines}"
            raise NotStartedError(text)

    @staticmethod
    def _has_ended(state: State) -> bool:
        """Whether its process ended by itself: systemd then starts another, or has given up."""
        gone = state.active in ("failed", "inactive")
        return gone or state.sub == "auto-restart" or state.restarts > 0


def bring_up(watched: Iterable[Watched], previous: Path | None) -> list[str]:
    """Restart units that are marked or do not run, wait for the others; return what was restarted.

    A unit that ends before it is ready gets its previous files back, and starts with them.

    Raises:
        NotStartedError: a unit did not become ready with its new files.

    """
    restarted = []
    for service in watched:
        try:
            if service.mark.exists() or not service.unit.state().running:
                service.restart()
                restarted.append(service.unit.name)
            else:
                service.wait()
        except NotStartedError as error:
            raise NotStartedError(_restored(service, previous, str(error))) from error
        if previous:
            paths.remove_file(previous)  # the process runs on the files that followed
    return restarted


def _restored(service: Watched, previous: Path | None, why: str) -> str:
    """Put the previous files back and start with them; return the message about both."""
    if previous is None or not restart.can_restore(previous):
        return f"{why}\nThere are no previous files that it could run with."
    service.stop()
    restart.restore(previous, [service.mark])
    unit.reload()
    try:
        service.unit.start(wait=True)
        service.wait()
    except NotStartedError as error:
        return f"{why}\nWith its previous files, which are back, it does not start either: {error}"
    return f"{why}\nIts previous files are back, and it runs with them."


def _wait_until(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
