"""The controller's half of the module kafka_node: what of it follows from the model."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils import operation, run

OPTIONS = {
    "what": {"type": "str", "default": ""},
    "host": {"type": "str"},
    "over": {"type": "str", "default": ""},
    "finish": {"type": "bool", "default": False},
    "request_restart": {"type": "bool", "default": False},
    "request_reboot": {"type": "bool", "default": False},
    "restore": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    """Ask the node; with `what`, a name of the operation, its host takes part in the lock."""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task.

        `host` is the node's, where the task is delegated to it. `finish` records how the operation
        ended, which gives the lock back.
        """
        super().run(tmp, task_vars)
        _, args = ActionBase.validate_argument_spec(self, OPTIONS)
        variables = task_vars or {}
        cluster = run.current(variables)
        name = args.pop("host") or str(variables["inventory_hostname"])
        what, finish = args.pop("what"), args.pop("finish")
        lock_hosts = operation.lock_hosts(cluster)
        args["home"] = cluster.kafka[name].distribution.home
        if finish:
            args["operation"] = operation.ended(operation.current(what))
        elif what and name in lock_hosts:
            args |= {"operation": operation.current(what), "take": True}
        answer: dict[str, Any] = self._execute_module(
            module_name="millrace.streaming.kafka_node", module_args=args, task_vars=task_vars
        )
        return {**answer, "lock_hosts": lock_hosts}
