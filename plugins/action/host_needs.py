"""Ansible action: what a host needs besides files, by what was found on it."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils.model import desired
from ..plugin_utils import inventory, run


class ActionModule(ActionBase):
    """The action; it runs on the controller alone."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return packages that are missing, and commands."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        ActionBase.validate_argument_spec(self, {})
        variables = task_vars or {}
        found = inventory.plain(variables[run.INSPECTION])["found"]
        host = run.current(variables).hosts[str(variables["inventory_hostname"])]
        needs = desired.of_host(host, found["javas"], found["time_service"])
        return {**result, "changed": False, **needs}
