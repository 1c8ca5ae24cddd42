"""Filters about hosts: their mounts as systemd units, the warnings of their preflight."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.millrace.streaming.plugins.module_utils.preflight_judge import summary
from ansible_collections.millrace.streaming.plugins.module_utils.preflight_quorum import (
    lost_majorities,
)

MOUNT = """\
# Written by Millrace; change host_mounts, not this file.
[Unit]
Description=Data on {path}

[Mount]
What={src}
Where={path}
{fstype}Options={opts}

[Install]
WantedBy=local-fs.target
"""


def mount_unit(path: str) -> str:
    """Return the name of the systemd unit that mounts a path, as `systemd-escape --path` does.

    Raises:
        AnsibleFilterError: the path is not absolute, or is the root.

    """
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/") or not parts:
        message = f"mount_unit: {path!r} is no absolute path below /"
        raise AnsibleFilterError(message)
    escaped = "-".join(re.sub(r"[^\w:.]", _escape, part, flags=re.ASCII) for part in parts)
    return (f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped) + ".mount"


def mount_files(mounts: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Make entries of the ``files`` module: a systemd unit for each mount that has a ``src``.

    Raises:
        AnsibleFilterError: a path is not absolute, or is the root.

    """
    return {
        f"/etc/systemd/system/{mount_unit(mount['path'])}": {
            "content": MOUNT.format(
                path=_value(mount["path"]),
                src=_value(mount["src"]),
                fstype=f"Type={mount['fstype']}\n" if mount.get("fstype") else "",
                opts=_value(mount.get("opts") or "noatime"),
            )
        }
        for mount in mounts
        if mount.get("src")
    }


def preflight_warnings(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Put the warnings of all hosts' preflights into lines; hosts with the same one share it."""
    return summary(results)


def _value(text: str) -> str:
    """Return a text as units have it, where a percent sign starts a specifier."""
    return str(text).replace("%", "%%")


def _escape(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode())


class FilterModule:
    """The filters by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {
            "lost_majorities": lost_majorities,
            "mount_files": mount_files,
            "preflight_warnings": preflight_warnings,
        }
