"""The control node's part of the module kafka_storage: a formatted host is not contacted."""

from typing import Any

from ..module_utils.host import storage
from ..module_utils.host.storage import LogDir, Node
from ..module_utils.model import files, module_options
from ..module_utils.model.kafka import SERVER_PROPERTIES
from ..plugin_utils import inventory, run
from ..plugin_utils.action import Action


class ActionModule(Action):
    """Check what the inspection found, and call the module where something is left to do."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        del args
        options = module_options.of_module(self.name, self.cluster, self.host)
        node = self.cluster.kafka[self.host]
        if node.mode != "kraft":  # the broker writes meta.properties itself
            return {"changed": False, "formatted": [], "observer": False}
        found = inventory.plain(self.variables.get(run.INSPECTION, {})).get("found", {})
        inspected = {one["path"]: one for one in found.get("directories", [])}
        dirs = [
            LogDir(path, exists=bool(one.get("exists")), meta=one.get("meta"))
            for path in options["log_dirs"]
            for one in [inspected.get(path, {})]
        ]
        wanted = Node.of({**options, "config": SERVER_PROPERTIES})
        if storage.state(dirs) != "formatted" or storage.problems(wanted, dirs):
            return self.call(options)
        observer = storage.is_observer(wanted, dirs, files.properties(node.config))
        return {"changed": False, "formatted": [], "observer": observer}
