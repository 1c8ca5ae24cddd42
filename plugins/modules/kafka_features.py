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
from ansible_collections.millrace.streaming.plugins.module_utils import (
    change_classes,
    cluster_health,
    features,
)
from ansible_collections.millrace.streaming.plugins.module_utils.change_classes import MIN_ISR
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Broker,
    Expected,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.features import Plan
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import (
    ARGUMENTS,
    Cluster,
    NoClientError,
    NotYetError,
    cluster_of,
)

DOCUMENTATION = r"""
module: kafka_features
short_description: Finalize the features of a Kafka version
version_added: 0.2.0
description:
  - Compares the finalized features (KIP-584) with those that a version is meant to run with, and
    raises one after the other, each tried in a dry run first. None is lowered, and C(kraft.version)
    is never touched.
  - Refuses where a registered node does not support a level, or is not in the inventory.
  - This cannot be undone, so nothing is changed without O(confirm).
  - With O(path_from) it judges a change of version instead, before anything is touched.
options:
  target:
    description: The version of Kafka.
    type: str
    required: true
  path_from:
    description: The version that runs; judge whether the cluster may move from it to O(target).
    type: str
  expect_nodes:
    description: Node ids of all brokers.
    type: list
    elements: int
    required: true
  expect_voters:
    description: Node ids of all controllers; empty with ZooKeeper.
    type: list
    elements: int
    default: []
  confirm:
    description: Whether to finalize; otherwise the plan is returned.
    type: bool
    default: false
  fail:
    description: Whether a problem fails the task where nothing would be changed anyway.
    type: bool
    default: true
  wait:
    description: Seconds until every broker has to show a finalized level.
    type: float
    default: 60
extends_documentation_fragment: [millrace.streaming.kafka_client]
attributes:
  check_mode:
    description: Lets Kafka judge the same steps and makes none.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Finalize
  millrace.streaming.kafka_features:
    bootstrap: [kafka1:9092, kafka2:9092]
    library: /opt/millrace/kafka/python
    target: 4.3.1
    expect_nodes: [1, 2, 3]
    expect_voters: [1, 2, 3]
    confirm: true
"""

RETURN = r"""
steps:
  description: What is raised, or would be, in this order; each with feature, from and to.
  returned: always
  type: list
  elements: dict
problems:
  description: Why nothing can be finalized, or why the way to the version is none.
  returned: always
  type: list
  elements: str
notes:
  description: What the steps bring with them.
  returned: always
  type: list
  elements: str
lines:
  description: All of this in words.
  returned: always
  type: list
  elements: str
finalized:
  description: Feature to its finalized level, at the end.
  returned: always
  type: dict
"""

POLL_SECONDS = 0.2


class RefusedError(Exception):
    """Kafka refuses a feature, or a broker does not show it."""


class Features:
    """The features of a cluster and of each of its brokers."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Remember whom to ask."""
        self._params = params
        self._cluster = cluster_of(params)
        self._brokers: dict[int, Cluster] = {}

    def read(self) -> Snapshot:
        """Return who is in the cluster, and connect to each broker."""
        snapshot = self._cluster.read()
        for broker in snapshot.brokers:
            if not broker.fenced:
                self._brokers[broker.id] = cluster_of(
                    {**self._params, "bootstrap": [address(broker)]}
                )
        return snapshot

    def finalized(self) -> dict[str, int]:
        """Return feature -> level that the cluster has finalized."""
        return levels(self._cluster.ask(described))

    def supported(self) -> dict[int, dict[str, tuple[int, int]]]:
        """Return broker -> feature -> (lowest, highest level), as each one itself says."""
        return {
            node: {
                feature: one["supported"]
                for feature, one in broker.ask(described).items()
                if "supported" in one
            }
            for node, broker in self._brokers.items()
        }

    def min_isr(self) -> tuple[dict[int, str], dict[int, str]]:
        """Return broker -> what its file says, and broker -> what was set for it alone."""
        found = {
            node: broker.ask(functools.partial(min_isr, node=node))
            for node, broker in self._brokers.items()
        }
        written = {node: one.static or one.default or "" for node, one in found.items()}
        return written, {node: one.entry for node, one in found.items() if one.entry is not None}

    def update(self, wanted: Mapping[str, int], *, validate_only: bool) -> str:
        """Raise features, or let the controllers judge it; return why they refuse."""
        return self._cluster.ask(
            functools.partial(update, wanted=wanted, validate_only=validate_only)
        )

    def late(self, feature: str, level: int) -> list[int]:
        """Return the brokers that do not show a finalized level yet."""
        return [
            node
            for node, broker in sorted(self._brokers.items())
            if not shows(broker, feature, level)
        ]

    def close(self) -> None:
        """Drop the connections."""
        for cluster in (self._cluster, *self._brokers.values()):
            cluster.close()


