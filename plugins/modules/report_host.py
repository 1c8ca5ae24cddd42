#!/usr/bin/python
"""Ansible module: units, disks, certificates and the last operation of a host, for a report."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import certificate_expiry, operation_file
from ..module_utils.host.unit import Unit

DOCUMENTATION = r"""
module: report_host
short_description: Units, disks, certificates and the last operation of a host, for a report
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads the state of the units of a host's services, and the free space of their data directories.
    Reads until when the certificates in its files are valid, and the record of the last operation.
    It changes nothing, and nothing that it finds fails the task.
"""

RETURN = r"""
units:
  description: Each unit with C(name) and C(active), as systemd shows it.
  returned: always
  type: list
  elements: dict
pending:
  description: The units with a restart mark.
  returned: always
  type: list
  elements: str
disks:
  description: Each data directory that is there, with C(path), and C(total) and C(free) in bytes of
    its file system.
  returned: always
  type: list
  elements: dict
certificates:
  description: Each file with a certificate, with C(place), C(days) that it is valid, and C(wrong).
  returned: always
  type: list
  elements: dict
operation:
  description: The record of the last operation, empty if there is none.
  returned: always
  type: dict
"""


def active(name: str) -> str:
    """Return whether a unit is active, in systemd's words."""
    try:
        return Unit(name).state().active
    except OSError as error:
        return f"unknown: {error}"


def disks(paths: list[str]) -> list[dict[str, Any]]:
    """Return the size and free space of directories; one that is not there has none."""
    usages = []
    for path in paths:
        try:
            room = shutil.disk_usage(path)
        except OSError:
            continue
        usages.append({"path": path, "total": room.total, "free": room.free})
    return usages


def main() -> None:
    """Run the module."""
    store = {
        "certificate": {"type": "path", "required": True},
        "trusted": {"type": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            "units": {"type": "list", "elements": "str", "default": []},
            "marks": {"type": "dict", "default": {}},
            "directories": {"type": "list", "elements": "str", "default": []},
            "stores": {"type": "list", "elements": "dict", "options": store, "default": []},
            "record": {"type": "path", "default": operation_file.PATH},
        },
        supports_check_mode=True,
    )
    params = module.params
    stores = [entry for entry in params["stores"] if Path(entry["certificate"]).exists()]
    module.exit_json(
        changed=False,
        units=[{"name": unit, "active": active(unit)} for unit in params["units"]],
        pending=sorted(unit for unit, mark in params["marks"].items() if Path(mark).exists()),
        disks=disks(params["directories"]),
        certificates=[
            vars(certificate_expiry.stored(entry["certificate"], entry["trusted"]))
            for entry in stores
        ],
        operation=operation_file.read(Path(params["record"])),
    )


if __name__ == "__main__":
    main()
