"""Which features may be finalized, between which versions a cluster moves, and how it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.features import ELR
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import features
from ansible_collections.millrace.streaming.plugins.module_utils.operations.features import (
    METADATA,
)
from ansible_collections.millrace.streaming.plugins.modules.kafka_features import address, run

from tests.unit.module_runner import run_module, unreachable

OF = {version: dict(release.features) for version, release in KAFKA.supported.items()}
STATIC = {"kraft.version": 0}


def ranges(version: str) -> dict[str, tuple[int, int]]:
    """What a broker of a version registers with."""
    lowest = {METADATA: 7 if version[0] == "4" else 1}
    levels = {**KAFKA.supported[version].ceilings, "kraft.version": 1}
    return {feature: (lowest.get(feature, 0), level) for feature, level in levels.items()}


def names_all(text: str, fragments: tuple[str, ...]) -> bool:
    """Return whether a message names everything that an operator needs."""
    return all(fragment in text for fragment in fragments)


# Between which versions


@pytest.mark.parametrize(
    ("current", "target", "finalized", "mode"),
    [
        ("3.9.2", "4.3.1", OF["3.9.2"], "kraft"),
        ("3.3.2", "4.3.1", {METADATA: 7}, "kraft"),
        ("3.9.2", "4.4.0", OF["3.9.2"], "kraft"),
        ("4.2.1", "4.2.2", OF["4.2.1"], "kraft"),
        ("3.0.0", "3.9.2", {METADATA: 1}, "kraft"),
        ("4.2.0", "4.2.1", OF["4.2.1"], "kraft"),
        ("4.3.1", "4.3.1", OF["4.3.1"], "kraft"),
        ("2.8.0", "3.9.2", {}, "zookeeper"),
        # Back, as long as nothing is finalized that the older one does not know.
        ("4.3.1", "4.2.1", OF["4.2.1"], "kraft"),
        ("4.4.0", "4.3.1", OF["4.3.1"], "kraft"),
        ("4.2.2", "4.2.1", OF["4.2.2"], "kraft"),
        ("4.3.1", "3.9.2", {**OF["3.9.2"], "kraft.version": 1}, "kraft"),
        ("4.1.2", "4.0.2", {**OF["4.0.2"], ELR: 1}, "kraft"),
    ],
)
def test_legal_upgrades(current: str, target: str, finalized: Any, mode: str) -> None:
    assert features.upgrade_problems(current, target, finalized, mode) == []


@pytest.mark.parametrize(
    ("current", "target", "finalized", "mode", "names"),
    [
        ("4.1.2", "4.2.0", OF["4.1.2"], "kraft", ("4.2.0", KAFKA.blocked["4.2.0"])),
        ("4.1.2", "5.0.0", OF["4.1.2"], "kraft", ("5.0.0", *KAFKA.supported)),
        ("3.9.2", "4.0.2", {}, "zookeeper", ("4.0.2", "ZooKeeper", "3.9.2", "KRaft")),
        ("3.2.3", "4.0.2", {METADATA: 7}, "kraft", ("3.2.3", "4.0.2", "3.9.2")),
        ("3.9.2", "4.0.2", {METADATA: 6}, "kraft", (METADATA, "6", "4.0.2", "7 (3.3-IV3)")),
        ("3.9.2", "4.0.2", {}, "kraft", ("finalized",)),
        (
            "4.3.1",
            "4.2.1",
            OF["4.3.1"],
            "kraft",
            (METADATA, "30 (4.3-IV0)", "4.2.1", "29 (4.2-IV1)"),
        ),
        (
            "4.4.0",
            "4.3.1",
            {**OF["4.3.1"], METADATA: 33},
            "kraft",
            (METADATA, "33 (4.4-IV2)", "4.3.1", "30 (4.3-IV0)"),
        ),
        (
            "4.4.0",
            "4.3.1",
            {**OF["4.3.1"], "share.version": 2},
            "kraft",
            ("share.version 2", "4.3.1", "knows up to 1"),
        ),
        ("4.1.2", "3.9.2", {METADATA: 21, ELR: 1}, "kraft", (f"{ELR} 1", "3.9.2")),
    ],
)
def test_an_illegal_upgrade_says_what_stands_against_it(
    current: str, target: str, finalized: Any, mode: str, names: tuple[str, ...]
) -> None:
    (problem,) = features.upgrade_problems(current, target, finalized, mode)
    assert names_all(problem, names)


def test_every_feature_that_forbids_a_rollback_is_named() -> None:
    problems = features.rollback_problems("3.9.2", OF["4.3.1"])
    for feature in OF["4.3.1"]:
        assert [problem for problem in problems if feature in problem]
    assert features.rollback_problems("3.8.0", OF["3.9.2"])


# The plan


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
        assert METADATA not in names[1:]
    assert features.plan(OF[target], {1: ranges(target)}, target).steps == ()


def test_each_node_that_does_not_support_a_level_is_named() -> None:
    nodes = {1: ranges("4.3.1"), 2: ranges("4.0.2"), 3: ranges("4.2.1")}
    second, third = features.plan(OF["4.0.2"], nodes, "4.3.1").problems
    assert names_all(second, ("broker 2", METADATA, "7-25", "share.version", "streams.version"))
    assert names_all(third, ("broker 3", METADATA, "7-29", "30", "4.3.1"))
    assert "share.version" not in third


@pytest.mark.parametrize(
    ("finalized", "target", "names"),
    [
        ({}, "4.3.1", ("ZooKeeper",)),
        (OF["4.2.1"], "4.2.0", ("4.2.0",)),
    ],
)
def test_what_has_no_plan(finalized: Any, target: str, names: tuple[str, ...]) -> None:
    made = features.plan(finalized, {}, target)
    assert made.steps == ()
    (problem,) = made.problems
    assert names_all(problem, names)


def test_eligible_leader_replicas_say_what_becomes_of_min_insync_replicas() -> None:
    nodes = {1: ranges("4.1.2"), 2: ranges("4.1.2")}
    alike = features.plan(OF["4.0.2"], nodes, "4.1.2", {1: "2", 2: "2"}, {2: "1"})
    (warning,) = alike.warnings
    assert names_all(warning, ("min.insync.replicas (2)", "1 on broker 2"))
    assert alike.problems == ()
    (problem,) = features.plan(OF["4.0.2"], nodes, "4.1.2", {1: "2", 2: "1"}).problems
    assert names_all(problem, ("min.insync.replicas", "2 on broker 1", "1 on broker 2"))
    enabled = features.plan(OF["4.1.2"], {1: ranges("4.3.1")}, "4.3.1", {1: "2", 2: "1"})
    assert (enabled.problems, enabled.warnings) == ((), ())


# The module


@dataclass
class FakeCluster:
    """A cluster of two brokers and three controllers that takes what it supports."""

    finalized_levels: dict[str, int]
    runs: str = "4.3.1"
    registered: tuple[int, ...] = (1, 2)
    observers: tuple[int, ...] = (1, 2)
    quorum: bool = True
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Feature -> the reason why its change is refused."""
    silent: bool = False
    """No broker answers a real change."""
    slow: list[int] = field(default_factory=list)
    """The brokers that do not show a level."""
    updates: list[dict[str, int]] = field(default_factory=list)
    """The changes that were made."""
    dry: list[dict[str, int]] = field(default_factory=list)
    """The changes that were only validated."""

    def __post_init__(self) -> None:
        self.finalized_levels = dict(self.finalized_levels)

    def read(self) -> Snapshot:
        voters, observers = (
            tuple(Replica(node, 0, 0) for node in nodes) for nodes in ((11, 12, 13), self.observers)
        )
        return Snapshot(
            cluster_id="x",
            brokers=tuple(Broker(node) for node in self.registered),
            controller_id=11,
            quorum=Quorum(11, 1, voters, observers) if self.quorum else None,
        )

    def finalized(self) -> dict[str, int]:
        return dict(self.finalized_levels)

    def supported(self) -> dict[int, dict[str, tuple[int, int]]]:
        return {node: ranges(self.runs) for node in self.registered}

    def min_isr(self) -> tuple[dict[int, str], dict[int, str]]:
        return dict.fromkeys(self.registered, "2"), {}

    def update(self, levels: Mapping[str, int], *, validate_only: bool) -> str:
        if self.silent and not validate_only:
            raise UnavailableError
        refusal = next((self.refuses[feature] for feature in levels if feature in self.refuses), "")
        # Together they pass: the dry run of a plan must not hide what one of them meets later.
        if refusal and len(levels) == 1:
            return refusal
        (self.dry if validate_only else self.updates).append(dict(levels))
        if not validate_only:
            self.finalized_levels.update(levels)
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
        "upgrade_from": [],
        "expect_brokers": [1, 2],
        "expect_voters": [11, 12, 13],
        "cluster_id": None,
        "confirm": False,
        "wait": 0,
        **options,
    }
    failure: dict[str, Any] = {}

    def fail_json(**result: Any) -> None:
        failure.update({"changed": False, **result, "failed": True})
        raise FailedError

    module: Any = SimpleNamespace(params=params, check_mode=check, fail_json=fail_json)
    target: Any = cluster
    try:
        return run(module, target)
    except FailedError:
        return failure


