"""Processor seconds of a process and of all that it has started.

It also runs on hosts, as `python3 -c SOURCE UNIT`, so it needs the standard library alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

# Of /proc/PID/stat after the name, which may hold blanks and parentheses (proc(5)).
PARENT, USED = 1, slice(11, 15)


def ticks(stats: Iterable[str], root: int) -> int:
    """Clock ticks of the process `root` and its descendants, by the texts of /proc/PID/stat.

    Those of children that have ended count too, as soon as their parent has waited for them.
    """
    parents, used = dict[int, int](), dict[int, int]()
    for text in stats:
        number, _, tail = text.partition(" (")
        fields = tail.rpartition(")")[2].split()
        parents[int(number)] = int(fields[PARENT])
        used[int(number)] = sum(map(int, fields[USED]))
    if root not in used:
        message = f"there is no process {root}"
        raise ProcessLookupError(message)
    return sum(count for number, count in used.items() if _is_below(number, root, parents))


def _is_below(number: int, root: int, parents: dict[int, int]) -> bool:
    while number not in (root, 0):
        number = parents.get(number, 0)
    return number == root


def seconds(root: int) -> float:
    """Processor seconds of a process of this machine and its descendants; in steps of 10 ms."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats.append(path.read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return ticks(stats, root) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print those of the main process of a systemd unit."""
    command = ["systemctl", "show", "--property", "MainPID", "--value", sys.argv[1]]
    main_process = subprocess.run(command, check=True, capture_output=True, text=True)
    sys.stdout.write(f"{seconds(int(main_process.stdout))}\n")


if __name__ == "__main__":
    main()
