#!/usr/bin/python
"""Ansible module: what is wrong with a PostgreSQL server, by queries."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.psql import OPTIONS, Psql, PsqlError

DOCUMENTATION = r"""
module: postgresql_checks
short_description: What is wrong with a PostgreSQL server, and what connectors lack there
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Runs queries of which each line of a result is a problem, and fails with all of them. The
    queries come from the model of the cluster.
options:
  part:
    description: Whether to check the server itself, or what the connectors of the inventory need.
    type: str
    choices: [health, connectors]
    default: health
"""

HINT = "See systemctl status millrace-postgresql; systemctl start millrace-postgresql starts it"


def main() -> None:
    """Run the module."""
    queries = {"type": "list", "elements": "dict", "default": []}
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "part": {"type": "str", "choices": ["health", "connectors"], "default": "health"},
            "health": queries,
            "connectors": queries,
        },
        supports_check_mode=True,
    )
    section, psql = module.params["part"], Psql(module)
    try:
        results = [psql.run(query["database"], query["query"]) for query in module.params[section]]
    except PsqlError as error:
        module.fail_json(msg=f"PostgreSQL does not answer: {error}. {HINT}.")
    problems = [line for lines in results for line in lines]
    if problems:
        untouched = "; no connector was changed" if section == "connectors" else ""
        listed = "\n- ".join(problems)
        module.fail_json(msg=f"PostgreSQL has problems{untouched}:\n- {listed}", problems=problems)
    module.exit_json(changed=False, problems=[])


if __name__ == "__main__":
    main()
