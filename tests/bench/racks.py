"""A roll of 12 brokers in three racks, one by one beside rack by rack, in simulation.

The sets are those of the roll's own planner. Each broker takes as long as restarts did that were
measured under load (`roll` at commit f73fd234, see docs/explain/performance.md): its hosts are its
own, so brokers that start at the same time do not slow each other down. A set takes as long as its
slowest broker, and what Ansible and the module that divides the brokers need before it.

`unplaced` has the replicas of each partition anywhere, as where racks were named after topics were
made. Then nearly any two brokers share a partition that cannot spare both.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import gate
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import Node
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.roll_stages import (
    Stage,
    joined,
    stages,
    steps,
)

from tests.bench.comparison import Measured, in_turn, ratios, save, show

PAIRS = 1
BROKERS, RACKS, PARTITIONS, REPLICAS, MIN_ISR = 12, 3, 300, 3, 2
CONTROLLERS = 3
CALL = 1.8
"""Seconds of a module's call, which has the gate's question."""
STOP, START, READY = 2.0, (6.0, 8.0), 1.5
"""Seconds until a broker has stopped, listens, and has everything and sends the canary."""
BEFORE_A_SET = 2.6
"""Seconds of Ansible from one set to the next, with 15 hosts on two busy cores."""

Step = tuple[str, ...]


def cluster(*, spread: bool) -> Snapshot:
    """Return brokers in racks, and partitions whose replicas are each in another rack, or anywhere."""
    draw = random.Random(47)
    brokers = [Broker(number, rack=f"r{number % RACKS}") for number in range(BROKERS)]
    partitions = []
    for index in range(PARTITIONS):
        racks = draw.sample(range(RACKS), REPLICAS)
        replicas = (
            tuple(RACKS * draw.randrange(BROKERS // RACKS) + rack for rack in racks)
            if spread
            else tuple(draw.sample(range(BROKERS), REPLICAS))
        )
        partitions.append(Partition("t", index, replicas[0], replicas, replicas, MIN_ISR))
    return Snapshot("C", tuple(brokers), 100, None, tuple(partitions))


def planned(snapshot: Snapshot, parallel: str, controllers: int) -> list[Step]:
    """Return which nodes a roll restarts together, step by step."""
    nodes = [
        Node(broker.id, broker=True, controller=False, rack=str(broker.rack))
        for broker in snapshot.brokers
    ]
    nodes += [Node(100 + number, broker=False, controller=True) for number in range(controllers)]
    names = [str(number) for number in gate.order(nodes, 100, on_zookeeper=False)]
    most = BROKERS if parallel == "rack" else int(parallel)
    racks = {str(node.id): (node.rack, most) for node in nodes if node.broker}
    parts = stages(names, racks if most > 1 else {})
    return steps(joined(part for stage in parts for part in divided(snapshot, stage)))


def divided(snapshot: Snapshot, stage: Stage) -> Iterable[Stage]:
    """Return the sets of a stage."""
    if stage.most == 1:
        return [stage]
    ids = [int(name) for name in stage.names]
    sets = gate.sets(snapshot, ids, stage.most)
    return [Stage(tuple(map(str, members)), stage.most) for members in sets]


def simulated(parallel: str, *, spread: bool = True, controllers: int = 0) -> Measured:
    """Return how long a roll takes, and in how many steps."""
    draw = random.Random(6)
    names = [str(number) for number in (*range(BROKERS), *range(100, 100 + controllers))]
    seconds = {name: CALL + STOP + draw.uniform(*START) + READY for name in names}
    plan = planned(cluster(spread=spread), parallel, controllers)
    assert sorted(name for step in plan for name in step) == sorted(names)
    before = {True: CALL + BEFORE_A_SET, False: 0.0}
    return {
        "seconds": sum(
            before[len(step) > 1] + max(seconds[name] for name in step) for step in plan
        ),
        "steps": len(plan),
    }


CASES = {
    "brokers": partial(simulated),
    "controllers": partial(simulated, controllers=CONTROLLERS),
    "unplaced": partial(simulated, spread=False),
}


def main(pairs: int) -> None:
    results = {}
    for name, case in CASES.items():
        kinds = {parallel: partial(case, parallel) for parallel in ("1", "2", "rack")}
        results[name] = in_turn(f"racks-{name}", kinds, pairs)
    faster = {
        name: {parallel: ratios(rounds, "1", parallel, "seconds")[0] for parallel in ("2", "rack")}
        for name, rounds in results.items()
    }
    save("racks", {"cases": results, "times_faster": faster})
    for name, figures in faster.items():
        show(f"racks: times faster, {name}", figures)
