#!/usr/bin/python
"""Ansible module: move replicas of a Kafka cluster, in waves below a throttle."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats import goal_options
from ..module_utils.kafka import reassignments
from ..module_utils.kafka.answers import UnsupportedError
from ..module_utils.kafka.client import Cluster
from ..module_utils.kafka.reassignments import Reassignment
from ..module_utils.kafka.snapshot import Snapshot
from ..module_utils.operations import mover, options, rebalance, slices
from ..module_utils.operations.mover import Move, Mover, MoverError, Progress, Replicas, Situation
from ..module_utils.operations.options import FailedError
from ..module_utils.operations.rebalance import Plan

DOCUMENTATION = r"""
module: kafka_rebalance
short_description: Move replicas of a Kafka cluster, in waves below a throttle
description:
  - Plans which replicas are moved to reach a goal, with the fewest bytes, and moves them in waves.
    Each wave begins only where the cluster is healthy, and is throttled (KIP-73). At the end
    preferred replicas lead.
  - What is done, on its way and throttled is read from the cluster itself. After an interruption
    the next run adopts the moves that an earlier one has started, whatever its goal was, and goes
    on.
  - A wave that fails is cancelled. No throttle stays after a run, or after the run that follows one
    that was killed.
  - Reassignments that something else has started are left alone; O(foreign) says what is done about
    them.
options:
  goal:
    description:
      - What is reached. V(spread) gives each broker its share of bytes and leaders, V(topic) does so
        with O(topics) alone. V(drain) leaves no replica on the brokers of O(drain). V(replication)
        gives O(topics) as many replicas as O(replication) says. V(racks) has replicas in different
        racks. V(hottest) moves at most O(hottest) of the busiest partitions for even traffic.
      - By default it follows from the other options, and is V(spread) without them.
    type: str
    choices: [spread, topic, drain, replication, racks, hottest]
  topics:
    description: Names of topics.
    type: list
    elements: str
    default: []
  hottest:
    description: How many of the busiest partitions may be moved.
    type: int
    default: 0
  drain:
    description: Node ids of brokers.
    type: list
    elements: int
    default: []
  replication:
    description: Number of replicas of each partition.
    type: int
    default: 0
  cordon:
    description: Whether the brokers of O(drain) get no new replicas from now on, where the version
      can do that (KIP-1066, Kafka 4.3). That ends when M(millrace.streaming.kafka_decommission) lets
      them leave, with O(cancel), and where the moves fail.
    type: bool
    default: false
  rate:
    description: How fast replicas are moved into and out of each broker, in bytes per second. By
      default it is half of what producers write to the busiest broker. It is at least 10 MB/s, and
      at least 1.5 times what they write to what a broker copies at a time.
    type: int
  in_flight:
    description: Bytes that a broker gets in one wave at most.
    type: int
  measure:
    description: Seconds for which the traffic of partitions is measured before the plan.
    type: float
    default: 10
  cancel:
    description: Put back what is on its way instead, and remove throttles and the cordons of
      O(drain). Moves that were complete stay.
    type: bool
    default: false
  foreign:
    description: What is done about reassignments that something else has started. V(refuse) fails,
      V(adopt) moves them below the throttle with the rest, V(wait) waits until they have ended,
      V(cancel) puts them back.
    type: str
    choices: [refuse, adopt, wait, cancel]
    default: refuse
  waves:
    description: Waves as an earlier call with O(plan_only) has returned them; without them they are
      planned.
    type: list
    elements: raw
  plan_only:
    description: Only plan.
    type: bool
    default: false
  slice:
    description: Seconds after which the module returns what is left to do; 0 for all at once.
    type: float
    default: 0
  carried:
    description: What the call before has returned.
    type: dict
    default: {}
  gate_timeout:
    description: Seconds for which a wave waits until the cluster is healthy; without it as
      C(kafka_gate_timeout) says.
    type: float
  stall_timeout:
    description: Seconds after which a wave fails that makes no progress.
    type: float
    default: 600
  host:
    description: The host where the module runs, where the task is delegated to it.
    type: str
  json:
    description: File on the control node for the plan, as in RV(plan). It is written before anything
      is moved.
    type: str
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Returns the plan and moves nothing.
    support: full
"""

EXAMPLES = r"""
- name: Give brokers that were added their share
  millrace.streaming.kafka_rebalance:

- name: Spread one topic, at most 20 MB/s at each broker
  millrace.streaming.kafka_rebalance:
    topics: [orders]
    rate: 20000000
"""

RETURN = r"""
plan:
  description: The C(moves), each with topic, partition, the brokers C(before) and C(after), the
    C(bytes) that it copies and the C(reason). Also C(bytes) of all, C(least_bytes) that any plan copies,
    C(leaders_before) and C(leaders_after) by broker, C(waves), C(rate) and C(seconds).
  returned: when it was planned
  type: dict
