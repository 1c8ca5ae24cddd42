#!/usr/bin/python
"""Ansible module: what a Kafka cluster holds, for a report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.operations import hot_spots, kafka_report, options

DOCUMENTATION = r"""
module: kafka_contents
short_description: What a Kafka cluster holds, for a report
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads brokers, quorum, partitions, finalized features and consumer groups with their lag once.
    What does not answer is left out with the reason; the task fails only if this host lacks what it
    needs to ask.
  - Reads the sizes of replicas twice, for how fast they grow.
options:
  measure:
    description: Seconds between the two readings of sizes; 0 for one reading alone.
    type: float
    default: 5
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
sizes:
  description: C(topics), each as a list of its name and the bytes of each partition; C(disks), each
    log directory with its C(bytes), C(replicas) and the C(largest) ones; C(hottest), the partitions
    to which most is written, each a list of topic, partition and bytes per second. C(error) and
    C(errors) are the reasons why there may be more.
  returned: when a broker answered
  type: dict
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


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Read the cluster, and return it as plain data."""
    params = module.params
    expected = (params["expect_brokers"], params["expect_voters"], params["cluster_id"] or "")
    try:
        contents = kafka_report.read(cluster, *expected)
    except UnavailableError as error:
        return {"changed": False, "error": f"no broker answers ({error})"}
    return {"changed": False, **contents, "sizes": sizes(params)}


def sizes(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the bytes are and where they come; sizes take a broker longer than the rest."""
    patient = Cluster(options.connection_of(params), request_ms=hot_spots.REQUEST_MS)
    try:
        before = hot_spots.sample(patient)
        if not params["measure"]:
            return hot_spots.summary(before)
        time.sleep(params["measure"])
        return hot_spots.summary(hot_spots.sample(patient), before)
    except UnavailableError as error:
        return {"error": f"no broker answers ({error})"}
    finally:
        patient.close()


def main() -> None:
    """Run the module."""
    options.run(work, {**options.EXPECTED, "measure": {"type": "float", "default": 5}})


if __name__ == "__main__":
    main()
