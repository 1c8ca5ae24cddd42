"""Which file system a path is on, as /proc/self/mountinfo and /etc/fstab tell it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """A mounted file system; `device` is major:minor, `options` are the mount's and the disk's."""

    path: str
    device: str
    fstype: str
    options: tuple[str, ...]


def parse_mountinfo(text: str) -> list[Mount]:
    """Return the mounts in the order of mountinfo (proc(5)), the later ones on top."""
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 6 or len(kind) < 3:
            continue
        own, whole = fields[5].split(","), kind[2].split(",")
        # One disk may be mounted twice: the mount that is read-only is that, and so is the disk.
        options = own + [option for option in whole if option == "ro" and "ro" not in own]
        found.append(Mount(_plain(fields[4]), fields[2], kind[0], tuple(options)))
    return found


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount:
    """Return the mount that a real path lies on."""
    above = [mount for mount in mounts if _holds(mount.path, path)]
    longest = max((len(mount.path) for mount in above), default=0)
    on_top = [mount for mount in above if len(mount.path) == longest]
    return on_top[-1] if on_top else Mount("/", "", "", ())


def unmounted(path: str, fstab: str, mounts: Sequence[Mount]) -> str:
    """Return the deepest mount point of fstab above a path, if it is not mounted; else nothing."""
    wanted = [""]
    for line in fstab.splitlines():
        fields = line.split()
        if len(fields) < 4 or line.lstrip().startswith("#") or "noauto" in fields[3].split(","):
            continue
        point = _plain(fields[1]).rstrip("/")
        if point.startswith("/") and _holds(point, path):
            wanted.append(point)
    deepest = max(wanted, key=len)
    return "" if deepest in {mount.path for mount in mounts} else deepest


def inside(path: str, mounts: Sequence[Mount]) -> list[str]:
    """Return the mount points below a path."""
    return sorted({one.path for one in mounts if one.path != path and _holds(path, one.path)})


def _holds(parent: str, path: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)
