#!/usr/bin/python
"""Ansible module: whether the schema registry is healthy."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

from ..module_utils.host import rest
from ..module_utils.host.registry_rest import CONFLUENT, OPTIONS, Registry
from ..module_utils.host.rest import RestError
from ..module_utils.operations import health_check, leaving, registry_health

DOCUMENTATION = r"""
module: schema_registry_health
short_description: Whether the schema registry is healthy
extends_documentation_fragment:
  [millrace.streaming.health, millrace.streaming.leaving, millrace.streaming.check_mode]
description:
  - The instance of this host must be ready, and all instances must answer and have the same
    subjects.
options:
  others:
    description: Whether the other instances count, or that of this host alone.
    type: bool
    default: true
"""

REQUEST_SECONDS = 10
LARGEST_CHECKS = 2**20
"""Bytes of the checks of an instance."""
_NO_CHECKS = (OSError, HTTPException, ValueError, TypeError, AttributeError, RecursionError)


def down(port: int) -> Sequence[str] | None:
    """Return the checks of this host's instance that are not up, None if it does not answer."""
    url = f"http://127.0.0.1:{port}/health/ready"
    try:
        with rest.opener().open(url, timeout=REQUEST_SECONDS) as response:
            return registry_health.not_ready(json.loads(response.read(LARGEST_CHECKS)))
    except urllib.error.HTTPError as error:
        with error:  # it is the answer, too
            try:
                checks = json.loads(error.read(LARGEST_CHECKS))
                return registry_health.not_ready(checks) or [str(error)]
            except _NO_CHECKS:
                return [str(error)]
    except _NO_CHECKS:
        return None


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            **OPTIONS,
            **leaving.OPTIONS,
            "own": {"type": "str", "required": True},
            "management_port": {"type": "int", "required": True},
            "others": {"type": "bool", "default": True},
        }
    )
    options = module.params
    own_instance = options["own"]
    instances = options["instances"] if options["others"] else [own_instance]
    if options["leaving"]:
        instances = leaving.remaining(options["instances"], own_instance, options["leaving"])
        if not instances:
            problem = leaving.last("instance of the schema registry", own_instance)
            health_check.run(module, "instance cannot leave", lambda: ({}, [problem]))
    # The subjects of the others are compared with those of one of them, if that of this host leaves.
    local = instances[0] if options["leaving"] else own_instance
    try:
        registry = Registry(instances, options["authority"], options["login"])
    except OSError as error:
        module.fail_json(msg=f"{options['authority']} cannot be used: {error}")

    def check() -> tuple[dict[str, Any], list[str]]:
        unanswered: dict[str, str] = {}
        subjects: dict[str, list[str]] = {}
        for instance in instances:
            try:
                response = registry.ask(
                    instance, "GET", f"{CONFLUENT}/subjects", timeout=REQUEST_SECONDS
                )
                subjects[instance] = [str(name) for name in json.loads(response)]
            except (RestError, ValueError, TypeError, RecursionError) as error:
                unanswered[instance] = str(error)
        failed_checks = () if options["leaving"] else down(options["management_port"])
        facts = {"instances": sorted(subjects), "subjects": sorted(subjects.get(local, ()))}
        return facts, registry_health.problems(local, failed_checks, unanswered, subjects)

    health_check.run(module, "schema registry is not healthy", check)


if __name__ == "__main__":
    main()