def test_features_are_finalized_one_by_one_and_once() -> None:
    cluster = FakeCluster(OF["4.0.2"])
    planned = finalize(cluster)
    assert (planned["changed"], cluster.updates) == (False, [])
    assert planned["steps"][0] == {"feature": METADATA, "from": 25, "to": 30}
    assert names_all(planned["lines"][0], (METADATA, "25 (4.0-IV3)", "30 (4.3-IV0)"))
    checked = finalize(cluster, check=True, confirm=True)
    assert (checked["changed"], cluster.updates) == (True, [])
    made = finalize(cluster, confirm=True)
    assert (made["changed"], made["steps"]) == (True, checked["steps"])
    assert made["finalized"] == OF["4.3.1"]
    updates = [{step["feature"]: step["to"]} for step in made["steps"]]
    assert cluster.updates == updates
    assert cluster.dry[-len(updates) :] == updates
    again = finalize(cluster, confirm=True)
    assert (again["changed"], again["steps"]) == (False, [])


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"registered": (1, 2, 7)}, ("broker 7",)),
        ({"registered": (1,)}, ("broker 2",)),
        ({"observers": (1, 2, 9)}, ("node 9",)),
        ({"runs": "4.2.1"}, ("broker 1", METADATA, "7-29")),
        ({"quorum": False}, ("quorum",)),
    ],
)
def test_a_cluster_that_is_not_the_inventorys_is_refused(
    change: Any, names: tuple[str, ...]
) -> None:
    for confirm in (False, True):
        cluster = FakeCluster(OF["4.0.2"], **change)
        result = finalize(cluster, confirm=confirm)
        assert result["failed"]
        assert names_all(result["msg"], names)
        assert (cluster.updates, cluster.dry) == ([], [])
        assert result["changed"] is False
        assert [problem for problem in result["problems"] if names_all(problem, names)]
        assert set(result["problems"]) <= set(result["lines"])


