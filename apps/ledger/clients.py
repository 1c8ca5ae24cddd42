"""The ledger's clients and its topic.

Settings are the client library's defaults, which a user has too, except where a line below says
why not.
"""

from __future__ import annotations

from typing import Any, Literal

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import (
    TransactionalProducer,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

REFUSED: tuple[type[Exception], ...] = (
    errors.AuthorizationError,
    errors.InvalidRecordError,
    errors.InvalidTopicError,
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    ValueError,
)
"""What refuses a record for what it is; a timeout or a lost connection never does."""
DELIVERY_MS = 600_000
Isolation = Literal["read_committed", "read_uncommitted"]


class SetupError(Exception):
    """The run cannot begin; the text says why."""


class Clients:
    """Makes clients of one cluster.

    Of its client properties `request.timeout.ms` and `delivery.timeout.ms` count beside those of
    the connection itself.
    """

    def __init__(self, connection: Connection) -> None:
        """Remember where the cluster is and how to connect to it.

        Raises:
            SetupError: a timeout is no number.

        """
        self._connection = connection
        request = _milliseconds(connection, "request.timeout.ms")
        self._timeouts = {"request_timeout_ms": request} if request else {}
        self._delivery_ms = _milliseconds(connection, "delivery.timeout.ms") or DELIVERY_MS

    @property
    def delivery_seconds(self) -> float:
        """How long a producer tries to deliver a record."""
        return self._delivery_ms / 1000

    def producer(self, **settings: object) -> Any:
        """Return an idempotent producer that sends at once and gives up late."""
        return clients.producer(
            self._connection,
            enable_idempotence=True,
            acks="all",
            max_in_flight_requests_per_connection=5,
            linger_ms=0,
            retry_backoff_ms=20,  # how soon it asks again who leads a partition
            delivery_timeout_ms=self._delivery_ms,
            allow_auto_create_topics=False,
            metrics_enabled=False,
            **{**self._timeouts, **settings},
        )

    def transactional(self, name: str) -> TransactionalProducer:
        """Return a producer of transactions; it fences those of its name and ends what they began.

        Raises:
            KafkaError: the cluster does not do it in time.

        """
        return TransactionalProducer(self.producer(transactional_id=name))

    def consumer(self, group: str | None = None, isolation: Isolation = "read_uncommitted") -> Any:
        """Return a consumer from the beginning that never commits by itself.

        It raises an error when an offset is gone instead of jumping. It fetches in large steps, for
        the load's sake: its latency measures nothing.
        """
        return clients.consumer(
            self._connection,
            group_id=group,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="none" if group is None else "earliest",
            allow_auto_create_topics=False,
            fetch_min_bytes=65_536,
            fetch_max_wait_ms=500,
            max_poll_records=2_000,
            metrics_enabled=False,
            **self._timeouts,
        )

    def create_topic(
        self, topic: str, *, partitions: int | None, replication: int, min_isr: int
    ) -> int:
        """Create a topic that keeps all its records, and return its number of partitions.

        Without `partitions` it gets one for each broker.

        Raises:
            SetupError: it exists, or there are too few brokers.
            KafkaError: the cluster does not do it.

        """
        with clients.admin(self._connection, **self._timeouts) as admin:
            brokers = len(admin.describe_cluster()["brokers"])
            if brokers < replication:
                message = f"replication factor {replication} needs as many brokers, not {brokers}"
                raise SetupError(message)
            if topic in admin.list_topics():
                message = f"topic {topic} exists: a ledger needs one of its own"
                raise SetupError(message)
            count = partitions or brokers
            plan = {
                "num_partitions": count,
                "replication_factor": replication,
                "configs": {
                    "min.insync.replicas": str(min_isr),
                    "unclean.leader.election.enable": "false",
                    "cleanup.policy": "delete",
                    "retention.ms": "-1",
                    "retention.bytes": "-1",
                },
            }
            admin.create_topics({topic: plan}, wait_for_metadata=True)
            return count

    def delete_topic(self, topic: str) -> None:
        """Delete the topic and the group of the same name.

        Raises:
            KafkaError: the cluster does not do it.

        """
        with clients.admin(self._connection, **self._timeouts) as admin:
            admin.delete_topics([topic])
            admin.delete_groups([topic])


def reason_of(error: Exception) -> str:
    """Return what an error says, with its name."""
    named = isinstance(error, errors.KafkaError)
    return str(error) if named else f"{type(error).__name__}: {error}"


def _milliseconds(connection: Connection, key: str) -> int | None:
    written = connection.properties.get(key)
    if written is None:
        return None
    if not written.isdecimal():
        message = f"{key} is {written!r}: it has to be a number of milliseconds"
        raise SetupError(message)
    return int(written)
