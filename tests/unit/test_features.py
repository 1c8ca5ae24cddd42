"""Which features may be finalized, the legal paths between versions, and how it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import cluster_health, features
from ansible_collections.millrace.streaming.plugins.module_utils.kafka_admin import NotYetError
from ansible_collections.millrace.streaming.plugins.module_utils.versions import KAFKA

from plugins.modules.kafka_features import run
from tests.unit.module_runner import run_module

ELR = "eligible.leader.replicas.version"
OF = {version: dict(release.features) for version, release in KAFKA.supported.items()}
STATIC = {"kraft.version": 0}


def ranges(version: str) -> dict[str, tuple[int, int]]:
    """What a broker of a version registers with."""
    lowest = {"metadata.version": 7 if version[0] == "4" else 1}
    known = {**KAFKA.supported[version].ceilings, "kraft.version": 1}
    return {feature: (lowest.get(feature, 0), level) for feature, level in known.items()}


@pytest.mark.parametrize(
    ("current", "target", "finalized", "mode"),
    [
        ("3.9.2", "4.3.1", OF["3.9.2"], "kraft"),
        ("3.3.2", "4.3.1", {"metadata.version": 7}, "kraft"),
        ("3.0.0", "3.9.2", {"metadata.version": 1}, "kraft"),
        ("4.2.0", "4.2.1", OF["4.2.1"], "kraft"),
        ("4.3.1", "4.3.1", OF["4.3.1"], "kraft"),
        ("2.8.0", "3.9.2", {}, "zookeeper"),
        # Back, as long as nothing is finalized that the older one does not know.
        ("4.3.1", "4.2.1", OF["4.2.1"], "kraft"),
        ("4.3.1", "3.9.2", {**OF["3.9.2"], "kraft.version": 1}, "kraft"),
        ("4.1.2", "4.0.2", {**OF["4.0.2"], ELR: 1}, "kraft"),
    ],
)
def test_legal_paths(current: str, target: str, finalized: Any, mode: str) -> None:
    assert features.upgrade_problems(current, target, finalized, mode) == []


@pytest.mark.parametrize(
    ("current", "target", "finalized", "mode", "says"),
    [
        ("4.1.2", "4.2.0", OF["4.1.2"], "kraft", "Kafka 4.2.0 is refused: transactional producers"),
        ("4.1.2", "5.0.0", OF["4.1.2"], "kraft", "not in Millrace's table. Use one of 4.3.1, "),
        ("3.9.2", "4.0.2", {}, "zookeeper", "Kafka 4.0.2 has no ZooKeeper mode: stay on 3.9.2"),
        ("3.2.3", "4.0.2", {"metadata.version": 7}, "kraft", "Kafka 3.2.3 is too old for 4.0.2"),
        ("3.9.2", "4.0.2", {"metadata.version": 6}, "kraft", "needs at least 7 (3.3-IV3)"),
        ("3.9.2", "4.0.2", {}, "kraft", "no broker says which features are finalized"),
        (
            "4.3.1",
            "4.2.1",
            OF["4.3.1"],
            "kraft",
            "metadata.version 30 (4.3-IV0) is finalized, Kafka 4.2.1 knows up to 29 (4.2-IV1): "
            "after finalize there is no way back",
        ),
        (
            "4.1.2",
            "3.9.2",
            {"metadata.version": 21, ELR: 1},
            "kraft",
            f"{ELR} 1 is finalized, Kafka 3.9.2 has none",
        ),
    ],
)
def test_illegal_paths(current: str, target: str, finalized: Any, mode: str, says: str) -> None:
    (problem,) = features.upgrade_problems(current, target, finalized, mode)
    assert says in problem


def test_every_feature_in_the_way_back_is_named() -> None:
    problems = features.rollback_problems("3.9.2", OF["4.3.1"])
    assert len(problems) == len(OF["4.3.1"])
    assert features.rollback_problems("3.8.0", OF["3.9.2"])


@pytest.mark.parametrize("target", sorted(KAFKA.supported))
def test_a_plan_reaches_the_target_from_every_release(target: str) -> None:
    for start in KAFKA.supported:
        made = features.plan({**OF[start], **STATIC}, {1: ranges(target)}, target)
        assert made.problems == ()
        reached = dict(OF[start])
        for feature, before, after in made.steps:
            assert reached.get(feature, 0) == before < after
            reached[feature] = after
        assert all(reached[feature] >= level for feature, level in OF[target].items())
        assert "kraft.version" not in reached
        names = [feature for feature, _, _ in made.steps]
        assert "metadata.version" not in names[1:]
    assert features.plan(OF[target], {1: ranges(target)}, target).steps == ()


def test_a_node_that_cannot_follow_forbids_all() -> None:
    nodes = {1: ranges("4.3.1"), 2: ranges("4.0.2"), 3: ranges("4.2.1")}
    made = features.plan(OF["4.0.2"], nodes, "4.3.1")
    assert made.problems == (
        "broker 2 supports metadata.version 7-25 (30 is wanted), share.version not at all "
        "(1 is wanted), streams.version not at all (1 is wanted): run Kafka 4.3.1 on it, or "
        "unregister it if it is gone",
        "broker 3 supports metadata.version 7-29 (30 is wanted): run Kafka 4.3.1 on it, or "
        "unregister it if it is gone",
    )


@pytest.mark.parametrize(
    ("finalized", "target", "says"),
    [
        ({}, "4.3.1", "the cluster runs on ZooKeeper"),
        (OF["4.2.1"], "4.2.0", "Kafka 4.2.0 is refused"),
    ],
)
def test_what_has_no_plan(finalized: Any, target: str, says: str) -> None:
    made = features.plan(finalized, {}, target)
    assert (made.steps, len(made.problems)) == ((), 1)
    assert says in made.problems[0]


def test_eligible_leader_replicas_say_what_becomes_of_min_insync_replicas() -> None:
    nodes = {1: ranges("4.1.2"), 2: ranges("4.1.2")}
    alike = features.plan(OF["4.0.2"], nodes, "4.1.2", {1: "2", 2: "2"}, {2: "1"})
    (note,) = alike.warnings
    assert "min.insync.replicas (2) is kept for the whole cluster" in note
    assert "removed (1 on broker 2)" in note
    assert alike.problems == ()
    (problem,) = features.plan(OF["4.0.2"], nodes, "4.1.2", {1: "2", 2: "1"}).problems
    assert "min.insync.replicas differs (2 on broker 1, 1 on broker 2)" in problem
    enabled = features.plan(OF["4.1.2"], {1: ranges("4.3.1")}, "4.3.1", {1: "2", 2: "1"})
    assert (enabled.problems, enabled.warnings) == ((), ())


@dataclass
class FakeCluster:
    """A cluster of two brokers and three controllers that takes what it supports."""

    finalized_levels: dict[str, int]
    runs: str = "4.3.1"
    registered: tuple[int, ...] = (1, 2)
    observers: tuple[int, ...] = (1, 2)
    refuses: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    slow: list[int] = field(default_factory=list)
    updates: list[dict[str, int]] = field(default_factory=list)
    dry: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.finalized_levels = dict(self.finalized_levels)

    def read(self) -> cluster_health.Snapshot:
        voters, observers = (
            tuple(cluster_health.Replica(node, 0, 0) for node in nodes)
            for nodes in ((11, 12, 13), self.observers)
        )
        return cluster_health.Snapshot(
            cluster_id="x",
            brokers=tuple(cluster_health.Broker(node) for node in self.registered),
            controller_id=11,
            quorum=cluster_health.Quorum(11, 1, voters, observers),
        )

    def finalized(self) -> dict[str, int]:
        return dict(self.finalized_levels)

    def supported(self) -> dict[int, dict[str, tuple[int, int]]]:
        return {node: ranges(self.runs) for node in self.registered}

    def min_isr(self) -> tuple[dict[int, str], dict[int, str]]:
        return dict.fromkeys(self.registered, "2"), {}

    def update(self, wanted: Mapping[str, int], *, validate_only: bool) -> str:
        if self.silent and not validate_only:
            raise NotYetError
        refusal = next((self.refuses[one] for one in wanted if one in self.refuses), "")
        # Together they pass: the dry run of a plan must not hide what one of them meets later.
        if refusal and len(wanted) == 1:
            return refusal
        (self.dry if validate_only else self.updates).append(dict(wanted))
        if not validate_only:
            self.finalized_levels.update(wanted)
        return ""

    def late(self, feature: str, level: int) -> list[int]:
        assert self.finalized_levels[feature] == level
        return self.slow


class FailedError(Exception):
    """What a module's fail_json ends with."""


