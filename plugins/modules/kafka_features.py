#!/usr/bin/python
"""Ansible module: finalize the features of a Kafka version."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.kafka import configs
from ..module_utils.kafka import features as adapter
from ..module_utils.kafka.client import Cluster, UnavailableError
from ..module_utils.kafka.connection import Connection
from ..module_utils.kafka.snapshot import MIN_ISR, Broker, Snapshot
from ..module_utils.operations import features, health, options
from ..module_utils.operations.features import Plan
from ..module_utils.operations.options import FailedError

DOCUMENTATION = r"""
module: kafka_features
short_description: Finalize the features of a Kafka version
description:
  - Compares the finalized features (KIP-584) with those that C(kafka_version) is meant to run with,
    and raises one after the other, each tried in a dry run first. None is lowered, and
    C(kraft.version) is never touched.
  - Refuses where a registered node does not support a level, or is not in the inventory.
  - This cannot be undone, so nothing is changed without O(confirm).
options:
  upgrade_from:
    description: Running versions; only checks whether the cluster may move from each of them to the
      inventory's version, before anything is touched.
    type: list
    elements: str
    default: []
  confirm:
    description: Whether to finalize; otherwise the plan is returned.
    type: bool
    default: false
  wait:
    description: Seconds until every broker has to show a finalized level.
    type: float
    default: 60
  events:
    description: File on the control node that gets the change with its times, for the ledger.
    type: str
attributes:
  check_mode:
    description: Lets Kafka validate the same steps and makes none.
    support: full
