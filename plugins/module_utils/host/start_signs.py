"""Signs that a starting process makes progress, which no timeout of a start may cut short.

Progress is data that it reads, and lines in its journal of a kind that it did not log before. A
line that is repeated with other numbers (a connection that is tried again) is none, except those
about the recovery of logs, whose number is limited by the segments. Processor time is none, since a
process in an endless loop uses it too; it is shown.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .unit import State, Unit

LEAST_BYTES = 1 << 18
"""Reading less is no progress: a process that tries to connect for ever reads something, too."""
LINES = 500
# kafka.log.LogManager and LogLoader, of all supported versions.
RECOVERY = re.compile(
    r"Recover(?:ing|ed) .*|Loading producer state .*|Completed load of .*|Loaded log .*"
    r"|.*\d+/\d+ (?:completed|recovered).*|.*[rR]emainingLogsToRecover.*"
)
FATAL = re.compile(r"\bFATAL\b|(?<!non-)\b[Ff]atal (?:error|exception|fault)|OutOfMemoryError")
_TIME = re.compile(r"^\[[^\]]*\] (?:\w+ )?")
_CHANGING = re.compile(r"\S*\d\S*")


@dataclass(frozen=True)
class Signs:
    """What a process has done since its start; `lines` are checksums of kinds of lines.

    `preparing` says that the unit still runs what comes before its process; systemd limits that.
    """

    read: int = 0
    seconds: float = 0
    lines: tuple[int, ...] = ()
    text: str = ""
    preparing: bool = False

    def as_data(self) -> dict[str, Any]:
        """Return what the control node compares with the next slice."""
        return {"read": self.read, "lines": list(self.lines), "preparing": self.preparing}


def read(unit: Unit, proc: Path = Path("/proc")) -> Signs:
    """Return the signs of a unit's process."""
    state = unit.state()
    if state.sub == "start-pre":
        return Signs(text="its unit runs what comes before its process", preparing=True)
    logged = unit.logged(state.invocation, LINES) if state.invocation else []
    data = data_read(proc / str(state.pid))
    seconds = processor_seconds(proc / str(state.pid))
    return Signs(data, seconds, kinds(logged), describe(logged, data, seconds))


def fatal_lines(unit: Unit, state: State) -> list[str]:
    """Return the lines in which the process itself says that it cannot start."""
    logged = unit.logged(state.invocation, LINES) if state.invocation else []
    return [line for line in logged if FATAL.search(line)]


def kinds(lines: Iterable[str]) -> tuple[int, ...]:
    """Return checksums of the kinds of lines, in order."""
    return tuple(sorted({zlib.crc32(_kind(line).encode()) for line in lines}))


def _kind(line: str) -> str:
    text = _TIME.sub("", line)
    return text if RECOVERY.match(text) else _CHANGING.sub("#", text)


def describe(lines: Iterable[str], data: int, seconds: float) -> str:
    """Return how far the process is, for people."""
    texts = [_TIME.sub("", line) for line in lines]
    recovering = [text for text in texts if RECOVERY.match(text)]
    shown = f"{data / 2**20:.0f} MiB read, {seconds:.0f} s of processor time"
    last = next(reversed(recovering or texts), "")
    return f"{last[:200]} ({shown})" if last else shown


def data_read(process: Path) -> int:
    """Return the bytes that a process has read, from memory that maps a file too."""
    try:
        text = (process / "io").read_text(encoding="ascii")
    except OSError:  # it has ended, or this host lets nobody see it
        return 0
    values = dict(line.split(": ") for line in text.splitlines())
    return int(values["rchar"]) + int(values["read_bytes"])


def processor_seconds(process: Path, ticks: int = 100) -> float:
    """Return the processor time that a process has used."""
    try:
        fields = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / ticks
