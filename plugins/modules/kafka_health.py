#!/usr/bin/python
"""Ansible module: whether a Kafka cluster is healthy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.certificate_expiry import lines
from ..module_utils.kafka import certificate_expiry, log_dirs
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.snapshot import Snapshot
from ..module_utils.operations import gate, health, options
from ..module_utils.operations.gate import Blocker, Expected, Policy

DOCUMENTATION = r"""
module: kafka_health
short_description: Whether a Kafka cluster is healthy, and could spare a node
extends_documentation_fragment: [millrace.streaming.health, millrace.streaming.check_mode]
description:
  - Reads brokers, quorum and partitions once and reports every problem. Which nodes have to be
    there follows from the inventory.
  - With O(wait) it checks again until the cluster is healthy or the time is over.
options:
  steady:
    description: Seconds for which the cluster must stay healthy without interruption, beginning
      within O(wait).
    type: float
    default: 0
  gate:
    description:
      - Also check what must hold before any node may be stopped; C(blockers) is what forbids it.
      - The controllers' metadata log must grow meanwhile, as it does by itself twice a second
        (KIP-835).
      - The certificates that listeners show must be valid for two days; C(expiring) has those that
        end within thirty.
    type: bool
    default: false
  strict:
    description: With O(gate), whether every replica of the cluster must be in sync; without it as
      C(kafka_gate_strict) says.
    type: bool
  allow_outage:
    description: With O(gate), topics that may be unavailable while a node restarts, C(*) for all;
      without it as C(kafka_allow_outage) says.
    type: list
    elements: str
  factors:
    description: Topic to the number of replicas that it should have, with an empty name that of all
      other topics. C(few_replicas) are those with fewer, which does not make the cluster unhealthy.
      Without it as the brokers would create them.
    type: dict
  allow_unsafe_quorum:
    description: With O(gate), whether a controller may stop although the quorum then has no
      majority; without it as C(kafka_allow_unsafe_quorum) says.
    type: bool
"""

EXAMPLES = r"""
- name: Wait until the cluster is healthy
  millrace.streaming.kafka_health:
    wait: 60
"""

RETURN = r"""
healthy:
  description: Whether nothing is wrong.
  returned: always
  type: bool
wrong:
  description: Every problem or blocker as a sentence; C(lines) has the full report.
  returned: always
  type: list
  elements: str
blockers:
  description: With O(gate), all that forbids stopping a node, with C(predicate), C(what),
    C(partitions) and C(text).
  returned: always
  type: list
  elements: dict
brokers:
  description: Registered brokers, each with id, host, port, rack and fenced. Also C(cluster_id),
    C(controller) (node id of the active one), C(voters) and C(observers) of the quorum, the
    numbers of C(topics) and C(partitions), C(few_replicas) with how many a topic has and should
    have, and the names in C(offline), C(under_replicated) and
    C(under_min_isr).
  returned: when a broker answered
  type: list
  elements: dict
"""

POLL_SECONDS = 0.1
GROWS_SECONDS = 5.0


def wait_healthy(
    cluster: Cluster,
    expected: Expected,
    wait: float,
    policy: Policy | None = None,
    steady: float = 0,
    factors: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Check until the cluster was healthy for `steady` seconds, or the time is over.

    Returns the last result. With `policy` it also checks whether the cluster could spare a node.
    """
    start = time.monotonic()
    good_since: float | None = None
    while True:
        facts, problems, blockers = check_once(cluster, expected, policy, factors)
        now = time.monotonic()
        good_since = None if problems or blockers else good_since or now
        long_enough = good_since is not None and now - good_since >= steady
        if long_enough or now - start + POLL_SECONDS > wait + steady:
            break
        time.sleep(POLL_SECONDS)
    if not long_enough and good_since is not None:
        healthy = f"{now - good_since:.0f} s of the required {steady:.0f} s"
        problems = [f"the cluster was healthy for only {healthy}"]
    return {
        **facts,
        "healthy": long_enough,
        "problems": problems,
        "blockers": [blocker.as_data() for blocker in blockers],
        "seconds": round(now - start, 2),
    }


