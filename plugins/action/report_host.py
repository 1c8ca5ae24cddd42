"""Ansible action: units, disks, certificates and the last operation of a host, for a report."""

from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.operations import report


class ActionModule(Action):
    """The control node's part of the module of this name: what there is on the host."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Read the state of the host."""
        return self.call({**report.host_options(self.cluster, self.host), **args})
