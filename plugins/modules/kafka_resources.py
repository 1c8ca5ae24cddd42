#!/usr/bin/python
"""Ansible module: make topics, ACLs, users, quotas and configurations of a cluster so."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.values import visible
from ..module_utils.host.retry import retried
from ..module_utils.kafka import contents, snapshot, users
from ..module_utils.kafka.acls import Acl
from ..module_utils.kafka.answers import RefusedError, UnsupportedError
from ..module_utils.kafka.client import LONG_REQUEST_MS, Cluster, UnavailableError
from ..module_utils.operations import options, user_options
from ..module_utils.operations import users as user_rules
from ..module_utils.operations.cluster_users import Users, UsersNotShownError
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.resources import findings, reading
from ..module_utils.operations.resources import options as resource_options
from ..module_utils.operations.resources import plan as planning
from ..module_utils.operations.resources import users as user_items
from ..module_utils.operations.resources.application import Application
from ..module_utils.operations.resources.items import Item, Policy, diff
from ..module_utils.operations.resources.plan import (
    ClusterResources,
    Desired,
    EntriesError,
    Plan,
)
from ..module_utils.operations.resources.report import lines
from ..module_utils.operations.resources.topics import is_internal
from ..module_utils.operations.user_options import harmless, logins_of, scram_of

DOCUMENTATION = r"""
module: kafka_resources
short_description: Make topics, ACLs, users, quotas and configurations of a cluster so
description:
  - Reads the cluster once over its protocol, makes a plan, has the brokers validate what they can,
    and applies it. If anything of it is refused or needs a word, all of that is reported with file
    and line, and nothing is changed.
  - The configuration of a topic becomes that of its entry. Only the keys by which reassignments are
    throttled stay. Partitions are only added. A replication factor is never changed.
  - A topic needs a word in C(confirm) for each change that may lose records or their order.
    C(delete-records) deletes a topic that has records. C(more-partitions) adds partitions where
    records have keys, or to a compacted topic. C(lower-retention) lowers its retention below what
    it holds. C(lower-min-isr) and C(lower-replication) go below C(floor).
  - Quotas of an entity, and configurations of groups and client metrics subscriptions, become those
    of their entries. ACLs of a user that has an entry become its grants, as M(millrace.streaming.kafka_users)
    does it; other ACLs are only added, or deleted where their state is absent.
  - What has no entry is reported, and deleted only where its name begins with C(prune). Internal
    topics and those of services are neither.
  - It runs on a control node by a login of Kafka, and contacts no host but the brokers. On a broker
    it takes what that host has.
  - After an interruption the next run does the rest.
options:
  kinds:
    description: What is compared, by default all.
    type: list
    elements: str
    choices: [topics, acls, users, quotas, groups, client_metrics]
    default: [topics, acls, users, quotas, groups, client_metrics]
  team:
    description: The one owner whose resources are compared. What is unmanaged is then reported of
      the prefixes of that team alone.
    type: str
  client_config:
    description: File with the client properties by which it connects; by default the login of the
      administrator of the inventory. With it users get no password, and their grants are added.
    type: path
  prune:
    description: Beginning of names of unmanaged resources to delete.
    type: str
    default: ""
  findings:
    description: Whether to return, as C(findings), what is weak about the resources, described or
      not. These are topics below the profile or with all replicas in one rack, ACLs of nobody,
      users without grants, and groups without members that have not read everything.
    type: bool
    default: false
  confirm_prune:
    description: Confirms that topics with records are among them.
    type: list
    elements: str
    choices: [delete-records]
    default: []
  json:
    description: File on the control node for the plan and the result, also of a run that is refused.
    type: path
attributes:
  check_mode:
    description: Makes the same plan, has the brokers validate it, and changes nothing.
    support: full
  diff_mode:
    description: Shows each key, ACL, quota and credential before and after, without passwords.
    support: full
