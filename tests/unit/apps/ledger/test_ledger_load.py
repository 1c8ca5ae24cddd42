"""The ledger's load and readers, with a cluster in memory in place of Kafka."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import Future, errors

from apps.ledger import run as running
from apps.ledger.__main__ import main
from apps.ledger.clients import Clients, SetupError
from apps.ledger.history import Read, Run
from apps.ledger.journal import Journal, load
from apps.ledger.load import Answer, Load, Planned, Session
from tests.support.wait import wait_for
from tests.unit.apps.ledger.ledger_segments import segment

Fate = Callable[[int], Exception | None]
RUN = Run("r", "t", 2, 400, 0.0, 0.0)
SECONDS = 60
"""For what takes a second on a machine that does nothing else."""


def producer_of(send: Callable[..., Any]) -> Any:
    """A producer that sends with a function, and closes at once."""
    sender = SimpleNamespace(force_close=lambda: None, join=lambda _: None)
    return SimpleNamespace(send=send, close=lambda timeout: None, _sender=sender)


class Cluster:
    """Stands for `Clients`: logs in memory, and the fate of each send."""

    delivery_seconds = 600.0

    def __init__(self, fate: Fate = lambda _: None, folder: Path | None = None) -> None:
        self.logs: defaultdict[int, list[bytes]] = defaultdict(list)
        self.fate = fate
        self.folder = folder
        self.sent = 0
        self.producers = 0
        self.unknown: list[str] = []
        self.topics: set[str] = set()
        self.broken: str | None = None

    def producer(self) -> Any:
        self.producers += 1
        return producer_of(self.send)

    def send(self, topic: str, value: bytes, partition: int) -> Any:
        self.sent += 1
        if self.folder:
            _, session, *place = value.decode().split("/")
            text = (self.folder / "producer.jsonl").read_text()
            # What follows the last line break is being written meanwhile.
            lines = [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
            if [int(number) for number in place] not in [
                row
                for line in lines
                if "invoke" in line and line["session"] == session
                for row in line["invoke"]
            ]:
                self.unknown.append(value.decode())
        future = Future()
        if error := self.fate(self.sent):
            return future.failure(error)
        log = self.logs[partition]
        log.append(value)
        return future.success(SimpleNamespace(offset=len(log) - 1))

    def consumer(self, group: str | None = None, isolation: str = "read_uncommitted") -> Any:
        return Consumer(self)

    def create_topic(self, topic: str, **_: Any) -> int:
        self.topics.add(topic)
        return 2

    def delete_topic(self, topic: str) -> None:
        self.topics.remove(topic)


class Consumer:
    """As much of a consumer as the readers use; one that joins a group gets all partitions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._next = {0: 0, 1: 0}
        self._committed: dict[Any, int] = {}

    def assign(self, partitions: Any) -> None:
        pass

    subscribe = assign

    def seek(self, partition: Any, offset: int) -> None:
        self._next[partition.partition] = offset

    def seek_to_beginning(self, *partitions: Any) -> None:
        self._next = {place.partition: 0 for place in partitions}

    def poll(self, timeout_ms: int) -> dict[int, list[Any]]:
        time.sleep(0.01)
        polled = {}
        for number, start in self._next.items():
            log = self._cluster.logs[number][start : start + 50]
            self._next[number] += len(log)
            polled[number] = [
                SimpleNamespace(partition=number, offset=start + i, value=value)
                for i, value in enumerate(log)
            ]
        return polled

    def beginning_offsets(self, partitions: Any, timeout_ms: int) -> dict[Any, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: Any, timeout_ms: int) -> dict[Any, int]:
        return {place: len(self._cluster.logs[place.partition]) for place in partitions}

    def commit(self, offsets: Any, timeout_ms: int) -> None:
        if self._cluster.broken == "commit":
            raise errors.KafkaTimeoutError
        self._committed.update({place: offset.offset for place, offset in offsets.items()})

    def committed(self, place: Any, timeout_ms: int) -> int | None:
        return self._committed.get(place)

    def close(self, **_: Any) -> None:
        pass


def produced(cluster: Cluster, folder: Path, records: int = 200) -> Any:
    """A load that has ended after so many records."""
    load_ = Load(cluster, RUN, Journal(folder / "producer.jsonl", RUN.__dict__))  # type: ignore[arg-type]  # a stand-in
    load_.start()
    wait_for(lambda: load_.invoked >= records, seconds=SECONDS, what=f"{records} records")
    load_.stop(SECONDS)
    return load_


# Sessions


def session_of(send: Callable[..., Any]) -> tuple[Session, deque[Answer]]:
    answers: deque[Answer] = deque()
    return Session("p1", producer_of(send), RUN, answers), answers


RECORD = Planned("p1", 0, 7)


