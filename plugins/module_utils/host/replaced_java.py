"""Java that was replaced under JVMs of Millrace's units: they run what is no longer on the disk."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

PROC = Path("/proc")
UNITS = Path("/etc/systemd/system")
_OURS = "# Written by Millrace"
_DELETED = " (deleted)"
_UNIT = re.compile(r"/(?P<unit>[^/]+)\.service(?:/|$)")
_LIBRARY = re.compile(r".+\.(?:so|jar)(?:\.[\d.]+)?|.+/(?:java|modules)")


def replaced_files(process: Path) -> list[str]:
    """Return the program, libraries and archives of a JVM that are no longer on the disk.

    What is gone counts below the JVM's own home; elsewhere only what is there anew, since a library
    that a program unpacks and deletes at once (Snappy, Netty) is no update.
    """
    program = _target(process / "exe")
    home = program.removesuffix(_DELETED).rpartition("/bin/")[0]
    if not program.removesuffix(_DELETED).endswith("/bin/java"):
        return []
    deleted = {
        path.removesuffix(_DELETED)
        for path in [program, *_mapped(process), *_open(process)]
        if path.endswith(_DELETED)
    }
    return sorted(
        path
        for path in deleted
        if _LIBRARY.fullmatch(path) and (path.startswith(f"{home}/") or Path(path).exists())
    )


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # it has ended
        return ""


def _mapped(process: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from mapped_files((process / "maps").read_text("utf-8", "replace").splitlines())


def mapped_files(lines: Iterable[str]) -> set[str]:
    """Return the files that lines of /proc/PID/maps name, as they name them (proc(5))."""
    fields = (line.split(maxsplit=5) for line in lines)
    return {columns[5] for columns in fields if len(columns) == 6 and columns[5].startswith("/")}


def _open(process: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for link in (process / "fd").iterdir():
            yield _target(link)


def unit_of(process: Path) -> str:
    """Return the systemd service in which a process runs, without `.service`; empty for none."""
    try:
        groups = (process / "cgroup").read_text("utf-8", "replace")
    except OSError:
        return ""
    match = _UNIT.search(groups.strip())
    return match["unit"] if match else ""


def is_ours(unit: str, units: Path = UNITS) -> bool:
    """Return whether Millrace has written a unit."""
    try:
        return (units / f"{unit}.service").read_text("utf-8", "replace").startswith(_OURS)
    except OSError:
        return False


def replaced(proc: Path = PROC, units: Path = UNITS) -> dict[str, list[str]]:
    """Return unit -> files that were replaced under one of its JVMs, for all of Millrace's."""
    by_unit: dict[str, set[str]] = {}
    for process in proc.glob("[0-9]*"):
        files = replaced_files(process)
        if files and (unit := unit_of(process)) and is_ours(unit, units):
            by_unit.setdefault(unit, set()).update(files)
    return {unit: sorted(files) for unit, files in sorted(by_unit.items())}
