#!/usr/bin/python
"""Ansible module: whether a Spark standalone cluster is healthy."""

from __future__ import annotations

import json
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from ..module_utils.host import rest
from ..module_utils.host.network import listens
from ..module_utils.operations import health_check, leaving, spark_health, spark_leave
from ..module_utils.operations.spark_health import Master

DOCUMENTATION = r"""
module: spark_health
short_description: Whether a Spark standalone cluster is healthy
extends_documentation_fragment:
  [millrace.streaming.health, millrace.streaming.leaving, millrace.streaming.check_mode]
description:
  - Asks every master of the inventory once and reports every problem. One master must be ALIVE,
    each other one STANDBY, and all workers must be alive at the ALIVE one. The catalog of tables
    must listen.
options:
  workers:
    description: Hosts of the workers that have to be alive, and of no others; all of the inventory
      without it.
    type: list
    elements: str
  metastores:
    description: Addresses, C(host:port), at which a catalog of tables has to listen; that of the
      inventory without it.
    type: list
    elements: str
  leaving_roles:
    description: Which processes of this host leave.
    type: list
    elements: str
    choices: [master, worker]
    default: [master, worker]
"""

REQUEST_SECONDS = 2
REFUSED = (
    "it refuses the token of the secrets: copy their directory from the control node that deployed "
    "Spark, or run rotate_secrets.yml with -e secret=spark"
)


def ask(address: str, token: str) -> Master:
    """Return a master as it is now; one that does not answer has the reason."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://{address}/json/", headers=headers)
    try:
        with rest.opener().open(request, timeout=REQUEST_SECONDS) as response:
            return spark_health.master(address, json.load(response))
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError) and error.code == HTTPStatus.FORBIDDEN:
            return Master(address, reason=REFUSED)
        reason = getattr(error, "reason", error)
        return Master(address, reason=getattr(reason, "strerror", None) or str(reason))
    except (ValueError, LookupError, TypeError):
        return Master(address, reason="this is no Spark master")


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            "masters": {"type": "list", "elements": "str", "required": True},
            "workers": {"type": "list", "elements": "str", "default": []},
            "metastores": {"type": "list", "elements": "str", "default": []},
            "token": {"type": "str", "default": "", "no_log": True},
            "leaving": leaving.OPTIONS["leaving"],
            "leaving_roles": {
                "type": "list",
                "elements": "str",
                "choices": ["master", "worker"],
                "default": ["master", "worker"],
            },
            "own_master": {"type": "str", "default": ""},
            "own_worker": {"type": "str", "default": ""},
            "own_jobs": {"type": "list", "elements": "str", "default": []},
        }
    )
    phase, roles = module.params["leaving"], module.params["leaving_roles"]
    own_master = module.params["own_master"] if phase and "master" in roles else ""
    own_worker = module.params["own_worker"] if phase and "worker" in roles else ""

    def check() -> tuple[dict[str, Any], list[str]]:
        masters = [ask(address, module.params["token"]) for address in module.params["masters"]]
        silent = [address for address in module.params["metastores"] if not listens(address)]
        problems = []
        if phase == leaving.BEFORE:
            if own_worker:
                problems += spark_leave.worker_problems(masters, own_worker)
            if own_master:
                jobs = module.params["own_jobs"]
                problems += spark_leave.master_problems(masters, own_master, jobs)
        else:
            workers = module.params["workers"]
            problems += spark_leave.remaining_problems(masters, workers, own_master, own_worker)
            problems += spark_health.silent(silent)
        return spark_health.facts(masters), problems

    health_check.run(module, "cluster is not healthy", check)


if __name__ == "__main__":
    main()
