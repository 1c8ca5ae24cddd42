"""Ansible action: the certificates of a host for other services than Kafka."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.action import Action


class ActionModule(Action):
    """The control node's part of the module of this name: which files there are."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Check them on the host, if it has any."""
        services = self.cluster.services(self.host).values()
        secrets = self.cluster.inventory.secrets
        identities = [one.identity for one in services if one.identity]
        stores = [
            {"certificate": one.certificate.path, "trusted": one.trusted(secrets)}
            for one in identities
        ]
        owners = [
            (self.cluster.connect.get(self.host), secrets.connect_authority),
            (self.cluster.databases.get(self.host), secrets.connect_authority),
            (self.cluster.schema_registry.get(self.host), secrets.authority),
            (self.cluster.metrics.get(self.host), secrets.authority),
            (self.cluster.monitoring.get(self.host), secrets.authority),
        ]
        stores += [
            {"certificate": one.path, "trusted": authority}
            for owner, authority in owners
            if owner
            for one in owner.certificates
        ]
        if not stores:
            return {"changed": False, "wrong": [], "expiring": []}
        return self.call({"stores": stores, **args})
