"""The module kafka_users, against a cluster that answers as Kafka does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import retry
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    cluster_users,
    user_options,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    options as operations,
)

from tests.unit.in_process import call_module
from tests.unit.kafka.fake_admin import FakeAdmin
from tests.unit.module_runner import run_module, unreachable

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
NUMBER = {SHA_256: 1, SHA_512: 2}
NOT_ALLOWED, INVALID, NO_AUTHORIZER, UNACCEPTABLE = 31, 42, 54, 93
PASSWORD, OTHER, STORE = "hunter2", "correct-horse", "battery-staple"
SECRETS = (PASSWORD, OTHER, STORE)
READ = {"topic": "flights", "operations": ["read", "describe"]}
USE = {"group": "app-", "pattern": "prefixed", "operations": ["read"]}
APP = {"name": "app", "password": PASSWORD, "grants": [READ, USE]}
PEER = {"name": "peer", "password": OTHER, "grants": [READ]}
CERTIFICATE = {"name": "CN=c", "grants": [{"cluster": True, "operations": ["alter"]}]}


@dataclass
class Kafka:
    """A cluster with its listener of clients, and a time that passes only in sleep."""

    admin: FakeAdmin = field(default_factory=FakeAdmin)
    now: float = 0.0
    up: float = 0.0
    """The time from which on brokers answer."""
    logins_up: float = 0.0
    """The time from which on brokers accept logins."""
    late: float = 0.0
    """How long brokers do not accept a password after it was set."""
    set_at: float = -1000.0
    tried: list[tuple[str, bool]] = field(default_factory=list)
    stops_after: int = 1000

    def ask(self, question: Callable[[Any], Any]) -> Any:
        if self.now < self.up or len(self.admin.writes) >= self.stops_after:
            text = "k1:9092: refused"
            raise UnavailableError(text)
        before = len(self.admin.writes)
        result = question(self.admin)
        if "Alter" in "".join(self.admin.writes[before:]):
            self.set_at = self.now
        return result

    def close(self) -> None:
        """Nothing is open."""

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 1
        self.now += seconds


class Listener:
    """Stands for `Logins`."""

    def __init__(self, kafka: Kafka, mechanism: str) -> None:
        self._kafka, self._mechanism = kafka, mechanism

    def accepted(self, user: str, password: str, *, everywhere: bool = False) -> bool:
        kafka = self._kafka
        kafka.tried.append((user, everywhere))
        if kafka.now < kafka.logins_up:
            text = "k1:9094: refused"
            raise UnavailableError(text)
        if kafka.now < kafka.set_at + kafka.late:
            return False
        return kafka.admin.accepts(user, password, self._mechanism)


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    fake_kafka = Kafka()
    monkeypatch.setattr(operations, "connection_of", lambda _: Connection(("k1:9092",)))
    monkeypatch.setattr(operations, "Cluster", lambda _, **_options: fake_kafka)
    monkeypatch.setattr(
        user_options, "Logins", lambda _, mechanism: Listener(fake_kafka, mechanism)
    )
    clock = SimpleNamespace(monotonic=lambda: fake_kafka.now, sleep=fake_kafka.sleep)
    for user in (cluster_users, retry):
        monkeypatch.setattr(user, "time", clock)
    return fake_kafka


def options(*users: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    return {
        "bootstrap": ["k1:9092"],
        "users": [*users],
        "login_bootstrap": ["k1:9094"],
        "login_properties": {"security.protocol": "SASL_SSL", "ssl.key.password": STORE},
        **overrides,
    }


def call(*users: dict[str, Any], check: bool = False, **overrides: Any) -> dict[str, Any]:
    """The result, which tells no secret."""
    result = call_module("kafka_users", options(*users, **overrides), check=check, diff=True)
    assert not [secret for secret in SECRETS if secret in json.dumps(result)]
    return result


def both(kafka: Kafka, *users: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    """The result, which check mode tells beforehand without changing anything."""
    before = len(kafka.admin.writes)
    planned = call(*users, check=True, **overrides)
    assert len(kafka.admin.writes) == before
    done = call(*users, **overrides)
    keys = ("changed", "users", "diff")
    assert [planned.get(key) for key in keys] == [done.get(key) for key in keys], done
    after = len(kafka.admin.writes)
    again = call(*users, **overrides)
    assert (again["changed"], len(kafka.admin.writes)) == (False, after), again
    assert not [user for user in again["users"] if user["changed"]]
    assert again["diff"]["before"] == again["diff"]["after"] == ""
    return done


def of(result: dict[str, Any], name: str) -> dict[str, Any]:
    """What the result says of a user."""
    (entry,) = (candidate for candidate in result["users"] if candidate["name"] == name)
    typed: dict[str, Any] = entry
    return typed


# What is changed


def test_new_users_get_credentials_and_grants_once(kafka: Kafka) -> None:
    result = both(kafka, APP, PEER, CERTIFICATE)
    assert result["changed"]
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)
    assert kafka.admin.accepts("peer", OTHER, SHA_512)
    assert kafka.admin.has("CN=c") == {}
    assert kafka.admin.acls == {
        (2, "flights", 3, "User:app", "*", 3, 3),
        (2, "flights", 3, "User:app", "*", 8, 3),
        (3, "app-", 4, "User:app", "*", 3, 3),
        (2, "flights", 3, "User:peer", "*", 3, 3),
        (2, "flights", 3, "User:peer", "*", 8, 3),
        (4, "kafka-cluster", 3, "User:CN=c", "*", 7, 3),
    }
    assert of(result, "app")["credential"] == "set"
    assert len(of(result, "app")["granted"]) == 3
    assert of(result, "CN=c")["credential"] == "unchanged"
    assert len(result["diff"]["after"].splitlines()) == 8


def test_all_users_share_a_request_of_each_kind(kafka: Kafka) -> None:
    call(APP, PEER, CERTIFICATE)
    assert len(kafka.admin.writes) == 2


def test_a_user_without_credentials_is_not_tried(kafka: Kafka) -> None:
    call(APP, CERTIFICATE, check=True)
    assert kafka.tried == []


def test_another_password_is_set(kafka: Kafka) -> None:
    call(APP, PEER)
    result = both(kafka, {**APP, "password": OTHER}, PEER)
    assert kafka.admin.accepts("app", OTHER, SHA_512)
    assert of(result, "app")["credential"] == "set"
    assert not of(result, "peer")["changed"]


KEPT = {**APP, "replace": False}


def test_a_password_that_may_not_replace_another_is_refused_alone(kafka: Kafka) -> None:
    """As that of a user which an older copy of the secrets has made anew."""
    call(APP)
    for check in (True, False):
        result = call({**KEPT, "password": OTHER, "grants": []}, PEER, check=check)
        assert result["failed"]
        assert result["refused"] == ["app"]
        assert "user app" in result["msg"]
        assert "rotate_secrets.yml" in result["msg"]
        assert of(result, "app")["credential"] == "refused"
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)
    assert kafka.admin.accepts("peer", OTHER, SHA_512)
    assert (2, "flights", 3, "User:app", "*", 3, 3) in kafka.admin.acls


def test_a_password_that_may_not_replace_another_is_set_where_there_is_none(kafka: Kafka) -> None:
    kafka.late = 3
    result = both(kafka, KEPT)
    assert of(result, "app")["credential"] == "set"
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)
    assert result["refused"] == []


def test_other_iterations_bring_no_other_password(kafka: Kafka) -> None:
    call(APP)
    result = call({**KEPT, "password": OTHER}, iterations=4096)
    assert result["refused"] == ["app"]
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)
    result = both(kafka, KEPT, iterations=4096)
    assert kafka.admin.has("app") == {2: 4096}
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)


def test_other_iterations_are_set(kafka: Kafka) -> None:
    call(APP)
    result = both(kafka, APP, iterations=4096)
    assert of(result, "app")["credential"] == "set"
    assert kafka.admin.has("app") == {2: 4096}
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)


def test_another_mechanism_takes_the_place_of_the_first(kafka: Kafka) -> None:
    call(APP)
    result = both(kafka, APP, mechanism=SHA_256)
    assert of(result, "app")["deleted"] == [SHA_512]
    assert kafka.admin.has("app") == {1: 8192}


def test_grants_become_those_that_are_described(kafka: Kafka) -> None:
    denied = (2, "flights", 3, "User:app", "10.0.0.1", 3, 2)
    foreign = (2, "flights", 3, "User:somebody", "*", 3, 3)
    kafka.admin.acls = {denied, foreign}
    call(APP)
    assert denied not in kafka.admin.acls
    write = {"topic": "flights", "operations": ["read", "write"]}
    result = both(kafka, {**APP, "grants": [write]})
    assert kafka.admin.acls == {
        foreign,
        (2, "flights", 3, "User:app", "*", 3, 3),
        (2, "flights", 3, "User:app", "*", 4, 3),
    }
    assert (len(of(result, "app")["granted"]), len(of(result, "app")["revoked"])) == (1, 2)
    assert of(result, "app")["credential"] == "unchanged"
    both(kafka, {**APP, "grants": []})
    assert kafka.admin.acls == {foreign}


def test_a_grant_may_deny_and_be_for_a_host(kafka: Kafka) -> None:
    refusal = {"topic": "flights", "operations": ["write"], "permission": "deny"}
    one_host = {"topic": "flights", "operations": ["read"], "host": "10.0.0.7"}
    both(kafka, {**CERTIFICATE, "grants": [refusal, one_host]})
    assert kafka.admin.acls == {
        (2, "flights", 3, "User:CN=c", "*", 4, 2),
        (2, "flights", 3, "User:CN=c", "10.0.0.7", 3, 3),
    }
    assert "empty host" in call({**CERTIFICATE, "grants": [{**READ, "host": ""}]})["msg"]


def test_a_user_that_is_absent_loses_everything(kafka: Kafka) -> None:
    call(APP, PEER)
    kafka.admin.set("app", PASSWORD, SHA_256)
    result = both(kafka, {**APP, "state": "absent"}, PEER, {"name": "never", "state": "absent"})
    assert kafka.admin.has("app") == {}
    assert {acl[3] for acl in kafka.admin.acls} == {"User:peer"}
    assert of(result, "app")["deleted"] == [SHA_256, SHA_512]
    assert not of(result, "never")["changed"]
    assert kafka.admin.accepts("peer", OTHER, SHA_512)


def test_users_without_passwords_need_no_listener(kafka: Kafka) -> None:
    both(kafka, CERTIFICATE, {"name": "x", "state": "absent"}, login_bootstrap=[])
    assert kafka.tried == []


def test_no_users_are_nothing_to_do(kafka: Kafka) -> None:
    assert call()["changed"] is False
    assert kafka.admin.requests == []


def test_grants_come_before_the_credential_and_go_after_it(kafka: Kafka) -> None:
    call(APP, {**PEER, "state": "absent"})
    assert [request[:6] for request in kafka.admin.writes] == ["Create", "AlterU"]
    call({**APP, "state": "absent"})
    assert [request[:6] for request in kafka.admin.writes[2:]] == ["AlterU", "Delete"]


# Waiting


@pytest.mark.parametrize("late", [0.1, 5, 29])
def test_a_password_is_waited_for_until_brokers_accept_it(kafka: Kafka, late: float) -> None:
    kafka.late = late
    assert call(APP)["changed"]
    assert kafka.now == pytest.approx(late, abs=0.3)
    assert ("app", True) in kafka.tried


def test_a_password_that_is_not_accepted_is_a_failure(kafka: Kafka) -> None:
    call(APP, PEER)
    kafka.late = 1000
    kafka.set_at = -1000
    result = call({**APP, "password": OTHER}, PEER)
    assert result["failed"]
    assert result["changed"]
    assert "app" in result["msg"]
    assert "peer" not in result["msg"]
    assert kafka.now == pytest.approx(cluster_users.SHOWN_SECONDS, abs=0.5)


def test_a_user_that_cannot_log_in_keeps_what_it_had(kafka: Kafka) -> None:
    """The listener may not have the new mechanism."""
    call(APP)
    kafka.logins_up = 1000
    result = call({**APP, "grants": []}, mechanism=SHA_256)
    assert result["failed"]
    assert "k1:9094" in result["msg"]
    assert kafka.admin.accepts("app", PASSWORD, SHA_512)
    assert len(kafka.admin.acls) == 3


@pytest.mark.parametrize(("late", "shown"), [(5, True), (1000, False)])
def test_grants_are_waited_for_until_the_cluster_shows_them(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, late: float, shown: bool
) -> None:
    now = FakeAdmin._DescribeAclsRequest

    def before(admin: FakeAdmin, request: Any) -> Any:
        return now(FakeAdmin() if kafka.now < late else admin, request)

    monkeypatch.setattr(FakeAdmin, "_DescribeAclsRequest", before)
    result = call(CERTIFICATE)
    assert result["changed"]
    assert result.get("failed", False) is not shown
    assert shown or "CN=c" in result["msg"]
    assert kafka.now == pytest.approx(min(late, cluster_users.SHOWN_SECONDS), abs=0.5)


@pytest.mark.parametrize(("wait", "changed"), [(0, False), (4, False), (10, True)])
@pytest.mark.parametrize("check", [False, True])
def test_a_cluster_that_is_not_ready_is_waited_for(
    kafka: Kafka, wait: float, changed: bool, check: bool
) -> None:
    kafka.up = 5
    result = call(APP, wait=wait, check=check)
    assert result.get("changed", False) is changed
    assert result.get("failed", False) is not changed
    assert kafka.now == pytest.approx(min(wait, 5), abs=0.5)


def test_a_listener_that_is_not_ready_is_waited_for_too(kafka: Kafka) -> None:
    call(APP)
    kafka.logins_up = kafka.now + 5
    assert "k1:9094" in call(APP)["msg"]
    assert call(APP, wait=10)["changed"] is False


# Refusals


def test_one_refused_user_does_not_stop_the_others(kafka: Kafka) -> None:
    kafka.admin.codes = {"app": UNACCEPTABLE, "User:CN=c": INVALID}
    gone = {"name": "gone", "state": "absent"}
    kafka.admin.set("gone", OTHER)
    result = call(APP, PEER, CERTIFICATE, gone)
    assert result["failed"]
    assert result["changed"]
    assert "user app" in result["msg"]
    assert "user CN=c" in result["msg"]
    assert result["msg"].count("not today") == 2
    assert "user peer" not in result["msg"]
    assert kafka.admin.accepts("peer", OTHER, SHA_512)
    assert (kafka.admin.has("app"), kafka.admin.has("gone")) == ({}, {})
    kafka.admin.codes = {}
    again = call(APP, PEER, CERTIFICATE, gone)
    assert [user["name"] for user in again["users"] if user["changed"]] == ["app", "CN=c"]


def test_a_refused_deletion_is_a_failure(kafka: Kafka) -> None:
    call(APP, PEER)
    kafka.admin.codes = {"app": INVALID, "User:peer": INVALID}
    result = call({**APP, "state": "absent"}, {**PEER, "grants": []})
    assert result["failed"]
    assert result["changed"] is False
    assert "user app" in result["msg"]
    assert "user peer" in result["msg"]


def test_a_run_in_which_nothing_was_made_has_changed_nothing(kafka: Kafka) -> None:
    kafka.admin.codes = {"app": UNACCEPTABLE, "User:app": INVALID}
    assert call(APP)["changed"] is False


def test_a_cluster_that_goes_away_in_between_is_a_failure(kafka: Kafka) -> None:
    kafka.stops_after = 1
    result = call(APP)
    assert result["failed"]
    assert result["changed"]
    assert "k1:9092" in result["msg"]


def test_a_client_that_may_not_see_users_is_told_so(kafka: Kafka) -> None:
    kafka.admin.whole = NOT_ALLOWED
    result = call(APP)
    assert result["failed"]
    assert "not today" in result["msg"]


def test_grants_need_an_authorizer(kafka: Kafka) -> None:
    kafka.admin.acls_whole = NO_AUTHORIZER
    result = call(APP, {**PEER, "grants": []})
    assert result["failed"]
    assert "app" in result["msg"]
    assert kafka.admin.writes == []
    both(kafka, {**PEER, "grants": []})


def test_all_users_that_are_described_wrongly_are_named_at_once(kafka: Kafka) -> None:
    empty = {"name": "empty", "password": ""}
    result = call(APP, APP, empty, {"name": "", "state": "absent"}, iterations=1)
    assert result["failed"]
    for name in ("app", "empty", "name", "iterations"):
        assert name in result["msg"]
    assert kafka.admin.requests == []


@pytest.mark.parametrize(
    "grant",
    [
        {"operations": ["read"]},
        {"topic": "a", "group": "b", "operations": ["read"]},
        {"topic": "a", "operations": ["fly"]},
        {"topic": "a", "operations": ["read"], "pattern": "match"},
        {"topic": "a"},
    ],
)
def test_a_grant_is_of_one_resource_and_for_known_operations(kafka: Kafka, grant: Any) -> None:
    assert call({**APP, "grants": [grant]})["failed"]
    assert kafka.admin.requests == []


# Without the fake


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"mechanism": "PLAIN"},
        {"login_properties": {"security.protocol": "SASL_SSL", "sasl.jaas.config": STORE}},
        {"iterations": "many"},
        {"library": "/nonexistent"},
        {
            "login_properties": {
                "security.protocol": "SASL_SSL",
                "ssl.truststore.location": "/x.jks",
                "ssl.truststore.password": STORE,
            }
        },
    ],
)
def test_no_failure_tells_a_secret(tmp_path: Path, overrides: dict[str, Any]) -> None:
    args = {**options(APP, PEER), **unreachable(tmp_path), **overrides}
    result = run_module("kafka_users", args, diff=True)
    assert result["failed"]
    assert not [secret for secret in SECRETS if secret in json.dumps(result)]


def test_properties_that_are_no_secrets_can_be_read_in_a_message(tmp_path: Path) -> None:
    store = {"security.protocol": "SASL_SSL", "ssl.truststore.location": "/etc/x.jks"}
    overrides = {"login_properties": {**store, "ssl.truststore.password": STORE}}
    result = run_module("kafka_users", {**options(APP), **unreachable(tmp_path), **overrides})
    assert "/etc/x.jks" in result["msg"]


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = run_module("kafka_users", {**options(APP), **unreachable(tmp_path)})
    assert result["failed"]
    assert "127.0.0.1:1" in result["msg"]
