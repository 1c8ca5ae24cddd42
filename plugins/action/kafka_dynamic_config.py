"""The controller's half of the module kafka_dynamic_config: only a broker that ran is asked."""

from __future__ import annotations

from typing import Any

from ..plugin_utils import from_model, run


class ActionModule(from_model.ActionModule):
    """Call the module on a broker that did not read its file just now."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task; `running` says whether the broker ran before its file was written."""
        variables = task_vars or {}
        node = run.current(variables).kafka.get(str(variables["inventory_hostname"]))
        running = self._task.args.pop("running", True)
        if not (running and node and node.is_broker):
            return {"changed": False, "set": {}, "deleted": [], "refused": {}}
        return super().run(tmp, task_vars)
