"""Ansible action: pack and verify every distribution of the cluster on the control node."""

from typing import Any

from ..plugin_utils import artifacts
from ..plugin_utils.action import LocalAction


class ActionModule(LocalAction):
    """The action; it runs only on the control node, in check mode too."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Pack what is missing, and check everything."""
        select = artifacts.wanted_by_jobs if args["jobs"] else artifacts.wanted
        packed = artifacts.have(select(self.cluster), self._display.display)
        return {"changed": bool(packed), "packed": packed}
