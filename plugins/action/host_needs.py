"""Ansible action: what a host needs besides files, by what was found on it."""

from typing import Any

from ..plugin_utils import run
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import desired
from ..plugin_utils.inventory import reading as inventory

OF_HOST = ("commands", "time_package", "time_unit")


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Return packages that are missing, and commands; `needed` is whether the host has any."""
        del args
        inspection = inventory.plain(self.variables[run.INSPECTION])["inspection"]
        software, network = inspection["software"], inspection["network"]
        needs = desired.of_host(
            self.cluster.host(self.host), software["javas"], inspection["clock"]["service"]
        )
        if not self.cluster.services(self.host):
            needs["java_package"] = ""  # no JVM runs there
        firewall = desired.of_firewall(
            self.cluster, self.host, has_nft=network["nft"], is_there=bool(network["firewall"])
        )
        packages = desired.of_packages(self.cluster, self.host, software["programs"])
        needed = any(needs[name] for name in OF_HOST) or any(firewall.values())
        return {"changed": False, "needed": needed, **needs, **firewall, **packages}
