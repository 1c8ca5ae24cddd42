"""Remove what Spark processes that have ended left in the directories of their blocks.

    clean_local.py DIRECTORY [SECONDS]

Each unit has a directory of its own below DIRECTORY. A driver or an executor that is killed leaves
its blocks there, and nobody else removes them: Spark's master knows only of applications that have
ended. An entry is removed when it was last changed SECONDS ago (an hour by default) and before
every process that could use it had started.

Processes of other accounts cannot be seen and cannot use these directories.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
OLD_SECONDS = 3600.0
# As Spark's worker calls the directory that the executors of an application share (Worker.scala).
_OF_EXECUTORS = "spark-*/executor-*"
_LOCAL, _EXECUTOR = "SPARK_LOCAL_DIRS", "SPARK_EXECUTOR_DIRS"


@dataclass(frozen=True)
class Process:
    """A running process of this account.

    `started` is its start in seconds of the clock; `local` are the directories in which it makes
    its own, and `executor` those that it has got from a worker.
    """

    started: float
    local: frozenset[str] = frozenset()
    executor: frozenset[str] = frozenset()

    def uses(self, directory: Path) -> bool:
        """Return whether it makes directories in this one."""
        if self.executor:
            return str(directory) in self.executor
        # Of a worker only its executors write into the directories of applications.
        if directory.match(_OF_EXECUTORS):
            return False
        return not self.local.isdisjoint([str(directory), *map(str, directory.parents)])


def processes(proc: Path = PROC) -> list[Process]:
    """Return the running processes of this account that have directories of Spark."""
    boot = _boot_time(proc)
    found = []
    for path in proc.iterdir():
        # A process may end at any moment.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if path.name.isdecimal() and path.stat().st_uid == os.getuid():
                variables = _environment(path / "environ")
                local = frozenset(variables.get(_LOCAL, "").split(",")) - {""}
                executor = frozenset(variables.get(_EXECUTOR, "").split(":")) - {""}
                if local or executor:
                    # An executor inherits the worker's directories and does not use them itself.
                    started = boot + _start_ticks(path / "stat") / os.sysconf("SC_CLK_TCK")
                    found.append(Process(started, frozenset() if executor else local, executor))
    return found


def leftovers(
    directory: Path, running: Iterable[Process], now: float, old: float = OLD_SECONDS
) -> Iterator[Path]:
    """Yield the entries below `directory` that no process can use any more."""
    running = list(running)
    units = [path for path in directory.glob("*") if path.is_dir() and not path.is_symlink()]
    shared = [
        path
        for unit in units
        for path in unit.glob(_OF_EXECUTORS)
        if path.is_dir() and not path.is_symlink() and not path.parent.is_symlink()
    ]
    for parent in [*shared, *units]:
        users = [process.started for process in running if process.uses(parent)]
        before = min([now - old, *users])
        try:
            entries = list(parent.iterdir())
        except OSError as error:
            print(f"{parent} is left: {error}", flush=True)  # noqa: T201 - for the journal
            continue
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.lstat().st_mtime < before:
                    yield entry


def _environment(path: Path) -> dict[str, str]:
    words = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def _start_ticks(path: Path) -> int:
    """Return the ticks from the start of the system to that of a process (proc(5), field 22)."""
    return int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[19])


def _boot_time(proc: Path) -> float:
    lines = (proc / "stat").read_text(encoding="utf-8").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("btime ")))


def main(arguments: list[str]) -> None:
    """Remove what is left, and name it."""
    directory = Path(arguments[0])
    old = float(arguments[1]) if len(arguments) > 1 else OLD_SECONDS
    # The time before the processes are listed: one that starts later has newer directories.
    now = time.time()
    for entry in leftovers(directory, processes(), now, old):
        print(f"removing {entry}, left by a process that has ended", flush=True)  # noqa: T201 - for the journal
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
            continue
        try:
            entry.unlink(missing_ok=True)
        except OSError as error:
            print(f"{entry} is left: {error}", flush=True)  # noqa: T201 - for the journal


if __name__ == "__main__":
    main(sys.argv[1:])