progress:
  description: How far the moves are, with C(done), C(wave), C(partitions_done), C(bytes_done),
    C(seconds_left) and why the next wave is C(waiting).
  returned: when something is moved
  type: dict
lines:
  description: Plan or progress for a reader.
  returned: always
  type: list
  elements: str
"""

POLL_SECONDS = 1.0


@dataclass
class Rebalance:
    """One call of the module."""

    params: Mapping[str, Any]
    cluster: Cluster
    check_mode: bool

    def __post_init__(self) -> None:
        """Begin the slice."""
        self.replicas = Replicas(self.cluster)
        self.until = time.time() + self.params["slice"] if self.params["slice"] else None
        self.expected = options.expected_of(self.params)
        self.drained = frozenset(self.params["drain"])

    def run(self) -> dict[str, Any]:
        """Cancel, plan or move, as the options say; return the module's result."""
        if self.params["cancel"]:
            return self.cancel()
        if wrong := goal_options.problems(self.params):
            texts = "; ".join(f"{what}: {fix}" for what, fix in wrong)
            text = f"{texts}. Nothing was moved."
            raise FailedError(text)
        if self.params["waves"] is not None:
            waves = [[Move.of(move) for move in wave] for wave in self.params["waves"]]
            return self.move(waves, self.params["rate"], self.params["carried"])
        snapshot = self.cluster.read(gate=True)
        state = mover.situation(self.replicas, snapshot)
        if state.foreign:
            if waiting := self.settle(state):
                lines = [f"Waiting for reassignments that something else has started: {waiting}"]
                return {"changed": False, "waiting": waiting, "lines": lines}
            snapshot = self.cluster.read(gate=True)
            state = mover.situation(self.replicas, snapshot)
        cleaned, notes = False, list[str]()
        if not self.check_mode and not state.all:
            cleaned, notes = mover.clean_up(self.replicas, snapshot, state.throttles)
        plan = self.plan(snapshot, state)
        result = self.planned(plan, snapshot, state)
        result["lines"] += notes
        if plan.problems:
            problems = "\n- ".join(plan.problems)
            text = f"the goal cannot be reached; nothing was moved:\n- {problems}"
            raise FailedError(text)
        if self.check_mode or self.params["plan_only"] or not plan.waves:
            return {**result, "changed": bool(plan.waves) or cleaned}
        moved = self.move(plan.waves, plan.rate, {})
        return {**result, **moved, "lines": [*result["lines"], *moved["lines"]]}

    def settle(self, state: Situation) -> str:
        """Do what the options say about foreign reassignments; return those that are waited for."""
        foreign, names = self.params["foreign"], mover.listed(state.foreign.keys())
        if foreign == "refuse":
            text = (
                f"{len(state.foreign)} partitions are being reassigned by something else ({names});"
                " nothing was moved. Choose with foreign what is done about them: adopt, wait or "
                "cancel"
            )
            raise FailedError(text)
        if foreign == "adopt":
            return ""
        if self.check_mode:
            return names
        if foreign == "cancel":
            refused = mover.cancel(self.replicas, state.foreign.keys())
            if refused:
                lines = "; ".join(f"{mover.listed([name])}: {why}" for name, why in refused.items())
                text = f"reassignments of something else cannot be cancelled: {lines}"
                raise FailedError(text)
            return ""
        while remaining := state.foreign.keys() & self.replicas.ongoing().keys():
            if self.until is not None and time.time() + POLL_SECONDS > self.until:
                return mover.listed(remaining)
            time.sleep(POLL_SECONDS)
        return ""

    def plan(self, snapshot: Snapshot, state: Situation) -> Plan:
        """Return the plan of what is left to do."""
        ongoing: Mapping[tuple[str, int], Reassignment] = state.all
        directories = rebalance.read_directories(self.cluster, snapshot)
        rates: Mapping[tuple[str, int], float] = {}
        if self.params["measure"] > 0:
            rates = rebalance.measure(self.cluster, snapshot, directories, self.params["measure"])
        current = rebalance.state_of(snapshot, directories, ongoing, rates)
        if self.drained and self.drained.isdisjoint(item.id for item in current.all_brokers):
            numbers = ", ".join(map(str, sorted(self.drained)))
            # An earlier run may have ended the registration.
            text = f"Nothing to move: broker {numbers} is not registered and has no replica"
            return Plan(lines=(text,))
        sizes = {(part.topic, part.index): part.size for part in current.partitions}
        return rebalance.make_plan(
            current,
            rebalance.goal_of(self.params),
            adopted=mover.adopted(ongoing, sizes),
            rate=self.params["rate"],
            in_flight=self.params["in_flight"],
        )

    def planned(self, plan: Plan, snapshot: Snapshot, state: Situation) -> dict[str, Any]:
        """Return the result of planning."""
        unhealthy = mover.health_problems(
            snapshot,
            self.expected,
            state.all,
            self.replicas.failed(snapshot),
            self.drained,
        )
        blocked = [f"Blocked now: {problem}" for problem in unhealthy] if plan.waves else []
        return {
            "plan": plan.data,
            "waves": [[move.as_data() for move in wave] for wave in plan.waves],
            "rate": plan.rate,
            "lines": [*plan.lines, *blocked],
        }

    def move(self, waves: Any, rate: int, carried: dict[str, Any]) -> dict[str, Any]:
        """Go on with the moves for a slice; return the module's result."""
        if self.params["cordon"]:
            self.cordon(cordoned=True)
        work = Mover(
            self.replicas,
            waves,
            rate,
            self.expected,
            self.drained,
            self.params["gate_timeout"],
            self.params["stall_timeout"],
            dict(carried),
        )
        try:
            progress = work.run(self.until)
        except MoverError as error:
            if self.params["cordon"]:
                self.cordon(cordoned=False)
            raise FailedError(str(error)) from error
        return {"changed": True, **_progress(progress), "carried": work.carried}

    def cordon(self, *, cordoned: bool) -> None:
        """Cordon the brokers that are drained, or end that, where they serve and can do it."""
        serving = {item.id for item in self.replicas.snapshot().brokers if not item.fenced}
        for broker in sorted(self.drained & serving):
            ask = functools.partial(reassignments.cordon, broker=broker, cordoned=cordoned)
            try:
                reason = self.cluster.ask(ask)
            except UnsupportedError:
                return
            if reason:
                text = f"broker {broker} cannot be cordoned: {reason}"
                raise FailedError(text)

    def cancel(self) -> dict[str, Any]:
        """Put back what is on its way, and remove throttles and cordons; return the result."""
        snapshot = self.cluster.read()
        state = mover.situation(self.replicas, snapshot)
        cordoned = any(
            directory.cordoned
            for broker, directories in rebalance.read_directories(self.cluster, snapshot).items()
            for directory in directories
            if broker in self.drained
        )
        names = {*state.own, *(state.foreign if self.params["foreign"] == "cancel" else ())}
        left = len(state.foreign.keys() - names)
        remain = [f"{left} reassignments of something else go on"] if left else []
        if not self.check_mode:
            refused = mover.cancel(self.replicas, names)
            if refused:
                lines = "; ".join(f"{mover.listed([name])}: {why}" for name, why in refused.items())
                text = f"not cancelled, and still throttled: {lines}"
                raise FailedError(text)
            remain += mover.remove_throttles(self.replicas, state.throttles)
            self.cordon(cordoned=False)
        would = "would be " if self.check_mode else ""
        text = f"{len(names)} partitions {would}put back, throttles {would}removed"
        throttled = bool(mover.marked_topics(state.throttles) or state.throttles.rate)
        return {"changed": bool(names) or throttled or cordoned, "lines": [text, *remain]}


