"""The controller's half of the module kafka_node: what of it follows from the model."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.millrace.streaming.plugins.plugin_utils import (
    operation,
    run,
    task_options,
)

OPTIONS = {
    "what": {"type": "str", "default": ""},
    "host": {"type": "str"},
    "finish": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    """Ask the node; with `what`, a name of the operation, its host takes part in the lock."""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task."""
        super().run(tmp, task_vars)
        own, given = task_options.split(self._task.args, OPTIONS)
        variables = task_vars or {}
        cluster = run.current(variables)
        name, what = own["host"] or str(variables["inventory_hostname"]), own["what"]
        lock_hosts = operation.lock_hosts(cluster)
        args = {"home": cluster.kafka[name].distribution.home, **given}
        if own["finish"]:
            args["operation"] = operation.ended(operation.current(what))
        elif what and name in lock_hosts:
            args |= {"operation": operation.current(what), "take": True}
        answer: dict[str, Any] = self._execute_module(
            module_name="millrace.streaming.kafka_node", module_args=args, task_vars=task_vars
        )
        return {**answer, "lock_hosts": lock_hosts}