def finalize(cluster: FakeCluster, *, check: bool = False, **options: Any) -> dict[str, Any]:
    """Run the module on a cluster; a failure is in the result as Ansible shows it."""
    params = {
        "target": "4.3.1",
        "path_from": None,
        "expect_nodes": [1, 2],
        "expect_voters": [11, 12, 13],
        "confirm": False,
        "fail": True,
        "wait": 0,
        **options,
    }
    failure: dict[str, Any] = {}

    def fail_json(**result: Any) -> None:
        failure.update(result, failed=True)
        raise FailedError

    module: Any = SimpleNamespace(params=params, check_mode=check, fail_json=fail_json)
    one: Any = cluster
    try:
        return run(module, one)
    except FailedError:
        return failure


def test_features_are_finalized_one_by_one_and_once() -> None:
    cluster = FakeCluster(OF["4.0.2"])
    planned = finalize(cluster)
    assert (planned["changed"], cluster.updates) == (False, [])
    assert planned["steps"][0] == {"feature": "metadata.version", "from": 25, "to": 30}
    assert planned["lines"][0] == "metadata.version: 25 (4.0-IV3) -> 30 (4.3-IV0)"
    checked = finalize(cluster, check=True, confirm=True)
    assert (checked["changed"], cluster.updates) == (True, [])
    made = finalize(cluster, confirm=True)
    assert (made["changed"], made["steps"]) == (True, checked["steps"])
    assert made["finalized"] == OF["4.3.1"]
    wanted = [{step["feature"]: step["to"]} for step in made["steps"]]
    assert cluster.updates == wanted
    assert cluster.dry[-len(wanted) :] == wanted
    again = finalize(cluster, confirm=True)
    assert (again["changed"], again["steps"]) == (False, [])
    assert again["lines"] == ["All features of Kafka 4.3.1 are finalized."]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"registered": (1, 2, 7)}, "broker 7 is registered but not expected"),
        ({"registered": (1,)}, "broker 2 is not registered"),
        ({"observers": (1, 2, 9)}, "node 9 follows the controllers and is neither a broker nor"),
        ({"runs": "4.2.1"}, "broker 1 supports metadata.version 7-29"),
    ],
)
def test_a_cluster_that_is_not_the_inventorys_is_refused(change: Any, says: str) -> None:
    for confirm in (False, True):
        cluster = FakeCluster(OF["4.0.2"], **change)
        result = finalize(cluster, confirm=confirm)
        assert result["failed"]
        assert says in result["msg"]
        assert (cluster.updates, cluster.dry) == ([], [])
    shown = finalize(FakeCluster(OF["4.0.2"], **change), fail=False)
    assert shown["changed"] is False
    assert says in shown["lines"][-2] + shown["lines"][-1]


