"""Ansible action: units, disks, certificates and the last operation of a host, for a report."""

from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.cluster.service import Service, restart_mark
from ..plugin_utils.cluster.service_stores import of_kafka, stores
from ..plugin_utils.services.monitoring.packaged import Packaged


class ActionModule(Action):
    """The control node's part of the module of this name: what there is on the host."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Read the state of the host."""
        deployed = self.cluster.deployed(self.host).values()
        units = [
            unit
            for part in deployed
            if isinstance(part, (Service, Packaged))
            for unit in part.units
        ]
        marks = {unit: restart_mark(unit) for unit in units}
        all_stores = [*of_kafka(self.cluster, self.host), *stores(self.cluster, self.host)]
        directories = [directory.path for directory in self.cluster.directories(self.host)]
        return self.call(
            {
                "units": list(marks),
                "marks": marks,
                "directories": list(dict.fromkeys(directories)),
                "stores": [store for store in all_stores if store["trusted"]],
                **args,
            }
        )
