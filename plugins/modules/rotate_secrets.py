#!/usr/bin/python
"""Documentation of the action rotate_secrets, which runs on the control node."""

DOCUMENTATION = r"""
module: rotate_secrets
short_description: Make passwords of Kafka's users, or Spark's secret, anew
description:
  - Replaces secrets that Millrace has generated, in the directory of secrets on the control node.
    The tasks that follow in the run write them to the hosts, or give them to Kafka.
  - Refuses a user that the inventory does not have, that has a certificate, or whose password the
    inventory gives. All such problems are reported at once, and then no secret is changed.
options:
  users:
    description: Users of Kafka that get a new password.
    type: list
    elements: str
    default: []
  spark:
    description: Whether what the processes of Spark share is replaced.
    type: bool
    default: false
  confirmed:
    description: Whether Spark may be stopped, which ends its jobs.
    type: bool
    default: false
  hosts:
    description: The hosts of the run. Spark's secret is refused unless all hosts of Spark are among
      them.
    type: list
    elements: str
    default: []
  make:
    description: Whether the secrets are made; without it they are only checked.
    type: bool
    default: false
attributes:
  check_mode:
    description: The tasks that follow see new secrets, which are stored nowhere.
    support: full
"""

EXAMPLES = r"""
- name: Make a new password
  millrace.streaming.rotate_secrets:
    users: [billing]
    make: true
  run_once: true
"""

RETURN = r"""
"""