@pytest.mark.parametrize(
    ("error", "at_once", "outcome"),
    [
        (errors.MessageSizeTooLargeError("1 of 0 bytes"), True, "fail"),
        (errors.TopicAuthorizationFailedError("t"), True, "fail"),
        (errors.KafkaTimeoutError("expired"), True, "info"),
        # The fatal error of another batch ends this one too, and this one may be in the log.
        (errors.TopicAuthorizationFailedError("t"), False, "info"),
        (errors.KafkaTimeoutError("expired"), False, "info"),
    ],
)
def test_only_what_never_left_counts_as_refused(
    error: Exception, at_once: bool, outcome: str
) -> None:
    future = Future()
    session, answers = session_of(lambda *_, **__: future)
    if at_once:
        future.failure(error)
    session.send(RECORD)
    if not at_once:
        assert session.pending() == 1
        future.failure(error)
    (result,) = answers
    assert (result.outcome, result.record, session.pending()) == (outcome, RECORD, 0)
    assert session.trouble


def test_what_the_client_itself_refuses_was_never_sent() -> None:
    def send(*_: Any, **__: Any) -> Any:
        raise errors.MessageSizeTooLargeError("1 of 0 bytes")  # noqa: TRY003 - as the client

    session, answers = session_of(send)
    session.send(RECORD)
    assert [result.outcome for result in answers] == ["fail"]


def test_a_record_gets_one_answer() -> None:
    """Also when the broker answers after the session was given up."""
    future = Future()
    session, answers = session_of(lambda *_, **__: future)
    session.send(RECORD)
    session.close("given up")
    future.success(SimpleNamespace(offset=3))
    assert [(result.outcome, result.detail) for result in answers] == [("info", "given up")]
    assert session.last_ack is None


# The load


def test_each_send_is_on_disk_before_it_happens(tmp_path: Path) -> None:
    cluster = Cluster(folder=tmp_path)
    load_ = produced(cluster, tmp_path)
    assert not cluster.unknown
    history = load(tmp_path)
    assert len(history.sends) == load_.invoked == load_.counts["ok"] == cluster.sent
    assert {send.outcome for send in history.sends} == {"ok"}
    assert [send.value.encode() for send in history.sends if send.partition == 1] == cluster.logs[1]


def test_the_load_keeps_its_rate_on_every_partition(tmp_path: Path) -> None:
    cluster = Cluster()
    produced(cluster, tmp_path, records=600)
    history = load(tmp_path)
    assert history.started is not None
    assert history.stopped is not None
    expected = (history.stopped - history.started) * RUN.rate
    assert len(history.sends) == pytest.approx(expected, rel=0.2)
    assert abs(len(cluster.logs[0]) - len(cluster.logs[1])) <= 2


def test_the_first_error_opens_a_new_session(tmp_path: Path) -> None:
    cluster = Cluster(lambda number: errors.KafkaTimeoutError("expired") if number == 100 else None)
    load_ = produced(cluster, tmp_path)
    assert cluster.producers == 2
    assert load_.troubles == ["KafkaTimeoutError: expired"]
    history = load(tmp_path)
    assert list(history.troubles) == load_.troubles
    assert {send.producer for send in history.sends} == {"p1", "p2"}
    assert [send.outcome for send in history.sends].count("info") == 1
    # What was planned for the first session is not sent by the second.
    assert len(history.sends) == cluster.sent


def test_a_load_without_a_disk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    journal = Journal(tmp_path / "producer.jsonl", RUN.__dict__)
    journal.close()
    load_ = Load(Cluster(), RUN, journal)  # type: ignore[arg-type]  # a stand-in
    load_.start()
    wait_for(lambda: not load_.alive(), seconds=SECONDS, what="the end of the load")
    load_.stop(0.1)


# A complete run


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(running, "Clients", lambda *_: cluster)
    return cluster


def options(folder: Path, **overrides: Any) -> running.Options:
    settings = {"rate": 400, "expect_changes": False, "max_seconds": SECONDS, **overrides}
    return running.Options(Connection(("h:1",)), folder, **settings)


def ended(ledger: running.Ledger, cluster: Cluster, end: Callable[[], object] | None = None) -> int:
    """Run a ledger, end it after 200 records, as it is asked to by default; its exit code."""
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(ledger.run)
        wait_for(lambda: cluster.sent >= 200, seconds=SECONDS, what="200 records")
        (end or ledger.end)()
        return code.result()


def report(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return document


def test_a_run_judges_itself_and_cleans_up(tmp_path: Path, cluster: Cluster) -> None:
    assert running.Ledger(options(tmp_path, max_seconds=1.2)).run() == 0
    document = report(tmp_path)
    assert (document["verdict"], document["violations"]) == ("PASS", [])
    counts = document["counts"]
    assert counts["acked"] == cluster.sent == counts["read_by_consumer-group"]
    assert counts["read_by_final-2"] == cluster.sent
    assert not cluster.topics
    last = json.loads((tmp_path / "status.json").read_text())
    assert (last["state"], last["verdict"], last["acked"]) == ("done", "PASS", cluster.sent)
    assert "seconds are over" in last["reason"]
    with pytest.raises(SetupError, match="holds a ledger already"):
        running.Ledger(options(tmp_path))


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda ledger, folder: (folder / "stop").touch(), "asked to stop"),
        (lambda ledger, folder: ledger.end(), "signal"),
    ],
)
def test_a_run_ends_when_asked(
    tmp_path: Path, cluster: Cluster, end: Callable[[Any, Path], None], reason: str
) -> None:
    ledger = running.Ledger(options(tmp_path))
    assert ended(ledger, cluster, lambda: end(ledger, tmp_path)) == 0
    assert json.loads((tmp_path / "status.json").read_text())["reason"] == reason


