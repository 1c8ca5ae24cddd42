#!/usr/bin/python
"""Documentation of the action roll_plan, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roll_plan
short_description: Which Kafka nodes a roll takes, in which order, and whether it has the lock
description:
  - Chooses the nodes that need the action, and orders them. Nodes that do not serve go first, then
    controllers, the active one last, then brokers rack by rack.
  - Returns whether this run holds the cluster lock, which needs a majority of the controllers'
    hosts (without controllers, of the hosts of the first three brokers).
  - Returns also C(stages), in which nodes go one after the other, or brokers of one rack together
    (C(kafka_roll_parallel)); M(millrace.streaming.kafka_sets) divides the latter.
  - Writes the plan into the record of the operation, from which M(millrace.streaming.roll_node)
    takes it.
options:
  action:
    description: What is done to each node.
    type: str
    choices: [restart, upgrade, reboot]
    required: true
  backwards:
    description: Whether brokers go before controllers, as for an earlier version.
    type: bool
    default: false
  every_node:
    description: Whether to take every node, even one that does not need the action.
    type: bool
    default: false
  nodes:
    description: Host to the result of M(millrace.streaming.kafka_node), of the hosts of the play.
    type: dict
    required: true
  other_nodes:
    description: Results of that module for hosts outside the play that hold the lock too, each with
      the host as C(item).
    type: list
    elements: dict
    default: []
  health:
    description: Result of M(millrace.streaming.kafka_health) with C(gate).
    type: dict
    default: {}
attributes:
  check_mode:
    description: Plans the same and records nothing.
    support: full
"""
