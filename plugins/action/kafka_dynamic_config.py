"""The controller's half of the module kafka_dynamic_config: only for a broker that was running."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.action import FromModel


class ActionModule(FromModel):
    """Call the module on a broker that did not read its file just now."""

    OWN = FromModel.OWN | {"running"}

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task; `running` says whether the broker ran before its file was written."""
        node = self.cluster.kafka.get(self.host)
        if not (args["running"] and node and node.is_broker):
            return {"changed": False, "set": {}, "deleted": [], "refused": {}}
        return super().act(args)
