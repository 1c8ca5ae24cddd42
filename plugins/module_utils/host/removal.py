"""Take services off a host: their units, and the paths that are theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.host import unit

UNITS = Path("/etc/systemd/system")


def units(patterns: Iterable[str]) -> list[Path]:
    """Return the files of the units that match, patterns without `.service`."""
    found = {path for pattern in patterns for path in UNITS.glob(f"{pattern}.service")}
    return sorted(found)


def paths(wanted: Iterable[str]) -> list[str]:
    """Return what of it is there; with a slash at the end, a directory that has to be empty."""
    return [path for path in dict.fromkeys(wanted) if os.path.lexists(path.rstrip("/"))]


def remove_unit(path: Path) -> None:
    """End a service at once and remove its unit.

    It is killed: combined nodes that stop together wait for a quorum that is gone.
    """
    service = unit.Unit(path.name)
    service.kill()
    service.disable()
    path.unlink()


def remove(path: str) -> bool:
    """Remove a path with all that is in it, and tell whether something went.

    One that ends with a slash goes only if nothing is left in it. Of a mounted disk the contents
    go.
    """
    if path.endswith("/"):
        try:
            Path(path).rmdir()
        except OSError:
            return False
        return True
    one = Path(path)
    if one.is_symlink() or not one.is_dir():
        one.unlink()
    elif one.is_mount():
        for child in one.iterdir():
            remove(str(child))
    else:
        shutil.rmtree(one)
    return True
