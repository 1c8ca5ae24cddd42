#!/usr/bin/python
"""Ansible module: restart one Kafka node when its cluster can spare it."""

from __future__ import annotations

import time
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import operation_file, paths, restart, start_signs
from ..module_utils.host.files import ApplyError
from ..module_utils.host.unit import Unit
from ..module_utils.kafka.client import Cluster
from ..module_utils.operations import options
from ..module_utils.operations.node_restart import (
    PHASES,
    AbandonedError,
    Node,
    NodeRestart,
    Progress,
    StartFailedError,
)

DOCUMENTATION = r"""
module: kafka_restart
short_description: Restart one Kafka node when its cluster can spare it
description:
  - For the action M(millrace.streaming.roll_node), which gives it all its options. One call does as
    much as its time allows; that action calls again from the phase that was reached, shows what is
    waited for, and enforces the deadlines.
  - Waits at the gate until no partition and no quorum needs the node. Stops it, starts it, waits
    until it is in sync again, and sends a record through it and back. If the node's process exits
    with its new files, or says why it cannot start, its previous files are restored. One that
    lives is never stopped for being slow.
attributes:
  check_mode:
    description: Does nothing.
    support: full
"""

STOP_SECONDS = 30
"""How long to wait for the process to end before its files are restored. If it takes longer,
systemd ends it before the next start."""


def restart_of(module: AnsibleModule, cluster: Cluster) -> NodeRestart:
    """Return the restart that the module's options describe."""
    params = module.params
    try:
        node = Node(**params["node"])
    except TypeError as error:
        module.fail_json(msg=f"the option node is incomplete: {error!r}")
    return NodeRestart(
        node,
        Unit(params["unit"]),
        Path(params["mark"]),
        cluster,
        options.connection_of(params),
        options.expected_of(params),
        options.policy_of(params),
        forced=params["forced"],
        others=frozenset(params["others"]),
    )


def restore_previous(
    node_restart: NodeRestart, progress: Progress, previous: Path, why: str
) -> dict[str, Any]:
    """Restore the previous files of the node, if they were kept, and start it with them."""
    try:
        if not restart.can_restore(previous):
            return {"start_failed": why}
        node_restart.unit.stop()
        until = time.monotonic() + STOP_SECONDS
        while not node_restart.unit.state().stopped and time.monotonic() < until:
            time.sleep(0.1)
        restored = restart.restore(previous, [node_restart.mark])
        node_restart.start()
    except (OSError, SubprocessError, ValueError, ApplyError, StartFailedError) as error:
        return {"start_failed": f"{why}\nIts previous files could not be restored: {error}"}
    progress.phase = "start"
    return {"start_failed": why, "restored": restored}


def check_fatal(node_restart: NodeRestart) -> None:
    """Check that a process which makes no progress has not said why.

    Raises:
        StartFailedError: it has, and lives on.

    """
    lines = start_signs.fatal_lines(node_restart.unit, node_restart.unit.state())
    if lines:
        logged = "\n  ".join(lines[-12:])
        text = f"the process does not end, but logged that it cannot start:\n  {logged}"
        raise StartFailedError(text)


def advance(module: AnsibleModule, node_restart: NodeRestart) -> dict[str, Any]:
    """Go on with the restart for a slice, and return the module's result."""
    params = module.params
    previous = Path(params["previous"])
    until = time.monotonic() + params["slice"]
    failed_directory = params["had_failed_directory"]
    progress = Progress(params["phase"], until, had_failed_directory=failed_directory)
    result: dict[str, Any] = {"deferred": False, "start_failed": "", "restored": []}
    last = progress.phase == "gate" and params["controller_last"]
    if last and node_restart.must_be_last(set(params["remaining"])):
        return {"changed": False, **result, "deferred": True, **progress.as_data()}
    if progress.phase == "gate" and previous.exists() and node_restart.serves():
        restart.forget_superseded(previous, node_restart.mark)
    try:
        if params["start_timed_out"]:
            check_fatal(node_restart)
        node_restart.advance(progress, params["until"])
    except StartFailedError as error:
        result.update(restore_previous(node_restart, progress, previous, str(error)))
    except AbandonedError:
        progress.waiting = ["Ansible is gone"]
    if progress.phase == "done":
        paths.remove_file(previous)  # the process runs on the files that followed
    # After the gate alone nothing was left to do: somebody else had restarted the node.
    changed = progress.phase not in ("gate", "stop") and set(progress.seconds) != {"gate"}
    return {"changed": changed, **result, **progress.as_data()}


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Write the operation's record, and go on with the restart."""
    params = module.params
    if module.check_mode:
        return {"changed": False, "phase": params["phase"], "skipped": True}
    ours = not params["operation"] or operation_file.update(
        Path(params["record"]), params["operation"]
    )
    if not ours and params["phase"] == "gate":
        text = f"another operation has taken the cluster lock meanwhile: see {params['record']}"
        raise options.FailedError(text)
    return advance(module, restart_of(module, cluster))


def main() -> None:
    """Run the module."""
    phases = {"type": "str", "choices": list(PHASES)}
    spec = {
        **options.EXPECTED,
        **options.GATE,
        **options.NODE,
        "node": {"type": "dict", "required": True},
        "forced": {"type": "bool", "default": False},
        "phase": {**phases, "default": "gate"},
        "until": {**phases, "default": "done"},
        "slice": {"type": "float", "default": 20},
        "start_timed_out": {"type": "bool", "default": False},
        "had_failed_directory": {"type": "bool", "default": False},
        "others": {"type": "list", "elements": "int", "default": []},
        "remaining": {"type": "list", "elements": "int", "default": []},
        "controller_last": {"type": "bool", "default": False},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
