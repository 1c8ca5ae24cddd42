#!/usr/bin/python
"""Ansible module: the state of one Kafka node, and its part in the lock of an operation."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.pem import bodies
from ..module_utils.host import (
    dynamic_record,
    operation_file,
    paths,
    replaced_java,
    restart,
)
from ..module_utils.host.files import ApplyError
from ..module_utils.host.unit import Unit
from ..module_utils.operations import options

DOCUMENTATION = r"""
module: kafka_node
short_description: The state of one Kafka node, and its part in the lock of an operation
description:
  - Reports whether a node runs, is marked for a restart and has the distribution that it should
    have, and which keys were set online from its file. Reports whether an update has replaced the
    Java that it runs on, and whether its host needs a reboot.
  - With O(what) it also takes the lock that one operation at a time has on a cluster, where the
    host is one of those that hold it.
options:
  what:
    description: Name of the operation.
    type: str
    default: ""
  host:
    description: The node's host, where the task is delegated to it.
    type: str
  over:
    description: The id of an operation whose lock may be taken, since its holder is dead.
    type: str
    default: ""
  complete:
    description: Record on the control node that every step of the operation is done. Nothing is
      done on the host.
    type: bool
    default: false
  finish:
    description: Record on the host how the operation ended, which releases the lock. Without
      O(complete) before it the operation counts as stopped.
    type: bool
    default: false
  verdict:
    description: What the ledger found about the operation, to be recorded with O(finish). Nothing
      is done in a run without an operation.
    type: str
    default: ""
  request_restart:
    description: Mark the node for a restart, also if its files are current.
    type: bool
    default: false
  request_reboot:
    description: Mark the host for a reboot (C(/run/reboot-required)), so that a repeated run takes
      it too.
    type: bool
    default: false
  restore:
    description: Restore the previous files if the node is marked, since another node did not start
      with the new ones. A node that was restarted with the new ones keeps them.
    type: bool
    default: false
attributes:
  check_mode:
    description: Reports the state and changes nothing; the lock is neither taken nor written.
    support: full
"""

# Debian leaves a newer kernel, of which only those of the same flavour count: 6.1.0-44-cloud-amd64
# and 6.12.48+deb13-cloud-amd64 are of one, 6.1.0-44-amd64 is of another.
_KERNEL = re.compile(r"vmlinuz-([0-9][^-]*(?:-[0-9][^-]*)?)(.*)")


REBOOT_REQUIRED = Path("/run/reboot-required")


def reboot_required(boot: Path = Path("/boot"), mark: Path = REBOOT_REQUIRED) -> bool:
    """Return whether the host needs a reboot: Ubuntu by a file, Debian by a newer kernel."""
    if mark.exists():
        return True
    running = _KERNEL.fullmatch(f"vmlinuz-{os.uname().release}")
    kernels = [match for path in boot.glob("vmlinuz-*") if (match := _KERNEL.fullmatch(path.name))]
    if running is None:
        return False
    versions = [kernel[1] for kernel in kernels if kernel[2] == running[2]]
    return bool(versions) and max(versions, key=_version) != running[1]


def _version(text: str) -> list[tuple[int, int | str]]:
    """Return a version as `ls -v` orders it: runs of digits as numbers."""
    runs = re.findall(r"\d+|\D+", text)
    return [(1, int(run)) if run.isdigit() else (0, run) for run in runs]


def lock(module: AnsibleModule) -> dict[str, Any]:
    """Take or write the operation's record; return what was there before."""
    params = module.params
    path, record = Path(params["record"]), params["operation"]
    if module.check_mode:
        return operation_file.read(path)
    if not record:
        over = params["over"]
        return operation_file.close(path, over) if over else operation_file.read(path)
    if params["take"]:
        return operation_file.take(path, record, over=params["over"])
    former = operation_file.read(path)
    operation_file.end(path, record)
    return former


def holder(
    former: operation_file.Record, operation: operation_file.Record | None, over: str
) -> dict[str, Any]:
    """Return the record of another operation that holds the lock on this host, empty if none does.

    Where this host is not one of those that hold the lock, the record of a dead one is ignored.
    """
    held = operation_file.holder(former, str((operation or {}).get("id", "")))
    left_behind = not operation and operation_file.is_silent(held)
    return {} if left_behind or held.get("id") == over else held


def request(module: AnsibleModule, mark: Path) -> None:
    """Mark the node for a restart.

    It runs on the files as they are: what was kept of earlier ones is of no use to it.
    """
    previous = Path(module.params["previous"])
    if not mark.exists() and not module.check_mode:
        paths.remove_file(previous)
        restart.add_to_mark(mark, {"asked for": []})


def first_certificates(paths: list[str]) -> dict[str, str]:
    """Return the first certificate of each PEM file, without its frame, of those that have one."""
    first: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            certificates = bodies(Path(path).read_text(errors="replace"))
            first.update({path: certificates[0]} if certificates else {})
    return first


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **options.NODE,
            "home": {"type": "path", "required": True},
            "link": {"type": "path", "default": "/opt/millrace/kafka"},
            "request_restart": {"type": "bool", "default": False},
            "request_reboot": {"type": "bool", "default": False},
            "restore": {"type": "bool", "default": False},
            "take": {"type": "bool", "default": False},
            "over": {"type": "str", "default": ""},
            "keystores": {"type": "list", "elements": "path", "default": [], "no_log": False},
            "dynamic_record": {"type": "path", "default": dynamic_record.PATH},
        },
        supports_check_mode=True,
    )
    params = module.params
    mark, previous, link = Path(params["mark"]), Path(params["previous"]), Path(params["link"])
    former = lock(module)
    held = holder(former, params["operation"], params["over"])
    state = Unit(params["unit"]).state()
    running = state.running
    requested = params["request_restart"] and running and not held
    if requested:
        request(module, mark)
    if params["request_reboot"] and not held and not module.check_mode:
        REBOOT_REQUIRED.touch()
    restored: list[str] = []
    if params["restore"] and mark.exists() and not module.check_mode:
        try:
            restored = restart.restore(previous, [mark]) if restart.can_restore(previous) else []
        except (OSError, ValueError, ApplyError) as error:
            module.fail_json(msg=f"the previous files could not be restored: {error}")
    marked = mark.exists() or requested
    home = os.path.realpath(link) if link.is_symlink() else ""
    module.exit_json(
        changed=bool(restored),
        marked=marked,
        running=running,
        home=Path(home).name,
        settled=running and not marked and home == os.path.realpath(params["home"]),
        reboot_required=params["request_reboot"] or reboot_required(),
        replaced=replaced_java.replaced_files(replaced_java.PROC / str(state.pid))
        if running
        else [],
        container=Path("/run/systemd/container").exists(),
        restored=restored,
        certificates=first_certificates(params["keystores"]),
        dynamic_keys=sorted(dynamic_record.read(Path(params["dynamic_record"]))),
        holder=held,
        previous_operation=former,
    )


if __name__ == "__main__":
    main()
