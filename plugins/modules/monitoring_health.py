#!/usr/bin/python
"""Ansible module: whether Prometheus and Alertmanager run, and all that is to be asked answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..module_utils.host.prometheus_rest import OPTIONS, REQUEST_SECONDS, Servers
from ..module_utils.host.rest import Instances, RestError
from ..module_utils.operations import health_check

DOCUMENTATION = r"""
module: monitoring_health
short_description: Whether Prometheus and Alertmanager run, and all that is to be asked answers
extends_documentation_fragment: [millrace.streaming.health, millrace.streaming.check_mode]
description:
  - Both servers of this host must be ready, every exporter of the cluster must have answered
    Prometheus the last time it was asked, and the console of this host must serve its page. Alerts
    that fire are returned and are no failure.
options:
  exporters:
    description: Whether exporters and the console count, or the servers alone.
    type: bool
    default: true
"""


def wrong_targets(wanted: Iterable[str], found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with exporters: those that are not asked, or do not answer.

    `wanted` are `job/host`, `found` what Prometheus says of its targets.
    """
    known = {f"{one['labels']['job']}/{one['labels'].get('host', '')}": one for one in found}
    wrong = []
    for name in wanted:
        job, _, host = name.partition("/")
        one = known.get(name)
        if one is None:
            wrong.append(f"Prometheus does not ask {job} of {host}: run site.yml")
        elif one["health"] != "up":
            why = one.get("lastError") or "it has not been asked yet"
            wrong.append(f"{job} of {host} does not answer Prometheus: {why}")
    return wrong


def wrong_console(address: str, authority: str) -> list[str]:
    """Return what is wrong with the console, which shows its page without a sign-in."""
    try:
        Instances([address], authority).send(address, "GET", "/", None, REQUEST_SECONDS)
    except (OSError, RestError) as error:
        why = f"the console at {address} is not ready: {error}"
        return [f"{why}; see journalctl -u millrace-console"]
    return []


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            **OPTIONS,
            "targets": {"type": "list", "elements": "str", "required": True},
            "console": {"type": "str", "default": ""},
            "console_authority": {"type": "path", "default": ""},
            "exporters": {"type": "bool", "default": True},
        }
    )
    given = module.params
    try:
        servers = Servers(given)
    except OSError as error:
        module.fail_json(msg=f"{given['authority']} cannot be used: {error}")
    console = given["console"] if given["exporters"] else ""

    def check() -> tuple[dict[str, Any], list[str]]:
        facts: dict[str, Any] = {"targets": len(given["targets"]), "alerts": []}
        problems = servers.not_ready()
        if problems:
            return facts, problems
        try:
            alerts = servers.data("alerts")["alerts"]
            facts["alerts"] = sorted(
                {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"}
            )
            if given["exporters"]:
                found = servers.data("targets?state=active")["activeTargets"]
                problems = wrong_targets(given["targets"], found)
        except (RestError, LookupError, TypeError) as error:
            problems = [f"Prometheus does not say what it asks: {error}"]
        if console:
            problems += wrong_console(console, given["console_authority"])
        return facts, problems

    health_check.run(module, "monitoring is not healthy", check)


if __name__ == "__main__":
    main()
