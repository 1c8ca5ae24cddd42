"""The control node's part of the module kafka_dynamic_config, for a broker that was running."""

from collections.abc import Mapping
from typing import Any

from . import from_model


class ActionModule(from_model.ActionModule):
    """Call the module on a broker that did not read its file just now."""

    OWN = from_model.ActionModule.OWN | {"running"}

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task; `running` says whether the broker ran before its file was written."""
        node = self.cluster.kafka.get(self.host)
        if not (args["running"] and node and node.is_broker):
            return {"changed": False, "set": {}, "deleted": [], "refused": {}}
        return super().act(args)

    def call(self, args: Mapping[str, Any], module: str = "") -> dict[str, Any]:
        """Call the module with the content of the file only where the file is not written yet.

        Ansible shows a module's options with -vvv, and secrets may be among the content. As an
        option with `no_log` it would hide the values of the diff too.
        """
        needed = {k: v for k, v in args.items() if k != "content" or self._task.check_mode}
        result = super().call({**needed, **self.judged_operations()}, module)
        result.get("invocation", {}).get("module_args", {}).pop("content", None)
        return result
