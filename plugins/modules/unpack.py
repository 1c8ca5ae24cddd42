#!/usr/bin/python
"""Ansible module: unpack a tarball once; its action plugin ships the tarball when needed."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: unpack
short_description: Ship a tarball from the controller and unpack it once
version_added: 0.1.0
description:
  - Unpacks a tarball that lies on the controller into a directory of its own, as root.
  - Asks the host first; nothing is transferred where the directory is already there.
  - Verifies the checksum on the controller before the transfer and again on the host.
  - Unpacks beside the directory and renames at the end, so an interrupted run leaves no half tree.
options:
  src:
    description: The tarball on the controller. Only needed where it is not unpacked yet.
    type: path
    required: true
  sha256:
    description: SHA-256 of the tarball, 64 hexadecimal digits.
    type: str
    required: true
  dest:
    description: The directory to make. It should carry version and checksum in its name.
    type: path
    required: true
  link:
    description: Path of a symbolic link that must lead to O(dest), changed atomically.
    type: path
  size:
    description: Size of the tarball in bytes. Set by the action plugin.
    type: int
    default: 0
  archive:
    description: The tarball on the host. Set by the action plugin.
    type: path
attributes:
  check_mode:
    description: Reports the change; transfers and writes nothing.
    support: full
  diff_mode:
    description: Shows where the link leads and that the directory appears.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Unpack Kafka
  millrace.streaming.unpack:
    src: /var/cache/millrace/kafka-4.3.1.tar
    sha256: 1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809
    dest: /opt/millrace/kafka/4.3.1-1a2b3c4d
    link: /opt/millrace/kafka/current
"""

RETURN = r"""
unpacked:
  description: Whether the tarball was unpacked in this run, or would be.
  returned: success
  type: bool
linked:
  description: Whether the link was changed in this run, or would be.
  returned: success
  type: bool
directory:
  description: The directory that holds the tree.
  returned: success
  type: str
"""

MARKER = ".unpacked"
LEFTOVER = ".unpacking"


def refusal(dest: Path, link: Path | None, sha256: str) -> str | None:
    """Say what stands in the way of dest and link."""
    if link and link.exists() and not link.is_symlink():
        return f"{link} is not a link on this host; move it away, nothing was changed"
    if dest.is_symlink() or dest.exists():
        held = unpacked_sha256(dest)
        if held != sha256:
            return (
                f"{dest} exists but was not unpacked from this tarball: its {MARKER} says "
                f"{held or 'nothing'}, wanted is {sha256}. Nothing was changed: remove the "
                "directory if no process uses it, or unpack to another name"
            )
    return None


def unpacked_sha256(dest: Path) -> str | None:
    """Return the checksum of the tarball that a directory was unpacked from."""
    with contextlib.suppress(OSError):
        return (dest / MARKER).read_text().strip()
    return None


def space_problem(dest: Path, size: int) -> str | None:
    """Say how much space is missing for a tarball of so many bytes, with a fifth to spare."""
    place = next(parent for parent in dest.parents if parent.exists())
    needed, free = size * 6 // 5, shutil.disk_usage(place).free
    if free >= needed:
        return None
    return (
        f"{dest} needs {mib(needed)} MiB on the file system of {place}, {mib(free)} MiB are "
        f"free: free {mib(needed - free)} MiB there"
    )


def mib(size: int) -> int:
    """Return bytes in MiB, rounded up."""
    return -(-size // 2**20)


def unpack(archive: Path, dest: Path, sha256: str) -> str | None:
    """Make dest from the tarball; on a problem remove what was begun and say what it is."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    for leftover in dest.parent.glob(f".*{LEFTOVER}"):
        shutil.rmtree(leftover)
    begun = dest.with_name(f".{dest.name}{LEFTOVER}")
    begun.mkdir(mode=0o755)
    try:
        problem = extract(archive, begun, sha256)
        if problem is None:
            (begun / MARKER).write_text(f"{sha256}\n")
            (begun / MARKER).chmod(0o644)
            begun.chmod(0o755)
            begun.rename(dest)
        return problem
    finally:
        if begun.exists():
            shutil.rmtree(begun)


def extract(archive: Path, into: Path, sha256: str) -> str | None:
    """Run tar, and check the tarball's checksum while it runs."""
    tar = ["/bin/tar", "--extract", "--no-same-owner", "--same-permissions"]
    with subprocess.Popen(  # noqa: S603  the arguments are this module's own, no shell reads them
        [*tar, "--file", str(archive), "--directory", str(into)], stderr=subprocess.PIPE, text=True
    ) as process:
        with archive.open("rb") as stream:
            arrived = hashlib.file_digest(stream, "sha256").hexdigest()
        _, errors = process.communicate()
    if arrived != sha256:
        return (
            f"the tarball that arrived has sha256 {arrived}, wanted is {sha256}: the transfer "
            "was damaged, nothing was kept: run again"
        )
    if process.returncode:
        return f"tar could not unpack {archive} into {into}: {errors.strip()[-500:]}"
    return None


def point(link: Path, dest: Path) -> None:
    """Let the link lead to dest, atomically."""
    link.parent.mkdir(parents=True, exist_ok=True)
    temporary = link.with_name(f".{link.name}.millrace-new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(dest)
    temporary.replace(link)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "dest": {"type": "path", "required": True},
            "link": {"type": "path"},
            "size": {"type": "int", "default": 0},
            "archive": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    dest, sha256 = Path(params["dest"]), params["sha256"]
    link = Path(params["link"]) if params["link"] else None
    archive = Path(params["archive"]) if params["archive"] else None
    missing = unpacked_sha256(dest) != sha256
    problem = refusal(dest, link, sha256)
    if problem is None and missing:
        problem = space_problem(dest, params["size"])
    if problem:
        module.fail_json(msg=problem)
    old = str(link.readlink()) if link and link.is_symlink() else ""
    linked = link is not None and old != str(dest)
    result = {
        "changed": missing or linked,
        "unpacked": missing,
        "linked": linked,
        "directory": str(dest),
        "diff": {
            "before": f"link to {old}\n" * bool(old),
            "after": f"unpacked {dest}\n" * missing + f"link to {dest}\n" * (link is not None),
        },
    }
    if not linked and not missing:
        result["diff"] = {"before": "", "after": ""}
    if module.check_mode:
        module.exit_json(**result)
    if missing and archive is None:
        module.exit_json(**result, needs_archive=True)
    try:
        if missing and archive:
            problem = unpack(archive, dest, sha256)
        if linked and link and problem is None:
            point(link, dest)
    except OSError as error:
        problem = f"{error.filename or dest} could not be written: {error.strerror}"
    if problem:
        module.fail_json(msg=problem)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
