#!/usr/bin/python
"""Ansible module: make SCRAM users and their ACLs so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.operations import options, user_options, users
from ..module_utils.operations.cluster_users import REFUSED, Users
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.user_options import harmless, logins_of, scram_of
from ..module_utils.operations.users import User

DOCUMENTATION = r"""
module: kafka_users
short_description: Make users of Kafka, their SCRAM credentials and their ACLs so
description:
  - Compares the users of the inventory with the cluster, and changes what differs. Users and
    principals that are not listed are left alone.
  - Kafka shows a password to nobody, so whether one is current is found by logging in with it at
    the clients' listener. After setting it, waits until the brokers accept it.
  - A user with a password has one credential, of one mechanism; those of others are deleted, since
    they would keep a former password valid. A user without a password has ACLs alone, such as the
    principal of a certificate.
  - The ACLs of a listed user's principal C(User:<name>) become exactly its grants, for all hosts;
    others of that principal are deleted, also those that deny.
  - A user that is absent loses its credentials and all ACLs of its principal.
  - A password that Millrace has generated replaces no other one, unless C(rotate_secrets.yml) has
    generated it. A user that has another one is left as it is, and the task fails after all others.
options:
  users:
    description: Users in place of those of the inventory, each with C(name), C(state), C(password),
      C(replace), whether that may replace another password, and C(grants).
    type: list
    elements: dict
attributes:
  check_mode:
    description: Reports what it would do; it logs in, too.
    support: full
  diff_mode:
    description: Shows each credential, without its password, and each ACL before and after.
    support: full
"""


def run(module: AnsibleModule, cluster_users: Users, desired: Sequence[User]) -> dict[str, Any]:
    """Compare the users with the cluster, and change what differs; return the module's result."""
    scram = scram_of(module.params)
    changes = cluster_users.plan(desired) if desired else []
    result: dict[str, Any] = {"users": [users.summary(change) for change in changes]}
    if module._diff:
        result["diff"] = users.diff(changes, scram)
    to_make = [change for change in changes if change]
    stopped = ""
    try:
        if to_make and not module.check_mode:
            cluster_users.apply(to_make)
    except (FailedError, UnavailableError) as error:
        stopped = str(error)
    problems = [
        f"user {name}: {text}" for name, texts in cluster_users.problems.items() for text in texts
    ]
    result["refused"] = [change.user.name for change in changes if change.refused]
    problems += [f"user {name}: {REFUSED}" for name in result["refused"]]
    if stopped or problems:
        problems += [f"not all changes are made: {stopped}"] if stopped else []
        lines = "\n- ".join(problems)
        text = f"not all users are as described; run again once the cause is fixed:\n- {lines}"
        module.fail_json(msg=text, changed=cluster_users.changed, **result)
    return {"changed": bool(to_make), **result}


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Check the options, and do the module's work."""
    params = module.params
    # All properties count as secrets until here, where paths and names may be shown again.
    passwords = {user["password"] for user in params["users"]}
    module.no_log_values -= set(harmless(params["login_properties"])) - passwords
    problems = users.problems(params["users"], scram_of(params), params["login_bootstrap"])
    if problems:
        text = "the users cannot be as described; nothing was changed:\n- "
        raise FailedError(text + "\n- ".join(problems))
    desired = users.users_of(params["users"])
    cluster_users = Users(cluster, logins_of(params), scram_of(params), params["wait"])
    return run(module, cluster_users, desired)


def main() -> None:
    """Run the module."""
    spec = {
        "users": {"type": "list", "elements": "dict", "default": [], "options": user_options.USER},
        **user_options.LOGIN,
        "wait": {"type": "float", "default": 0},
    }
    # The host's journal would otherwise hold the properties.
    options.run(work, spec, no_log=True)


if __name__ == "__main__":
    main()
