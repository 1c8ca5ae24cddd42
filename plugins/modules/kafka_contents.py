#!/usr/bin/python
"""Ansible module: what a Kafka cluster holds, for a report."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka import contents
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.snapshot import Snapshot
from ..module_utils.operations import health, options

DOCUMENTATION = r"""
module: kafka_contents
short_description: What a Kafka cluster holds, for a report
description:
  - Reads brokers, quorum, partitions, finalized features and consumer groups with their lag once.
    What does not answer is left out with the reason; the task fails only if this host lacks what it
    needs to ask.
attributes:
  check_mode:
    description: Changes nothing, so it does the same.
    support: full
"""

RETURN = r"""
error:
  description: Why no broker answers, empty if one does; then there is nothing else.
  returned: always
  type: str
topics:
  description: Each topic as a list of its name, its partitions and C(min.insync.replicas) where a
    replica is missing; a partition is a list of leader (-1 for none), replicas and ISR.
  returned: when a broker answered
  type: list
  elements: list
groups:
  description: Each consumer group with C(id), C(state), C(members), and C(lags), topic -> lag of
    each partition. C(groups_errors) are the reasons why there may be more.
  returned: when a broker answered
  type: list
  elements: dict
quorum:
  description: The KRaft quorum with C(leader), C(epoch), C(voters) and C(observers); none if it
    does not answer, with the reason in C(quorum_error), or if there is none. Also C(brokers),
    C(expected), C(controller), C(cluster_id), C(features) and C(problems).
  returned: when a broker answered
  type: dict
"""


def topics_of(found: Snapshot) -> list[list[Any]]:
    """Return the topics of a snapshot, short: there may be tens of thousands of partitions."""
    partitions: dict[str, list[list[Any]]] = defaultdict(list)
    min_isr: dict[str, int] = {}
    for one in found.partitions:
        partitions[one.topic].append([one.leader, list(one.replicas), list(one.isr)])
        min_isr[one.topic] = one.min_isr
    return [[name, every, min_isr[name]] for name, every in partitions.items()]


def quorum_of(found: Snapshot) -> dict[str, Any] | None:
    """Return the quorum of a snapshot as plain data."""
    quorum = found.quorum
    if quorum is None:
        return None
    return {
        "leader": quorum.leader_id,
        "epoch": quorum.leader_epoch,
        "voters": [vars(one) for one in quorum.voters],
        "observers": [vars(one) for one in quorum.observers],
    }


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Read the cluster, and return it as plain data."""
    expected = options.expected_of(module.params)
    try:
        found, more = cluster.ask(contents.read)
    except UnavailableError as error:
        return {"changed": False, "error": f"no broker answers ({error})"}
    problems = health.problems(found, expected)
    if more["quorum_error"]:  # without its answer, what is known of it is wrong
        problems = [f"the quorum does not answer: {more['quorum_error']}"]
    return {
        "changed": False,
        "error": "",
        "cluster_id": found.cluster_id,
        "controller": found.controller_id,
        "brokers": [vars(broker) for broker in found.brokers],
        "expected": sorted(expected.brokers),
        "topics": topics_of(found),
        "quorum": quorum_of(found),
        "problems": problems,
        **more,
    }


def main() -> None:
    """Run the module."""
    options.run(work, options.EXPECTED)


if __name__ == "__main__":
    main()
