"""Which file system a path is on, as /proc/self/mountinfo and /etc/fstab tell it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """A mounted file system."""

    path: str
    device: str
    """As major:minor."""
    fstype: str
    options: tuple[str, ...]
    """Those of the mount and of the disk."""


def parse_mountinfo(text: str) -> list[Mount]:
    """Return the mounts in the order of mountinfo (proc(5)), the later ones on top."""
    mounts = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 6 or len(kind) < 3:
            continue
        mount_options, disk_options = fields[5].split(","), kind[2].split(",")
        # One disk may be mounted twice: the mount that is read-only is that, and so is the disk.
        options = mount_options + [
            option for option in disk_options if option == "ro" and "ro" not in mount_options
        ]
        mounts.append(Mount(_plain(fields[4]), fields[2], kind[0], tuple(options)))
    return mounts


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount:
    """Return the mount that a real path lies on."""
    above = [mount for mount in mounts if _holds(mount.path, path)]
    longest = max((len(mount.path) for mount in above), default=0)
    on_top = [mount for mount in above if len(mount.path) == longest]
    return on_top[-1] if on_top else Mount("/", "", "", ())


def unmounted(path: str, fstab: str, mounts: Sequence[Mount]) -> str:
    """Return the deepest mount point of fstab above a path, if it is not mounted; else nothing."""
    points = [""]
    for line in fstab.splitlines():
        fields = line.split()
        if len(fields) < 4 or line.lstrip().startswith("#") or "noauto" in fields[3].split(","):
            continue
        point = _plain(fields[1]).rstrip("/")
        if point.startswith("/") and _holds(point, path):
            points.append(point)
    deepest = max(points, key=len)
    return "" if deepest in {mount.path for mount in mounts} else deepest


def inside(path: str, mounts: Sequence[Mount]) -> list[str]:
    """Return the mount points below a path."""
    return sorted(
        {mount.path for mount in mounts if mount.path != path and _holds(path, mount.path)}
    )


def _holds(parent: str, path: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
