#!/usr/bin/python
"""Ansible module: whether a ZooKeeper ensemble is healthy."""

from __future__ import annotations

import socket
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.operations import health_check, zookeeper_health

DOCUMENTATION = r"""
module: zookeeper_health
short_description: Whether a ZooKeeper ensemble is healthy
description: [Sends C(srvr) to every member of the inventory and reports every problem.]
options:
  wait:
    description: Seconds to wait for a healthy ensemble; with 0 it is checked once.
    type: float
    default: 0
  fail:
    description: Whether an unhealthy ensemble fails the task.
    type: bool
    default: true
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
"""

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
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    wrong = [text for text in module.params["members"] if not text.rpartition(":")[2].isdecimal()]
    if wrong or not module.params["members"]:
        module.fail_json(msg=f"members needs host:port entries, got {wrong or 'none'}")

    def check() -> tuple[dict[str, Any], list[str]]:
        members = {address: ask(address) for address in module.params["members"]}
        modes = {name: one.mode for name, one in members.items() if one.mode}
        leader = next((name for name, mode in modes.items() if mode == "leader"), "")
        return {"leader": leader, "modes": modes}, zookeeper_health.problems(members)

    health_check.run(module, "ensemble is not healthy", check)


if __name__ == "__main__":
    main()
