#!/usr/bin/python
"""Ansible module: crashes of the services on a host, and JVMs whose Java was replaced."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import replaced_java, unit_ends

DOCUMENTATION = r"""
module: host_processes
short_description: Crashes of the services on a host, and JVMs whose Java was replaced
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reports each crash of a service's process, or kill, also by the kernel for want of memory.
    Systemd may have started it again. Reports the crash reports and heap dumps that were left, too.
  - Reports JVMs that run on files of Java, or libraries, that an update has replaced.
options:
  since:
    description: How many hours to look back.
    type: float
    default: 24
"""

EXAMPLES = r"""
- name: Report what crashed during the last week
  millrace.streaming.host_processes:
    since: 168
"""

RETURN = r"""
crashes:
  description: Each end and each report, as a sentence.
  returned: always
  type: list
  elements: str
replaced:
  description: Mapping of a unit to the files that were replaced under its JVM.
  returned: always
  type: dict
lines:
  description: All of it as lines to show, nothing where nothing happened.
  returned: always
  type: list
  elements: str
"""


def crash_lines(ends: Iterable[unit_ends.End], reports: Iterable[str]) -> list[str]:
    """Return the ends and reports as lines; many ends of one unit are one line."""
    by_unit: dict[str, list[unit_ends.End]] = {}
    for end in ends:
        by_unit.setdefault(end.unit, []).append(end)
    return [
        *(
            f"{unit_[-1]}" + (f" ({len(unit_)} times)" if len(unit_) > 1 else "")
            for unit_ in by_unit.values()
        ),
        *(f"a crash left {path}" for path in reports),
    ]


def replaced_lines(replaced: Mapping[str, list[str]]) -> list[str]:
    """Return the units with a replaced Java as lines."""
    return [
        f"{unit} runs with {files[0]} that was replaced by an update"
        + (f", and {len(files) - 1} other files" if len(files) > 1 else "")
        + ": rolling_restart.yml restarts it"
        for unit, files in replaced.items()
    ]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "since": {"type": "float", "default": 24},
            "directory": {"type": "path", "default": str(unit_ends.CRASHES)},
            "proc": {"type": "path", "default": str(replaced_java.PROC)},
        },
        supports_check_mode=True,
    )
    since = time.time() - 3600 * module.params["since"]
    directory = Path(module.params["directory"])
    crashes = crash_lines(unit_ends.ends(since, directory), unit_ends.reports(since, directory))
    replaced = replaced_java.replaced(Path(module.params["proc"]))
    lines = [*crashes, *replaced_lines(replaced)]
    module.exit_json(changed=False, crashes=crashes, replaced=replaced, lines=lines)


if __name__ == "__main__":
    main()
