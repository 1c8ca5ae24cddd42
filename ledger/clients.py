"""The clients of a ledger, and its topic: the only module that imports kafka-python.

Settings are the client library's defaults, which a user has too, except where a line below says
why not; `settings` go over both.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

with warnings.catch_warnings():
    # kafka-python reads its schemas with functions that Python 3.11 deprecates.
    warnings.filterwarnings("ignore", "(read|open)_text is deprecated", DeprecationWarning)
    from kafka import (  # type: ignore[import-untyped]  # kafka-python ships no types
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        TopicPartition,
    )
    from kafka.errors import (  # type: ignore[import-untyped]  # kafka-python ships no types
        AuthorizationError,
        CorruptRecordError,
        InvalidRecordError,
        InvalidTopicError,
        KafkaError,
        MessageSizeTooLargeError,
        RecordListTooLargeError,
    )
    from kafka.record import (  # type: ignore[import-untyped]  # kafka-python ships no types
        MemoryRecords,
    )
    from kafka.structs import (  # type: ignore[import-untyped]  # kafka-python ships no types
        OffsetAndMetadata,
    )

__all__ = [
    "REFUSED",
    "Clients",
    "CorruptRecordError",
    "KafkaError",
    "MemoryRecords",
    "OffsetAndMetadata",
    "SetupError",
    "TopicPartition",
    "reason_of",
]

REFUSED: tuple[type[Exception], ...] = (
    AuthorizationError,
    InvalidRecordError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    ValueError,
)
"""What refuses a record for what it is; a timeout or a lost connection never does."""
DELIVERY_MS = 600_000
# Java's default; kafka-python waits up to 30 s before it tries a restarted broker again.
RECONNECT_MS = 1_000


class SetupError(Exception):
    """The cluster cannot hold the ledger's topic; the text says why."""


class Clients:
    """Makes clients of one cluster; each takes those of the settings that it knows."""

    def __init__(self, bootstrap: Sequence[str], settings: Mapping[str, Any]) -> None:
        """Remember where the cluster is and how to talk to it.

        Raises:
            SetupError: a setting is one of no client.

        """
        known = {
            key
            for client in (KafkaProducer, KafkaConsumer, KafkaAdminClient)
            for key in client.DEFAULT_CONFIG
        }
        if foreign := sorted(set(settings) - known):
            message = f"kafka-python has no setting {', '.join(foreign)}"
            raise SetupError(message)
        self._settings = {
            "bootstrap_servers": list(bootstrap),
            "reconnect_backoff_max_ms": RECONNECT_MS,
            **settings,
        }
        self.delivery_seconds = settings.get("delivery_timeout_ms", DELIVERY_MS) / 1000

    def producer(self) -> Any:  # noqa: ANN401  kafka-python has no types
        """Return an idempotent producer that sends at once and gives up late."""
        return self._client(
            KafkaProducer,
            enable_idempotence=True,
            acks="all",
            max_in_flight_requests_per_connection=5,
            linger_ms=0,
            retry_backoff_ms=20,  # how soon it asks again who leads a partition
            delivery_timeout_ms=DELIVERY_MS,
            allow_auto_create_topics=False,
            metrics_enabled=False,
        )

    def consumer(self, group: str | None = None) -> Any:  # noqa: ANN401  as above
        """Return a consumer from the beginning that never commits by itself.

        It is told when an offset is gone instead of jumping. It fetches in large steps, for the
        load's sake: its latency measures nothing.
        """
        return self._client(
            KafkaConsumer,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none" if group is None else "earliest",
            allow_auto_create_topics=False,
            fetch_min_bytes=65_536,
            fetch_max_wait_ms=500,
            max_poll_records=2_000,
            metrics_enabled=False,
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
        admin = self._client(KafkaAdminClient)
        try:
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
        finally:
            admin.close()

    def delete_topic(self, topic: str, group: str) -> None:
        """Delete the topic and its group.

        Raises:
            KafkaError: the cluster does not do it.

        """
        admin = self._client(KafkaAdminClient)
        try:
            admin.delete_topics([topic])
            admin.delete_groups([group])
        finally:
            admin.close()

    def _client(self, kind: Any, **ours: object) -> Any:  # noqa: ANN401  as above
        theirs = {key: x for key, x in self._settings.items() if key in kind.DEFAULT_CONFIG}
        return kind(**{**ours, **theirs})


def reason_of(error: Exception) -> str:
    """Return what an error says, with its name."""
    return str(error) if isinstance(error, KafkaError) else f"{type(error).__name__}: {error}"
