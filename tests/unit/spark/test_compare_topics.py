"""The newest value of each key counts, and what is no result is named."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import compare_topics
from flights.differences import Difference
from flights.kafka_log import Record

CONNECTION: Any = None


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[bytes | None, Any]]]:
    """Key and value of each record, by topic."""
    records: dict[str, list[tuple[bytes | None, Any]]] = {}

    class Reader:
        def __init__(self, topic: str, connection: Any) -> None:
            self.records = records[topic]

        def read(self, deadline: float) -> Iterator[Record]:
            for offset, (key, value) in enumerate(self.records):
                text = None if value is None else json.dumps(value).encode()
                record: Any = Record(0, offset, key, text, {})  # type: ignore[arg-type]  # text of a stand-in
                yield record

        def close(self) -> None:
            """Nothing to close."""

    monkeypatch.setattr(compare_topics, "Reader", Reader)
    monkeypatch.setattr(compare_topics, "POLL_SECONDS", 0.01)
    return records


def found(seconds: float = 0.0) -> tuple[int, list[Difference]]:
    keys, differences = compare_topics.differences("a", "b", CONNECTION, seconds)
    return keys, list(differences)


def test_the_newest_value_of_a_key_counts(topics: dict[str, Any]) -> None:
    topics["a"] = [(b"x", {"n": 1}), (b"x", {"n": 2}), (b"y", {"n": 5}), (b"y", None)]
    topics["b"] = [(b"x", {"n": 2})]
    assert found() == (1, [])


def test_each_difference_is_named(topics: dict[str, Any]) -> None:
    topics["a"] = [(b"x", {"n": 1}), (b"y", {"n": 1})]
    topics["b"] = [(b"x", {"n": 2})]
    _, differences = found()
    assert [
        (difference.key, difference.column, difference.actual) for difference in differences
    ] == [
        ("x", "n", 2),
        ("y", "*", "(absent)"),
    ]


def test_it_waits_for_a_version_that_is_behind(topics: dict[str, Any]) -> None:
    topics["a"] = [(b"x", {"n": 2})]
    topics["b"] = Growing([(b"x", {"n": 1}), (b"x", {"n": 2})])
    assert found(5) == (1, [])


class Growing(list[Any]):
    """A topic that has one record more each time that it is read."""

    shown = 0

    def __iter__(self) -> Iterator[Any]:
        self.shown += 1
        return iter(self[: self.shown])


@pytest.mark.parametrize(
    ("record", "reason"), [((None, {"n": 1}), "key"), ((b"x", [1]), "JSON object")]
)
def test_what_is_no_result_is_named_with_its_place(
    topics: dict[str, Any], record: Any, reason: str
) -> None:
    topics["a"] = [record]
    with pytest.raises((TypeError, ValueError), match=f"a, partition 0, offset 0.*{reason}"):
        compare_topics.newest("a", CONNECTION, time.monotonic())
