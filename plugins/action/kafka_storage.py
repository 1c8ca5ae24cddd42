"""The control node's part of the module kafka_storage: a formatted host is not contacted."""

from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.host import storage
from ..module_utils.host.storage import LogDir, Node
from ..plugin_utils import run
from ..plugin_utils.action import Action
from ..plugin_utils.cluster import files, module_options
from ..plugin_utils.inventory import reading as inventory
from ..plugin_utils.rules.inspection import InspectedHost
from ..plugin_utils.services.kafka.node import SERVER_PROPERTIES
from ..plugin_utils.services.kafka.rules.quorum import kafka_data, may_vote


class ActionModule(Action):
    """Check what the inspection found, and call the module where something is left to do."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        del args
        options = module_options.of_module(self.name, self.cluster, self.host)
        node = self.cluster.kafka[self.host]
        if node.mode != "kraft":  # the broker writes meta.properties itself
            return {"changed": False, "formatted": [], "observer": False}
        answer = inventory.plain(self.variables.get(run.INSPECTION, {}))
        disks = answer.get("inspection", {}).get("disks", {})
        inspected = {directory["path"]: directory for directory in disks.get("directories", [])}
        dirs = [
            LogDir(path, exists=bool(directory.get("exists")), meta=directory.get("meta"))
            for path in options["log_dirs"]
            for directory in [inspected.get(path, {})]
        ]
        desired_node = Node.of({**options, "config": SERVER_PROPERTIES})
        config = files.properties(node.config)
        if storage.state(dirs) != "formatted" or storage.problems(desired_node, dirs):
            # A node that has its metadata, and a new disk of data, keeps the vote it has.
            asks = storage.lacks_metadata(dirs, config)
            return self.call({**options, "may_vote": asks and self._may_vote()})
        observer = storage.is_observer(desired_node, dirs, config)
        return {"changed": False, "formatted": [], "observer": observer}

    def _may_vote(self) -> bool:
        """Return whether the node may be formatted as a voter.

        Raises:
            AnsibleActionFail: it is not known whether other controllers have data.

        """
        cluster, variables = self.cluster, self.variables
        if not cluster.kafka[self.host].is_controller:
            return True
        inspections = run.inspections(variables["hostvars"]) | run.outside(variables)
        hosts = [
            InspectedHost(cluster, name, inspection) for name, inspection in inspections.items()
        ]
        controllers = cluster.inventory.members("kafka_controllers")
        allowed = may_vote(kafka_data(hosts), self.host, controllers)
        if allowed is None and not self._task.check_mode:  # nothing is mounted in check mode
            text = (
                f"{self.host} is not formatted: it is not known whether another controller has "
                "data. Run the role millrace.streaming.host before, for all controllers"
            )
            raise AnsibleActionFail(text)
        return allowed is not False
