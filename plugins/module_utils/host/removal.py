"""Remove services from a host: their units, and the paths that are theirs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from . import unit

UNITS = Path("/etc/systemd/system")


def units(patterns: Iterable[str]) -> list[Path]:
    """Return the files of the units that match, timers first: they start what is removed next.

    A pattern without a suffix is for services and timers. One may be below a directory of links,
    by which units are enabled.
    """
    suffixes = (".service", ".timer")
    names = [
        one
        for pattern in patterns
        for one in ([pattern] if pattern.endswith(suffixes) else [pattern + x for x in suffixes])
    ]
    found = {path for name in names for path in UNITS.glob(name)}
    return sorted(found, key=lambda path: (path.suffix != ".timer", path))


def paths(wanted: Iterable[str]) -> list[str]:
    """Return the paths that exist; one with a slash at its end only if nothing is left in it.

    An asterisk stands for any name.
    """
    named = [path for one in wanted for path in (_matching(one) if "*" in one else [one])]
    return [path for path in dict.fromkeys(named) if _is_removable(Path(path))]


def masks(wanted: Iterable[str]) -> list[str]:
    """Return the masks of units that are there, and the links that would then start the units."""
    found = [path for path in map(Path, wanted) if unit.is_masked(path)]
    return [str(one) for path in found for one in (path, unit.boot_link(path))]


def _matching(pattern: str) -> list[str]:
    return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))


def remove_unit(path: Path) -> None:
    """End a service at once and remove its unit.

    It is killed: combined nodes that stop together wait for a quorum that is gone. By the link that
    enables it a service is stopped, and its unit stays.
    """
    service = unit.Unit(path.name)
    if not path.is_symlink():
        service.kill()
    service.disable()
    path.unlink(missing_ok=True)  # the link of an enabled unit is gone by now


def remove(path: str) -> bool:
    """Remove a path with all that is in it, and tell whether anything was removed.

    One that ends with a slash is removed only if nothing is left in it. Of a mounted disk only the
    contents are removed, not its mount point and the directories above it.
    """
    if path.endswith("/"):
        try:
            Path(path).rmdir()
        except OSError:
            return False
        return True
    return _remove(Path(path))


def _remove(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return True
    removed = [_remove(child) for child in path.iterdir()]
    if path.is_mount() or any(path.iterdir()):
        return any(removed)
    path.rmdir()
    return True


def _is_removable(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        return os.path.lexists(path)
    children = list(path.iterdir())
    return any(map(_is_removable, children)) or not (children or path.is_mount())
