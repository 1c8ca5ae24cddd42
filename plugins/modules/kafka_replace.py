#!/usr/bin/python
"""Ansible module: let a Kafka node with a new machine, or empty disks, take its place again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka.client import Cluster
from ..module_utils.kafka.snapshot import Snapshot
from ..module_utils.operations import mover, options, rebalance, replacement, slices
from ..module_utils.operations.mover import MoverError, Replicas
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.placement.throttle import LEAST
from ..module_utils.operations.replacement import Node, Refill

DOCUMENTATION = r"""
module: kafka_replace
short_description: Let a Kafka node with a new machine, or empty disks, take its place again
description:
  - Fails, with all reasons, where the node may not take its place. That is while its former machine
    still lives, or where a partition has no other copy. Also where another node is missing, the
    quorum has no majority without it, or replicas move.
  - Throttles what the broker will copy, and follows that until all its replicas are in sync. Then
    preferred replicas lead, and the throttles are removed.
  - All is read from the cluster itself, so an interrupted run is run again.
options:
  state:
    description: With V(planned) only the plan is returned. V(throttled) also sets the throttles.
      V(refilled) follows the copy, and removes them. V(released) removes them at once.
    type: str
    choices: [planned, throttled, refilled, released]
    required: true
  host:
    description: The host where the module runs, to which the task is delegated.
    type: str
    required: true
  running:
    description: Whether the service of the node runs on its host.
    type: bool
    default: false
  rate:
    description: How fast replicas are copied, in bytes per second; by default 10 MB/s, or 1.5 times
      what producers write to them if that is more.
    type: int
  measure:
    description: Seconds for which the traffic of partitions is measured before the plan.
    type: float
    default: 10
  fence_timeout:
    description: Seconds until the cluster has to see that the former node is gone.
    type: float
    default: 30
  slice:
    description: Seconds after which the module returns how far the copy is; 0 for all at once.
    type: float
    default: 0
  carried:
    description: What the call before has returned.
    type: dict
    default: {}
  stall_timeout:
    description: Seconds after which a copy fails that makes no progress.
    type: float
    default: 600
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Returns the plan and changes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Follow how broker b2 copies its replicas again
  millrace.streaming.kafka_replace:
    state: refilled
    host: b1
  delegate_to: b1
"""

RETURN = r"""
plan:
  description: The C(partitions) that are copied, their C(bytes), the C(rate) and C(seconds).
  returned: when it was planned
  type: dict
progress:
  description: How far the copy is, with C(done), C(partitions_done), C(bytes_done), C(seconds_left)
    and what is C(waiting).
  returned: with O(state=refilled)
  type: dict
lines:
  description: Plan or progress for a reader.
  returned: always
  type: list
  elements: str
"""

POLL_SECONDS = 1.0


@dataclass
class Replacement:
    """One call of the module."""

    params: Mapping[str, Any]
    cluster: Cluster
    check_mode: bool

    def __post_init__(self) -> None:
        """Read who is replaced."""
        self.replicas = Replicas(self.cluster)
        self.node = Node.of(self.params["node"])

    def run(self) -> dict[str, Any]:
        """Plan, throttle, follow or release, as the options say; return the module's result."""
        state = self.params["state"]
        if self.check_mode or state in ("planned", "throttled"):
            return self.begin(throttled=state == "throttled" and not self.check_mode)
        return self.follow() if state == "refilled" else self.release()

    def begin(self, *, throttled: bool) -> dict[str, Any]:
        """Judge and plan, and set the throttles if that is asked for."""
        snapshot = self.fenced()
        reasons = replacement.problems(
            snapshot,
            self.node,
            options.expected_of(self.params),
            sorted(self.replicas.ongoing()),
        )
        plan = self.plan(snapshot, reasons)
        result = {"plan": plan.as_data(), "rate": plan.rate, "lines": list(plan.lines)}
        if plan.problems:
            lines = "\n- ".join(plan.problems)
            what = f"{self.node.host} cannot take the place of node {self.node.id}"
            text = f"{what}; nothing was changed:\n- {lines}"
            raise FailedError(text)
        if throttled and (
            reason := replacement.throttle(self.replicas, snapshot, self.node.id, plan.rate)
        ):
            replacement.release(self.replicas, snapshot)
            text = f"Kafka refuses to throttle replication, so nothing was started: {reason}"
            raise FailedError(text)
        return {**result, "changed": bool(plan.missing)}

    def fenced(self) -> Snapshot:
        """Return the cluster once it has seen that the former node is gone, or the time is over."""
        deadline = time.monotonic() + self.params["fence_timeout"]
        while True:
            snapshot = self.replicas.snapshot()
            lives = replacement.former_lives(snapshot, self.node)
            if not lives or time.monotonic() > deadline:
                return snapshot
            time.sleep(POLL_SECONDS)

    def plan(self, snapshot: Snapshot, reasons: list[str]) -> replacement.Plan:
        """Return the plan; brokers are asked for sizes only where it may be carried out."""
        if reasons:
            return replacement.make_plan(snapshot, self.node, {}, reasons)
        directories = rebalance.read_directories(self.cluster, snapshot)
        rates = None
        if self.params["measure"] > 0 and replacement.missing(snapshot, self.node.id):
            rates = rebalance.measure(self.cluster, snapshot, directories, self.params["measure"])
        sizes = {
            broker: {name: size for item in listed for name, size in item.sizes.items()}
            for broker, listed in directories.items()
        }
        return replacement.make_plan(
            snapshot, self.node, sizes, rates=rates, rate=self.params["rate"]
        )

    def follow(self) -> dict[str, Any]:
        """Follow the copy for a slice."""
        work = Refill(
            self.replicas,
            self.node.id,
            self.params["rate"] or LEAST,
            self.params["stall_timeout"],
            dict(self.params["carried"]),
        )
        until = time.time() + self.params["slice"] if self.params["slice"] else None
        try:
            progress = work.run(until)
        except MoverError as error:
            raise FailedError(str(error)) from error
        return {
            "changed": True,
            "progress": asdict(progress),
            "carried": work.carried,
            "lines": [replacement.line(progress), *progress.notes],
        }

    def release(self) -> dict[str, Any]:
        """Remove the throttles."""
        if self.replicas.ongoing():
            # Their throttles say whose they are.
            return {"changed": False, "lines": ["Replicas are being moved, so throttles stay"]}
        stays = replacement.release(self.replicas, self.replicas.snapshot())
        return {"changed": True, "lines": stays or ["No throttle is left"]}


def work(module: AnsibleModule, _: Cluster) -> dict[str, Any]:
    """Write the operation's record, and go on."""
    return slices.run(
        module, lambda cluster: Replacement(module.params, cluster, module.check_mode).run()
    )


def main() -> None:
    """Run the module."""
    spec = {
        **options.EXPECTED,
        "record": options.NODE["record"],
        "operation": options.NODE["operation"],
        "state": {
            "type": "str",
            "choices": ["planned", "throttled", "refilled", "released"],
            "required": True,
        },
        "node": {"type": "dict", "required": True},
        "rate": {"type": "int"},
        "measure": {"type": "float", "default": 10},
        "fence_timeout": {"type": "float", "default": 30},
        "slice": {"type": "float", "default": 0},
        "carried": {"type": "dict", "default": {}},
        "stall_timeout": {"type": "float", "default": mover.STALL_SECONDS},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
