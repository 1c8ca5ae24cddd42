#!/usr/bin/python
"""Ansible module: take a controller out of its dynamic quorum."""

from __future__ import annotations

import functools
import time
import uuid
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka import messages, requests, snapshot
from ..module_utils.kafka.answers import refusal
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.operations import options, voter
from ..module_utils.operations.options import FailedError

DOCUMENTATION = r"""
module: kafka_remove_voter
short_description: Take a controller out of its dynamic quorum
description:
  - Removes the vote of a controller with the directory id that it has (KIP-853). Its process goes
    on as an observer, until it is stopped.
  - Fails where the others would not be a majority that is caught up, where it is the only
    controller, and where the quorum is static.
  - Does nothing where it is no voter.
options:
  node_id:
    description: Node id of the controller.
    type: int
    required: true
  wait:
    description: Seconds until the quorum has to be without it.
    type: float
    default: 60
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Reports what becomes of the quorum, and removes nothing.
    support: full
"""

RETURN = r"""
voter:
  description: Whether it was a voter.
  returned: always
  type: bool
lines:
  description: What becomes of the quorum, for a reader.
  returned: always
  type: list
  elements: str
"""

POLL_SECONDS = 0.5


def described(admin: Any) -> dict[str, Any] | None:
    """Return the answer about the quorum, None with ZooKeeper.

    Raises:
        LookupError: the node that answered does not know it.

    """
    response = snapshot.described_quorum(admin)
    if response is None:
        return None
    voter.partition(response)
    return dict(response)


def remove(admin: Any, *, node_id: int, directory: str) -> str:
    """Ask for the removal; return why Kafka refuses it.

    Raises:
        KafkaError: the error may pass, such as a change before this one that is not committed.

    """
    request = messages.remove_raft_voter(node_id, uuid.UUID(directory))
    return refusal(requests.send(admin, request))


def wait_removed(cluster: Cluster, node_id: int, directory: str, seconds: float) -> None:
    """Ask for the removal until the quorum is without the voter.

    Raises:
        FailedError: Kafka refuses it, or the time is over.

    """
    deadline = time.monotonic() + seconds
    while True:
        # The state of the quorum decides: an answer may be lost and the change be made.
        try:
            why = cluster.ask(functools.partial(remove, node_id=node_id, directory=directory))
        except UnavailableError as error:
            why = str(error)
        time.sleep(POLL_SECONDS)
        try:
            response = cluster.ask(described)
        except UnavailableError as error:
            why = str(error)
        else:
            if response and not voter.voter_directory(voter.partition(response), node_id):
                return
        if time.monotonic() > deadline:
            text = (
                f"controller {node_id} could not be removed from the quorum: {why}. See the other "
                "controllers' journals, then run the same playbook again"
            )
            raise FailedError(text)


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Judge the removal, and carry it out."""
    node_id = module.params["node_id"]
    response = cluster.ask(described)
    directory = voter.voter_directory(voter.partition(response), node_id) if response else ""
    if not directory:
        text = f"controller {node_id} is no voter of the quorum"
        return {"changed": False, "voter": False, "lines": [text]}
    quorum = cluster.read().quorum
    reason = (
        "the quorum is not known"
        if quorum is None
        else (voter.removal_reason(quorum, node_id, directory))
    )
    if reason or quorum is None:
        text = f"controller {node_id} cannot leave the quorum; nothing was changed: {reason}"
        raise FailedError(text)
    if not module.check_mode:
        wait_removed(cluster, node_id, directory, module.params["wait"])
    return {"changed": True, "voter": True, "lines": voter.removal_lines(quorum, node_id)}


def main() -> None:
    """Run the module."""
    spec = {
        "node_id": {"type": "int", "required": True},
        "wait": {"type": "float", "default": 60},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