def address(broker: Broker) -> str:
    """Return host:port of a broker."""
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


def described(admin: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401  kafka-python has no types
    """Return feature -> what a broker supports and the cluster has finalized."""
    found: dict[str, dict[str, Any]] = admin.describe_features()
    return found


def levels(found: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return feature -> finalized level."""
    return {name: one["finalized"][1] for name, one in found.items() if "finalized" in one}


def shows(broker: Cluster, feature: str, level: int) -> bool:
    """Tell whether a broker has applied a finalized level."""
    try:
        return levels(broker.ask(described)).get(feature, 0) >= level
    except NotYetError:
        return False


def min_isr(admin: Any, node: int) -> change_classes.Setting:  # noqa: ANN401  no types
    """Return a broker's min.insync.replicas."""
    from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped]  # no types

    broker = ConfigResource(ConfigResourceType.BROKER, str(node), {MIN_ISR: None})
    answer = admin.describe_configs([broker], include_synonyms=True, config_filter="all")
    return change_classes.settings(answer["broker"][str(node)])[MIN_ISR]


def update(admin: Any, wanted: Mapping[str, int], *, validate_only: bool) -> str:  # noqa: ANN401
    """Send features to the active controller; return why it refuses, empty if it does not.

    The admin client's own method puts the whole answer into its error.
    """
    from kafka import errors  # type: ignore[import-untyped]  # no types
    from kafka.protocol.admin import UpdateFeaturesRequest  # type: ignore[import-untyped]  # no types

    request = UpdateFeaturesRequest(
        timeout_ms=30_000,
        feature_updates=admin._build_feature_updates(dict(wanted)),
        validate_only=validate_only,
        min_version=1,
    )
    response = admin._manager.run(admin._send_request_to_controller, request)
    for answer in (response, *(response.results or ())):
        error = errors.for_code(answer.error_code)
        if answer.error_code and error.retriable:
            raise error(answer.error_message)
        if answer.error_code:
            return str(answer.error_message or error.description)
    return ""


def judge(cluster: Features, params: Mapping[str, Any]) -> tuple[Plan, dict[str, int]]:
    """Return what to do and what is against it, and what is finalized now; change nothing."""
    snapshot = cluster.read()
    finalized = cluster.finalized()
    mode = "zookeeper" if snapshot.quorum is None else "kraft"
    if params["path_from"]:
        found = features.upgrade_problems(params["path_from"], params["target"], finalized, mode)
        return Plan(problems=tuple(found)), finalized
    plan = features.plan(finalized, cluster.supported(), params["target"], *cluster.min_isr())
    problems = [*membership(snapshot, params), *plan.problems]
    if plan.steps and not problems:
        # The controllers' own limits show only here: no broker knows them.
        wanted = {feature: level for feature, _, level in plan.steps}
        refusal = cluster.update(wanted, validate_only=True)
        problems += [f"the controllers refuse: {refusal}"] if refusal else []
    return dataclasses.replace(plan, problems=tuple(problems)), finalized


def membership(snapshot: Snapshot, params: Mapping[str, Any]) -> list[str]:
    """Say which nodes are there and should not be, or should and are not."""
    expected = Expected(frozenset(params["expect_nodes"]), frozenset(params["expect_voters"]))
    # Partitions are the matter of the gate.
    alone = dataclasses.replace(snapshot, partitions=(), unreadable_topics={})
    problems = cluster_health.problems(alone, expected)
    if snapshot.quorum:
        problems += features.membership_problems(
            (replica.id for replica in snapshot.quorum.observers),
            (*(broker.id for broker in snapshot.brokers), *expected.brokers),
            expected.voters,
        )
    return problems


def finalize(cluster: Features, feature: str, level: int, wait: float) -> None:
    """Raise one feature and see it on every broker.

    Raises:
        RefusedError: Kafka refuses it, or a broker does not show it in time.

    """
    for validate_only in (True, False):
        refusal = cluster.update({feature: level}, validate_only=validate_only)
        if refusal:
            raise RefusedError(refusal)
    deadline = time.monotonic() + wait
    while late := cluster.late(feature, level):
        if time.monotonic() > deadline:
            text = f"broker {', '.join(map(str, late))} does not show it after {wait:g} s"
            raise RefusedError(text)
        time.sleep(POLL_SECONDS)


def report(params: Mapping[str, Any], plan: Plan, finalized: Mapping[str, int]) -> dict[str, Any]:
    """Return the module's result."""
    return {
        "steps": [{"feature": one, "from": old, "to": new} for one, old, new in plan.steps],
        "problems": list(plan.problems),
        "notes": list(plan.warnings),
        "lines": [] if params["path_from"] else features.lines(params["target"], plan),
        "finalized": dict(finalized),
    }


def run(module: AnsibleModule, cluster: Features) -> dict[str, Any]:
    """Judge, and finalize where that is confirmed; return the module's result."""
    params = module.params
    plan, finalized = judge(cluster, params)
    result = report(params, plan, finalized)
    confirmed = params["confirm"] and not params["path_from"]
    if plan.problems and (params["fail"] or confirmed):
        way = params["path_from"]
        what = f"move from Kafka {way} to" if way else "finalize the features of Kafka"
        module.fail_json(
            msg=f"the cluster cannot {what} {params['target']}; nothing was changed:\n- "
            + "\n- ".join(plan.problems),
            **result,
        )
    if module.check_mode or not confirmed:
        return {"changed": bool(plan.steps) and confirmed, **result}
    done: list[str] = []
    for feature, _, level in plan.steps:
        try:
            finalize(cluster, feature, level, params["wait"])
        except (RefusedError, NotYetError) as error:
            with contextlib.suppress(NotYetError):
                result["finalized"] = cluster.finalized()
            module.fail_json(
                msg=f"{feature} {level} could not be finalized: {error}. Finalized before it: "
                f"{', '.join(done) or 'nothing'}. Run again once the cause is gone: what is done "
                "stays, the rest follows",
                changed=result["finalized"] != finalized,
                **result,
            )
        done.append(f"{feature} {level}")
    return {"changed": bool(done), **result, "finalized": cluster.finalized()}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **ARGUMENTS,
            "target": {"type": "str", "required": True},
            "path_from": {"type": "str"},
            "expect_nodes": {"type": "list", "elements": "int", "required": True},
            "expect_voters": {"type": "list", "elements": "int", "default": []},
            "confirm": {"type": "bool", "default": False},
            "fail": {"type": "bool", "default": True},
            "wait": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    try:
        cluster = Features(module.params)
    except NoClientError as error:
        module.fail_json(msg=str(error))
    try:
        result = run(module, cluster)
    except NotYetError as error:
        module.fail_json(msg=f"no broker answers ({error}): see the brokers' journals")
    finally:
        cluster.close()
    module.exit_json(**result)


if __name__ == "__main__":
    main()
