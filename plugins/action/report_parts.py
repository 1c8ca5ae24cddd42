"""Ansible action: the services of a cluster, each read on one host of those that have it."""

import functools
import time
from typing import Any

from ..plugin_utils.action import Action
from ..plugin_utils.cluster import module_options
from ..plugin_utils.cluster.registry import HEALTH_CHECKS
from ..plugin_utils.deadline import within
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations import report

_SHARE = 0.6
"""What one service may take of the time that all have."""


class ActionModule(Action):
    """The action; the first host of a service that was reached reads it."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Read what this host has to read; a service that does not answer fails nothing."""
        hostvars, name = self.variables["hostvars"], args["reached"]
        reached = [
            host
            for host in self.hosts("ansible_play_hosts_all")
            if report.is_reached(plain(hostvars[host].get(name)) or {})
        ]
        results, ends = {}, time.monotonic() + args["seconds"]
        for check in HEALTH_CHECKS:
            if report.reader(check, self.cluster, reached) == self.host:
                options = module_options.of_module(check.module, self.cluster, self.host)
                overrides = {"fail": False} if check.may_fail else {}
                call = functools.partial(self.call, {**options, **overrides}, check.module)
                if args["seconds"]:
                    left = ends - time.monotonic()
                    results[check.name] = within(min(left, _SHARE * args["seconds"]), call)
                else:
                    results[check.name] = call()
        return {"changed": False, "parts": results}
