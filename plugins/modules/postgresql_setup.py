#!/usr/bin/python
"""Ansible module: what a PostgreSQL server has to have, made where it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.psql import OPTIONS, Psql, PsqlError

DOCUMENTATION = r"""
module: postgresql_setup
short_description: Users, the database, schemas and the publication of a PostgreSQL server
description:
  - Asks the server for each step whether it is done, and does what is not, in the order of the
    steps. The steps come from the model of the cluster.
options:
  steps:
    description: What to do in place of what is in the model. Each has C(what), its name for
      messages, C(database), C(check), a query that is true once it is done, and C(apply), the
      statements that do it.
    type: list
    elements: dict
  wait:
    description: Seconds to wait for the server to answer.
    type: float
    default: 60
attributes:
  check_mode:
    description: Reports what would be done. Where there is no server yet, that is everything.
    support: full
"""

TRUE = ["t"]


def run(psql: Psql, steps: Sequence[Mapping[str, str]], *, check_mode: bool) -> list[str]:
    """Do what is not done yet, and return the names of those steps.

    Raises:
        PsqlError: the server does not answer or refuses a step.

    """
    done = []
    for step in steps:
        try:
            applied = psql.run(step["database"], step["check"]) == TRUE
        except PsqlError:
            # In check mode what an earlier step makes is missing.
            if not check_mode:
                raise
            applied = False
        if not applied:
            done.append(step["what"])
            if not check_mode:
                psql.run(step["database"], step["apply"])
    return done


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "steps": {"type": "list", "elements": "dict", "default": []},
            "wait": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    psql, steps = Psql(module), module.params["steps"]
    # Verifiers of passwords are among the statements: no result shows them.
    module.params["steps"] = [step["what"] for step in steps]
    try:
        if not module.check_mode:
            psql.wait(module.params["user"], module.params["wait"])
        done = run(psql, steps, check_mode=module.check_mode)
    except PsqlError as error:
        module.fail_json(msg=f"PostgreSQL: {error}; see journalctl -u millrace-postgresql")
    module.exit_json(changed=bool(done), done=done)


if __name__ == "__main__":
    main()
