"""Whether a Kafka cluster is healthy, and what the module kafka_health says of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import (
    Broker,
    Partition,
    Quorum,
    Replica,
    Snapshot,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import Expected
from ansible_collections.millrace.streaming.plugins.module_utils.operations.health import (
    facts,
    problems,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_health

from tests.unit.module_runner import run_module, unreachable
from tests.unit.operations.gate_cases import ALL, EXPECTED, HEALTHY, STRICT, partition

KINDS = ("offline", "under_replicated", "under_min_isr")


def quorum(*voters: Replica, leader: int = 1, observers: tuple[Replica, ...] = ()) -> Quorum:
    return Quorum(leader, 5, voters, observers)


def test_a_healthy_cluster_has_no_problems() -> None:
    assert problems(HEALTHY, EXPECTED) == []
    assert problems(HEALTHY, Expected()) == []


FINE = (Replica(1, 0, 0), Replica(2, 0, 400))


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"cluster_id": "X"}, [("cluster X", "C")]),
        ({"brokers": (Broker(1), Broker(3))}, [("broker 2",)]),
        ({"brokers": (*HEALTHY.brokers, Broker(9))}, [("broker 9",)]),
        ({"brokers": (Broker(1), Broker(2, fenced=True), Broker(3))}, [("broker 2", "fenced")]),
        ({"quorum": None}, [("quorum",)]),
        ({"quorum": quorum(*FINE, Replica(3, 0, 0), leader=-1)}, [("leader",)]),
        ({"quorum": quorum(*FINE)}, [("controller 3",)]),
        ({"quorum": quorum(*FINE, Replica(3, 0, 0), Replica(4, 0, 0))}, [("controller 4",)]),
        ({"quorum": quorum(*FINE, Replica(3, 100, 0))}, []),
        ({"quorum": quorum(*FINE, Replica(3, 101, 0))}, [("controller 3", "101", "100")]),
        ({"quorum": quorum(*FINE, Replica(3, 1, 5000))}, []),
        ({"quorum": quorum(*FINE, Replica(3, 1, 5001))}, [("controller 3", "5001", "5000")]),
        ({"quorum": quorum(*FINE, Replica(3, 4, None))}, [("controller 3", "4 records")]),
        (
            {"quorum": quorum(*FINE, Replica(3, 0, None), observers=(Replica(2, 500, 0),))},
            [("broker 2", "500")],
        ),
        # An observer that is no broker of the inventory.
        ({"quorum": quorum(*FINE, Replica(3, 0, None), observers=(Replica(99, 500, 0),))}, []),
        ({"unreadable_topics": {"t": 29}}, [("topics", "t: error 29")]),
    ],
)
def test_each_problem_of_a_node_names_it(changes: Any, names: list[tuple[str, ...]]) -> None:
    problems_found = problems(dataclasses.replace(HEALTHY, **changes), EXPECTED)
    assert len(problems_found) == len(names), problems_found
    for text, fragments in zip(problems_found, names, strict=True):
        assert all(fragment in text for fragment in fragments), text


@pytest.mark.parametrize(
    ("single", "kinds"),
    [
        (partition(), set()),
        (partition(isr=(1, 2)), {"under_replicated"}),
        (partition(isr=(1,)), {"under_replicated", "under_min_isr"}),
        (partition(isr=(1,), offline=True), {*KINDS}),
        (partition(replicas=(1,)), set()),
        (partition(replicas=(1,), isr=()), {*KINDS}),
        (
            partition("__transaction_state", isr=(1, 2), min_isr=3),
            {"under_replicated", "under_min_isr"},
        ),
    ],
)
def test_kinds_of_partitions(single: Partition, kinds: set[str]) -> None:
    snapshot = dataclasses.replace(HEALTHY, partitions=(single,))
    counted = facts(snapshot)
    named = {kind for kind in KINDS if counted[kind] == [single.name]}
    assert named == {kind for kind in KINDS if counted[kind]} == kinds
    assert len(problems(snapshot, EXPECTED)) == len(kinds)


def test_partition_problems_name_partitions_and_the_brokers_that_lack() -> None:
    many = tuple(partition(index=i, isr=(1, 2) if i % 2 else (1,)) for i in range(8))
    below, out_of_sync = problems(dataclasses.replace(HEALTHY, partitions=many), EXPECTED)
    assert "4 of 8" in below
    assert "t-0" in below
    assert "t-1" not in below
    assert "8 of 8" in out_of_sync
    assert "broker 2, 3" in out_of_sync
    assert "t-0, t-1" in out_of_sync


FAILED = dataclasses.replace(HEALTHY, partitions=(partition(failed=(2,)), partition("u")))


def test_a_failed_directory_is_named_with_its_broker() -> None:
    shown, out_of_sync = problems(FAILED, EXPECTED, {2: ["/d2"]})
    assert all(text in shown for text in ("broker 2", "/d2", "1 replicas", "rolling_restart.yml"))
    assert "broker 2" in out_of_sync
    assert facts(FAILED)["failed_directories"] == [2]


def test_a_failed_directory_without_replicas_is_a_problem_too() -> None:
    [shown] = problems(HEALTHY, EXPECTED, {3: ["/d1"]})
    assert "broker 3" in shown
    assert "/d1" in shown


def test_a_broker_shows_its_failed_directory_by_its_replicas_where_it_cannot_be_asked() -> None:
    assert "broker 2" in problems(FAILED, EXPECTED)[0]


def test_a_broker_that_does_not_serve_has_offline_replicas_without_a_failed_directory() -> None:
    fenced = dataclasses.replace(FAILED, brokers=(Broker(1), Broker(2, fenced=True), Broker(3)))
    assert fenced.with_failed_directory == frozenset()
    gone = dataclasses.replace(FAILED, brokers=(Broker(1), Broker(3)))
    assert gone.with_failed_directory == frozenset()


def test_without_controllers_a_zookeeper_cluster_is_judged_by_the_rest() -> None:
    assert problems(dataclasses.replace(HEALTHY, quorum=None), Expected(brokers=ALL)) == []


def test_facts_are_the_snapshot_as_plain_data() -> None:
    partitions = (partition("a", 1, offline=True), partition("a"), partition("b", offline=True))
    plain = facts(dataclasses.replace(HEALTHY, partitions=partitions, controller_id=2))
    assert (plain["topics"], plain["partitions"]) == (2, 3)
    assert plain["offline"] == ["a-1", "b-0"]
    assert plain["controller"] == 2
    assert [broker["id"] for broker in plain["brokers"]] == [1, 2, 3]
    assert [voter["id"] for voter in plain["voters"]] == [1, 2, 3]
    assert facts(dataclasses.replace(HEALTHY, quorum=None))["voters"] == []


# The module


class FakeCluster:
    """A cluster that answers with one snapshot after the other, with the last one ever after.

    Its controllers write metadata all the time, unless the quorum is `stuck`.
    """

    def __init__(self, *answers: Snapshot | None, stuck: bool = False) -> None:
        self._answers, self._stuck, self._written = list(answers), stuck, 0
        self.failed: set[int] = set()

    def read(self, *, gate: bool = False) -> Snapshot:
        snapshot = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if snapshot is None or snapshot.quorum is None:
            raise UnavailableError
        self._written += 0 if self._stuck else 1
        log = dataclasses.replace(snapshot.quorum, high_watermark=self._written)
        return dataclasses.replace(
            snapshot, quorum=log, throttled=() if gate else ("read for gate",)
        )

    def ask(self, question: Any) -> Any:
        """Answer what an admin client is asked, which is for directories alone."""
        return question(self)

    def describe_log_dirs(self, brokers: list[int]) -> list[dict[str, Any]]:
        [broker] = brokers
        code = 56 if broker in self.failed else 0
        return [{"broker": broker, "log_dirs": [{"log_dir": "/d2", "error_code": code}]}]

    def close(self) -> None: ...


def test_the_module_asks_each_broker_for_its_directories() -> None:
    cluster = FakeCluster(HEALTHY)
    cluster.failed = {3}
    result = check(cluster, wait=0, policy=STRICT)
    assert (result["healthy"], result["failed_directories"]) == (False, [3])
    [shown] = result["problems"]
    assert "broker 3" in shown
    assert "/d2" in shown
    assert check(cluster, wait=0)["healthy"], "without the gate only replicas show it"
    cluster.failed = set()
    assert check(cluster, wait=0, policy=STRICT)["healthy"]


FACTORS = {"": 2, "__consumer_offsets": 3}


def test_topics_that_were_created_with_fewer_brokers_are_named_and_not_unhealthy() -> None:
    alone = [partition("__consumer_offsets", 0, replicas=(1,)), partition("b", 0, replicas=(1, 2))]
    many = [partition(f"t{number}", 0, replicas=(1,)) for number in range(9)]
    grown = dataclasses.replace(HEALTHY, partitions=(*alone, *many))
    result = check(FakeCluster(grown), wait=0, factors=FACTORS)
    assert result["healthy"]
    few = result["few_replicas"]
    assert few["__consumer_offsets"] == (1, 3)
    assert "b" not in few
    *_, line = kafka_health.report({**result, "wrong": []})
    assert "__consumer_offsets 1 of 3, t0 1 of 2" in line
    assert "and 5 more" in line
    assert line.endswith("rebalance.yml -e topic=__consumer_offsets -e replication=3")
    assert check(FakeCluster(grown), wait=0)["few_replicas"] == {}
    assert "few" not in kafka_health.report({**check(FakeCluster(HEALTHY)), "wrong": []})[-1]


FENCED = dataclasses.replace(HEALTHY, brokers=(Broker(1), Broker(2), Broker(3, fenced=True)))


def check(cluster: Any, wait: float = 5, **options: Any) -> dict[str, Any]:
    return kafka_health.wait_healthy(cluster, EXPECTED, wait, **options)


def test_the_module_waits_for_a_healthy_cluster() -> None:
    verdict = check(FakeCluster(None, FENCED, HEALTHY))
    assert (verdict["healthy"], verdict["problems"]) == (True, [])
    late = check(FakeCluster(FENCED), wait=0)
    assert late["healthy"] is False
    assert "broker 3" in late["problems"][0]


def test_the_module_says_what_keeps_a_node_from_being_stopped() -> None:
    moving = dataclasses.replace(HEALTHY, reassigning=("t-0",))
    verdict = check(FakeCluster(moving), wait=0, policy=STRICT)
    assert verdict["healthy"] is False
    (blocker,) = verdict["blockers"]
    assert (blocker["predicate"], blocker["partitions"]) == ("reassigning", ["t-0"])
    assert check(FakeCluster(moving), wait=0)["healthy"] is True


def test_a_quorum_that_commits_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_health, "GROWS_SECONDS", 0.2)
    verdict = check(FakeCluster(HEALTHY, stuck=True), wait=0, policy=STRICT)
    assert verdict["healthy"] is False
    assert "stuck" in verdict["problems"][0]
    assert check(FakeCluster(HEALTHY), wait=0, policy=STRICT)["healthy"] is True


def test_a_cluster_has_to_stay_healthy_where_that_is_asked() -> None:
    flapping = [HEALTHY, FENCED] * 50
    verdict = check(FakeCluster(*flapping), wait=0, steady=0.5)
    assert verdict["healthy"] is False
    assert verdict["problems"]
    steady = check(FakeCluster(HEALTHY), wait=0.1, steady=0.3)
    assert steady["healthy"] is True
    assert steady["seconds"] >= 0.3


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {**unreachable(tmp_path), "wait": 0.3}


def test_the_module_names_where_the_client_library_is_missing(
    options: dict[str, Any], tmp_path: Path
) -> None:
    result = run_module("kafka_health", {**options, "library": str(tmp_path)})
    assert result["failed"]
    assert str(tmp_path) in result["msg"]


def test_the_module_gives_a_verdict_on_a_cluster_that_does_not_run(
    options: dict[str, Any],
) -> None:
    result = run_module("kafka_health", options)
    assert result["failed"]
    assert "127.0.0.1:1" in result["problems"][0]
    assert run_module("kafka_health", {**options, "fail": False})["healthy"] is False
