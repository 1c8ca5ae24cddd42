#!/usr/bin/python
"""Ansible module: what lives in a cluster, in the form of a file of resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.values import visible
from ..module_utils.kafka import users
from ..module_utils.kafka.acls import Acl
from ..module_utils.kafka.answers import RefusedError, UnsupportedError
from ..module_utils.kafka.client import LONG_REQUEST_MS, Cluster
from ..module_utils.operations import options
from ..module_utils.operations import users as user_lines
from ..module_utils.operations.resources import export, reading
from ..module_utils.operations.resources.items import KINDS, label
from ..module_utils.operations.resources.options import OPTIONS as RESOURCES
from ..module_utils.operations.resources.options import policy_of
from ..module_utils.operations.resources.plan import ClusterResources, Desired
from ..module_utils.operations.resources.quotas import entity_name
from ..module_utils.operations.resources.topics import is_internal
from ..module_utils.operations.user_options import harmless

DOCUMENTATION = r"""
module: kafka_resources_export
short_description: Return what lives in a cluster, in the form of a file of resources
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads topics, ACLs, quotas, and the properties of groups and subscriptions. Internal topics,
    those of services, and what the inventory's own users have are left out, and so is what follows
    from the brokers' defaults.
  - Kafka shows no passwords. Users with a password are named in C(users), and their ACLs are grants.
options:
  client_config:
    description: File with the client properties by which it connects; by default the login of the
      administrator of the inventory.
    type: path
"""

RETURN = r"""
resources:
  description: Key of a file of resources -> entries.
  returned: success
  type: dict
left_out:
  description: What a file of resources cannot have, each as a line.
  returned: success
  type: list
  elements: str
hidden:
  description: Kind -> why this login is not shown it.
  returned: success
  type: dict
users:
  description: User -> mechanisms of its passwords; empty where this login is not shown them.
  returned: success
  type: dict
"""

_UNUSED = ("floor", "scope", "prune", "confirm_prune", "elsewhere")
"""Parts of a policy without a meaning here."""


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Read the cluster, and return what it has."""
    params = module.params
    module.no_log_values -= {*harmless(params["client_properties"])}
    policy = policy_of(params, now_ms=0)
    kinds = [kind for kind in KINDS if kind != "users"]
    existing = reading.read(cluster.ask, kinds, Desired())
    topics = existing.topics or {}
    kept = [topic for name, topic in topics.items() if not is_internal(name, topic, policy)]
    principals = {f"{export.USER}{name}" for name in policy.service_users}
    acls = [acl for acl in existing.acls or () if acl.principal not in principals]
    grants, left_out = export.grants(acls)
    resources: Mapping[str, Any] = {
        "topics": export.topics(kept),
        "grants": grants,
        "quotas": export.quotas(existing.quotas or {}),
        "groups": export.configurations(existing.groups or {}),
        "client_metrics": export.configurations(existing.client_metrics or {}),
    }
    hidden = {**existing.hidden, **existing.unsupported}
    hidden |= {
        topic.name: "its configuration is not shown" for topic in kept if topic.config is None
    }
    return {
        "changed": False,
        "resources": {kind: entries for kind, entries in resources.items() if entries},
        "left_out": [*map(visible, _left_out(existing, left_out))],
        "hidden": hidden,
        "users": _users(cluster),
    }


def _left_out(existing: ClusterResources, acls: Iterable[Acl]) -> Iterator[str]:
    """Yield what a file of resources cannot have."""
    yield from (user_lines.acl_line(acl) for acl in acls)
    for pairs in existing.quotas or ():
        if not all(name is None or export.has_form(name) for _, name in pairs):
            yield label("quotas", entity_name(pairs))
    for kind, configs in (
        ("groups", existing.groups),
        ("client_metrics", existing.client_metrics),
    ):
        yield from (label(kind, name) for name in configs or () if not export.has_form(name))


def _users(cluster: Cluster) -> dict[str, list[str]]:
    try:
        listed = cluster.ask(users.read_all)
    except (RefusedError, UnsupportedError):
        return {}
    return {name: sorted(mechanisms) for name, mechanisms in listed.items()}


def main() -> None:
    """Run the module."""
    policy = {key: RESOURCES[key] for key in ("service_topics", "service_users")}
    others = {key: RESOURCES[key] for key in _UNUSED}
    options.run(
        work, {**options.REMOTE, **policy, **others}, request_ms=LONG_REQUEST_MS, no_log=True
    )


if __name__ == "__main__":
    main()
