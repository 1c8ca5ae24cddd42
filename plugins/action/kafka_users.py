"""The control node's part of the module kafka_users; a cluster without users is not contacted."""

from typing import Any

from ..plugin_utils import from_model


class ActionModule(from_model.ActionModule):
    """Make the users that the model has."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        if not any(node.users for node in self.cluster.kafka.values()):
            return {"changed": False}
        return super().act(args)
