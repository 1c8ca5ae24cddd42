#!/usr/bin/python
"""Ansible module: a verdict on a whole ZooKeeper ensemble."""

from __future__ import annotations

import socket
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.operations import zookeeper_health

DOCUMENTATION = r"""
module: zookeeper_health
short_description: A verdict on a whole ZooKeeper ensemble
version_added: 0.1.0
description: [Asks every member of the inventory C(srvr) and says everything that is wrong.]
options:
  wait:
    description: Seconds to wait for a whole ensemble; 0 judges once.
    type: float
    default: 0
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
author: [Millrace (@millrace)]
"""

EXAMPLES = r"""
- name: Wait until the ensemble is whole
  millrace.streaming.zookeeper_health:
    wait: 60
"""

RETURN = r"""
leader:
  description: The member that leads, empty if there is none.
  returned: always
  type: str
modes:
  description: Mode of each member that serves.
  returned: always
  type: dict
"""

POLL_SECONDS = 0.1
ANSWER_SECONDS = 2


def ask(address: str) -> zookeeper_health.Member:
    """Ask a member what it is."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS) as link:
            link.sendall(b"srvr")
            with link.makefile(errors="replace") as answer:
                return zookeeper_health.parse(answer.read())
    except OSError as error:
        return zookeeper_health.Member(reason=error.strerror or str(error))


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "members": {"type": "list", "elements": "str", "required": True},
            "wait": {"type": "float", "default": 0},
        },
        supports_check_mode=True,
    )
    wrong = [text for text in module.params["members"] if not text.rpartition(":")[2].isdecimal()]
    if wrong or not module.params["members"]:
        module.fail_json(msg=f"members needs host:port entries, got {wrong or 'none'}")
    start = time.monotonic()
    while True:
        members = {address: ask(address) for address in module.params["members"]}
        problems = zookeeper_health.problems(members)
        seconds = time.monotonic() - start
        if not problems or seconds + POLL_SECONDS > module.params["wait"]:
            break
        time.sleep(POLL_SECONDS)
    verdict: dict[str, Any] = {
        "leader": next((name for name, one in members.items() if one.mode == "leader"), ""),
        "modes": {name: one.mode for name, one in members.items() if one.mode},
        "problems": problems,
        "seconds": round(seconds, 2),
    }
    if problems:
        module.fail_json(
            msg=f"the ensemble is not whole after {verdict['seconds']} s:\n- "
            + "\n- ".join(problems),
            **verdict,
        )
    module.exit_json(changed=False, **verdict)


if __name__ == "__main__":
    main()
