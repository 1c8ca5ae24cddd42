#!/usr/bin/python
"""Ansible module: which brokers of a Kafka cluster may be restarted at the same time."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka import canary
from ..module_utils.kafka.client import Cluster
from ..module_utils.operations import gate, options

DOCUMENTATION = r"""
module: kafka_sets
short_description: Which brokers of a Kafka cluster may be restarted at the same time
description:
  - Divides stages of a roll into sets of brokers. A partition with replicas on several brokers of a
    set has at least C(min.insync.replicas) in sync on others. Where a partition cannot spare two
    brokers of a stage, they are in different sets.
  - If no broker answers, each set is one broker.
  - This changes nothing. Before each stop the gate is asked again, about the whole set.
options:
  stages:
    description: Stages of a roll, each with the C(names) of hosts and the C(most) that may go at the
      same time, as M(millrace.streaming.roll_plan) returns them.
    type: list
    elements: dict
    required: true
attributes:
  check_mode:
    description: Does the same.
    support: full
"""

RETURN = r"""
stages:
  description: The stages, each set being one.
  returned: always
  type: list
  elements: dict
together:
  description: The hosts of the first set.
  returned: always
  type: list
  elements: str
rest:
  description: The hosts of all other sets, as one stage.
  returned: always
  type: dict
lines:
  description: The sets, to show.
  returned: always
  type: list
  elements: str
"""


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Return the sets of each group. The topic of the canary serves no client."""
    snapshot = gate.without_topic(cluster.read(), canary.TOPIC)
    groups = module.params["groups"]
    sets = [gate.sets(snapshot, group["brokers"], group["most"]) for group in groups]
    return {"changed": False, "sets": sets}


def main() -> None:
    """Run the module."""
    group = {
        "brokers": {"type": "list", "elements": "int", "required": True},
        "most": {"type": "int", "required": True},
    }
    groups = {"type": "list", "elements": "dict", "options": group, "default": []}
    options.run(work, {"groups": groups})


if __name__ == "__main__":
    main()
