"""Ansible action: refuse secrets that are older than those with which hosts were deployed.

For playbooks that read the records by a task of their own; site.yml compares them in its preflight.
"""

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import secret_store
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.cluster.secret_store import Generation


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Compare the records of the hosts with the secrets of this control node."""
        if problems := [*_newer(self.cluster, args["records"])]:
            raise AnsibleActionFail("\n- ".join(["no host was changed:", *problems]))
        return {"changed": False}


def _newer(cluster: Cluster, records: Mapping[str, str]) -> Iterator[str]:
    """Say on which hosts the secrets are newer.

    `records` is host -> its record in base64; one that is empty or damaged says nothing.
    """
    secrets, recorded = cluster.inventory.secrets, dict[str, Generation | None]()
    for host, text in records.items():
        recorded[host] = None
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(base64.b64decode(text))
            recorded[host] = secret_store.deployed_with(record, cluster.deployed(host))
    copied = "copy the directory from where that was made"
    newer_secrets = secret_store.NEWER_COMMIT if secrets.cipher else copied
    newer = secret_store.newer_hosts(secrets.store, recorded)
    for deployed, hosts in newer.items():
        yield (
            f"{secrets.directory} is not newer than the secrets of {listing(hosts)}, {deployed}: "
            f"{newer_secrets}. If it is lost, run site.yml -e "
            "secrets_accept=true, which replaces generated passwords."
            f"{secret_store.doubt(newer, recorded)}"
        )
