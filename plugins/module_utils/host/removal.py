"""Remove services from a host: their units, and the paths that are theirs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import paths, unit
from .paths import Directory, Place, UnsafePathError

# Something is in it, a disk is mounted there, or it is no directory any more.
_KEPT = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR)
UNITS = Path("/etc/systemd/system")
WRITTEN = "# Written by Millrace"
"""How the file of each unit begins that is Millrace's to stop and to remove, whatever its name."""


def units(patterns: Iterable[str]) -> list[Path]:
    """Return the files of the units that match, timers first: they start what is removed next.

    A pattern without a suffix is for services and timers. One may be below a directory of links,
    by which units are enabled. Units that Millrace has not written are the site's, and left alone.
    """
    suffixes = (".service", ".timer")
    names = [
        name
        for pattern in patterns
        for name in (
            [pattern] if pattern.endswith(suffixes) else [pattern + suffix for suffix in suffixes]
        )
    ]
    files = {path for name in names for path in UNITS.glob(name) if _is_written(path)}
    return sorted(files, key=lambda path: (path.suffix != ".timer", path))


def _is_written(path: Path) -> bool:
    try:
        return paths.read_text(path, errors="replace").startswith(WRITTEN)
    except OSError:  # a mask, which is a link to a device
        return False


def existing(patterns: Iterable[str]) -> list[str]:
    """Return the paths that exist; one with a slash at its end only if nothing is left in it.

    An asterisk stands for any name.
    """
    named = [
        path
        for pattern in patterns
        for path in (_matching(pattern) if "*" in pattern else [pattern])
    ]
    return [path for path in dict.fromkeys(named) if _is_removable(path)]


def masks(unit_files: Iterable[str]) -> list[str]:
    """Return the masks of units that are there, and the links that would then start the units."""
    masked = [path for path in map(Path, unit_files) if unit.is_masked(path)]
    return [str(link) for path in masked for link in (path, unit.boot_link(path))]


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
    contents are removed, not its mount point and the directories above it. No link is followed, and
    nothing that takes the place of a directory meanwhile.

    Raises:
        OSError: something cannot be removed, or a link on the way must not be followed.

    """
    with _shallow(path):
        try:
            with paths.at(path) as place:
                if place.name == ".":
                    raise OSError(errno.EINVAL, "the root of all directories stays", place.path)
                return _remove_empty(place) if path.endswith("/") else _remove(place)
        except (FileNotFoundError, NotADirectoryError):  # it is not there, or no directory
            return False


def _remove(place: Place) -> bool:
    try:
        with place.directory.enter(place.name) as directory:
            removed = [_remove(Place(directory, name)) for name in directory.names()]
            keep = is_mount(place.directory, directory)
    except FileNotFoundError:  # somebody else has removed it
        return False
    except (NotADirectoryError, UnsafePathError):
        return _remove_file(place)
    return (not keep and _remove_empty(place)) or any(removed)


def _remove_file(place: Place) -> bool:
    try:
        place.remove_file()
    except FileNotFoundError:
        return False
    return True


def _remove_empty(place: Place) -> bool:
    """Remove a directory unless something is in it, or a disk is mounted there."""
    try:
        place.remove_directory()
    except OSError as error:
        if error.errno in _KEPT:
            return False
        raise
    return True


def is_mount(parent: Directory, directory: Directory) -> bool:
    """Return whether a directory is on another disk than the one that it lies in."""
    devices = [os.fstat(opened.descriptor).st_dev for opened in (parent, directory)]
    return devices[0] != devices[1]


def _is_removable(path: str) -> bool:
    try:
        with _shallow(path), paths.at(path) as place:
            return _has_removable(place)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _has_removable(place: Place) -> bool:
    try:
        with place.directory.enter(place.name) as directory:
            names = directory.names()
            is_empty = not names and not is_mount(place.directory, directory)
            return is_empty or any(_has_removable(Place(directory, name)) for name in names)
    except FileNotFoundError:  # a process that still runs has removed it
        return False
    except (NotADirectoryError, UnsafePathError):
        return True


@contextmanager
def _shallow(path: str) -> Iterator[None]:
    """Refuse what is nested more deeply than a program can follow."""
    try:
        yield
    except RecursionError as error:
        text = "it is nested too deeply; remove it by hand"
        raise OSError(errno.ELOOP, text, path) from error
