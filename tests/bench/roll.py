"""One static property on three nodes under a producer's load, beside the baseline.

The baseline restarts each node as soon as the one before listens; Millrace asks the gate.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.bench import baseline
from tests.bench.comparison import Measured, compare
from tests.bench.lab import fresh_hosts, playbook, three_nodes
from tests.bench.load import first_record, load
from tests.support.lab.topology import Topology

KEY, VALUE = "queued.max.requests", 400
CHANGE = json.dumps({"kafka_host_config": {KEY: VALUE}})


def rolled(deploy: Callable[[Topology], object], roll: Callable[[Topology], object]) -> Measured:
    """Change the property on a fresh cluster; the seconds, the longest gap and the errors."""
    topology = fresh_hosts()
    deploy(topology)
    first_record(topology, time.monotonic())
    return under_load(topology, roll)


def under_load(topology: Topology, roll: Callable[[Topology], object]) -> Measured:
    """Roll a cluster under a producer's load; the seconds, the longest gap and the errors."""
    with load(topology) as producer:
        begun = time.monotonic()
        roll(topology)
        seconds = time.monotonic() - begun
    return {
        "seconds": seconds,
        "gap": producer.gap,
        "errors": producer.errors,
        "records": len(producer.acknowledged),
    }


def main(pairs: int) -> None:
    kinds = {
        "baseline": lambda: rolled(
            baseline.deploy, lambda topology: baseline.roll(topology, f"{KEY}={VALUE}")
        ),
        "millrace": lambda: rolled(
            lambda _: playbook("playbooks/site.yml"),
            lambda _: playbook("playbooks/site.yml", "-e", CHANGE),
        ),
    }
    with three_nodes():
        compare("roll", kinds, pairs)
