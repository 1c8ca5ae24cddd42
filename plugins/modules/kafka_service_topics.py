#!/usr/bin/python
"""Ansible module: make the topics in which services of the inventory keep their state."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka.client import Cluster
from ..module_utils.operations import options
from ..module_utils.operations.options import FailedError

DOCUMENTATION = r"""
module: kafka_service_topics
short_description: Make the topics in which services of the inventory keep their state
description:
  - Makes those that are missing, of services that cannot make them themselves, such as the schema
    registry. Topics that exist are left as they are.
attributes:
  check_mode:
    description: Reports what it would make.
    support: full
"""

EXISTS = 36
"""TOPIC_ALREADY_EXISTS: another run was faster."""


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Ask the cluster, and do the module's work."""
    wanted = module.params["topics"]
    there = cluster.ask(lambda admin: {*admin.list_topics()}) if wanted else set()
    missing = {name: one for name, one in wanted.items() if name not in there}
    if missing and not module.check_mode:
        answer = cluster.ask(
            lambda admin: admin.create_topics(missing, raise_errors=False, wait_for_metadata=True)
        )
        refused = [
            f"{one['name']}: {one['error_message'] or one['error_code']}"
            for one in answer["topics"]
            if one["error_code"] not in (0, EXISTS)
        ]
        if refused:
            message = f"topics cannot be made: {'; '.join(refused)}"
            raise FailedError(message)
    return {"changed": bool(missing), "made": sorted(missing)}


def main() -> None:
    """Run the module."""
    options.run(work, {"topics": {"type": "dict", "default": {}}})


if __name__ == "__main__":
    main()
