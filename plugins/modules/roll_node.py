#!/usr/bin/python
"""Documentation of the action roll_node, which takes a node through its restart."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roll_node
short_description: Take one Kafka node through its part of a roll, and show what it waits for
description:
  - Runs M(millrace.streaming.kafka_restart) on the node's host slice by slice, each phase within
    its deadline, and shows what is waited for. For an upgrade it writes the node's files, for a
    reboot it reboots the host, between two phases.
  - Takes only a node that is left in the record of the operation, which it keeps.
  - The task runs on the node's host. A failed restart does not fail the task, so that the
    following tasks can restore previous files on nodes that wait; C(stopped) says why.
options:
  action:
    description: What is done to the node.
    type: str
    choices: [restart, upgrade, reboot]
    required: true
  node:
    description: The node's host.
    type: str
    required: true
  together:
    description: The hosts of all nodes that are taken at the same time, this one among them. Each
      has a task of its own.
    type: list
    elements: str
    default: []
  controller_last:
    description: Whether an active controller leaves the nodes that are left to go first.
    type: bool
    default: false
  resume:
    description: Name of the playbook that goes on, for the message.
    type: str
    required: true
  events:
    description: File on the control node that gets the restart with its times, for the ledger.
    type: str
    default: ""
  slice:
    description: Seconds of one call of the module, after which it shows what it waits for.
    type: float
    default: 20.0
attributes:
  check_mode:
    description: Does nothing.
    support: full
"""
