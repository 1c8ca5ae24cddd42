"""Ansible lookup: a host pattern, if the variables of all hosts can be read."""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import context
from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils import ansible_internals, validation
from ..plugin_utils.ansible_internals import DataLoader
from ..plugin_utils.cluster import cluster
from ..plugin_utils.inventory import reading as inventory
from ..plugin_utils.inventory import sources as inventory_sources
from ..plugin_utils.rules import engine

DOCUMENTATION = """
name: readable_hosts
author: Millrace
short_description: return a host pattern if the variables of all hosts can be read
description:
  - Ansible reads the variables of a host before its first task. It ends the run at a file that it
    cannot read, and does not name an encrypted one.
  - A source of the inventory that Ansible cannot read it skips, with a warning.
  - This lookup is for C(hosts) of a play, which Ansible evaluates before that. It fails if there
    is such a file or source, or no host at all, and shows it with all other problems of the
    inventory. If the file belongs only to hosts without a service of Millrace, it returns the hosts
    with one instead of the pattern.
options:
  _terms:
    description: The pattern.
    required: true
  json:
    description: File for the result if it fails, as of M(millrace.streaming.cluster). A result of a
      run before is removed in any case.
    type: str
  junit:
    description: File for the result if it fails, as JUnit XML.
    type: str
  only_sources:
    description: Whether to fail only if a source of the inventory cannot be read, and show that
      alone; for a playbook that does its work with other problems too.
    type: bool
    default: false
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


OF_SOURCES = ("inventory-unread", "group-cycle", "no-hosts")
"""The rules about sources that cannot be read, or have no host."""


class LookupModule(LookupBase):
    """The lookup."""

    def run(
        self,
        terms: Sequence[str],
        variables: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> list[str]:
        """Return the pattern, or the hosts with a service if those of others cannot be read.

        Raises:
            AnsibleError: the inventory is refused; all problems are shown before.

        """
        if context.CLIARGS.get(
            "syntax"
        ):  # it is about the playbook alone, often without an inventory
            return list(terms)
        play_variables, loader = variables or {}, self._loader or DataLoader()
        json, junit = options.get("json"), options.get("junit")
        validation.forget(json, junit)
        sources = [str(source) for source in play_variables.get("ansible_inventory_sources") or ()]
        groups = play_variables.get("groups", {})
        alone = bool(options.get("only_sources"))
        if _is_read(sources, play_variables, loader) and (
            alone or inventory.is_readable(sources, groups, loader)
        ):
            return list(terms)
        resolved = cluster.resolve(inventory.from_sources(sources, loader))
        problems = validation.check(resolved, json, junit)
        if alone:
            problems = [problem for problem in problems if problem.rule in OF_SOURCES]
        if engine.errors(problems) or not (resolved.hosts or alone):
            raise AnsibleError(validation.show(problems, *validation.INVENTORY))
        return list(terms) if alone else list(resolved.hosts)  # the file is one of other hosts


def _is_read(sources: Sequence[str], variables: Mapping[str, Any], loader: DataLoader) -> bool:
    """Return whether there are hosts, and all sources are read.

    Once a play runs, Ansible tells which it has read; before that all are read again but programs.
    """
    hostvars = variables.get("hostvars")
    lost = (
        inventory_sources.findings(ansible_internals.inventory_of(hostvars), loader)
        if hostvars is not None
        else inventory_sources.static_findings(sources, loader)
    )
    return bool(variables.get("groups", {}).get("all")) and not lost
