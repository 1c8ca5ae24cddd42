#!/usr/bin/python
"""Ansible module: restart one Kafka node when its cluster can spare it."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils import (
    availability,
    file_apply,
    gate_options,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    ARGUMENTS,
    NoClientError,
    NotYetError,
    client_settings,
    cluster_of,
)
from ansible_collections.millrace.streaming.plugins.module_utils.node_turn import (
    PHASES,
    AbandonedError,
    Member,
    Node,
    RefusedError,
    Turn,
)
from ansible_collections.millrace.streaming.plugins.module_utils.service_unit import Unit

DOCUMENTATION = r"""
module: kafka_restart
short_description: Restart one Kafka node when its cluster can spare it
version_added: 0.3.0
description:
  - Waits at the gate until no partition and no quorum needs the node, stops it, starts it, waits
    until it is in sync again, and sends a record through it and back.
  - One call does as much as O(slice) allows; the action plugin of the same name calls again from
    the phase that was reached, shows what is waited for, and judges the deadlines.
  - A node whose new configuration does not start gets back the files that O(previous) keeps.
options:
  node:
    description:
      - The node, with C(id), C(broker), C(controller), C(address) (its first listener), C(ports)
        (all that it opens), C(data_dirs), C(replication) (of the canary's topic) and C(peers) (the
        addresses of all other nodes).
    type: dict
    required: true
  unit:
    description: Name of the service.
    type: str
    default: kafka
  mark:
    description: File that says the process runs on older files. A node without it is left alone.
    type: path
    required: true
  previous:
    description: File with the former state of the node's files, as the module C(files) keeps it.
    type: path
    default: ""
  look:
    description: Only say whether the node is marked and runs.
    type: bool
    default: false
  ask:
    description: Mark the node first, whatever it runs on.
    type: bool
    default: false
  restore:
    description: Only take the new files away again from a node that still runs on the former ones.
    type: bool
    default: false
  give_up:
    description: Take the start for failed, which took too long.
    type: bool
    default: false
  home:
    description: Where the distribution lies that the node should run.
    type: path
    default: ""
  link:
    description: Link to the distribution that the node has.
    type: path
    default: /opt/millrace/kafka
  phase:
    description: Phase to go on from.
    type: str
    choices: [gate, stop, start, ready, canary, done]
    default: gate
  until:
    description: Phase to stop before.
    type: str
    choices: [gate, stop, start, ready, canary, done]
    default: done
  slice:
    description: Seconds that one call may take.
    type: float
    default: 10
  remaining:
    description: Ids of the nodes whose turn is still to come.
    type: list
    elements: int
    default: []
  defer:
    description: Whether an active controller leaves its turn to the O(remaining) controllers.
    type: bool
    default: false
extends_documentation_fragment: [millrace.streaming.kafka_client, millrace.streaming.kafka_gate]
attributes:
  check_mode:
    description: Says whether the node is marked and runs, and changes nothing.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Restart the node when it is marked
  millrace.streaming.kafka_restart:
    bootstrap: [kafka1:9092, kafka2:9092]
    library: /opt/millrace/kafka/python
    node: {id: 1, broker: true, controller: true, address: "kafka1:9092", ports: [9092, 9093]}
    mark: /run/kafka/restart-pending
"""

RETURN = r"""
phase:
  description: Phase that was reached; C(done) at the end.
  returned: always
  type: str
waiting:
  description: Why the phase is not over.
  returned: always
  type: list
  elements: str
lasting:
  description: Whether no waiting will end it.
  returned: always
  type: bool
marked:
  description: Whether the mark was there.
  returned: always
  type: bool
running:
  description: Whether the service ran.
  returned: always
  type: bool
home:
  description: Name of the directory of the distribution that the node has; empty without one.
  returned: always
  type: str
settled:
  description: Whether it has the distribution O(home), runs, and waits for no restart.
  returned: always
  type: bool
deferred:
  description: Whether the turn was left to others.
  returned: always
  type: bool
seconds:
  description: Seconds by phase.
  returned: always
  type: dict
degraded:
  description: What went wrong without stopping the turn.
  returned: always
  type: list
  elements: str
refused:
  description: Why the process did not stay up; empty if it did.
  returned: always
  type: str
restored:
  description: Files that were put back.
  returned: always
  type: list
  elements: str
"""


STOP_SECONDS = 30


def node_of(module: AnsibleModule) -> Node:
    """Build the node from the module's options."""
    params = module.params
    wish = params["node"]
    try:
        member = Member(
            id=int(wish["id"]),
            broker=bool(wish["broker"]),
            controller=bool(wish["controller"]),
            address=str(wish["address"]),
            ports=tuple(int(port) for port in wish["ports"]),
            data_dirs=tuple(wish.get("data_dirs", ())),
            replication=int(wish.get("replication", 3)),
            peers=tuple(wish.get("peers", ())),
        )
        cluster = cluster_of(params)
    except (KeyError, TypeError, ValueError) as error:
        module.fail_json(msg=f"node lacks or misnames something: {error!r}")
    except NoClientError as error:
        module.fail_json(msg=str(error))
    return Node(
        member,
        Unit(params["unit"]),
        Path(params["mark"]),
        cluster,
        gate_options.expected_of(params),
        gate_options.policy_of(params),
        client_settings(params["security"]),
    )