def test_a_run_ends_with_the_process_that_it_watches(tmp_path: Path, cluster: Cluster) -> None:
    running.Ledger(options(tmp_path, watch_pid=2**22 + 1)).run()
    last = json.loads((tmp_path / "status.json").read_text())
    assert last["reason"] == "process 4194305 is gone"
    assert not cluster.topics


def test_a_loss_fails_the_run(tmp_path: Path, cluster: Cluster) -> None:
    """One record vanishes from the cluster before the run ends: offsets behind it move up."""
    ledger = running.Ledger(options(tmp_path))

    def lose_one() -> None:
        cluster.logs[0].pop(20)
        ledger.end()

    assert ended(ledger, cluster, lose_one) == 1
    lost = [
        violation["records"]
        for violation in report(tmp_path)["violations"]
        if violation["invariant"] == "I1"
    ]
    assert lost == [[f"{load(tmp_path).run.id}/p1/0/20"]]


def test_a_kept_topic_can_be_compared_with_the_disks(
    tmp_path: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(running.Ledger(options(tmp_path, keep_topic=True)), cluster) == 0
    (topic,) = cluster.topics
    assert json.loads((tmp_path / "status.json").read_text())["topic"] == topic
    for partition, log in cluster.logs.items():
        reads = [Read(partition, offset, value.decode()) for offset, value in enumerate(log)]
        for name in ("k1", "k2"):
            folder = tmp_path / "replicas" / name / f"{topic}-{partition}"
            folder.mkdir(parents=True)
            (folder / "00000000000000000000.log").write_bytes(segment(reads))
    check = ["check", str(tmp_path), "--no-expect-changes"]
    assert main(check) == 0
    assert "compared with the disks of 2 replicas, 4 copies" in capsys.readouterr().out
    (folder / "00000000000000000000.log").write_bytes(segment(reads[:-1]))
    assert main(check) == 1
    assert "I7 (stable log) violated once" in capsys.readouterr().out


def test_a_group_that_cannot_commit_proves_nothing(tmp_path: Path, cluster: Cluster) -> None:
    cluster.broken = "commit"
    assert ended(running.Ledger(options(tmp_path)), cluster) == 2
    (reason,) = report(tmp_path)["reasons"]
    assert "committed" in reason


def test_a_cluster_that_does_not_answer_fails_the_run(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise errors.KafkaTimeoutError("no broker")  # noqa: TRY003 - as the client

    monkeypatch.setattr(cluster, "create_topic", refuse)
    assert running.Ledger(options(tmp_path)).run() == 2
    last = json.loads((tmp_path / "status.json").read_text())
    assert (last["state"], last["reason"]) == ("failed", "KafkaTimeoutError: no broker")


def test_a_run_that_cannot_begin_leaves_no_topic(tmp_path: Path, cluster: Cluster) -> None:
    """A file that a run begins is there already."""
    (tmp_path / "consumer-assign.jsonl").touch()
    assert running.Ledger(options(tmp_path)).run() == 2
    assert "consumer-assign" in json.loads((tmp_path / "status.json").read_text())["reason"]
    assert not cluster.topics


@pytest.mark.parametrize(
    ("properties", "seconds"), [({}, 600), ({"delivery.timeout.ms": "30000"}, 30)]
)
def test_a_record_may_take_as_long_as_the_client_properties_allow(
    properties: dict[str, str], seconds: float
) -> None:
    assert Clients(Connection(("h:1",), properties)).delivery_seconds == seconds


def test_a_timeout_that_is_no_number_is_refused() -> None:
    with pytest.raises(SetupError, match=r"request\.timeout\.ms is '5s'"):
        Clients(Connection(("h:1",), {"request.timeout.ms": "5s"}))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "cannot be read"),
        ("security.protocol=SSL\n", "bootstrap.servers needs host:port entries"),
        ("bootstrap.servers=h:1\ndelivery.timeout.ms=soon\n", "delivery.timeout.ms is 'soon'"),
    ],
)
def test_client_properties_that_lead_nowhere_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, error: str
) -> None:
    path = tmp_path / "client.properties"
    if text:
        path.write_text(text)
    assert main(["run", "--client-config", str(path), "--dir", str(tmp_path / "run")]) == 2
    assert error in capsys.readouterr().err
