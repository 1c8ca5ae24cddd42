"""Ansible action: the certificates of a host for other services than Kafka."""

from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.cluster.service_stores import stores


class ActionModule(Action):
    """The control node's part of the module of this name: which files there are."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Check them on the host, if it has any."""
        service_stores = stores(self.cluster, self.host)
        if not service_stores:
            return {"changed": False, "wrong": [], "expiring": []}
        return self.call({"stores": service_stores, **args})
