"""Where the bytes of a cluster are, and where they come: bounded, and also of a cluster in part."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import reassignments
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import RefusedError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import (
    LogDir,
    Name,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import hot_spots
from ansible_collections.millrace.streaming.plugins.module_utils.operations.hot_spots import Sample


def sample(at: float, held: dict[int, dict[Name, int]], **options: Any) -> Sample:
    return Sample(
        at, {broker: [LogDir("/d", sizes=sizes)] for broker, sizes in held.items()}, **options
    )


def test_busy_partitions_are_those_that_grow() -> None:
    before = sample(10.0, {1: {("a", 0): 100, ("a", 1): 50, ("b", 0): 7}, 2: {("a", 0): 100}})
    after = sample(12.0, {1: {("a", 0): 300, ("a", 1): 60, ("b", 0): 7}, 2: {("a", 0): 300}})
    result = hot_spots.summary(after, before)
    assert result["hottest"] == [["a", 0, 100], ["a", 1, 5]]
    assert result["seconds"] == 2.0
    assert result["topics"] == [["a", [300, 60]], ["b", [7]]]


@pytest.mark.parametrize(
    ("copies", "growth"),
    [
        ({2: (0, 900)}, 10),  # it is being copied
        ({2: (100, 100)}, 10),  # it does not follow
        ({2: (100, 40)}, 10),  # its broker deletes old records
        ({2: (None, 900)}, 10),  # it has just begun
        ({}, 10),
    ],
)
def test_a_replica_that_grows_otherwise_does_not_count(
    copies: dict[int, tuple[int | None, int]], growth: int
) -> None:
    name = ("a", 0)
    earlier = {1: {name: 100}}
    earlier |= {broker: {name: size} for broker, (size, _) in copies.items() if size is not None}
    later = {1: {name: 110}, **{broker: {name: size} for broker, (_, size) in copies.items()}}
    assert hot_spots.growth(sample(0, earlier), sample(1, later)) == {name: growth}


def test_the_first_reading_knows_no_traffic() -> None:
    result = hot_spots.summary(sample(1.0, {1: {("a", 2): 5}}))
    assert (result["hottest"], result["seconds"]) == ([], 0.0)
    assert result["topics"] == [["a", [0, 0, 5]]]


def test_what_is_named_is_bounded() -> None:
    names: list[Name] = [(f"t{number:05}", 0) for number in range(20_000)]
    before = sample(0.0, {1: dict.fromkeys(names, 0)})
    after = sample(1.0, {1: {name: number for number, name in enumerate(names)}})
    result = hot_spots.summary(after, before)
    assert len(result["hottest"]) == hot_spots.HOTTEST
    [disk] = result["disks"]
    assert len(disk["largest"]) == hot_spots.LARGEST
    assert disk["largest"][0] == ["t19999", 0, 19_999]
    assert (disk["replicas"], disk["bytes"]) == (20_000, sum(range(20_000)))


def test_a_disk_says_what_it_is() -> None:
    directory = LogDir("/d", failed=True)
    [disk] = hot_spots.summary(Sample(0.0, {3: [directory]}, ["broker 4"]))["disks"]
    assert disk["broker"] == 3
    assert disk["failed"]
    assert (disk["total"], disk["largest"]) == (None, [])


@pytest.mark.parametrize(
    "error", [RefusedError("no permission"), ConnectionResetError("reset in the TLS handshake")]
)
def test_a_broker_that_does_not_answer_leaves_the_others(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def log_dirs(_: Any, brokers: list[int]) -> Any:
        if brokers == [2]:
            raise error
        return {broker: (LogDir("/d"),) for broker in brokers}

    class Admin:
        def describe_cluster(self) -> Any:
            ids = [{"broker_id": 2}, {"broker_id": 1}, {"broker_id": 3, "is_fenced": True}]
            return {"brokers": ids}

    class Cluster:
        def ask(self, question: Any) -> Any:
            return question(Admin())

    monkeypatch.setattr(reassignments, "log_dirs", log_dirs)
    cluster: Any = Cluster()
    taken = hot_spots.sample(cluster, lambda: 7.0)
    assert (taken.at, list(taken.directories)) == (7.0, [1])
    assert taken.errors == [f"broker 2 does not show its disks: {error}"]
    assert hot_spots.summary(taken)["errors"] == taken.errors
