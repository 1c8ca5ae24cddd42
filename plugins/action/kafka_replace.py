"""Ansible action: a node takes its place again; the copy is followed slice by slice, and shown."""

from __future__ import annotations

import time
from typing import Any

from ..plugin_utils import operation, run
from ..plugin_utils.cluster import module_options
from ..plugin_utils.files import write_event
from ..plugin_utils.inventory import reading as inventory
from ..plugin_utils.operation import die_with_ansible
from .kafka_rebalance import ActionModule as Moves


class ActionModule(Moves):
    """The control node's part: who is replaced, and the record of the operation.

    The task's host is the one that is replaced; the module runs on a broker that serves. What Kafka
    copies goes on below its throttle when Ansible is killed, and the next run goes on too.
    """

    OWN = frozenset({"host", "running", "events"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Call the module; with the state `refilled` until all replicas are in sync."""
        begun = time.time()
        options = module_options.of_module(self.name, self.cluster, args["host"])
        explicit = {key: value for key, value in self._task.args.items() if key not in self.OWN}
        self._options = {**options, "node": self._node(running=args["running"]), **explicit}
        if self._task.check_mode or args["state"] != "refilled":
            # The hosts are configured next, so the record is not rewritten for a while.
            return self._ended(self._slice({"slice": 0}, operation.LONG_QUIET_SECONDS))
        die_with_ansible()
        result = self._follow({})
        if not result.get("failed") and args["events"]:
            event = {"node": self.host, "phase": self.name, "start": begun, "end": time.time()}
            write_event(args["events"], event)
        return self._ended(result)

    def _node(self, *, running: bool) -> dict[str, Any]:
        """Return who is replaced, and which of its directories the inspection found empty."""
        node = module_options.of_module(self.name, self.cluster, self.host)["node"]
        answer = inventory.plain(self.variables.get(run.INSPECTION, {}))
        disks = answer.get("inspection", {}).get("disks", {})
        formatted = {item["path"] for item in disks.get("directories", []) if item.get("meta")}
        directories = dict.fromkeys(
            path for _, path in self.cluster.kafka[self.host].data_directories
        )
        empty = [path for path in directories if path not in formatted]
        return {**node, "host": self.host, "running": running, "empty": empty}
