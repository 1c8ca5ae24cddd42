#!/usr/bin/python
"""Ansible module: make the topics in which services of the inventory keep their state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka.client import Cluster, UnavailableError
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
LATER = (7, 38, 41)
"""REQUEST_TIMED_OUT; INVALID_REPLICATION_FACTOR, until enough brokers run; NOT_CONTROLLER."""
POLL_SECONDS = 0.5


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Ask the cluster until it has all topics, or the time is over."""
    topics, deadline = module.params["topics"], time.monotonic() + module.params["wait"]
    made: set[str] = set()
    while True:
        refused: list[str] = []
        is_final = False
        try:
            existing = cluster.ask(lambda admin: {*admin.list_topics()}) if topics else set()
            missing = {name: topic for name, topic in topics.items() if name not in existing}
            made |= missing.keys()
            if missing and not module.check_mode:
                refused, is_final = create(cluster, missing)
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
            refused = ["no broker answers"]
        if not refused:
            return {"changed": bool(made), "made": sorted(made)}
        if is_final or time.monotonic() > deadline:
            message = f"topics cannot be made: {'; '.join(refused)}"
            raise FailedError(message)
        time.sleep(POLL_SECONDS)


def create(cluster: Cluster, topics: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Make topics; return why some are refused, and whether it is of no use to ask again."""
    response = cluster.ask(lambda admin: admin.create_topics(topics, raise_errors=False))
    failures = [topic for topic in response["topics"] if topic["error_code"] not in (0, EXISTS)]
    refused = [
        f"{topic['name']}: {topic['error_message'] or topic['error_code']}" for topic in failures
    ]
    return refused, any(topic["error_code"] not in LATER for topic in failures)


def main() -> None:
    """Run the module."""
    spec = {
        "topics": {"type": "dict", "default": {}},
        "wait": {"type": "float", "default": 0},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
