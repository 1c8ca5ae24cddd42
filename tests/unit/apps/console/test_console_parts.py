"""Parts of the console: sessions, attempts, hashes, the collector, how a record is shown."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
    errors,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.reassignments import LogDir
from ansible_collections.millrace.streaming.plugins.module_utils.operations import hot_spots
from ansible_collections.millrace.streaming.plugins.module_utils.operations.hot_spots import Sample

from apps.console import attempts, collector, passwords, readers, records, sessions
from apps.console.attempts import Attempts
from apps.console.collector import Collector
from apps.console.schemas import Schemas
from apps.console.sessions import Sessions
from apps.console.settings import Settings, SettingsError, read
from tests.unit.snapshot_draft import cluster

NO_JSON = ValueError("no JSON")
NO_REGISTRY = {"undecoded": "there is no schema registry"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


# Sessions


def test_a_session_ends_by_itself() -> None:
    clock = Clock()
    sessions = Sessions(100, 30, clock)
    used, idle = sessions.begin("anna"), sessions.begin("berta")
    for _ in range(4):
        clock.now += 20
        assert sessions.find(used)
    assert sessions.find(idle) is None
    clock.now += 21
    assert sessions.find(used) is None
    assert len(sessions) == 0


def test_sessions_are_bounded() -> None:
    open_sessions = Sessions(100, 100)
    tokens = [open_sessions.begin("anna") for _ in range(sessions.MOST_OF_USER + 1)]
    assert open_sessions.find(tokens[0]) is None
    assert open_sessions.find(tokens[-1])
    for number in range(sessions.MOST):
        open_sessions.begin(f"user {number}")
    assert len(open_sessions) == sessions.MOST
    assert open_sessions.find(tokens[-1]) is None


def test_a_token_is_not_in_memory() -> None:
    open_sessions = Sessions(100, 100)
    token = open_sessions.begin("anna")
    assert token not in repr(vars(open_sessions))
    open_sessions.end("another")
    assert open_sessions.find(token)
    open_sessions.end(token)
    assert open_sessions.find(token) is None


def test_a_session_of_kafka_is_checked_again_and_again() -> None:
    clock = Clock()
    open_sessions = Sessions(10_000, 10_000, clock)
    anna, operator = (
        open_sessions.find(open_sessions.begin("anna", "x")),
        open_sessions.find(open_sessions.begin("operator")),
    )
    assert anna
    assert operator
    for _ in range(2):
        assert not open_sessions.begin_check(anna)
        clock.now += sessions.CHECK_SECONDS
        assert open_sessions.begin_check(anna)
        assert not open_sessions.begin_check(operator), "Kafka does not know this user"


# Attempts


def fail(limiter: Attempts, address: str, times: int) -> None:
    for _ in range(times):
        assert limiter.begin(address)
        limiter.end(address, failed=True)


def test_a_network_has_a_few_attempts_in_a_while() -> None:
    clock = Clock()
    limiter = Attempts(clock)
    fail(limiter, "2001:db8::1", attempts.MOST_FAILED)
    assert not limiter.begin("2001:db8::2"), "of the same network"
    fail(limiter, "2001:db8:1::1", 1)
    fail(limiter, "10.0.0.1", attempts.MOST_FAILED - 1)
    assert limiter.begin("10.0.0.1")
    limiter.end("10.0.0.1", failed=False)
    clock.now += attempts.WINDOW_SECONDS
    fail(limiter, "2001:db8::1", 1)


def test_the_many_networks_of_a_site_have_a_limit_together() -> None:
    limiter, number = Attempts(), 0
    while number < 1000 and limiter.begin(f"2001:db8:1:{number:x}::1"):
        limiter.end(f"2001:db8:1:{number:x}::1", failed=True)
        number += 1
    assert attempts.MOST_FAILED < number < attempts.MOST_FAILED * 10
    assert limiter.begin("2001:db8:2::1"), "another site"


def test_an_address_of_ipv4_is_its_own_place_whatever_the_socket() -> None:
    assert attempts.network("::ffff:10.0.0.1") == attempts.network("10.0.0.1")
    assert attempts.network("::ffff:10.0.0.1") != attempts.network("::ffff:10.0.0.2")


def test_few_run_at_once_and_few_networks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = Attempts()
    for number in range(attempts.MOST_AT_ONCE):
        assert limiter.begin(f"10.0.0.{number}")
    assert not limiter.begin("10.0.1.1")
    limiter.end("10.0.0.1", failed=False)
    assert limiter.begin("10.0.1.1")
    monkeypatch.setattr(attempts, "MOST_NETWORKS", 3)
    limiter = Attempts()
    for number in range(9):
        fail(limiter, f"10.0.0.{number}", 1)
    assert len(limiter._failed) == 3


# Hashes


def test_a_hash_fits_its_password_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_N", 16)
    stored = passwords.hashed("pässword")
    assert "pässword" not in stored
    assert passwords.hashed("pässword") != stored
    assert passwords.matches("pässword", stored)
    assert not passwords.matches("password", stored)


@pytest.mark.parametrize(
    "stored",
    ["", "x", "scrypt:1:2", "scrypt:3:8:1:AA==:AA==", "scrypt:16384:8:1:?:AA==", "md5:1:1:1:A:A"],
)
def test_what_is_no_hash_fits_nothing(stored: str) -> None:
    assert not passwords.matches("", stored)


# Settings


@pytest.mark.parametrize(
    ("text", "named"),
    [("{", "cannot be read"), ("{}", "lacks a key"), ('{"colour": 1}', "colour"), ("[]", "keys")],
)
def test_settings_say_what_is_wrong(text: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "console.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=named):
        read(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        read(tmp_path / "none")


def test_settings_show_no_secret(tmp_path: Path) -> None:
    path, shown = tmp_path / "console.json", tmp_path / "page.html"
    shown.write_text("<!DOCTYPE html>")
    path.write_text(
        json.dumps(
            {
                "name": "n",
                "page": str(shown),
                "certificate": "c",
                "kafka": {"x": "secret"},
                "users": {"a": "secret"},
                "registry": {"login": "secret"},
            }
        )
    )
    assert "secret" not in repr(read(path))
    assert read(path).page == "<!DOCTYPE html>"
    shown.unlink()
    with pytest.raises(SettingsError, match="page"):
        read(path)


# The collector


def settings(**options: Any) -> Settings:
    return Settings("production", "", "", {}, **options)


def shown(service_reader: Collector) -> Any:
    return json.loads(gzip.decompress(service_reader.body()))


def test_a_service_that_fails_has_its_reason() -> None:
    def broken() -> dict[str, Any]:
        raise NO_JSON

    service_reader = Collector(settings(), {"kafka": lambda: cluster()["kafka"], "spark": broken})
    assert shown(service_reader)["kafka"] == {"error": "it is being read"}
    service_reader.read("kafka")
    service_reader.read("spark")
    assert shown(service_reader)["kafka"]["controller"] == 2
    assert shown(service_reader)["spark"] == {"error": "ValueError: no JSON"}


def test_a_service_that_hangs_is_not_shown_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    service_reader = Collector(settings(), {"kafka": lambda: cluster()["kafka"]})
    service_reader.read("kafka")
    clock = Clock()
    clock.now = service_reader._at["kafka"] + 61
    monkeypatch.setattr(collector, "time", SimpleNamespace(time=clock))
    assert shown(service_reader)["kafka"] == {"error": "no answer for 61 s"}


def test_sizes_are_compared_with_those_read_before(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = iter(
        Sample(at, {1: [LogDir("/d", sizes={("t", 0): size})]})
        for at, size in ((5, 100), (15, 300))
    )
    closed: list[int] = []
    cluster_of = SimpleNamespace(close=lambda: closed.append(1))
    monkeypatch.setattr(readers, "connection_of", lambda _: None)
    monkeypatch.setattr(readers, "Cluster", lambda *_, **__: cluster_of)
    monkeypatch.setattr(hot_spots, "sample", lambda _: next(samples))
    sizes = readers.Sizes({})
    assert sizes()["hottest"] == []
    result = sizes()
    assert result["hottest"] == [["t", 0, 20]]
    assert result["seconds"] == 10

    def unavailable(_: Any) -> Sample:
        raise UnavailableError

    monkeypatch.setattr(hot_spots, "sample", unavailable)
    assert "no broker answers" in sizes()["error"]
    assert len(closed) == 3


def test_a_host_has_what_was_read_of_it() -> None:
    hosts = ({"name": "k1", "groups": [], "error": ""}, {"name": "k2", "groups": [], "error": ""})
    read = {"k1": {"error": "no answer"}, "gone": {"error": ""}}
    service_reader = Collector(settings(hosts=hosts), {"hosts": lambda: read})
    assert [host["error"] for host in service_reader.snapshot()["hosts"]] == ["", ""]
    service_reader.read("hosts")
    assert [host["error"] for host in service_reader.snapshot()["hosts"]] == ["no answer", ""]


def test_a_host_of_any_name_is_shown_while_nothing_is_known_of_it() -> None:
    def broken() -> None:
        raise NO_JSON

    service_reader = Collector(settings(hosts=({"name": "error", "error": ""},)), {"hosts": broken})
    service_reader.read("hosts")
    assert service_reader.snapshot()["hosts"] == [{"name": "error", "error": ""}]


# Records


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"", {"size": 0, "text": ""}),
        ("fünf\t5\n".encode(), {"size": 8, "text": "fünf\t5\n"}),
        (b"\xff\x00", {"size": 2, "hex": "ff 00"}),
        (b"\x1b[2J", {"size": 4, "hex": "1b 5b 32 4a"}),
        ("\u202egnp".encode(), {"size": 6, "hex": "e2 80 ae 67 6e 70"}),
        (b"\0\0\0\0\x07\x02", {**NO_REGISTRY, "size": 6, "schema": 7, "hex": "00 00 00 00 07 02"}),
    ],
)
def test_a_value_is_text_or_bytes(value: bytes | None, expected: Any) -> None:
    assert records.text(value, Schemas(None).decoder(time.monotonic() + 60)) == expected


def test_a_long_value_is_cut_also_within_a_character() -> None:
    shown = records.text("ü".encode() * 3000 + b"x")
    assert shown is not None
    assert shown["size"] == 6001
    assert shown["text"] == "ü" * 2048
    moved = records.text(b"x" + "ü".encode() * 3000)
    assert moved is not None
    assert moved["text"] == "x" + "ü" * 2047


class Consumer:
    """A partition with records of 10 bytes, the offsets 5 to 24; two have been compacted away."""

    def __init__(self) -> None:
        self.place: Any = None
        self.at = 0
        self.closed = False

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0} if topic == "t" else set()

    def assign(self, places: list[Any]) -> None:
        (self.place,) = places

    def assignment(self) -> set[Any]:
        return {self.place}

    def beginning_offsets(self, places: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(places, 5)

    def end_offsets(self, places: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(places, 25)

    def seek(self, place: Any, offset: int) -> None:
        self.at = offset

    def position(self, place: Any) -> int:
        return self.at

    def poll(self, timeout_ms: int, max_records: int) -> dict[Any, list[Any]]:
        batch = [
            SimpleNamespace(offset=at, timestamp=1, key=None, value=b"0123456789", headers=[])
            for at in range(self.at, min(self.at + 4, 25))
            if at not in (7, 24)
        ]
        self.at = min(self.at + 4, 25)
        return {self.place: batch}

    def close(self, *, autocommit: bool) -> None:
        assert not autocommit
        self.closed = True


@pytest.mark.parametrize(
    ("bounds", "offsets"),
    [
        ((0, None, 3, 1000), [22, 23]),
        ((0, 0, 3, 1000), [5, 6, 8]),
        ((0, 20, 100, 1000), [20, 21, 22, 23]),
        ((0, 99, 3, 1000), []),
        ((0, 5, 100, 25), [5, 6]),
        ((0, 5, 100, 1), [5]),
    ],
)
def test_records_are_bounded(
    bounds: Any, offsets: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer()
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: consumer)
    reading = records.fetch(Connection(("k:1",)), records.Request("t", *bounds))
    described = reading.described()
    assert [record["offset"] for record in described["records"]] == offsets
    assert (described["first"], described["end"]) == (5, 25)
    assert consumer.closed


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.TopicAuthorizationFailedError(), 403),
        (errors.SaslAuthenticationFailedError(), records.SIGNED_OUT),
        (errors.KafkaTimeoutError(), 503),
    ],
)
def test_a_refusal_has_its_status(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer()

    def refuse(_: Any) -> None:
        raise error

    monkeypatch.setattr(consumer, "beginning_offsets", refuse)
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: consumer)
    with pytest.raises(records.RecordsError) as caught:
        records.fetch(Connection(("k:1",)), records.Request("t", 0, None, 1, 1))
    assert caught.value.status == status
    assert consumer.closed


def test_a_partition_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: Consumer())
    for topic, partition in (("t", 1), ("none", 0)):
        request = records.Request(topic, partition, None, 1, 1)
        with pytest.raises(records.RecordsError, match="no partition") as caught:
            records.fetch(Connection(("k:1",)), request)
        assert caught.value.status == 404
    assert TopicPartition("t", 1) != TopicPartition("t", 0)
