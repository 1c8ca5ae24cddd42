#!/usr/bin/python
"""Ansible module: Prometheus and Alertmanager read their files again, if these have changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.prometheus_rest import OPTIONS, UNITS, Servers
from ..module_utils.host.rest import RestError
from ..module_utils.host.retry import retried

DOCUMENTATION = r"""
module: monitoring_reload
short_description: Prometheus and Alertmanager read their files again, if these have changed
description:
  - A server whose configuration is newer than what it says to have loaded is asked to read it
    again, by a signal, and keeps running. That it has done so is waited for.
options:
  wait:
    description: Seconds within which a server must answer, and then have loaded its files.
    type: float
    default: 60
attributes:
  check_mode:
    description: Asks the servers, and does not signal them.
    support: full
"""

POLL_SECONDS = 0.2


def newest(directory: Path) -> float:
    """Return when something below a directory was last changed, added or removed."""
    return max(path.stat().st_mtime for path in (directory, *directory.rglob("*")))


def reload(module: AnsibleModule, servers: Servers, server: str, changed: float) -> bool:
    """Have a server load files that were changed at a time; return whether that was needed.

    Raises:
        RestError: it does not answer, or could not load them.

    """
    wait = module.params["wait"]
    deadline = time.monotonic() + wait
    when, done = retried(lambda: servers.loaded(server), RestError, wait, POLL_SECONDS)
    if done and when > changed:
        return False
    if module.check_mode:
        return True
    module.run_command(["systemctl", "reload", UNITS[server]], check_rc=True)
    asked_at = time.time() - 1

    def check() -> None:
        when, done = servers.loaded(server)
        if not done or when <= max(changed, asked_at):
            message = f"{server} has not loaded its files; see journalctl -u {UNITS[server]}"
            raise RestError(message)

    retried(check, RestError, deadline - time.monotonic(), POLL_SECONDS)
    return True


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "directory": {"type": "path", "required": True},
            "wait": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    params: dict[str, Any] = module.params
    done = []
    try:
        servers, changed = Servers(params), newest(Path(params["directory"]))
        done = [name for name in UNITS if reload(module, servers, name, changed)]
    except (OSError, RestError) as error:
        module.fail_json(msg=f"monitoring has not loaded its files: {error}")
    module.exit_json(changed=bool(done), reloaded=done)


if __name__ == "__main__":
    main()
