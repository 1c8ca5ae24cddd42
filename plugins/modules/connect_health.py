#!/usr/bin/python
"""Ansible module: whether Kafka Connect is healthy."""

from __future__ import annotations

from typing import Any

from ..module_utils.host.connect_rest import Rest
from ..module_utils.host.rest import RestError
from ..module_utils.operations import connect_health, health_check, leaving

DOCUMENTATION = r"""
module: connect_health
short_description: Whether Kafka Connect is healthy
extends_documentation_fragment:
  [millrace.streaming.health, millrace.streaming.leaving, millrace.streaming.check_mode]
description:
  - Queries every worker over REST with the certificate of its host, and reports every problem. All
    workers of the inventory must have joined the group. No connector and no task may have failed
    or be assigned to no worker. None may be on a worker that the inventory does not have.
options:
  connectors:
    description: Whether connectors and tasks count, or workers alone.
    type: bool
    default: true
  failures:
    description: Whether failed connectors and tasks are problems, or only named. A failure that was
      there before a restart of the workers is no reason against it.
    type: bool
    default: true
  known_failures:
    description: Failed connectors and tasks that are no problems, as RV(failed) named them before.
    type: list
    elements: str
    default: []
"""

RETURN = r"""
failed:
  description: Names of the connectors and tasks that have failed.
  returned: always
  type: list
  elements: str
"""

REQUEST_SECONDS = 10


def not_ready(rest: Rest) -> dict[str, str]:
    """Return worker -> why it is not ready, of those that are not."""
    reasons = {}
    for worker in rest.instances:
        try:
            rest.ask(worker, "GET", "/health", timeout=REQUEST_SECONDS)
        except RestError as error:
            reasons[worker] = str(error)
    return reasons


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            "workers": {"type": "list", "elements": "str", "required": True},
            "certificate": {"type": "path", "default": ""},
            "authority": {"type": "path", "default": ""},
            "connectors": {"type": "bool", "default": True},
            "failures": {"type": "bool", "default": True},
            "known_failures": {"type": "list", "elements": "str", "default": []},
            **leaving.OPTIONS,
        }
    )
    params = module.params
    workers = leaving.remaining(params["workers"], params["own"], params["leaving"])
    if not workers:
        health_check.run(
            module,
            "worker cannot leave",
            lambda: ({"failed": []}, [leaving.last("worker of Kafka Connect", params["own"])]),
        )
    try:
        rest = Rest(workers, params["certificate"], params["authority"])
    except OSError as error:
        module.fail_json(msg=f"the certificate of this worker cannot be used: {error}")

    def check() -> tuple[dict[str, Any], list[str]]:
        missing = not_ready(rest)
        names: list[str] = []
        connectors: dict[str, connect_health.Connector] = {}
        if params["connectors"] and len(missing) < len(rest.instances):
            rest.instances.sort(key=lambda name: name in missing)
            try:
                connectors = connect_health.connectors(
                    rest.call("GET", "/connectors?expand=status")
                )
                names = rest.call("GET", "/connectors")
            except (RestError, LookupError, TypeError, AttributeError) as error:
                return {}, [f"connectors cannot be listed: {error}"]
        failed = connect_health.failed(connectors)
        known_failures = params["known_failures"] if params["failures"] else failed
        facts = {
            "failed": failed,
            "workers": [name for name in workers if name not in missing],
            "states": connect_health.states(connectors),
            "without_tasks": connect_health.without_tasks(connectors),
        }
        former = params["own"] if params["leaving"] else ""
        return facts, connect_health.problems(
            missing, workers, connectors, names, known_failures, former
        )

    health_check.run(module, "group of Kafka Connect is not healthy", check)


if __name__ == "__main__":
    main()
