"""Ansible action: that of the modules whose options come from the model (meta/runtime.yml)."""

import time
from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.cluster import module_options
from ..plugin_utils.files import write_event


class ActionModule(Action):
    """Call the module with what the model says of the host and its cluster.

    Options of the task win. `events` is a file on the control node that gets each change with
    its time, which the ledger reads.
    """

    OWN = frozenset({"events"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Call the module, and record what it changed."""
        explicit = {key: value for key, value in self._task.args.items() if key not in self.OWN}
        options = module_options.of_module(self.name, self.cluster, self.host)
        begun = time.time()
        result = self.call({**options, **explicit})
        if args.get("events") and result.get("changed") and not self._task.check_mode:
            event = {"node": self.host, "phase": self.name, "start": begun, "end": time.time()}
            write_event(args["events"], event)
        return result
