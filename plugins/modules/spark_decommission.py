#!/usr/bin/python
"""Ansible module: let a Spark worker give away what it has."""

from __future__ import annotations

import json
import os
import signal as signals
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import rest
from ..module_utils.host.unit import Unit
from ..module_utils.operations import spark_leave

DOCUMENTATION = r"""
module: spark_decommission
short_description: Let a Spark worker give away what it has
description:
  - Sends the worker of this host the signal of C(spark.worker.decommission.signal). The master then
    starts no more executors there. Those that run finish their tasks, give their shuffle files and
    cached blocks to executors of other workers, and end.
  - Waits until none runs any more. The worker itself is not stopped.
  - With C(spark.decommission.enabled=false) it does nothing.
options:
  wait:
    description: Seconds that the executors have.
    type: float
    default: 0
attributes:
  check_mode:
    description: Sends no signal, and says in C(problems) why it could not.
    support: full
"""

RETURN = r"""
problems:
  description: Why the worker cannot give away what it has.
  returned: always
  type: list
  elements: str
executors:
  description: The executors that run there.
  returned: always
  type: list
  elements: str
"""

UNIT = "spark-worker"
REQUEST_SECONDS = 5
POLL_SECONDS = 1.0
PENDING = (
    "the Spark worker was started without spark.decommission.enabled, so that the signal would kill "
    "it: run rolling_restart.yml first"
)


def catches(status: str, number: int) -> bool:
    """Return whether a process handles a signal, by its `/proc/PID/status`."""
    for line in status.splitlines():
        name, _, mask = line.partition(":")
        if name == "SigCgt":
            return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def running(address: str, token: str) -> list[str] | str:
    """Return the executors of the worker at an address, or why it does not name them."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://{address}/json/", headers=headers)
    try:
        with rest.opener().open(request, timeout=REQUEST_SECONDS) as response:
            return spark_leave.executors(json.load(response))
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        return getattr(reason, "strerror", None) or str(reason)
    except (ValueError, LookupError, TypeError):
        return "it is no Spark worker"


def wait(module: AnsibleModule) -> list[str] | str:
    """Return what runs on the worker, once it is nothing or the time is over."""
    deadline = time.monotonic() + module.params["wait"]
    while True:
        executors = running(module.params["worker"], module.params["token"])
        if not executors or module.check_mode or time.monotonic() + POLL_SECONDS > deadline:
            return executors
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "worker": {"type": "str", "required": True},
            "token": {"type": "str", "default": "", "no_log": True},
            "enabled": {"type": "bool", "required": True},
            "signal": {"type": "str", "default": "PWR"},
            "wait": {"type": "float", "default": 0},
        },
        supports_check_mode=True,
    )
    result: dict[str, Any] = {"changed": False, "problems": [], "executors": []}
    pid = Unit(UNIT).state().pid
    number = getattr(signals, f"SIG{module.params['signal'].upper()}", None)
    if not pid or not module.params["enabled"]:
        module.exit_json(**result)
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    if number is None or not catches(status, number):
        if module.check_mode:
            module.exit_json(**{**result, "problems": [PENDING]})
        module.fail_json(msg=PENDING, **{**result, "problems": [PENDING]})
    if not module.check_mode:
        # A worker that is being decommissioned ignores a second one.
        os.kill(pid, number)
    executors = wait(module)
    result = {**result, "changed": True}
    if isinstance(executors, str):
        problem = f"the worker at {module.params['worker']} does not answer: {executors}"
        if not module.check_mode:
            module.fail_json(msg=f"{problem}; see journalctl -u {UNIT}", **result)
        module.exit_json(**{**result, "problems": [problem]})
    result["executors"] = executors
    if executors and not module.check_mode:
        module.fail_json(
            msg=f"after {module.params['wait']:.0f} s these executors still run: "
            f"{', '.join(executors)}. The worker gets no new ones. Run this again to wait for them, "
            f"or run systemctl stop {UNIT} first: their tasks then begin again elsewhere, "
            "and lost shuffle files are computed again.",
            **result,
        )
    module.exit_json(**result)


if __name__ == "__main__":
    main()