def check_once(
    cluster: Cluster,
    expected: Expected,
    policy: Policy | None,
    factors: Mapping[str, int] | None = None,
) -> tuple[dict[str, Any], list[str], list[Blocker]]:
    """Return the current facts, problems and blockers."""
    try:
        snapshot = cluster.read(gate=policy is not None)
        failed = failed_directories(cluster, snapshot, complete=policy is not None)
        problems = health.problems(snapshot, expected, failed)
        blockers: list[Blocker] = []
        if policy is not None:
            blockers = gate.cluster_blockers(snapshot, expected, policy)
            problems += [] if problems else stuck(cluster, snapshot)
    except UnavailableError as error:
        return {}, [f"no broker answers ({error}): see the brokers' journals"], []
    directories = sorted(snapshot.with_failed_directory | failed.keys())
    facts = {**health.facts(snapshot), "failed_directories": directories}
    facts["few_replicas"] = health.few_replicas(snapshot, factors or {})
    return facts, problems, blockers


def failed_directories(
    cluster: Cluster, snapshot: Snapshot, *, complete: bool
) -> dict[int, list[str]]:
    """Return broker -> directories out of use, asked of brokers that show it by their replicas.

    With `complete` all that serve are asked: a directory that has no replica shows nothing.
    """
    serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
    brokers = serving if complete else snapshot.with_failed_directory
    return cluster.ask(lambda admin: log_dirs.failed(admin, brokers)) if brokers else {}


def stuck(cluster: Cluster, before: Snapshot) -> list[str]:
    """Return a problem if the metadata log does not grow: controllers write every 500 ms."""
    if before.quorum is None:
        return []
    deadline = time.monotonic() + GROWS_SECONDS
    while time.monotonic() < deadline:
        after = cluster.read().quorum
        if after and after.high_watermark > before.quorum.high_watermark:
            return []
        time.sleep(POLL_SECONDS)
    return [
        f"the controllers committed no record of metadata for {GROWS_SECONDS:.0f} s: the quorum is "
        "stuck; see the controllers' journals"
    ]


def report(result: dict[str, Any]) -> list[str]:
    """Return the result as lines to show."""
    wrong = list(result["wrong"])
    if "brokers" not in result:
        return wrong
    brokers = ", ".join(
        f"{broker['id']}{' (fenced)' if broker['fenced'] else ''}" for broker in result["brokers"]
    )
    voters = ", ".join(f"{voter['id']} ({voter['lag']} behind)" for voter in result["voters"])
    return [
        ("Kafka is healthy" if not wrong else "Kafka is NOT healthy")
        + f": {len(result['brokers'])} brokers, active controller {result['controller']}, "
        f"{result['partitions']} partitions",
        f"cluster {result['cluster_id']}, brokers {brokers}",
        f"controllers {voters or 'in ZooKeeper'}",
        f"partitions: {len(result['offline'])} offline, {len(result['under_min_isr'])} below "
        f"min.insync.replicas, {len(result['under_replicated'])} under-replicated",
        *wrong,
        *filter(None, [health.few_replicas_line(result["few_replicas"])]),
        *result.get("expiring", ()),
    ]


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Check the cluster as the options say, and return the result."""
    params = module.params
    expected = options.expected_of(params)
    policy = options.policy_of(params) if params["gate"] else None
    limits = (params["wait"], policy, params["steady"])
    result = wait_healthy(cluster, expected, *limits, params["factors"])
    # Blockers say it more exactly than problems do, except for directories.
    blockers = [blocker["text"] for blocker in result["blockers"]]
    remaining = [problem for problem in result["problems"] if problem not in blockers]
    result["wrong"] = [*(remaining if result.get("failed_directories") else []), *blockers]
    result["wrong"] = result["wrong"] or list(result["problems"])
    if params["gate"] and params["tls_addresses"]:
        certificates = certificate_expiry.shown(
            options.connection_of(params), params["tls_addresses"]
        )
        invalid, result["expiring"] = lines(certificates)
        result["wrong"] += invalid
        result["healthy"] = result["healthy"] and not invalid
    result["lines"] = report(result)
    if params["fail"] and not result["healthy"]:
        wrong = "\n- ".join(result["wrong"])
        text = f"the cluster is not healthy after {result['seconds']} s:\n- {wrong}"
        module.fail_json(msg=text, **result)
    return {"changed": False, **result}


def main() -> None:
    """Run the module."""
    spec = {
        **options.EXPECTED,
        **options.GATE,
        "wait": {"type": "float", "default": 0},
        "steady": {"type": "float", "default": 0},
        "factors": {"type": "dict", "default": {}},
        "gate": {"type": "bool", "default": False},
        "tls_addresses": {"type": "list", "elements": "str", "default": []},
        "fail": {"type": "bool", "default": True},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
