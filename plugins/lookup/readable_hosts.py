"""Ansible lookup: a host pattern, if the variables of all hosts can be read."""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.lookup import LookupBase

from ..module_utils.model import cluster
from ..module_utils.rules import engine
from ..plugin_utils import inventory, validation

DOCUMENTATION = """
name: readable_hosts
author: Millrace
short_description: return a host pattern if the variables of all hosts can be read
description:
  - Ansible reads the variables of a host before its first task. It ends the run at a file that it
    cannot read, and does not name an encrypted one.
  - This lookup is for C(hosts) of a play, which Ansible evaluates before that. It fails with each
    such file, and with all other problems of the inventory. If the file belongs only to hosts
    without a service of Millrace, it returns the hosts with one instead of the pattern.
options:
  _terms:
    description: The pattern.
    required: true
  json:
    description: File for the result if it fails, as of M(millrace.streaming.cluster).
    type: str
  junit:
    description: File for the result if it fails, as JUnit XML.
    type: str
"""

EXAMPLES = """
- name: Run on all hosts if their variables can be read
  hosts: "{{ lookup('millrace.streaming.readable_hosts', 'all') }}"
  tasks: []
"""

RETURN = """
_raw:
  description: The pattern, or names of hosts.
  type: list
  elements: str
"""


class LookupModule(LookupBase):
    """The lookup."""

    def run(
        self,
        terms: Sequence[str],
        variables: Mapping[str, Any] | None = None,
        **options: str,
    ) -> list[str]:
        """Return the pattern, or the hosts with a service if those of others cannot be read.

        Raises:
            AnsibleError: a file of variables cannot be read; the message has all problems.

        """
        known, loader = variables or {}, self._loader or DataLoader()
        sources = [str(one) for one in known.get("ansible_inventory_sources") or ()]
        if not inventory.is_readable(sources, known.get("groups", {}), loader):
            found = cluster.resolve(inventory.from_sources(sources, loader))
            problems, message = validation.check(found, options.get("json"), options.get("junit"))
            if engine.errors(problems) or not found.hosts:
                raise AnsibleError(message)
            return list(found.hosts)  # the file is one of other hosts
        return list(terms)