def test_controllers_that_are_not_the_inventorys_are_refused() -> None:
    result = finalize(FakeCluster(OF["4.0.2"]), expect_voters=[11, 12, 14])
    assert "controller 14 is not a voter" in result["msg"]
    assert "controller 13 is a voter of the quorum but not expected" in result["msg"]


def test_a_failure_says_what_stands_and_can_be_run_again() -> None:
    cluster = FakeCluster(OF["4.0.2"], refuses={"share.version": "not today"})
    result = finalize(cluster, confirm=True)
    assert result["failed"]
    assert result["changed"]
    assert "share.version 1 could not be finalized: not today" in result["msg"]
    assert "Finalized before it: metadata.version 30, eligible.leader" in result["msg"]
    assert result["finalized"]["metadata.version"] == 30
    cluster.refuses = {}
    again = finalize(cluster, confirm=True)
    assert [step["feature"] for step in again["steps"]] == ["share.version", "streams.version"]
    assert again["finalized"] == OF["4.3.1"]


def test_a_broker_that_does_not_follow_is_named() -> None:
    result = finalize(FakeCluster(OF["4.0.2"], slow=[2]), confirm=True)
    assert "metadata.version 30 could not be finalized: broker 2 does not show it" in result["msg"]
    assert result["changed"]


def test_a_cluster_that_falls_silent_is_a_failure() -> None:
    result = finalize(FakeCluster(OF["4.0.2"], silent=True), confirm=True)
    assert "could not be finalized: . Finalized before it: nothing" in result["msg"]
    assert result["changed"] is False


def test_a_path_is_judged_before_anything_is_touched() -> None:
    cluster = FakeCluster(OF["4.3.1"])
    back = finalize(cluster, path_from="4.3.1", target="4.2.1", confirm=True)
    assert "the cluster cannot move from Kafka 4.3.1 to 4.2.1; nothing was changed" in back["msg"]
    on = finalize(FakeCluster(OF["4.0.2"], registered=(1,)), path_from="4.0.2")
    assert (on["changed"], on["problems"], on["steps"]) == (False, [], [])
    assert cluster.updates == []


def test_without_a_broker_the_module_says_so() -> None:
    import kafka  # type: ignore[import-untyped]  # no types

    args = {
        "bootstrap": ["127.0.0.1:1"],
        "library": str(Path(kafka.__file__).parents[1]),
        "target": "4.3.1",
        "expect_nodes": [1],
    }
    result = run_module("kafka_features", args)
    assert result["failed"]
    assert "no broker answers (127.0.0.1:1: Connection refused)" in result["msg"]
