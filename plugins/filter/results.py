"""Ansible filters: what a task has registered on the hosts of a play."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = """
name: results
author: Millrace
short_description: return what a task has registered on each of some hosts
description:
  - Returns a dictionary with the value of each host.
positional: hostvars, path
options:
  _input:
    description: The hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts, which is C(hostvars).
    type: dict
    required: true
  path:
    description: The variable, with a dot before each key in it.
    type: str
    required: true
  default:
    description: The value of hosts that have none. Without it such a host is an error.
    type: raw
"""

EXAMPLES = """
- name: Plan with what all nodes have answered
  millrace.streaming.roll_plan:
    nodes: "{{ ansible_play_hosts | millrace.streaming.results(hostvars, 'node_state') }}"
"""

RETURN = """
_value:
  description: The value of each host.
  type: dict
"""

_NO_DEFAULT = object()


def results(
    hosts: Iterable[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    path: str,
    default: Any = _NO_DEFAULT,
) -> dict[str, Any]:
    """Return host -> what is at a path of its variables.

    Raises:
        AnsibleFilterError: a host has nothing there, and there is no default.

    """
    return {host: _value(host, hostvars[host], path, default) for host in hosts}


def hosts_with(
    hosts: Iterable[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    path: str,
    default: Any = _NO_DEFAULT,
) -> list[str]:
    """Return the hosts where what is at a path of their variables is true, or not empty.

    Raises:
        AnsibleFilterError: as above.

    """
    return [host for host, value in results(hosts, hostvars, path, default).items() if value]


def _value(host: str, variables: Mapping[str, Any], path: str, default: Any) -> Any:
    value: Any = variables
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            if default is _NO_DEFAULT:
                reason = f"{host} has no {path}"
                raise AnsibleFilterError(reason)
            return default
        value = value[key]
    return value


class FilterModule:
    """The filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return them by name."""
        return {"hosts_with": hosts_with, "results": results}
