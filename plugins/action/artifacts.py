"""Ansible action: pack and verify every distribution of the cluster on the control node."""

from pathlib import Path
from typing import Any

from ..plugin_utils import artifacts, jvm_plugins
from ..plugin_utils.action import LocalAction


class ActionModule(LocalAction):
    """The action; it runs only on the control node, in check mode too."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Pack what is missing, and check everything."""
        select = artifacts.wanted_by_jobs if args["jobs"] else artifacts.wanted
        if args["jars"]:
            select = jvm_plugins.read_for_jars
        packed = artifacts.have(select(self.cluster), self._display.display)
        if args["jars"] or not args["jobs"]:
            product = "spark" if args["jars"] else ""
            packed += jvm_plugins.have(self.cluster, self._display.display, product)
        boms = jvm_plugins.write_boms(self.cluster, Path(args["sbom"])) if args["sbom"] else []
        return {"changed": bool(packed or boms), "packed": packed, "boms": boms}
