"""The control node's part of the module kafka_users; a cluster without users is not contacted."""

from pathlib import Path
from typing import Any

from ..plugin_utils.cluster.module_options import of_module
from ..plugin_utils.secrets import store as secrets
from . import from_model


class ActionModule(from_model.ActionModule):
    """Make the users that the model has."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        if not any(node.security.users for node in self.cluster.kafka.values()):
            return {"changed": False}
        result = super().act(args)
        stored_secrets = self.cluster.inventory.secrets
        replacing = {*stored_secrets.store.replacing} if stored_secrets.store else set()
        handled = args.get("users")
        if handled is None:
            handled = of_module(self.name, self.cluster, self.host)["users"]
        current = replacing & {user["name"] for user in handled}
        if current and not result.get("failed") and not self._task.check_mode:
            secrets.replaced(Path(stored_secrets.directory), current, stored_secrets.cipher)
        return result
