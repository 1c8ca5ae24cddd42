"""Where a group goes on: its commits, and what it does without one; its lag seen from outside."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    OffsetSpec,
    errors,
)

from tests.support.clients.delivery import SECONDS, Client, drain
from tests.support.wait import wait_for

VALUES = [f"{number}".encode() for number in range(10)]


def take(client: Client, topic: str, count: int, **config: object) -> None:
    """Read so many records as a member that then dies, whatever it has committed by itself."""
    consumer, place = client.reader(topic, auto_offset_reset="earliest", **config)
    read = 0

    def enough() -> bool:
        nonlocal read
        read += len(consumer.poll(timeout_ms=200, max_records=count - read).get(place, []))
        return read == count

    wait_for(enough, seconds=SECONDS, what=f"{count} records")
    if config.get("enable_auto_commit"):
        wait_for(
            lambda: consumer.poll(timeout_ms=50) or consumer.committed(place) == count,
            seconds=SECONDS,
            what="a commit by itself",
        )
    consumer.close(autocommit=False)


def rest(client: Client, topic: str) -> list[bytes]:
    """What the group still has to read."""
    consumer, _ = client.reader(topic, auto_offset_reset="earliest")
    return [record.value for record in drain(consumer)]


def test_what_was_not_committed_is_read_again(client: Client) -> None:
    topic = client.topic()
    client.write(topic, VALUES)
    take(client, topic, 4)
    assert rest(client, topic) == VALUES
    consumer, place = client.reader(topic, auto_offset_reset="earliest")
    consumer.poll(timeout_ms=SECONDS * 1000, max_records=4)
    consumer.commit()
    assert consumer.committed(place) == 4
    assert rest(client, topic) == VALUES[4:]


def test_automatic_commits_count_what_was_returned_as_done(client: Client) -> None:
    """Also what the dead member had not processed: it is lost."""
    topic = client.topic()
    client.write(topic, VALUES)
    take(client, topic, len(VALUES), enable_auto_commit=True, auto_commit_interval_ms=100)
    assert rest(client, topic) == []


@pytest.mark.parametrize(
    ("reset", "expected"), [("earliest", [b"old", b"new"]), ("latest", [b"new"])]
)
def test_a_group_without_a_commit_starts_where_it_is_configured_to(
    client: Client, reset: str, expected: list[bytes]
) -> None:
    topic = client.topic()
    client.write(topic, [b"old"])
    consumer, place = client.reader(topic, auto_offset_reset=reset)
    assert consumer.position(place, timeout_ms=SECONDS * 1000) == 2 - len(expected)
    client.write(topic, [b"new"])
    assert [record.value for record in drain(consumer)] == expected


def test_a_group_without_a_commit_can_be_refused(client: Client) -> None:
    topic = client.topic()
    client.write(topic, [b"old"])
    consumer, _ = client.reader(topic, auto_offset_reset="none")
    with pytest.raises(errors.NoOffsetForPartitionError):
        consumer.poll(timeout_ms=SECONDS * 1000)


def test_a_commit_before_the_start_of_the_log(client: Client) -> None:
    """The records that it points at are gone: `earliest` skips them silently, `none` fails."""
    topic = client.topic()
    client.write(topic, VALUES)
    consumer, place = client.reader(topic, auto_offset_reset="earliest")
    consumer.poll(timeout_ms=SECONDS * 1000, max_records=1)
    consumer.commit()
    client.admin.delete_records({place: 5})
    assert rest(client, topic) == VALUES[5:]
    strict, _ = client.reader(topic, auto_offset_reset="none")
    with pytest.raises(errors.OffsetOutOfRangeError):
        wait_for(lambda: strict.poll(timeout_ms=200), seconds=SECONDS, what="an error")


def test_lag_is_seen_from_outside(client: Client) -> None:
    topic = client.topic(partitions=2)
    client.write(topic, VALUES)
    consumer, place = client.reader(topic, auto_offset_reset="earliest")
    consumer.poll(timeout_ms=SECONDS * 1000, max_records=4)
    consumer.commit()

    def lag() -> dict[Any, int]:
        committed = client.admin.list_group_offsets({client.group: None})[client.group]
        ends = client.admin.list_partition_offsets(dict.fromkeys(committed, OffsetSpec.LATEST))
        return {
            partition: ends[partition].offset - committed[partition].offset
            for partition in committed
        }

    assert lag() == {place: 6}
    client.write(topic, [b"more"])
    assert lag() == {place: 7}
    drain(consumer)
    consumer.commit()
    assert lag() == {place: 0}
