"""Whether Kafka has recovered from everything."""

from __future__ import annotations

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster

from tests.support.faults.target import answered
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

BEHIND_MS = 2000


def is_healthy(topology: Topology, cluster: Cluster) -> bool:
    """Every broker is there, every replica in sync and every controller up to date."""
    snapshot = cluster.read()
    serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
    voters = snapshot.quorum.voters if snapshot.quorum else ()
    return (
        serving == set(topology.brokers)
        and not any(partition.under_replicated for partition in snapshot.partitions)
        and topology.voters == {voter.id for voter in voters}
        and all(voter.behind_ms is not None and voter.behind_ms < BEHIND_MS for voter in voters)
    )


def wait_until_healthy(topology: Topology, cluster: Cluster) -> None:
    wait_for(
        lambda: answered(lambda: is_healthy(topology, cluster)), seconds=120, what="full health"
    )
