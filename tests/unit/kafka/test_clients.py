"""What the adapter's clients do that kafka-python does not, and why they still have to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.clients import (
    TransactionalProducer,
    close_now,
    pinned,
    read_to_ends,
    rebootstrapping,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

BOOTSTRAP = [SimpleNamespace(node_id="bootstrap-0"), SimpleNamespace(node_id="bootstrap-1")]
SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'ScramLoginModule required username="u" password="p";',
}


# Making clients


@pytest.mark.parametrize("kind", ["Producer", "Consumer", "AdminClient"])
def test_each_client_connects_as_its_connection_describes(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made: dict[str, Any] = {}
    monkeypatch.setattr(library, f"Kafka{kind}", lambda **settings: made.update(settings))
    make = {"Producer": clients.producer, "Consumer": clients.consumer}.get(kind, clients.admin)
    make(Connection(("a:1", "b:2"), SASL), request_timeout_ms=7, reconnect_backoff_max_ms=9)
    assert made.pop("kafka_client") is rebootstrapping
    assert made == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
        "request_timeout_ms": 7,
        "reconnect_backoff_max_ms": 9,
    }


@pytest.mark.parametrize("kind", ["Producer", "Consumer", "AdminClient"])
def test_kafka_python_knows_every_setting_of_a_connection(kind: str) -> None:
    stores = {f"ssl.{store}.type": "PEM" for store in ("truststore", "keystore")}
    stores |= {f"ssl.{store}.location": "/x" for store in ("truststore", "keystore")}
    options = {"ssl.key.password": "k", "ssl.endpoint.identification.algorithm": ""}
    settings = Connection(("a:1",), {**SASL, **stores, **options}).settings()
    assert len(settings) == 10
    defaults = getattr(library, f"Kafka{kind}").DEFAULT_CONFIG
    assert {*settings, "kafka_client", "reconnect_backoff_max_ms"} <= set(defaults)


def test_a_connection_that_describes_no_security_makes_no_client() -> None:
    with pytest.raises(ConnectionDescriptionError, match=r"sasl\.mechanism is not set"):
        clients.admin(Connection(("a:1",), {"security.protocol": "SASL_SSL"}))


# Network clients


def networked(
    monkeypatch: pytest.MonkeyPatch, least_loaded: int | None, waiting: frozenset[str] = frozenset()
) -> None:
    manager: Any = SimpleNamespace(
        least_loaded_node=lambda: least_loaded,
        cluster=SimpleNamespace(bootstrap_brokers=lambda: BOOTSTRAP),
        connection_delay=lambda node: 1.0 if node in waiting else 0.0,
        get_connection=lambda node: None,
    )
    monkeypatch.setattr(library, "KafkaNetClient", lambda **_: SimpleNamespace(_manager=manager))


def asked(client: Any) -> set[object]:
    return {client._manager.least_loaded_node() for _ in range(50)}


@pytest.mark.parametrize(
    ("least_loaded", "waiting", "expected"),
    [
        (3, set(), {3}),
        (None, set(), {"bootstrap-0", "bootstrap-1"}),
        (None, {"bootstrap-0"}, {"bootstrap-1"}),
        (None, {"bootstrap-0", "bootstrap-1"}, {None}),
    ],
)
def test_a_client_that_reaches_nobody_goes_back_to_its_bootstrap_addresses(
    monkeypatch: pytest.MonkeyPatch,
    least_loaded: int | None,
    waiting: set[str],
    expected: set[object],
) -> None:
    networked(monkeypatch, least_loaded, frozenset(waiting))
    assert asked(rebootstrapping()) == expected


def test_a_pinned_client_asks_no_other_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    networked(monkeypatch, 3)
    assert asked(pinned()) == {"bootstrap-0"}


# Reading


class Consumer:
    """Gives one record of each partition at a poll, up to `given` of each."""

    def __init__(self, ends: dict[str, int], most: int = 100) -> None:
        self.ends, self.given = ends, most
        self.next = dict.fromkeys(ends, 0)

    def assignment(self) -> set[str]:
        return set(self.ends)

    def end_offsets(self, partitions: list[str]) -> dict[str, int]:
        assert set(partitions) == set(self.ends)
        return dict(self.ends)

    def poll(self, timeout_ms: int) -> dict[str, list[str]]:
        polled = {}
        for partition, offset in self.next.items():
            if offset < min(self.given, self.ends[partition]):
                polled[partition] = [f"{partition}{offset}"]
                self.next[partition] += 1
        return polled

    def position(self, partition: str) -> int | None:
        return self.next[partition] or None


def test_everything_to_the_ends_is_read() -> None:
    consumer = Consumer({"a": 2, "b": 0, "c": 1})
    assert list(read_to_ends(consumer, time.monotonic() + 5)) == ["a0", "c0", "a1"]
    assert list(read_to_ends(Consumer({"a": 0}), 0.0)) == []


def test_what_is_not_read_in_time_is_named() -> None:
    records = read_to_ends(Consumer({"a": 2, "b": 1}, most=1), time.monotonic() + 0.05)
    assert [next(records), next(records)] == ["a0", "b0"]
    with pytest.raises(TimeoutError, match=r"not read to the end in time: a$"):
        next(records)


# Transactions


def manager() -> Any:
    transactions = library.TransactionManager(transactional_id="t", api_version=(4, 0))
    transactions.set_producer_id_and_epoch(library.ProducerIdAndEpoch(1, 0))
    transactions._current_state = library.TransactionState.READY
    return transactions


def producer(**methods: Any) -> Any:
    sender = SimpleNamespace(wakeup=lambda: None, force_close=lambda: None, join=lambda _: None)
    plain = {"init_transactions": lambda: None, "close": lambda timeout: None, "_sender": sender}
    return SimpleNamespace(**{**plain, **methods})


def transactional(
    transactions: Any, wakeup: Callable[[], None] = lambda: None
) -> TransactionalProducer:
    made = producer(
        _transaction_manager=transactions, begin_transaction=transactions.begin_transaction
    )
    made._sender.wakeup = wakeup
    return TransactionalProducer(made)


@pytest.mark.parametrize("step", ["commit", "abort"])
def test_a_step_without_an_answer_ends(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(clients, "ANSWER_SECONDS", 0.01)
    made = transactional(manager())
    made.begin()
    with pytest.raises(errors.KafkaTimeoutError, match="gave no answer"):
        getattr(made, step)()


def test_an_answered_step_returns() -> None:
    transactions = manager()
    made = transactional(
        transactions, lambda: transactions.next_request_handler(has_incomplete_batches=False)
    )
    made.begin()
    made.commit()
    assert transactions._test_is_ready()


def no_coordinator(**_: object) -> None:
    raise errors.KafkaTimeoutError("no coordinator")  # noqa: TRY003 - as the client


def test_a_producer_that_is_not_initialized_is_closed() -> None:
    closed: list[float] = []
    made = producer(init_transactions=no_coordinator, close=lambda timeout: closed.append(timeout))
    with pytest.raises(errors.KafkaTimeoutError):
        TransactionalProducer(made)
    assert closed == [0]


def test_a_producer_that_does_not_close_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    close_now(producer(close=no_coordinator))
    assert "did not close: KafkaTimeoutError: no coordinator" in caplog.text


# Why


def test_the_client_still_needs_a_new_producer_after_an_expired_batch() -> None:
    """When this fails, kafka-python asks for a new producer id, and the ledger can do less."""
    transactions = library.TransactionManager(api_version=(4, 0))
    transactions.set_producer_id_and_epoch(library.ProducerIdAndEpoch(1, 0))
    transactions._current_state = library.TransactionState.READY
    transactions.reset_producer_id()
    transactions.init_producer_id()
    assert not transactions.has_producer_id()
    assert transactions.next_request_handler(has_incomplete_batches=True) is None


def test_the_client_still_commits_what_it_should_not() -> None:
    """When this fails, `TransactionalProducer.send` has less to warn of.

    An expired batch leaves its transaction as it was, and a commit that waits while the epoch is
    bumped, which aborts the transaction, is reported as done.
    """
    transactions = manager()
    expired = transactions.classify_batch_error(errors.KafkaTimeoutError("expired"), batch=None)
    assert expired == library.TransactionManager.ERROR_CLASS_RETRIABLE
    transactions.begin_transaction()
    transactions._transaction_started = True
    result = transactions.begin_commit()
    transactions.bump_producer_id_and_epoch()
    transactions.next_request_handler(has_incomplete_batches=True)
    transactions._complete_epoch_bump()
    with pytest.raises(errors.KafkaError, match="Invalid transition"):
        transactions.next_request_handler(has_incomplete_batches=False)
    assert result.succeeded


def test_the_client_still_speaks_the_transactions_of_before_kip_890() -> None:
    """When this fails, `ledger.verdict.CLAIM_ONCE` and decision 20 claim too little."""
    transactions = manager()
    transactions.begin_transaction()
    transactions.begin_commit()
    (_, _, handler), *_ = transactions._pending_requests
    assert handler.request._max_version == 3


def test_a_connection_whose_handshake_gets_no_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker takes connections and says nothing: the client does not wait for ever."""
    monkeypatch.setattr(clients, "SETUP_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(10)
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        secured = Connection((servers,), {"security.protocol": "SSL"})
        taken: list[socket.socket] = []

        def take() -> None:
            taken.extend(silent.accept()[0] for _ in range(2))

        server = threading.Thread(target=take)
        server.start()
        with pytest.raises(errors.KafkaError):
            clients.admin(secured, bootstrap_timeout_ms=3000)
        server.join()
        for connection in taken:
            connection.close()
    assert len(taken) == 2
