"""The controller's half of the module kafka_storage: nothing is asked of a formatted host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils.host import storage
from ..module_utils.host.storage import LogDir, Node
from ..module_utils.model import files, module_options
from ..module_utils.model.kafka import SERVER_PROPERTIES
from ..plugin_utils import inventory, run

MODULE = "millrace.streaming.kafka_storage"


class ActionModule(ActionBase):
    """Judge what the inspection found, and call the module where something is left to do."""

    TRANSFERS_FILES = False
    _requires_connection = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        cluster, host = run.current(variables), str(variables["inventory_hostname"])
        node = cluster.kafka[host]
        if node.mode != "kraft":  # the broker writes meta.properties itself
            return {**result, "changed": False, "formatted": [], "observer": False}
        options = module_options.kafka_storage(cluster, host)
        found = inventory.plain(variables.get(run.INSPECTION, {})).get("found", {})
        dirs = [log_dir(path, found) for path in options["log_dirs"]]
        wanted = Node(
            **{name: options[name] for name in ("home", "java", "cluster_id", "node_id")},
            config=SERVER_PROPERTIES,
            controller=node.is_controller,
            initial_controllers=node.initial_controllers,
        )
        if storage.verdict(dirs) != "formatted" or storage.problems(wanted, dirs):
            answer: dict[str, Any] = self._execute_module(
                module_name=MODULE, module_args=options, task_vars=variables
            )
            return answer
        observer = storage.is_observer(wanted, dirs, files.properties(node.config))
        return {**result, "changed": False, "formatted": [], "observer": observer}


def log_dir(path: str, found: Mapping[str, Any]) -> LogDir:
    """Return a log directory as the inspection found it."""
    directories: list[dict[str, Any]] = found.get("directories", [])
    one = next((one for one in directories if one["path"] == path), {})
    return LogDir(path, exists=bool(one.get("exists")), meta=one.get("meta"))
