#!/usr/bin/python
"""Ansible module: make SCRAM users and their ACLs so."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.retry import retried
from ..module_utils.kafka import acls
from ..module_utils.kafka import users as adapter
from ..module_utils.kafka.acls import Acl
from ..module_utils.kafka.answers import RefusedError
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.connection import Connection, ConnectionDescriptionError
from ..module_utils.kafka.users import Credential, Logins
from ..module_utils.operations import options, users
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.users import Change, Scram, User

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

POLL_SECONDS = 0.2
SHOWN_SECONDS = 30
REFUSED = (
    "Kafka does not accept the password that Millrace has generated for it, and may have a newer "
    "one. Copy the directory of secrets from the control node that was used last, or make a new "
    "password by rotate_secrets.yml"
)
SECRETS = ("password", "secret", "sasl.jaas.config", "ssl.keystore.key")
GRANT: Mapping[str, Any] = {
    "topic": {"type": "str"},
    "group": {"type": "str"},
    "transactional_id": {"type": "str"},
    "cluster": {"type": "bool"},
    "pattern": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
    "operations": {
        "type": "list",
        "elements": "str",
        "required": True,
        "choices": [
            "read",
            "write",
            "create",
            "delete",
            "alter",
            "describe",
            "cluster_action",
            "describe_configs",
            "alter_configs",
            "idempotent_write",
            "all",
        ],
    },
}
USER: Mapping[str, Any] = {
    "name": {"type": "str", "required": True},
    "password": {"type": "str", "no_log": True},
    "replace": {"type": "bool", "default": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "grants": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": GRANT,
        "mutually_exclusive": [users.RESOURCES],
        "required_one_of": [users.RESOURCES],
    },
}

K = TypeVar("K")
T = TypeVar("T")


class Users:
    """The users of a cluster; a request is retried for `wait` seconds while no broker answers."""

    def __init__(self, cluster: Cluster, logins: Logins | None, scram: Scram, wait: float) -> None:
        """Keep the cluster, how to log in, and the credential that users should have."""
        self._cluster, self._logins, self._scram, self._patience = cluster, logins, scram, wait
        self.problems: dict[str, list[str]] = {}
        self.changed = False

    def plan(self, desired: Sequence[User], *, everywhere: bool = False) -> list[Change]:
        """Return a change of each user; with `everywhere` every broker has to accept passwords.

        Raises:
            FailedError: Kafka refuses to show what there is, or keeps no ACLs for grants.
            UnavailableError: no broker answers.

        """
        names = [user.name for user in desired]
        principals = [user.principal for user in desired]
        try:
            credentials = self._ask(lambda admin: adapter.read(admin, names))
            existing_acls = self._ask(lambda admin: acls.read(admin, principals))
        except RefusedError as error:
            text = (
                f"Kafka does not show its users to this client: {error}. Whoever client_config "
                "connects as must be a super user, or be allowed to describe and alter the cluster"
            )
            raise FailedError(text) from error
        if existing_acls is None and (problem := users.without_authorizer(desired)):
            raise FailedError(problem)
        return [
            users.change(
                user,
                credentials[user.name],
                existing_acls or (),
                self._scram,
                accepted=self._accepted(user, credentials[user.name], everywhere=everywhere),
            )
            for user in desired
        ]

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes, and wait until the cluster shows them.

        A user gets its grants before it can log in. It loses a credential of another mechanism only
        when it can log in with the new one, and grants last. `problems` gets what stands against a
        user, which then loses nothing and does not stop the others.

        Raises:
            FailedError: Kafka refuses to show what there is.
            UnavailableError: no broker answers.

        """
        scram = self._scram
        self._send(
            acls.create, _acls(change.granted for change in changes), _name, "no grant of {}: {}"
        )
        credentials = [
            Credential(
                change.user.name, scram.mechanism, scram.iterations, change.user.password or ""
            )
            for change in changes
            if change.set
        ]
        text = f"{scram.mechanism} cannot be set: {{1}}"
        self._send(adapter.set_credentials, credentials, str, text)
        self._wait([change for change in changes if change.set], users.unusable)
        good = self._good(changes)
        for mechanism in sorted({name for change in good for name in change.deleted}):
            self._send(
                functools.partial(adapter.delete_credentials, mechanism=mechanism),
                [change.user.name for change in good if mechanism in change.deleted],
                str,
                f"{mechanism} cannot be deleted: {{1}}",
            )
        revoked = _acls(change.revoked for change in self._good(changes))
        self._send(acls.delete, revoked, _name, "{} cannot be deleted: {}")
        self._wait(changes, users.missing)

    def _wait(
        self, changes: Sequence[Change], missing: Callable[[Change, Scram], list[str]]
    ) -> None:
        """Wait until the users without problems lack nothing; what they do is a problem."""
        deadline = time.monotonic() + SHOWN_SECONDS
        # Those whose password was set are to have it.
        pending = [replace(change.user, may_replace=True) for change in self._good(changes)]
        while pending:
            reasons: dict[str, list[str]] = {}
            try:
                for change in self.plan(pending, everywhere=True):
                    reasons[change.user.name] = missing(change, self._scram)
            except UnavailableError as error:
                reasons = {user.name: [f"no broker answers ({error})"] for user in pending}
            pending = [user for user in pending if reasons[user.name]]
            if time.monotonic() > deadline:
                for user in pending:
                    for text in reasons[user.name]:
                        self._problem(user.name, f"after {SHOWN_SECONDS} s: {text}")
                return
            if pending:
                time.sleep(POLL_SECONDS)

    def _good(self, changes: Iterable[Change]) -> list[Change]:
        return [change for change in changes if change.user.name not in self.problems]

    def _problem(self, name: str, text: str) -> None:
        self.problems.setdefault(name, []).append(text)

    def _accepted(self, user: User, credentials: Mapping[str, int], *, everywhere: bool) -> bool:
        logins, password = self._logins, user.password
        if logins is None or password is None:
            return False
        if not any(
            ask(user, credentials, self._scram) for ask in (users.needs_login, users.is_kept)
        ):
            return False
        return self._retry(lambda: logins.accepted(user.name, password, everywhere=everywhere))

    def _send(
        self,
        send: Callable[[Any, list[T]], Mapping[K, str]],
        items: list[T],
        user: Callable[[K], str],
        problem: str,
    ) -> None:
        """Send items, if there are any; `send` returns key -> why it is refused.

        `user` gives the name of a key's user, `problem` is a format of the key and the reason.
        """
        if not items:
            return
        refused = self._ask(lambda admin: send(admin, items))
        self.changed |= len(refused) < len(items)
        for key, reason in refused.items():
            shown = users.acl_line(key) if isinstance(key, Acl) else key
            self._problem(user(key), problem.format(shown, reason))

    def _ask(self, question: Callable[[Any], T]) -> T:
        return self._retry(lambda: self._cluster.ask(question))

    def _retry(self, work: Callable[[], T]) -> T:
        return retried(work, UnavailableError, self._patience, POLL_SECONDS)