"""

POLL_SECONDS = 0.2


class Features:
    """The features of a cluster and of each of its brokers."""

    def __init__(self, cluster: Cluster, connection: Connection) -> None:
        """Keep the cluster and how to connect to its brokers."""
        self._cluster, self._connection = cluster, connection
        self._brokers: dict[int, Cluster] = {}

    def read(self) -> Snapshot:
        """Return who is in the cluster, and connect to each broker."""
        snapshot = self._cluster.read()
        self._brokers = {
            broker.id: Cluster(self._connection.at(address(broker)))
            for broker in snapshot.brokers
            if not broker.fenced
        }
        return snapshot

    def finalized(self) -> dict[str, int]:
        """Return feature -> level that the cluster has finalized."""
        return self._cluster.ask(adapter.finalized)

    def supported(self) -> dict[int, dict[str, tuple[int, int]]]:
        """Return broker -> feature -> (lowest, highest level), as each one reports."""
        return {node: broker.ask(adapter.supported) for node, broker in self._brokers.items()}

    def min_isr(self) -> tuple[dict[int, str], dict[int, str]]:
        """Return broker -> what its file says, and broker -> what was set for it alone."""
        settings = {
            node: broker.ask(functools.partial(configs.read, node_id=node, keys=[MIN_ISR]))[MIN_ISR]
            for node, broker in self._brokers.items()
        }
        written = {
            node: setting.static or setting.default or "" for node, setting in settings.items()
        }
        return written, {
            node: setting.entry for node, setting in settings.items() if setting.entry is not None
        }

    def update(self, levels: Mapping[str, int], *, validate_only: bool) -> str:
        """Raise features, or only let the controllers validate it; return why they refuse."""
        return self._cluster.ask(
            functools.partial(adapter.update, wanted=levels, validate_only=validate_only)
        )

    def late(self, feature: str, level: int) -> list[int]:
        """Return the brokers that do not show a finalized level yet."""
        late = []
        for node, broker in sorted(self._brokers.items()):
            current = 0
            with contextlib.suppress(UnavailableError):
                current = broker.ask(adapter.finalized).get(feature, 0)
            late += [node] if current < level else []
        return late

    def close(self) -> None:
        """Drop the connections to brokers."""
        for broker in self._brokers.values():
            broker.close()


def address(broker: Broker) -> str:
    """Return host:port of a broker."""
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


def check(cluster: Features, params: Mapping[str, Any]) -> tuple[Plan, dict[str, int]]:
    """Return the plan with its problems, and the finalized levels; change nothing."""
    snapshot = cluster.read()
    finalized = cluster.finalized()
    if params["upgrade_from"]:
        mode = "zookeeper" if snapshot.quorum is None else "kraft"
        upgrade_problems = [
            problem
            for version in params["upgrade_from"]
            for problem in features.upgrade_problems(version, params["target"], finalized, mode)
        ]
        return Plan(problems=tuple(upgrade_problems)), finalized
    plan = features.plan(finalized, cluster.supported(), params["target"], *cluster.min_isr())
    problems = [*membership(snapshot, params), *plan.problems]
    if plan.steps and not problems:
        # The controllers' own limits show only here: no broker knows them.
        levels = {feature: level for feature, _, level in plan.steps}
        refusal = cluster.update(levels, validate_only=True)
        problems += [f"the controllers refuse: {refusal}"] if refusal else []
    return dataclasses.replace(plan, problems=tuple(problems)), finalized


def membership(snapshot: Snapshot, params: Mapping[str, Any]) -> list[str]:
    """Return the unexpected and the missing nodes."""
    expected = options.expected_of(params)
    # The gate checks partitions.
    alone = dataclasses.replace(snapshot, partitions=(), unreadable_topics={})
    problems = health.problems(alone, expected)
    if snapshot.quorum:
        problems += features.membership_problems(
            (replica.id for replica in snapshot.quorum.observers),
            (*(broker.id for broker in snapshot.brokers), *expected.brokers),
            expected.voters,
        )
    return problems


def finalize(cluster: Features, feature: str, level: int, wait: float) -> None:
    """Raise one feature and wait until every broker shows it."""
    for validate_only in (True, False):
        refusal = cluster.update({feature: level}, validate_only=validate_only)
        if refusal:
            raise FailedError(refusal)
    deadline = time.monotonic() + wait
    while late := cluster.late(feature, level):
        if time.monotonic() > deadline:
            text = f"broker {', '.join(map(str, late))} does not show it after {wait:g} s"
            raise FailedError(text)
        time.sleep(POLL_SECONDS)


def run(module: AnsibleModule, cluster: Features) -> dict[str, Any]:
    """Check the plan, and finalize it if confirmed; return the module's result."""
    params = module.params
    plan, finalized = check(cluster, params)
    result: dict[str, Any] = {
        "steps": [{"feature": feature, "from": old, "to": new} for feature, old, new in plan.steps],
        "problems": list(plan.problems),
        "notes": list(plan.warnings),
        "lines": [] if params["upgrade_from"] else features.lines(params["target"], plan),
        "finalized": dict(finalized),
    }
    confirmed = params["confirm"] and not params["upgrade_from"]
    if plan.problems:
        running = ", ".join(params["upgrade_from"])
        action = f"move from Kafka {running} to" if running else "finalize the features of Kafka"
        lines = "\n- ".join(plan.problems)
        text = f"the cluster cannot {action} {params['target']}; nothing was changed:\n- {lines}"
        module.fail_json(msg=text, **result)
    if module.check_mode or not confirmed:
        return {"changed": bool(plan.steps) and confirmed, **result}
    done: list[str] = []
    for feature, _, level in plan.steps:
        try:
            finalize(cluster, feature, level, params["wait"])
        except (FailedError, UnavailableError) as error:
            with contextlib.suppress(UnavailableError):
                result["finalized"] = cluster.finalized()
            module.fail_json(
                msg=f"{feature} {level} could not be finalized: {error}. Finalized before it: "
                f"{', '.join(done) or 'nothing'}. Run again once the cause is fixed: what is "
                "finalized stays, the rest follows",
                changed=result["finalized"] != finalized,
                **result,
            )
        done.append(f"{feature} {level}")
    return {"changed": bool(done), **result, "finalized": cluster.finalized()}


def work(module: AnsibleModule, cluster: Cluster) -> dict[str, Any]:
    """Check and finalize with a connection to each broker; return the module's result."""
    with contextlib.closing(Features(cluster, options.connection_of(module.params))) as features:
        return run(module, features)


def main() -> None:
    """Run the module."""
    spec = {
        **options.EXPECTED,
        "target": {"type": "str", "required": True},
        "upgrade_from": {"type": "list", "elements": "str", "default": []},
        "confirm": {"type": "bool", "default": False},
        "wait": {"type": "float", "default": 60},
    }
    options.run(work, spec)


if __name__ == "__main__":
    main()
