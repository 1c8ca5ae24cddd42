"""A distribution on a host: a tarball, unpacked once into a directory of its own."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from . import paths, removal
from .paths import Directory, Place

MARKER = ".unpacked"
_LEFTOVER = ".unpacking"
_CHUNK = 2**20


class DistributionError(Exception):
    """It cannot be unpacked; the text says why and what to do."""


def is_unpacked(home: Path, sha256: str) -> bool:
    """Return whether a directory was unpacked from the tarball with this sum.

    Raises:
        DistributionError: there is something else in its place.

    """
    held = ""
    with contextlib.suppress(OSError):
        held = paths.read_text(home / MARKER).strip()
    if held != sha256 and paths.exists(home):
        text = (
            f"{home} exists but was not unpacked from this tarball: its {MARKER} says "
            f"{held or 'nothing'}, expected {sha256}. Nothing was changed: remove the directory "
            "if no process uses it"
        )
        raise DistributionError(text)
    return held == sha256


def check_space(home: Path, size: int) -> None:
    """Check that there is room for a tarball of so many bytes, with a fifth to spare.

    Raises:
        DistributionError: there is not; says how much is missing.

    """
    place = next(parent for parent in home.parents if parent.exists())
    needed, free = size * 6 // 5, shutil.disk_usage(place).free
    if free < needed:
        text = (
            f"{home} needs {_mib(needed)} MiB on the file system of {place}, {_mib(free)} MiB are "
            f"free: free {_mib(needed - free)} MiB there"
        )
        raise DistributionError(text)


def unpack(archive: Path, home: Path, sha256: str) -> None:
    """Unpack a tarball into its home; if that fails, what was unpacked is removed.

    It is unpacked beside the home and renamed at the end, so an interrupted run leaves no half
    tree.

    Raises:
        DistributionError: the tarball is damaged, or tar cannot unpack it.
        OSError: the directory cannot be written.

    """
    paths.make_parents(home)
    for leftover in home.parent.glob(f".*{_LEFTOVER}"):
        removal.remove(str(leftover))
    begun = home.with_name(f".{home.name}{_LEFTOVER}")
    with paths.at(begun) as place:
        try:
            place.make_directory(0o755)
            with place.directory.enter(place.name) as directory:
                _extract(archive, directory, sha256)
                Place(directory, MARKER).write(f"{sha256}\n".encode(), 0o644)
                os.fchmod(directory.descriptor, 0o755)
            place.rename(home.name)
        finally:
            removal.remove(str(begun))


def remove_former(
    home: Path, count: int, proc: Path = Path("/proc"), units: Path = removal.UNITS
) -> list[Path]:
    """Remove older homes of the same product but for the last `count`; return those removed.

    One that is named by a unit or on the command line of a running process stays, too.
    """
    product = _product(home)
    unpacked = [
        marker.parent
        for marker in home.parent.glob(f"{product}-*/{MARKER}")
        if _product(marker.parent) == product and not marker.parent.is_symlink()
    ]
    unpacked.sort(key=lambda path: (path / MARKER).stat().st_mtime, reverse=True)
    former = unused([path for path in unpacked[count:] if path != home], proc, units)
    remove(former)
    return former


def other_homes(directory: Path, homes: Iterable[Path]) -> list[Path]:
    """Return what is unpacked in a directory and is none of these homes."""
    unpacked = (marker.parent for marker in directory.glob(f"*/{MARKER}"))
    kept = {*homes}
    return sorted(path for path in unpacked if path not in kept and not path.is_symlink())


def unused(
    homes: Iterable[Path], proc: Path = Path("/proc"), units: Path = removal.UNITS
) -> list[Path]:
    """Return those that are named by no unit, and on the command line of no running process."""
    commands = _texts([*proc.glob("[0-9]*/cmdline"), *units.glob("*.service")])
    return [path for path in homes if not any(f"{path}/" in command for command in commands)]


def remove(homes: Iterable[Path]) -> None:
    """Remove directories that were unpacked."""
    for path in homes:
        # Without its marker it is unpacked again, should its removal be interrupted.
        removal.remove(str(path / MARKER))
        removal.remove(str(path))


def _product(home: Path) -> str:
    """Return the first part of a home's name, before version and sum."""
    return home.name.rsplit("-", 2)[0]


def _texts(files: Iterable[Path]) -> list[str]:
    texts = []
    for path in files:
        with contextlib.suppress(OSError):  # the process has ended
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    return texts


def _extract(archive: Path, into: Directory, sha256: str) -> None:
    """Run tar in the open directory, and check the tarball's checksum while it runs."""
    tar = ["/bin/tar", "--extract", "--no-same-owner", "--same-permissions"]
    with subprocess.Popen(
        [*tar, "--file", str(archive), "--directory", f"/proc/self/fd/{into.descriptor}"],
        pass_fds=[into.descriptor],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        arrived = sha256_of(archive)
        _, errors = process.communicate()
    if arrived != sha256:
        text = (
            f"the tarball that arrived has sha256 {arrived}, expected {sha256}: it was damaged in "
            "transfer, and nothing was kept. Run again"
        )
        raise DistributionError(text)
    if process.returncode:
        text = f"tar could not unpack {archive} into {into.path}: {errors.strip()[-500:]}"
        raise DistributionError(text)


def sha256_of(path: Path) -> str:
    """Return the sum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _mib(size: int) -> int:
    """Return bytes in MiB, rounded up."""
    return -(-size // 2**20)