def test_controllers_and_clusters_that_are_not_the_inventorys_are_refused() -> None:
    result = finalize(FakeCluster(OF["4.0.2"]), expect_voters=[11, 12, 14], cluster_id="y")
    assert names_all(result["msg"], ("controller 14", "controller 13", "cluster x", "y"))


def test_what_only_the_controllers_know_is_found_before_anything_is_changed() -> None:
    """No broker knows their limits: the dry run of all steps shows them."""
    cluster = FakeCluster(OF["4.2.1"], refuses={METADATA: "controller 12 is too old"})
    result = finalize(cluster, confirm=True)
    assert "controller 12 is too old" in result["msg"]
    assert (result["changed"], cluster.updates) == (False, [])


def test_a_failure_says_what_is_done_and_can_be_run_again() -> None:
    cluster = FakeCluster(OF["4.0.2"], refuses={"share.version": "not today"})
    result = finalize(cluster, confirm=True)
    assert result["failed"]
    assert result["changed"]
    assert names_all(result["msg"], ("share.version 1", "not today", f"{METADATA} 30", ELR))
    assert result["finalized"][METADATA] == 30
    cluster.refuses = {}
    again = finalize(cluster, confirm=True)
    assert [step["feature"] for step in again["steps"]] == ["share.version", "streams.version"]
    assert again["finalized"] == OF["4.3.1"]


def test_a_broker_that_does_not_follow_is_named() -> None:
    result = finalize(FakeCluster(OF["4.0.2"], slow=[2]), confirm=True)
    assert names_all(result["msg"], (f"{METADATA} 30", "broker 2"))
    assert result["changed"]


def test_a_cluster_that_does_not_answer_any_more_is_a_failure() -> None:
    result = finalize(FakeCluster(OF["4.0.2"], silent=True), confirm=True)
    assert result["failed"]
    assert result["changed"] is False


def test_an_upgrade_is_judged_before_anything_is_touched() -> None:
    cluster = FakeCluster(OF["4.3.1"])
    back = finalize(cluster, upgrade_from=["4.3.1"], target="4.2.1", confirm=True)
    assert back["failed"]
    assert names_all(back["msg"], ("4.3.1", "4.2.1"))
    forward = finalize(FakeCluster(OF["4.0.2"], registered=(1,)), upgrade_from=["4.0.2"])
    assert (forward["changed"], forward["problems"], forward["steps"]) == (False, [], [])
    assert cluster.updates == []


def test_each_version_that_runs_must_be_able_to_move() -> None:
    cluster = FakeCluster({METADATA: 7})
    assert finalize(cluster, upgrade_from=["3.3.2", "3.9.2"])["problems"] == []
    result = finalize(cluster, upgrade_from=["3.9.2", "3.2.3"])
    (problem,) = result["problems"]
    assert "3.2.3" in problem


def test_on_zookeeper_an_upgrade_is_judged_without_features() -> None:
    cluster = FakeCluster({}, quorum=False)
    ok = finalize(cluster, upgrade_from=["3.8.0"], target="3.9.2", expect_voters=[])
    assert ok["problems"] == []
    assert finalize(cluster, upgrade_from=["3.9.2"])["problems"]


@pytest.mark.parametrize(("host", "expected"), [("k1", "k1:9092"), ("fe80::1", "[fe80::1]:9092")])
def test_each_broker_is_asked_at_its_own_address(host: str, expected: str) -> None:
    assert address(Broker(1, host, 9092)) == expected


def test_without_a_broker_the_module_says_so(tmp_path: Path) -> None:
    args = {"target": "4.3.1", "expect_brokers": [1]}
    result = run_module("kafka_features", {**unreachable(tmp_path), **args})
    assert result["failed"]
    assert "127.0.0.1:1" in result["msg"]
