#!/usr/bin/python
"""Ansible module: end the registration of a Kafka broker that has no replicas."""

from __future__ import annotations

import functools
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka import reassignments
from ..module_utils.kafka.client import Cluster
from ..module_utils.kafka.snapshot import Snapshot
from ..module_utils.operations import mover, options
from ..module_utils.operations.options import FailedError

DOCUMENTATION = r"""
module: kafka_decommission
short_description: End the registration of a Kafka broker that has no replicas
description:
  - Fails where a partition has a replica on the broker, of internal topics too. Kafka itself does
    not look at that, and would leave such partitions with a replica that never returns.
  - Without O(unregister) it ends the broker's cordon (KIP-1066) too, right before it is stopped. Only
    the broker itself could do that, and a later broker with its node id would be cordoned.
  - With O(unregister) the broker must be stopped. The module waits until the cluster has seen that,
    and removes its registration.
options:
  node_id:
    description: Node id of the broker.
    type: int
    required: true
  unregister:
    description: Whether to remove the registration, once no replica is left.
    type: bool
    default: false
  wait:
    description: Seconds until the cluster has to see that the broker is stopped.
    type: float
    default: 60
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Reports the replicas that are left, and removes nothing.
    support: full
"""

RETURN = r"""
registered:
  description: Whether the broker is registered.
  returned: always
  type: bool
replicas:
  description: How many replicas are on it.
  returned: always
  type: int
"""

POLL_SECONDS = 0.5


def held(snapshot: Snapshot, broker: int) -> list[tuple[str, int]]:
    """Return the partitions that have a replica on a broker."""
    return [
        (partition.topic, partition.index)
        for partition in snapshot.partitions
        if broker in partition.replicas
    ]


def is_stopped(snapshot: Snapshot, broker: int) -> bool | None:
    """Return whether a broker is registered and does not serve; None without a registration."""
    return next((item.fenced for item in snapshot.brokers if item.id == broker), None)


def wait_stopped(cluster: Cluster, broker: int, seconds: float) -> Snapshot:
    """Wait until the cluster has seen that a broker is stopped; return the last snapshot."""
    deadline = time.monotonic() + seconds
    while True:
        snapshot = cluster.read()
        if is_stopped(snapshot, broker) is not False:
            return snapshot
        if time.monotonic() > deadline:
            text = (
                f"broker {broker} still serves after {seconds:.0f} s, so its registration was not "
                "removed: stop its service, then run the same playbook again"
            )
            raise FailedError(text)
        time.sleep(POLL_SECONDS)


def end_cordon(cluster: Cluster, broker: int, *, planned: bool) -> bool:
    """Let a broker get replicas again, unless that is only planned; return whether it could not."""
    ask = functools.partial(reassignments.log_dirs, brokers=[broker])
    cordoned = any(directory.cordoned for directory in cluster.ask(ask)[broker])
    if cordoned and not planned:
        end = functools.partial(reassignments.cordon, broker=broker, cordoned=False)
        if reason := cluster.ask(end):
            text = f"the cordon of broker {broker} cannot be removed: {reason}"
            raise FailedError(text)
    return cordoned


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Check the broker, and remove its registration if that is asked for."""
    broker, unregister = module.params["node_id"], module.params["unregister"]
    snapshot = cluster.read()
    registered = is_stopped(snapshot, broker) is not None
    if unregister and registered and not module.check_mode:
        snapshot = wait_stopped(cluster, broker, module.params["wait"])
    names = held(snapshot, broker)
    result: dict[str, Any] = {"registered": registered, "replicas": len(names)}
    if names and not module.check_mode:
        text = (
            f"broker {broker} still has {len(names)} replicas ({mover.listed(names)}), so it must "
            "not leave: run the same playbook again, which moves them first"
        )
        module.fail_json(msg=text, **result)
    if not unregister and not is_stopped(snapshot, broker) and registered:
        return {"changed": end_cordon(cluster, broker, planned=module.check_mode), **result}
    if not unregister or not registered:
        return {"changed": False, **result}
    if not module.check_mode:
        ask = functools.partial(reassignments.unregister, broker=broker)
        if reason := cluster.ask(ask):
            text = f"the registration of broker {broker} cannot be removed: {reason}"
            raise FailedError(text)
        while is_stopped(snapshot, broker) is not None:
            time.sleep(POLL_SECONDS)
            snapshot = cluster.read()
        result["registered"] = False
    return {"changed": True, **result}


def main() -> None:
    """Run the module."""
    spec = {
        "node_id": {"type": "int", "required": True},
        "unregister": {"type": "bool", "default": False},
        "wait": {"type": "float", "default": 60},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
