"""Members of a group come and go: who has which partition, and who had to give one up."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConsumerRebalanceListener,
    CooperativeStickyAssignor,
    MemberState,
    MemberToRemove,
    RangePartitionAssignor,
)

from tests.support.clients.delivery import SECONDS, Client
from tests.support.wait import wait_for

PARTITIONS = 4
SESSION_MS = 6000
"""The shortest that brokers grant by default (group.min.session.timeout.ms)."""


class Member(ConsumerRebalanceListener):  # type: ignore[misc]  # no types
    """A consumer that polls all the time in a thread of its own, and commits what it has read.

    kafka-python 3.0 throws away a join that ends while nobody polls, and joins again.
    """

    def __init__(self, client: Client, topic: str, **config: Any) -> None:
        self.consumer = client.consumer(
            group_id=client.group,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=300,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **config,
        )
        self.consumer.subscribe([topic], listener=self)
        # It would join before it knows the partitions, and once more when it does; and if a poll
        # ends within that second join, it would never take its partitions (kafka-python 3.0).
        wait_for(
            lambda: self.consumer.partitions_for_topic(topic),
            seconds=SECONDS,
            what=f"all of {topic}",
        )
        self.read: list[bytes] = []
        self.given_up: list[set[Any]] = []
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._polls: Future[None] = self._pool.submit(self._poll)
        client.stack.callback(self.close)

    def _poll(self) -> None:
        while not self._over.is_set():
            for records in self.consumer.poll(timeout_ms=500).values():
                self.read += [record.value for record in records]
                self.consumer.commit()

    def on_partitions_revoked(self, revoked: set[Any]) -> None:
        if revoked:
            self.given_up.append(set(revoked))

    def on_partitions_assigned(self, assigned: set[Any]) -> None:
        pass

    @property
    def owned(self) -> set[Any]:
        return set(self.consumer.assignment())

    @property
    def generation(self) -> int:
        """The group's, or -1 while this member is not settled in it."""
        metadata = self.consumer.group_metadata()
        return int(metadata.generation_id) if metadata.state == MemberState.STABLE else -1

    def close(self) -> None:
        """A dynamic member leaves the group, a static one just goes."""
        self._over.set()
        self._pool.shutdown()
        self.consumer.close(autocommit=False)
        self._polls.result()


def share(*members: Member) -> None:
    """Wait until all have equally many partitions in one generation."""

    def even() -> bool:
        owned = [member.owned for member in members]
        generations = {member.generation for member in members}
        return (
            len(generations) == 1
            and -1 not in generations
            and len(set().union(*owned)) == PARTITIONS
            and {len(partitions) for partitions in owned} == {PARTITIONS // len(members)}
        )

    wait_for(even, seconds=SECONDS, what=f"{PARTITIONS} partitions shared by {len(members)}")


def write_and_read(client: Client, topic: str, *members: Member) -> None:
    """Write to each partition; whoever has it reads it, once."""
    for member in members:
        member.read.clear()
    producer = client.producer()
    values = [f"{topic} {time.monotonic()} {number}".encode() for number in range(PARTITIONS)]
    for number, value in enumerate(values):
        producer.send(topic, value, partition=number).get(timeout=SECONDS)

    def read() -> list[bytes]:
        return sorted(value for member in members for value in member.read)

    wait_for(lambda: len(read()) >= PARTITIONS, seconds=SECONDS, what="what was written")
    assert read() == sorted(values)


@pytest.mark.parametrize(
    ("assignor", "given_up"),
    [
        pytest.param(RangePartitionAssignor, PARTITIONS, id="eager"),
        pytest.param(CooperativeStickyAssignor, PARTITIONS // 2, id="cooperative"),
    ],
)
def test_partitions_follow_the_members(client: Client, assignor: type, given_up: int) -> None:
    """An eager rebalance takes everything from everybody, a cooperative one what moves."""
    topic = client.topic(PARTITIONS)
    first = Member(client, topic, partition_assignment_strategy=[assignor])
    share(first)
    write_and_read(client, topic, first)

    second = Member(client, topic, partition_assignment_strategy=[assignor])
    share(first, second)
    assert max(map(len, first.given_up)) == given_up, first.given_up
    assert second.owned <= set().union(*first.given_up)
    write_and_read(client, topic, first, second)

    second.close()
    share(first)
    write_and_read(client, topic, first)


def static(client: Client, *names: str) -> list[dict[str, str]]:
    """The identities of static members, who are removed after the test: they do not leave."""
    members = [MemberToRemove(group_instance_id=name) for name in names]
    client.stack.callback(client.admin.remove_group_members, client.group, members)
    return [{"group_instance_id": name} for name in names]


@pytest.mark.parametrize("is_static", [False, True], ids=["dynamic", "static"])
def test_a_member_restarts(client: Client, is_static: bool) -> None:
    """A dynamic member costs two rebalances, a static one within its session none (KIP-345)."""
    topic = client.topic(PARTITIONS)
    identities: list[dict[str, str]] = static(client, "a", "b") if is_static else [{}, {}]
    first, second = (Member(client, topic, **identity) for identity in identities)
    share(first, second)
    before, owned = second.generation, first.owned
    second.given_up.clear()

    first.close()
    if not is_static:
        share(second)
    again = Member(client, topic, **identities[0])
    share(again, second)
    rebalanced = second.generation > before
    assert rebalanced == bool(second.given_up)
    assert rebalanced != is_static
    if is_static:
        assert again.owned == owned


def test_a_static_member_that_stays_away_is_replaced(client: Client) -> None:
    topic = client.topic(PARTITIONS)
    first, second = (Member(client, topic, **identity) for identity in static(client, "a", "b"))
    share(first, second)
    first.close()
    closed = time.monotonic()
    share(second)
    assert time.monotonic() - closed > SESSION_MS / 2000
    write_and_read(client, topic, second)
