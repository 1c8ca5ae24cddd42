"""Ends of units that nobody asked for, and what their JVMs left of a crash.

Each unit records its own ends (templates/unit-end.sh.j2), one line each: time, and systemd's
$SERVICE_RESULT, $EXIT_CODE and $EXIT_STATUS (systemd.exec(5)).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import paths

CRASHES = Path("/var/lib/millrace/crash")
REPORTS = ("hs_err_pid*.log", "*.hprof")
# A JVM with -XX:+ExitOnOutOfMemoryError.
_OUT_OF_MEMORY = ("exited", "3")
_RESULTS = {
    "oom-kill": "the kernel killed it, since memory had run out (oom-kill)",
    "timeout": "it did not stop in time and was killed",
    "watchdog": "it did not answer its watchdog",
    "start-limit-hit": "it was started too often",
}


@dataclass(frozen=True)
class End:
    """An end of a unit, in seconds since 1970."""

    unit: str
    time: float
    result: str
    code: str
    status: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.time))
        return f"{self.unit} ended at {at} UTC without being asked to: {self._reason}"

    @property
    def _reason(self) -> str:
        if self.result in _RESULTS:
            return _RESULTS[self.result]
        if (self.code, self.status) == _OUT_OF_MEMORY:
            return "exit status 3, of a JVM whose heap is full"
        if self.code == "exited":
            return f"exit status {self.status}"
        return f"signal {self.status}" + (", with a core dump" if self.code == "dumped" else "")


def ends(since: float, directory: Path = CRASHES) -> list[End]:
    """Return all ends since a time, the oldest first."""
    found = [
        end
        for path in directory.glob("*/*.ends")
        for end in _read(path.stem, paths.read_text(path, "replace").splitlines())
        if end.time >= since
    ]
    return sorted(found, key=lambda end: end.time)


def _read(unit: str, lines: Iterable[str]) -> list[End]:
    words = [line.split() for line in lines]
    return [
        End(unit, float(fields[0]), *fields[1:])
        for fields in words
        if len(fields) == 4 and fields[0].isdigit()
    ]


def reports(since: float, directory: Path = CRASHES) -> list[str]:
    """Return the paths of reports and heap dumps written since a time, the oldest first."""
    found = [
        (path.lstat().st_mtime, str(path)) for x in REPORTS for path in directory.glob(f"*/{x}")
    ]
    return [path for written, path in sorted(found) if written >= since]