def to_defer(node: Node, params: dict[str, Any]) -> bool:
    """Tell whether the node leads the metadata now and other controllers are still to come.

    One that is down, or serves nobody, is mended first and waits for nobody.
    """
    others = set(params["remaining"]) - {node.member.id}
    if not params["defer"] or params["phase"] != "gate" or not others:
        return False
    try:
        snapshot = node.cluster.read()
    except NotYetError:
        return False
    serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
    ready = node.unit.state().running and (not node.member.broker or node.member.id in serving)
    return ready and availability.must_wait_for_others(node.member.id, others, snapshot)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            **gate_options.ARGUMENTS,
            "node": {"type": "dict", "required": True},
            "unit": {"type": "str", "default": "kafka"},
            "mark": {"type": "path", "required": True},
            "previous": {"type": "path", "default": ""},
            "look": {"type": "bool", "default": False},
            "ask": {"type": "bool", "default": False},
            "restore": {"type": "bool", "default": False},
            "give_up": {"type": "bool", "default": False},
            "home": {"type": "path", "default": ""},
            "link": {"type": "path", "default": "/opt/millrace/kafka"},
            "phase": {"type": "str", "choices": list(PHASES), "default": "gate"},
            "until": {"type": "str", "choices": list(PHASES), "default": "done"},
            "slice": {"type": "float", "default": 10},
            "remaining": {"type": "list", "elements": "int", "default": []},
            "defer": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    mark = Path(params["mark"])
    unit = Unit(params["unit"])
    state = unit.state()
    asked = params["ask"] and state.running
    previous = Path(params["previous"] or "/dev/null/none")
    if asked and not mark.exists() and not module.check_mode:
        # It runs on the files as they are: what was kept of earlier ones is of no use to it.
        forget(previous)
        mark.write_text("asked for\n")
    entered = params["phase"] if params["phase"] != "gate" else ""
    turn = Turn(params["phase"], time.monotonic() + params["slice"], entered)
    home = os.path.realpath(params["link"]) if Path(params["link"]).is_symlink() else ""
    marked = mark.exists() or asked
    wanted = marked or not state.running or params["phase"] != "gate"
    result: dict[str, Any] = {
        "changed": False,
        "marked": marked,
        "running": state.running,
        "home": Path(home).name,
        "settled": not wanted and home == os.path.realpath(params["home"]),
        "deferred": False,
        "refused": "",
        "restored": [],
    }
    if params["restore"] and not module.check_mode:
        restored = file_apply.restore(previous, [mark]) if kept(previous) and mark.exists() else []
        result.update(restored=restored, changed=bool(restored))
        module.exit_json(**result, **told(turn))
    if params["look"] or module.check_mode or not wanted:
        turn.phase = params["phase"] if wanted else "done"
        module.exit_json(**result, **told(turn))
    node = node_of(module)
    if to_defer(node, params):
        module.exit_json(**{**result, "deferred": True}, **told(turn))
    try:
        if params["give_up"]:
            result.update(put_back(node, turn, previous, "it did not start in time"))
        else:
            node.advance(turn, params["until"])
    except RefusedError as error:
        result.update(put_back(node, turn, previous, str(error)))
    except AbandonedError:
        turn.waiting = ["Ansible is gone"]
    node.cluster.close()
    if turn.phase == "done":
        forget(previous)
    result["changed"] = turn.phase not in ("gate", "stop")
    module.exit_json(**result, **told(turn))


def forget(previous: Path) -> None:
    """Remove what was kept, once the process runs on what followed."""
    if previous.is_file():
        previous.unlink()


def kept(previous: Path) -> bool:
    """Tell whether there are files to put back that a service can run on."""
    if not previous.is_file():
        return False
    return not any(
        change.entry.state == "absent" and change.entry.path.endswith(".service")
        for change in file_apply.kept_changes(previous)
    )


def put_back(node: Node, turn: Turn, previous: Path, why: str) -> dict[str, Any]:
    """Give the node the files with which it ran, if they are kept, and start it with them."""
    if not kept(previous):
        return {"refused": why}
    node.unit.stop()
    until = time.monotonic() + STOP_SECONDS
    while not node.unit.state().stopped and time.monotonic() < until:
        time.sleep(0.1)
    turn.phase = "start"
    try:
        restored = file_apply.restore(previous, [node.mark])
        node.start()
    except (OSError, ValueError, file_apply.ApplyError, RefusedError) as error:
        return {"refused": f"{why}\nIts former files could not be put back: {error}"}
    return {"refused": why, "restored": restored}


def told(turn: Turn) -> dict[str, Any]:
    """Return what the controller has to know to go on."""
    found = asdict(turn)
    return {key: found[key] for key in ("phase", "waiting", "lasting", "degraded")} | {
        "seconds": {phase: round(spent, 3) for phase, spent in turn.seconds.items()}
    }


if __name__ == "__main__":
    main()
