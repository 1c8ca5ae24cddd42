"""Ansible filter: hosts in an order that no inventory changes."""

from collections.abc import Callable
from typing import Any

from ..plugin_utils.cluster.inventory import by_name

DOCUMENTATION = """
name: by_name
author: Millrace
short_description: return hosts in the order of their names
description:
  - Returns a list of hosts in the order that the model of the cluster has them in, in which
    C(kafka2) is before C(kafka10). The order of an inventory may change from run to run.
options:
  _input:
    description: The hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = """
- name: Run it where the drivers of jobs run
  hosts: "{{ groups['spark_masters'] | millrace.streaming.by_name | first }}"
"""

RETURN = """
_value:
  description: The same hosts.
  type: list
  elements: str
"""


class FilterModule:
    """The filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return it by name."""
        return {"by_name": by_name}
