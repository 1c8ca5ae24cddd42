"""The producer: resuming sends what is missing, once, and refuses a log that it did not write."""

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from flights.kafka_log import NotGrantedError, Tail, granted
from flights.producer import BARRIER, LogMismatchError, main, missing, partition_of, publish
from flights.source import Message

ASSIGNED = [0, 1, 0, 0, 1, 2, 0]
EMPTY = Tail(0, None)


@pytest.mark.parametrize(
    ("log", "remaining"),
    [
        ({0: EMPTY, 1: EMPTY, 2: EMPTY}, [0, 1, 2, 3, 4, 5, 6]),
        ({0: Tail(2, 2), 1: EMPTY, 2: EMPTY}, [1, 3, 4, 5, 6]),
        ({0: Tail(4, 6), 1: Tail(1, 1), 2: EMPTY}, [4, 5]),
        ({0: Tail(4, 6), 1: Tail(2, 4), 2: Tail(1, 5)}, []),
    ],
)
def test_resume_sends_exactly_what_is_missing(log: dict[int, Tail], remaining: list[int]) -> None:
    assert missing(ASSIGNED, log) == remaining


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(Tail(2, 3), id="a record is missing before the last"),
        pytest.param(Tail(3, 2), id="a record is there twice"),
        pytest.param(Tail(5, 6), id="more records than the stream has"),
        pytest.param(Tail(1, 1), id="a record of another partition"),
    ],
)
def test_resume_refuses_a_foreign_log(tail: Tail) -> None:
    with pytest.raises(LogMismatchError, match="partition 0 holds"):
        missing(ASSIGNED, {0: tail, 1: EMPTY, 2: EMPTY})


def test_interrupted_anywhere_the_log_ends_up_complete() -> None:
    for cut in range(len(ASSIGNED) + 1):
        log = dict.fromkeys(range(3), EMPTY)
        for seq, partition in enumerate(ASSIGNED[:cut]):
            log[partition] = Tail(log[partition].end + 1, seq)
        assert missing(ASSIGNED, log) == list(range(cut, len(ASSIGNED)))


def test_partition_is_the_java_clients() -> None:
    """Values of org.apache.kafka.clients.producer.internals.BuiltInPartitioner's tests' hash."""
    assert partition_of(b"21", 2**31) == -973932308 & 0x7FFFFFFF
    assert partition_of(b"foobar", 2**31) == -790332482 & 0x7FFFFFFF


class FakePublisher:
    """Fails at the barrier after the record `failing`."""

    def __init__(self, failing: int | None = None) -> None:
        self.log: list[tuple[int, int] | str] = []
        self.failing = failing

    def send(self, message: Message, partition: int) -> None:
        self.log.append((message.seq, partition))

    def barrier(self) -> None:
        self.log.append("barrier")
        if any(entry[0] == self.failing for entry in self.log):
            raise errors.KafkaError


def stream_of(count: int) -> list[Message]:
    return [Message(seq, b"k", b"v") for seq in range(count)]


def test_publish_sends_in_order_and_ends_with_a_barrier() -> None:
    publisher = FakePublisher()
    publish(publisher, stream_of(len(ASSIGNED)), ASSIGNED, [1, 4, 6])
    assert publisher.log == [(1, 1), (4, 1), (6, 0), "barrier"]


def test_publish_stops_at_the_first_barrier_that_fails() -> None:
    count = 3 * BARRIER
    publisher = FakePublisher(failing=BARRIER + 1)
    with pytest.raises(errors.KafkaError):
        publish(publisher, stream_of(count), [0] * count, range(count))
    assert len(publisher.log) == 2 * BARRIER + 2


def test_client_properties_that_lead_nowhere_end_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=PLAINTEXT\n")
    assert main(["--client-config", str(path), "--topics-only"]) == 1
    assert "bootstrap.servers needs host:port entries" in caplog.text


@pytest.mark.parametrize(
    "denied",
    [
        errors.TopicAuthorizationFailedError({"flights"}),
        # As kafka-python ends an idempotent producer that may write nowhere.
        errors.KafkaError("InitProducerIdResponse: [Error 31] ClusterAuthorizationFailedError"),
    ],
)
def test_a_missing_grant_is_named(denied: errors.KafkaError) -> None:
    with pytest.raises(NotGrantedError, match=r"write .*flights"), granted("write", "flights"):
        raise denied


def test_other_errors_are_no_missing_grant() -> None:
    with pytest.raises(errors.KafkaTimeoutError), granted("write", "flights"):
        raise errors.KafkaTimeoutError
