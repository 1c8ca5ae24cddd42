#!/usr/bin/python
"""Documentation of the action secure, which runs on the control node."""

DOCUMENTATION = r"""
module: secure
short_description: Choose the next phase in which a running Kafka cluster gets its wanted listeners
description:
  - Compares the listeners of the running nodes with those of the inventory, and keeps a record of
    the phase among the secrets, by which every run configures the nodes. A phase is left when all
    nodes run in it.
  - First the wanted listeners are added beside those that are there, then the nodes talk to each
    other by them, then the others are removed.
options:
  running:
    description: What the module M(millrace.streaming.kafka_listeners) has returned, by host.
    type: dict
    default: {}
  back:
    description: Go back to the phase before.
    type: bool
    default: false
  disconnect:
    description: Close the former listeners although clients are connected to them.
    type: bool
    default: false
  complete:
    description: Record that all nodes run in the current phase.
    type: bool
    default: false
attributes:
  check_mode:
    description: The record is not stored; the tasks that follow see what it would be.
    support: full
"""

EXAMPLES = r"""
- name: Choose the phase
  millrace.streaming.secure:
    running: "{{ dict(ansible_play_hosts | zip(listeners_by_host)) }}"
  run_once: true
"""

RETURN = r"""
phase:
  description: The phase, C(ended) where only the wanted listeners are left.
  returned: success
  type: str
lines:
  description: The phase and what follows, for people.
  returned: success
  type: list
  elements: str
"""
