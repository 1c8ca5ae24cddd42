"""Ansible action: read what lives in a cluster, through a login of Kafka on the control node."""

from typing import Any

from . import kafka_resources

_READ = ("bootstrap", "client_properties", "service_topics", "service_users")


class ActionModule(kafka_resources.ActionModule):
    """Call the module on the control node."""

    OWN = frozenset({"client_config"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task; what the inventory describes does not matter for it."""
        self.needs_all_sources = not args["client_config"]
        options = self.connection(args["client_config"])
        # It reads, and tries no password of a user.
        return self.call({key: options[key] for key in _READ if key in options})