"""

POLL_SECONDS = 0.2
SHOWN_SECONDS = 30

T = TypeVar("T")


class Run:
    """One run of the module."""

    def __init__(self, module: AnsibleModule, cluster: Cluster, desired: Desired) -> None:
        """Keep what is desired, and read nothing yet."""
        self._module, self._cluster, self._desired = module, cluster, desired
        params = module.params
        self._kinds: Collection[str] = params["kinds"]
        self._policy: Policy = resource_options.policy_of(params, int(time.time() * 1000))
        self._users: Users | None = None
        if "users" in self._kinds and desired.users:
            scram = scram_of(params)
            self._users = Users(cluster, logins_of(params), scram, params["wait"])

    def result(self) -> dict[str, Any]:
        """Compare the cluster with its description, and change what differs.

        Raises:
            FailedError: it is not the cluster of the inventory, or keeps no ACLs for the grants of
                users.
            UnavailableError: no broker answers.

        """
        self._check_cluster(self._module.params["cluster_id"])
        plan = self._plan()
        summary = plan.summary()
        result: dict[str, Any] = {**summary, "lines": lines(summary)}
        if self._module.params["findings"]:
            result["findings"] = self._findings()
        if self._module._diff:
            result["diff"] = diff(plan.items)
        application = Application(self.ask)
        refusals = [*plan.refusals(), *application.validate(plan.changes)]
        if refusals:
            refused = "\n- ".join(refusals)
            text = f"nothing was changed, since this is refused:\n- {refused}"
            self._module.fail_json(msg=text, changed=False, **result)
        if plan.changes and not self._module.check_mode:
            problems = self._apply(plan.changes, application)
            if problems:
                reasons = "\n- ".join(problems)
                text = f"not all is as described; run again once the cause is fixed:\n- {reasons}"
                self._module.fail_json(msg=text, changed=application.changed, **result)
        return {"changed": bool(plan.changes), **result}

    def _check_cluster(self, expected: str | None) -> None:
        """Refuse a cluster that is not the one of the inventory, whose id is `expected`.

        Raises:
            FailedError: it is another one.

        """
        if expected and (cluster_id := self.ask(snapshot.cluster_id)) != expected:
            text = (
                f"nothing was changed: this is cluster {cluster_id}, and that of the inventory is "
                f"{expected}. Correct client_config, the addresses of the brokers or the inventory"
            )
            raise FailedError(text)

    def _findings(self) -> list[str]:
        cluster = reading.read(self.ask, ("topics", "acls"), Desired())
        floor = findings.Floor(self._policy.replication_floor, self._policy.min_isr_floor)
        topics = [
            topic
            for name, topic in (cluster.topics or {}).items()
            if not is_internal(name, topic, self._policy)
        ]
        state, details = self.ask(contents.read)
        racks = {broker.id: broker.rack for broker in state.brokers}
        lines = [*findings.below_profile(topics, floor), *findings.in_one_rack(topics, racks)]
        if cluster.acls is not None:
            lines += self._findings_of_users(cluster.acls)
        lines += findings.abandoned_groups(details["groups"])
        return [visible(line) for line in lines]

    def _findings_of_users(self, acls: Collection[Acl]) -> list[str]:
        try:
            logins = self.ask(users.read_all)
        except (RefusedError, UnsupportedError):
            return []
        named = {user["name"] for user in self._module.params["resources"]["users"]}
        services = self._policy.service_users
        return [
            *findings.grants_for_nobody(acls, {*logins, *named, *services}),
            *findings.users_without_grants(logins, acls, services),
        ]

    def ask(self, question: Callable[[Any], T]) -> T:
        """Return what a question gets, asked again for `wait` seconds while no broker answers."""
        work = functools.partial(self._cluster.ask, question)
        return retried(work, UnavailableError, self._module.params["wait"], POLL_SECONDS)

    def _plan(self) -> Plan:
        cluster = reading.read(self.ask, self._kinds, self._desired)
        questions = planning.questions(self._desired, cluster, self._policy)
        contents = reading.contents(self.ask, questions)
        users, cluster = self._user_items(cluster)
        return planning.plan(self._desired, cluster, contents, self._policy, self._kinds, users)

    def _user_items(self, cluster: ClusterResources) -> tuple[list[Item], ClusterResources]:
        """Return the items of users, and the cluster with the reason if it does not show them."""
        if self._users is None:
            return [], cluster
        entries = user_rules.users_of(self._module.params["resources"]["users"])
        try:
            changes = self._users.plan(entries)
        except UsersNotShownError as error:
            return [], cluster.hiding("users", error.reason)
        return user_items.plan(changes, scram_of(self._module.params), self._desired.users), cluster

    def _apply(self, items: Sequence[Item], application: Application) -> list[str]:
        """Make changes, and wait until the cluster shows them; return what stands against it."""
        try:
            application.apply(items, self._users)
            refused = application.refused
            missing = self._wait([item for item in items if (item.kind, item.name) not in refused])
        except (FailedError, UnavailableError) as error:
            return [*application.problems, f"not all changes are made: {error}"]
        return [*application.problems, *missing]

    def _wait(self, items: Sequence[Item]) -> list[str]:
        """Wait until the cluster shows changes, but for those of users; return what it does not."""
        names = {(item.kind, item.name) for item in items if item.kind != user_items.KIND}
        deadline = time.monotonic() + SHOWN_SECONDS
        problems = self._not_shown(names) if names else []
        while problems and time.monotonic() <= deadline:
            time.sleep(POLL_SECONDS)
            problems = self._not_shown(names)
        return problems

    def _not_shown(self, names: Collection[tuple[str, str]]) -> list[str]:
        """Say which of some changes, by kind and name, the cluster does not show."""
        kinds = {kind for kind, _ in names}
        try:
            cluster = reading.read(self._cluster.ask, kinds, self._desired)
        except UnavailableError as error:
            return [f"the changes cannot be read again: no broker answers ({error})"]
        plan = planning.plan(self._desired, cluster, {}, self._policy, kinds)
        text = f"Kafka does not show the change after {SHOWN_SECONDS} s"
        pending = [item for item in plan.items if item.is_pending]
        return [
            *plan.problems,
            *(item.message(text) for item in pending if (item.kind, item.name) in names),
        ]


def desired_of(params: Mapping[str, Any]) -> Desired:
    """Return the resources that the options describe.

    Raises:
        FailedError: users or other resources cannot be as described.

    """
    problems: list[str] = []
    users = params["resources"]["users"]
    if "users" in params["kinds"]:
        problems += user_rules.problems(users, scram_of(params), params["login_bootstrap"])
    try:
        desired = Desired.of(params["resources"])
    except EntriesError as error:
        problems += error.problems
    if problems:
        reasons = "\n- ".join(problems)
        text = f"nothing was changed, since this is refused:\n- {reasons}"
        raise FailedError(text)
    return desired


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Check the options, and do the module's work."""
    params = module.params
    # All properties count as secrets until here, where paths and names may be shown again.
    passwords = {user["password"] for user in params["resources"]["users"]}
    shown = {*harmless(params["login_properties"]), *harmless(params["client_properties"])}
    module.no_log_values -= shown - passwords
    return Run(module, cluster, desired_of(params)).result()


def main() -> None:
    """Run the module."""
    spec = {
        **options.REMOTE,
        **resource_options.OPTIONS,
        **user_options.LOGIN,
        "cluster_id": {"type": "str"},
        "findings": {"type": "bool", "default": False},
        "wait": {"type": "float", "default": 0},
    }
    # The host's journal would otherwise hold the properties.
    options.run(work, spec, request_ms=LONG_REQUEST_MS, no_log=True)


if __name__ == "__main__":
    main()
