"""The clients of a ledger, and its topic: the only module that imports kafka-python.

Settings are the client library's defaults, which a user has too, except where a line below says
why not; `settings` go over both.
"""

from __future__ import annotations

import logging
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
        KafkaTimeoutError,
        MessageSizeTooLargeError,
        RecordListTooLargeError,
    )
    from kafka.net.compat import (  # type: ignore[import-untyped]  # kafka-python ships no types
        KafkaNetClient,
    )
    from kafka.record import (  # type: ignore[import-untyped]  # kafka-python ships no types
        MemoryRecords,
    )
    from kafka.structs import (  # type: ignore[import-untyped]  # kafka-python ships no types
        OffsetAndMetadata,
    )

__all__ = [
    "ANSWER_SECONDS",
    "REFUSED",
    "Clients",
    "CorruptRecordError",
    "Isolation",
    "KafkaError",
    "MemoryRecords",
    "OffsetAndMetadata",
    "SetupError",
    "TopicPartition",
    "Transactional",
    "close_now",
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
ANSWER_SECONDS = 60
"""How long one step of a transaction may take; the broker's own limit is the same by default."""
CLOSE_SECONDS = 5.0
Isolation = Literal["read_committed", "read_uncommitted"]
LOG = logging.getLogger(__name__)


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

    def producer(self, **more: object) -> Any:  # noqa: ANN401  kafka-python has no types
        """Return an idempotent producer that sends at once and gives up late."""
        return self._client(
            KafkaProducer,
            **more,
            enable_idempotence=True,
            acks="all",
            max_in_flight_requests_per_connection=5,
            linger_ms=0,
            retry_backoff_ms=20,  # how soon it asks again who leads a partition
            delivery_timeout_ms=DELIVERY_MS,
            allow_auto_create_topics=False,
            metrics_enabled=False,
        )

    def transactional(self, name: str) -> Transactional:
        """Return a producer of transactions; it fences those of its name and ends what they began.

        Raises:
            KafkaError: the cluster does not do it in time.

        """
        return Transactional(self.producer(transactional_id=name))

    def consumer(self, group: str | None = None, isolation: Isolation = "read_uncommitted") -> Any:  # noqa: ANN401  as above
        """Return a consumer from the beginning that never commits by itself.

        It is told when an offset is gone instead of jumping. It fetches in large steps, for the
        load's sake: its latency measures nothing.
        """
        return self._client(
            KafkaConsumer,
            group_id=group,
            isolation_level=isolation,
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
        return kind(**{"kafka_client": begins_again, **ours, **theirs})


def begins_again(**config: object) -> Any:  # noqa: ANN401  as above
    """Return a client that goes back to its first addresses when it reaches no broker (KIP-899).

    kafka-python asks only those of the last answer: when these end before it hears of others, it
    asks them for ever.
    """
    client = KafkaNetClient(**config)
    manager = client._manager
    known = manager.least_loaded_node

    def least_loaded_node() -> int | str | None:
        first = [one.node_id for one in manager.cluster.bootstrap_brokers()]
        ready = [one for one in first if manager.connection_delay(one) <= 0]
        found: int | str | None = known()
        return random.choice(ready) if found is None and ready else found  # noqa: S311 - no secret

    manager.least_loaded_node = least_loaded_node
    return client


class Transactional:
    """A producer of transactions whose waits end.

    The client's own methods wait for ever when its thread fails in the wrong place, so the waits
    are done here. It speaks the protocol before KIP-890, whatever transaction.version is.
    """

    def __init__(self, producer: Any) -> None:  # noqa: ANN401  as above
        """Take over a new producer."""
        self._producer = producer
        try:
            producer.init_transactions()
        except KafkaError:
            self.close()
            raise

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int) -> Any:  # noqa: ANN401  as above
        """Send a record in it, and return the future.

        Ask each before the commit: this client commits also what has lost a record to its delivery
        timeout (`Sender._dispatch_error` leaves the transaction as it was), and a commit may be
        told as done that an epoch bump has aborted (`TransactionManager.next_request_handler`).
        """
        return self._producer.send(topic, value, partition=partition)

    def add_offsets(self, offsets: Mapping[Any, Any], group: Any) -> None:  # noqa: ANN401  as above
        """Commit a group's offsets with it."""
        manager = self._producer._transaction_manager
        self._wait(manager.send_offsets_to_transaction(offsets, group))

    def commit(self) -> None:
        """Commit it; after an error nobody knows whether it is."""
        self._wait(self._producer._transaction_manager.begin_commit())

    def abort(self) -> None:
        """Abort it."""
        self._wait(self._producer._transaction_manager.begin_abort())

    def close(self) -> None:
        """Leave it as it is."""
        close_now(self._producer)

    def _wait(self, result: Any) -> None:  # noqa: ANN401  as above
        self._producer._sender.wakeup()
        if not result.wait(timeout_ms=ANSWER_SECONDS * 1000):
            message = f"the coordinator gave no answer for {ANSWER_SECONDS} s"
            raise KafkaTimeoutError(message)


def close_now(producer: Any) -> None:  # noqa: ANN401  as above
    """Close a producer without its answers: a plain close waits for some that never come."""
    sender = producer._sender
    sender.force_close()
    sender.join(CLOSE_SECONDS)
    try:
        producer.close(timeout=0)
    except KafkaError as error:
        LOG.warning("a producer did not close: %s", error)


def reason_of(error: Exception) -> str:
    """Return what an error says, with its name."""
    return str(error) if isinstance(error, KafkaError) else f"{type(error).__name__}: {error}"