def _acls(groups: Iterable[Iterable[Acl]]) -> list[Acl]:
    return [acl for group in groups for acl in group]


def _name(acl: Acl) -> str:
    return acl.principal.partition(":")[2]


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


def scram_of(params: Mapping[str, Any]) -> Scram:
    """Return the credential that users with a password should have."""
    return Scram(params["mechanism"], params["iterations"])


def logins_of(params: Mapping[str, Any]) -> Logins | None:
    """Return how to log in, None if nobody has to.

    Raises:
        FailedError: the properties do not lead to a listener.

    """
    if not params["login_bootstrap"]:
        return None
    try:
        connection = Connection.of(params["login_properties"], params["login_bootstrap"])
        return Logins(connection, params["mechanism"])
    except ConnectionDescriptionError as error:
        text = f"login_properties: {error}"
        raise FailedError(text) from error


def harmless(properties: Mapping[str, Any]) -> Iterable[str]:
    """Return the values of client properties that are no secrets, and no part of one."""
    secrets = [str(value) for key, value in properties.items() if key.endswith(SECRETS)]
    for key, value in properties.items():
        if not key.endswith(SECRETS) and not any(str(value) in secret for secret in secrets):
            yield str(value)


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
        "users": {"type": "list", "elements": "dict", "default": [], "options": USER},
        "mechanism": {
            "type": "str",
            "choices": list(adapter.MECHANISMS),
            "default": "SCRAM-SHA-512",
        },
        "iterations": {"type": "int", "default": 8192},
        "login_bootstrap": {"type": "list", "elements": "str", "default": []},
        "login_properties": {"type": "dict", "default": {}, "no_log": True},
        "wait": {"type": "float", "default": 0},
    }
    # The host's journal would otherwise hold the properties.
    options.run(work, spec, no_log=True)


if __name__ == "__main__":
    main()
