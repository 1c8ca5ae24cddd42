"""Ansible action: read what lives in a cluster, through a login of Kafka on the control node."""

from typing import Any

from . import kafka_resources


class ActionModule(kafka_resources.ActionModule):
    """Call the module on the control node."""

    OWN = frozenset({"client_config"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task; what the inventory describes does not matter for it."""
        self.needs_all_sources = not args["client_config"]
        return self.call(self.connection(args["client_config"]))
