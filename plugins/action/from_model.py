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
        given = {key: one for key, one in self._task.args.items() if key not in self.OWN}
        wanted = module_options.of_module(self.name, self.cluster, self.host)
        begun = time.time()
        answer = self.call({**wanted, **given})
        if args.get("events") and answer.get("changed") and not self._task.check_mode:
            event = {"node": self.host, "phase": self.name, "start": begun, "end": time.time()}
            write_event(args["events"], event)
        return answer
