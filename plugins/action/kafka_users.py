"""The control node's part of the module kafka_users; a cluster without users is not contacted."""

from pathlib import Path
from typing import Any

from ..plugin_utils import from_model, secrets


class ActionModule(from_model.ActionModule):
    """Make the users that the model has."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        if not any(node.users for node in self.cluster.kafka.values()):
            return {"changed": False}
        answer = super().act(args)
        kept = self.cluster.inventory.secrets
        replacing = kept.store.replacing if kept.store else ()
        if replacing and not answer.get("failed") and not self._task.check_mode:
            secrets.replaced(Path(kept.directory), replacing)
        return answer
