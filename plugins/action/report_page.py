"""Ansible action: a page that shows what a run has read of a cluster."""

import time
from typing import Any

from ..plugin_utils.action import LocalAction
from ..plugin_utils.files import write
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations import report
from ..plugin_utils.services.console.report_page import page


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Write the page."""
        hostvars = self.variables["hostvars"]

        def registered(name: str) -> dict[str, dict[str, Any]]:
            answers = {host: hostvars[host].get(name) for host in self.cluster.hosts}
            return {host: plain(value) for host, value in answers.items() if value}

        snapshot = report.snapshot(
            self.cluster, registered(args["hosts"]), registered(args["parts"]), time.time()
        )
        write(args["path"], page(snapshot), "the page")
        return {"changed": False, "problems": report.problems(snapshot)}
