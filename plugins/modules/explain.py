#!/usr/bin/python
"""Documentation of the action explain, which runs on the control node."""

DOCUMENTATION = r"""
module: explain
short_description: Explain each Kafka property of a host, what a change would do, and what listens
description:
  - Reports for each property which layer it comes from and why, which layers it overrides, Kafka's
    own default and whether Kafka takes a new value while it runs.
  - Reports what setting keys in C(kafka_config) would do on each host. It checks the inventory with
    and without them against the rules of M(millrace.streaming.cluster).
  - Reports on request the ports of all services, which is what a firewall has to let through.
  - Contacts no host, and explains all hosts of the inventory.
options:
  key:
    description: Explain only keys that contain this, those at Kafka's default included.
    type: str
    default: ""
  change:
    description: Keys and values as they would be set together in C(kafka_config).
    type: dict
    default: {}
  ports:
    description: Explain what the services of each host listen on, and who connects.
    type: bool
    default: false
  path:
    description: File on the control node that gets everything as JSON.
    type: path
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
"""

EXAMPLES = r"""
- name: Explain the threads, and what more of them would do
  millrace.streaming.explain:
    key: threads
    change: {num.io.threads: 16}
  register: explained
  run_once: true
"""

RETURN = r"""
lines:
  description: The explanation, for people.
  returned: success
  type: list
  elements: str
"""
