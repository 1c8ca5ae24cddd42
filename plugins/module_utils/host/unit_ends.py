"""Ends of units that nobody asked for, and what their JVMs left of a crash.

Each unit records its own ends (templates/unit-end.sh.j2), one line each: time, and systemd's
$SERVICE_RESULT, $EXIT_CODE and $EXIT_STATUS (systemd.exec(5)).
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import paths

CRASHES = Path("/var/lib/millrace/crash")
UNIT = re.compile(r"[A-Za-z0-9][\w@:.-]*", re.ASCII)
"""Names of units: the accounts of the services write these directories."""
_END = re.compile(r"([0-9]{1,10}) ([\w+-]+) ([\w+-]+) ([\w+-]+)", re.ASCII)
_LARGEST = 2**16  # bytes of a record
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
    """An end of a unit."""

    unit: str
    time: float
    """In seconds since 1970."""
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
    recent = [
        end
        for path in directory.glob("*/*.ends")
        if UNIT.fullmatch(path.stem)
        for end in _read(path.stem, _lines(path))
        if end.time >= since
    ]
    return sorted(recent, key=lambda end: end.time)


def _lines(path: Path) -> list[str]:
    """Return the lines of a record, none of what is no file, or is being replaced."""
    with contextlib.suppress(OSError), paths.at(path) as place:
        return place.read(_LARGEST).decode("utf-8", "replace").splitlines()
    return []


def _read(unit: str, lines: Iterable[str]) -> list[End]:
    matches = filter(None, map(_END.fullmatch, lines))
    return [End(unit, float(match[1]), *match.groups()[1:]) for match in matches]


def reports(since: float, directory: Path = CRASHES) -> list[str]:
    """Return the paths of reports and heap dumps written since a time, the oldest first."""
    reported = []
    for path in (path for pattern in REPORTS for path in directory.glob(f"*/{pattern}")):
        with contextlib.suppress(OSError):  # removed meanwhile
            # A name may have any byte; what shows it takes text alone.
            name = str(path).encode("utf-8", "replace").decode()
            reported.append((path.lstat().st_mtime, name))
    return [path for written, path in sorted(reported) if written >= since]
