#!/usr/bin/python
"""Ansible module: a verdict on a whole Spark standalone cluster."""

from __future__ import annotations

import json
import time
import urllib.request
from http.client import HTTPException
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.operations import spark_health
from ..module_utils.operations.spark_health import Master

DOCUMENTATION = r"""
module: spark_health
short_description: A verdict on a whole Spark standalone cluster
version_added: 0.1.0
description:
  - Asks every master of the inventory once and says everything that is wrong. One master must be
    ALIVE, each other one STANDBY, and all workers must be alive at the ALIVE one.
options:
  wait:
    description: Seconds to wait for a healthy cluster; 0 judges once.
    type: float
    default: 0
  fail:
    description: Whether an unhealthy cluster fails the task.
    type: bool
    default: true
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
author: [Millrace (@millrace)]
"""

EXAMPLES = r"""
- name: Wait until the cluster is healthy
  millrace.streaming.spark_health:
    wait: 60
"""

RETURN = r"""
healthy:
  description: Whether there are no C(problems).
  returned: always
  type: bool
active:
  description: The one master that is ALIVE, as C(host:port); empty without one, or with several.
    Also C(standby), and the hosts of C(workers) that are alive at the active master.
  returned: always
  type: str
"""

POLL_SECONDS = 0.2
REQUEST_SECONDS = 2


def ask(address: str) -> Master:
    """Return a master as it is now; one that does not answer says why."""
    # A proxy of the environment is not for the cluster's own hosts.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{address}/json/", timeout=REQUEST_SECONDS) as answer:
            return spark_health.master(address, json.load(answer))
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return Master(address, reason=getattr(reason, "strerror", None) or str(reason))
    except (ValueError, LookupError, TypeError):
        return Master(address, reason="this is no Spark master")


def judge(masters: list[str], workers: list[str], wait: float) -> dict[str, Any]:
    """Look until the cluster is healthy or the time is over, and return the last verdict."""
    start = time.monotonic()
    while True:
        found = [ask(address) for address in masters]
        problems = spark_health.problems(found, workers)
        seconds = time.monotonic() - start
        if not problems or seconds + POLL_SECONDS > wait:
            return {
                **spark_health.facts(found),
                "healthy": not problems,
                "problems": problems,
                "seconds": round(seconds, 2),
            }
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "masters": {"type": "list", "elements": "str", "required": True},
            "workers": {"type": "list", "elements": "str", "required": True},
            "wait": {"type": "float", "default": 0},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    verdict = judge(params["masters"], params["workers"], params["wait"])
    if params["fail"] and not verdict["healthy"]:
        module.fail_json(
            msg=f"the cluster is not healthy after {verdict['seconds']} s:\n- "
            + "\n- ".join(verdict["problems"]),
            **verdict,
        )
    module.exit_json(changed=False, **verdict)


if __name__ == "__main__":
    main()