def _progress(progress: Progress) -> dict[str, Any]:
    return {"progress": asdict(progress), "lines": [progress.line(), *progress.notes]}


def work(module: AnsibleModule, _: Cluster) -> dict[str, Any]:
    """Write the operation's record, and go on with the moves."""
    return slices.run(
        module, lambda cluster: Rebalance(module.params, cluster, module.check_mode).run()
    )


def main() -> None:
    """Run the module."""
    spec = {
        **options.EXPECTED,
        "record": options.NODE["record"],
        "operation": options.NODE["operation"],
        "goal": {
            "type": "str",
            "choices": ["spread", "topic", "drain", "replication", "racks", "hottest"],
        },
        "topics": {"type": "list", "elements": "str", "default": []},
        "hottest": {"type": "int", "default": 0},
        "drain": {"type": "list", "elements": "int", "default": []},
        "replication": {"type": "int", "default": 0},
        "cordon": {"type": "bool", "default": False},
        "rate": {"type": "int"},
        "in_flight": {"type": "int"},
        "measure": {"type": "float", "default": 10},
        "cancel": {"type": "bool", "default": False},
        "foreign": {
            "type": "str",
            "choices": ["refuse", "adopt", "wait", "cancel"],
            "default": "refuse",
        },
        "waves": {"type": "list", "elements": "raw"},
        "plan_only": {"type": "bool", "default": False},
        "slice": {"type": "float", "default": 0},
        "carried": {"type": "dict", "default": {}},
        "gate_timeout": {"type": "float", "default": mover.GATE_SECONDS},
        "stall_timeout": {"type": "float", "default": mover.STALL_SECONDS},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
