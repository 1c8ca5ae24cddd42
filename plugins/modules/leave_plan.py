#!/usr/bin/python
"""Documentation of the action leave_plan, which runs on the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leave_plan
short_description: Which members of services leave with a host
description:
  - Finds the services that a host leaves, by its groups in the inventory. Fails with every reason
    why that cannot be.
options:
  node:
    description: The host.
    type: str
    default: ""
  only:
    description: The groups that it leaves; all of its groups without it.
    type: list
    elements: str
    default: []
  cancel:
    description: Whether only replicas of its broker are put back, and nothing leaves.
    type: bool
    default: false
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
"""

RETURN = r"""
leaving:
  description: Role of a service to the groups whose members leave. The broker is not among them.
  returned: always
  type: dict
groups:
  description: All these groups.
  returned: always
  type: list
  elements: str
"""
