#!/usr/bin/python
"""Ansible module: refuse topics that a cluster does not have."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.key_table import nearest
from ..module_utils.kafka.client import Cluster
from ..module_utils.operations import options
from ..module_utils.operations.options import FailedError

DOCUMENTATION = r"""
module: kafka_topics
short_description: Refuse topics that connectors read and the cluster does not have
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - A sink connector waits for a topic that is missing without an error. Those that a source
    connector of the inventory may create are left out.
"""


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Ask the cluster, and do the module's work."""
    topics = module.params["topics"]
    existing = cluster.ask(lambda admin: sorted(admin.list_topics())) if topics else []
    missing = {topic: names for topic, names in topics.items() if topic not in existing}
    lines = []
    for topic, names in missing.items():
        near = nearest(topic, existing)
        hint = f"did you mean {near}?" if near else "create it"
        lines.append(f"{', '.join(names)} reads {topic}, which does not exist: {hint}")
    if lines:
        text = "\n- ".join(lines)
        message = f"topics are missing, and nothing was changed:\n- {text}"
        raise FailedError(message)
    return {"changed": False}


def main() -> None:
    """Run the module."""
    options.run(work, {"topics": {"type": "dict", "default": {}}})


if __name__ == "__main__":
    main()
