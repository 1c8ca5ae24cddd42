"""Deployment of three Kafka nodes beside the baseline.

Both start from booted hosts with Java and a local artifact, and end with the first
acks=all record in a topic with three replicas.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.bench import baseline
from tests.bench.comparison import Measured, compare
from tests.bench.lab import fresh_hosts, playbook, three_nodes
from tests.bench.load import first_record
from tests.support.lab.topology import Topology


def deployed(deploy: Callable[[Topology], object]) -> Measured:
    """Deploy once on fresh hosts and return the seconds until the first record."""
    topology = fresh_hosts()
    with ThreadPoolExecutor(1) as pool:
        record = pool.submit(first_record, topology, time.monotonic())
        deploy(topology)
        return {"seconds": record.result()}


def main(pairs: int) -> None:
    kinds = {
        "baseline": lambda: deployed(baseline.deploy),
        "millrace": lambda: deployed(lambda _: playbook("playbooks/site.yml")),
    }
    with three_nodes():
        compare("deploy", kinds, pairs)
