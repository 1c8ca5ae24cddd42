#!/usr/bin/python
"""Documentation of the action secrets_check, which runs on the control node."""

DOCUMENTATION = r"""
module: secrets_check
short_description: Refuse secrets that are older than those with which hosts were deployed
description:
  - Compares the records of hosts with the generations of the directory of secrets. An older copy of
    it would bring back passwords and keys that were replaced.
options:
  records:
    description: Mapping of a host to its record of the secrets with which it was deployed, in
      base64. An empty one says nothing.
    type: dict
    required: true
attributes:
  check_mode:
    description: Nothing is changed.
    support: full
"""

EXAMPLES = r"""
- name: Refuse secrets that are older than those of the hosts
  millrace.streaming.secrets_check:
    records:
      k1: "{{ read.content }}"
  run_once: true
"""

RETURN = r"""
"""
