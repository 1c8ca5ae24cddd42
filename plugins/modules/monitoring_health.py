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
  - Both servers of this host must be ready, and its console must serve its page. Every exporter of
    the cluster must have answered Prometheus the last time it was scraped. Alerts
    that fire are returned and are no failure.
options:
  exporters:
    description: Whether exporters and the console count, or the servers alone.
    type: bool
    default: true
"""


def wrong_targets(expected: Iterable[str], targets: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong with exporters: those that are not asked, or do not answer.

    `expected` are `job/host`, `targets` what Prometheus says of its targets.
    """
    by_name = {
        f"{target['labels']['job']}/{target['labels'].get('host', '')}": target
        for target in targets
    }
    wrong = []
    for name in expected:
        job, _, host = name.partition("/")
        target = by_name.get(name)
        if target is None:
            wrong.append(f"Prometheus does not ask {job} of {host}: run site.yml")
        elif target["health"] != "up":
            why = target.get("lastError") or "it has not been asked yet"
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
    params = module.params
    try:
        servers = Servers(params)
    except OSError as error:
        module.fail_json(msg=f"{params['authority']} cannot be used: {error}")
    console = params["console"] if params["exporters"] else ""

    def check() -> tuple[dict[str, Any], list[str]]:
        facts: dict[str, Any] = {"targets": len(params["targets"]), "alerts": []}
        problems = servers.not_ready()
        if problems:
            return facts, problems
        try:
            alerts = servers.data("alerts")["alerts"]
            facts["alerts"] = sorted(
                {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
            )
            if params["exporters"]:
                targets = servers.data("targets?state=active")["activeTargets"]
                problems = wrong_targets(params["targets"], targets)
        except (RestError, LookupError, TypeError) as error:
            problems = [f"Prometheus does not say what it asks: {error}"]
        if console:
            problems += wrong_console(console, params["console_authority"])
        return facts, problems

    health_check.run(module, "monitoring is not healthy", check)


if __name__ == "__main__":
    main()
