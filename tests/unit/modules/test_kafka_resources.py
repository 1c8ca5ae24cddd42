"""The module kafka_resources, against a cluster in memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import retry
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import acls, snapshot
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import users as adapter
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.acls import Acl
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.answers import RefusedError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    cluster_users,
    user_options,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    options as operations,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_resources

from tests.unit.in_process import call_module
from tests.unit.module_runner import run_module
from tests.unit.operations.resources.memory import DAY_MS, Log, Memory, use_memory

PASSWORD, STORE = "hunter2", "battery-staple"
SHA_512 = "SCRAM-SHA-512"
READ = {"topic": "a.x", "operations": ["read"]}
APP = {"name": "app", "password": PASSWORD, "grants": [READ], "owner": "a", "where": "a.yml:9"}
ETL = Acl("User:etl", "topic", "a.x", "literal", "write")
EVERYTHING: dict[str, Any] = {
    "topics": [
        {
            "name": "a.new",
            "partitions": 6,
            "replication": 3,
            "config": {"retention.ms": DAY_MS},
            "owner": "a",
            "where": "a.yml:2",
        },
        {"name": "a.x", "partitions": 2, "where": "a.yml:5"},
        {"name": "a.gone", "state": "absent", "where": "a.yml:7"},
    ],
    "acls": [
        {"principal": "User:etl", "resource": "topic", "name": "a.x", "operation": "write"},
    ],
    "users": [APP],
    "quotas": [{"entity": {"user": "app"}, "values": {"producer_byte_rate": "1048576"}}],
    "groups": [{"name": "a.g", "config": {"consumer.session.timeout.ms": 50000}}],
    "client_metrics": [{"name": "a.m", "config": {"interval.ms": "1000"}}],
}


@dataclass
class Kafka:
    """The cluster, with users that log in, and a time that passes only in sleep."""

    memory: Memory = field(default_factory=Memory)
    credentials: dict[str, dict[str, int]] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    now: float = 0.0
    up: float = 0.0
    late: float = 0.0
    """How long reads show the former state after a write."""
    stops_after: int = 1000
    users_hidden: str = ""
    connections: list[Any] = field(default_factory=list)
    former: Memory | None = None
    written_at: float = 0.0

    def ask(self, question: Callable[[Any], Any]) -> Any:
        memory = self.memory
        if self.now < self.up or len(memory.writes) >= self.stops_after:
            text = "k1:9092: refused"
            raise UnavailableError(text)
        if self.late:
            before = Memory(*memory.state())
            writes = len(memory.writes)
            if self.former and self.now < self.written_at + self.late and self.reads(question):
                return question(self.former)
            result = question(memory)
            if len(memory.writes) > writes:
                self.former = self.former or before
                self.written_at = self.now
            return result
        return question(memory)

    def reads(self, question: Callable[[Any], Any]) -> bool:
        """Whether a question only reads; the copy that it changes is thrown away."""
        assert self.former
        trial = Memory(*self.memory.state())
        question(trial)
        return not trial.writes

    def close(self) -> None:
        """Nothing is open."""

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 1
        self.now += seconds

    def accepted(self, user: str, password: str, *, everywhere: bool = False) -> bool:
        return self.passwords.get(user) == password

    # The adapter of users

    def read(self, _: Any, names: list[str]) -> dict[str, dict[str, int]]:
        if self.users_hidden:
            raise RefusedError(self.users_hidden)
        return {name: dict(self.credentials.get(name, {})) for name in names}

    def set_credentials(self, admin: Memory, credentials: list[Any]) -> dict[str, str]:
        for credential in credentials:
            admin.taken("set credentials", [credential.user])
            self.credentials[credential.user] = {credential.mechanism: credential.iterations}
            self.passwords[credential.user] = credential.password
        return {}

    def delete_credentials(self, admin: Memory, names: list[str], mechanism: str) -> dict[str, str]:
        for name in admin.taken("delete credentials", names):
            del self.credentials[name][mechanism]
        return {}


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    fake_kafka = Kafka()
    use_memory(monkeypatch)
    monkeypatch.setattr(
        operations, "Cluster", lambda connection, **_: connected(fake_kafka, connection)
    )
    monkeypatch.setattr(user_options, "Logins", lambda *_: fake_kafka)
    for name in ("read", "set_credentials", "delete_credentials"):
        monkeypatch.setattr(adapter, name, getattr(fake_kafka, name))
    monkeypatch.setattr(
        acls,
        "read",
        lambda admin, principals: (
            None
            if admin.acls is None
            else frozenset(acl for acl in admin.acls if acl.principal in principals)
        ),
    )
    clock = SimpleNamespace(
        monotonic=lambda: fake_kafka.now, sleep=fake_kafka.sleep, time=time.time
    )
    for module in (kafka_resources, cluster_users, retry):
        monkeypatch.setattr(module, "time", clock)
    return fake_kafka


def connected(kafka: Kafka, connection: Any) -> Kafka:
    kafka.connections.append(connection)
    return kafka


def options(resources: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    return {
        "resources": resources,
        "client_properties": {
            "bootstrap.servers": "k1:9092",
            "security.protocol": "SASL_SSL",
            "ssl.key.password": STORE,
        },
        "login_bootstrap": ["k1:9094"],
        "login_properties": {"security.protocol": "SASL_SSL"},
        **overrides,
    }


def call(resources: dict[str, Any], check: bool = False, **overrides: Any) -> dict[str, Any]:
    """The result, which tells no secret."""
    result = call_module("kafka_resources", options(resources, **overrides), check=check, diff=True)
    assert not [secret for secret in (PASSWORD, STORE) if secret in json.dumps(result)]
    return result


def both(kafka: Kafka, resources: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    """The result, which check mode promises without changing anything; a second run has nothing."""
    before = kafka.memory.state()
    planned = call(resources, check=True, **overrides)
    assert kafka.memory.state() == before
    assert kafka.memory.writes == []
    result = call(resources, **overrides)
    assert {**result, "invocation": None} == {**planned, "invocation": None}
    kafka.memory.writes = []
    again = call(resources, **overrides)
    assert again["changed"] is False, again
    assert again["plan"] == []
    assert again["diff"]["before"] == again["diff"]["after"] == ""
    assert kafka.memory.writes == []
    return result


def cluster() -> Memory:
    return Memory(
        topics={
            "a.x": Log(),
            "a.gone": Log(),
            "b.x": Log(),
            "millrace-canary": Log(),
            "_schemas": Log(),
            "__consumer_offsets": Log(internal=True),
        },
    )


# What is changed


def test_everything_is_made_so_in_one_run(kafka: Kafka) -> None:
    kafka.memory = cluster()
    result = both(kafka, EVERYTHING, service_topics=["_schemas"])
    memory = kafka.memory
    assert result["changed"]
    assert memory.topics["a.new"] == Log(6, 3, {"retention.ms": str(DAY_MS)})
    assert memory.topics["a.x"].partitions == 2
    assert "a.gone" not in memory.topics
    assert memory.acls == {ETL, Acl("User:app", "topic", "a.x", "literal", "read")}
    assert kafka.passwords == {"app": PASSWORD}
    assert memory.quotas == {(("user", "app"),): {"producer_byte_rate": 1048576.0}}
    assert memory.groups == {"a.g": {"consumer.session.timeout.ms": "50000"}}
    assert memory.metrics == {"a.m": {"interval.ms": "1000"}}
    assert result["unmanaged"] == {"topics": ["b.x"]}
    assert result["hidden"] == {}
    counts = {"create": 6, "change": 0, "grow": 1, "delete": 1, "refuse": 0}
    assert result["counts"] == {**counts, "unmanaged": 1, "same": 0}
    (item,) = (item for item in result["plan"] if item["name"] == "a.new")
    assert (item["kind"], item["action"]) == ("topics", "create")
    assert (item["owner"], item["where"]) == ("a", "a.yml:2")
    assert "+ partitions: 6" in item["changes"]
    assert (item["needs"], item["reason"]) == ([], "")


def test_deletions_come_last_and_grants_before_credentials(kafka: Kafka) -> None:
    kafka.memory = cluster()
    call(EVERYTHING)
    writes = kafka.memory.writes
    assert writes[-1] == "delete topics"
    app_grant = len(writes) - 1 - writes[::-1].index("create acls")
    assert app_grant < writes.index("set credentials")


def test_kinds_that_are_not_compared_are_left_alone(kafka: Kafka) -> None:
    kafka.memory = cluster()
    result = call(EVERYTHING, kinds=["topics"])
    assert {item["kind"] for item in result["plan"]} == {"topics"}
    assert kafka.memory.acls == set()
    assert kafka.credentials == {}


def test_a_user_that_goes_says_that_it_has_acls(kafka: Kafka) -> None:
    call({"users": [APP]})
    kafka.memory.writes = []
    result = both(kafka, {"users": [{"name": "app", "state": "absent", "where": "a.yml:9"}]})
    (item,) = result["plan"]
    assert (item["action"], item["reason"]) == ("delete", "its ACLs are deleted with it: 1")
    assert kafka.credentials == {"app": {}}
    assert kafka.memory.acls == set()


def test_a_change_is_waited_for_until_the_cluster_shows_it(kafka: Kafka) -> None:
    kafka.late = 5
    assert call({"topics": [{"name": "a"}]})["changed"]
    assert kafka.now == pytest.approx(5, abs=0.5)


def test_a_change_that_is_not_shown_is_a_failure(kafka: Kafka) -> None:
    kafka.late = 1000
    result = call({"topics": [{"name": "a", "where": "a.yml:1"}]})
    assert result["failed"]
    assert result["changed"]
    assert "a.yml:1: topic a: Kafka does not show the change after 30 s" in result["msg"]


def test_a_prune_deletes_what_has_the_prefix_alone(kafka: Kafka) -> None:
    kafka.memory = cluster()
    kafka.memory.topics["a.full"] = Log(oldest_ms=1)
    refused = call({}, prune="a.")
    assert "confirm_prune: [delete-records]" in refused["msg"]
    assert kafka.memory.writes == []
    both(kafka, {}, prune="a.", confirm_prune=["delete-records"])
    assert {*kafka.memory.topics} == {
        "b.x",
        "millrace-canary",
        "_schemas",
        "__consumer_offsets",
    }


def test_a_prune_of_a_team_deletes_nothing_that_others_describe(kafka: Kafka) -> None:
    kafka.memory = cluster()
    kafka.memory.topics["a.full"] = Log(oldest_ms=1)
    before = kafka.memory.state()
    elsewhere = {"topics": [{"name": name} for name in kafka.memory.topics]}
    both(kafka, {}, prune="a.", elsewhere=elsewhere, kinds=["topics"])
    assert kafka.memory.state() == before


# Refusals


def test_a_refused_login_is_no_broker_that_does_not_answer(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.up = 1000
    assert "no broker answers" in call(EVERYTHING)["msg"]
    monkeypatch.setattr(adapter, "refuses_login", lambda _: True)
    assert "refuses the login of the client properties" in call(EVERYTHING)["msg"]


def test_another_cluster_than_that_of_the_inventory_is_refused(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "cluster_id", lambda _: "staging")
    before = kafka.memory.state()
    result = call(EVERYTHING, cluster_id="production")
    assert result["failed"]
    assert "this is cluster staging, and that of the inventory is production" in result["msg"]
    assert kafka.memory.state() == before
    assert not call(EVERYTHING, cluster_id="staging").get("failed")


def test_all_refusals_are_in_one_message_and_nothing_is_changed(kafka: Kafka) -> None:
    kafka.memory = cluster()
    kafka.memory.topics["a.gone"].oldest_ms = 1
    kafka.memory.refusals = {"a.new": "too many replicas", "a.g": "no such key"}
    before = kafka.memory.state()
    for check in (True, False):
        result = call(
            {**EVERYTHING, "topics": [*EVERYTHING["topics"], {"name": "b.x", "replication": 2}]},
            check=check,
            prune="b.",
            scope=["a."],
        )
        assert result["failed"]
        assert result["changed"] is False
        assert result["msg"].startswith("nothing was changed")
        for text in (
            "prune: b. is not within",
            "a.yml:7: topic a.gone: ",
            "[delete-records]",
            "topic b.x: its replication factor is 3, not 2",
            "a.yml:2: topic a.new: too many replicas",
            "configuration of group a.g: no such key",
        ):
            assert text in result["msg"]
        assert result["counts"]["refuse"] == 1
    assert kafka.memory.state() == before
    assert kafka.memory.writes == []
    assert kafka.credentials == {}


def test_what_is_refused_only_when_it_is_made_stops_deletions(kafka: Kafka) -> None:
    kafka.memory = cluster()
    kafka.memory.refusals = {ETL: "not today"}
    result = call(EVERYTHING)
    assert result["failed"]
    assert result["changed"]
    assert "not today" in result["msg"]
    assert "topic a.gone: it is not deleted" in result["msg"]
    assert "a.gone" in kafka.memory.topics
    assert "a.new" in kafka.memory.topics
    kafka.memory.refusals = {}
    assert call(EVERYTHING)["changed"]
    assert "a.gone" not in kafka.memory.topics


def test_an_interrupted_run_is_finished_by_the_next(kafka: Kafka) -> None:
    kafka.memory = cluster()
    kafka.stops_after = 2
    result = call(EVERYTHING)
    assert result["failed"]
    assert result["changed"]
    assert "not all changes are made" in result["msg"]
    kafka.stops_after = 1000
    assert call(EVERYTHING)["changed"]
    assert call(EVERYTHING)["changed"] is False


@pytest.mark.parametrize("kind", ["topics", "acls", "quotas", "groups", "client_metrics"])
def test_a_kind_that_is_not_shown_is_named_and_refuses_its_entries(kafka: Kafka, kind: str) -> None:
    kafka.memory = cluster()
    kafka.memory.hidden = {kind: "not authorized"}
    result = call({"topics": [{"name": "a"}]} if kind != "topics" else {})
    if kind in ("topics", "acls", "quotas"):
        assert result["hidden"] == {kind: "not authorized"}
    assert "failed" not in result
    kafka.memory.writes = []
    refused = call(EVERYTHING)
    assert refused["failed"]
    assert "not authorized" in refused["msg"]
    assert "Describe" in refused["msg"]
    assert kafka.memory.writes == []


def test_groups_that_cannot_be_listed_are_compared_by_their_entries(kafka: Kafka) -> None:
    kafka.memory.hidden = {"names of groups": "no list"}
    kafka.memory.groups = {"b": {"k": "v"}}
    result = both(kafka, {"groups": EVERYTHING["groups"]})
    assert result["hidden"] == {"groups": "no list"}
    assert [item["name"] for item in result["plan"]] == ["a.g"]


def test_users_that_are_not_shown_are_a_failure(kafka: Kafka) -> None:
    kafka.users_hidden = "not today"
    result = call({"users": [APP]})
    assert result["failed"]
    assert result["hidden"] == {"users": "not today"}
    assert "a.yml:9" in result["msg"]
    assert "Describe of the cluster" in result["msg"]


def test_what_a_version_lacks_is_refused_by_name(kafka: Kafka) -> None:
    kafka.memory.unsupported = {"groups", "client_metrics"}
    result = call(EVERYTHING)
    assert result["failed"]
    assert "this version has no groups" in result["msg"]
    assert "this version has no client_metrics" in result["msg"]
    assert "failed" not in call({"topics": [{"name": "a"}]})


def test_acls_need_an_authorizer(kafka: Kafka) -> None:
    kafka.memory.acls = None
    result = call({"acls": EVERYTHING["acls"]})
    assert result["failed"]
    assert "authorizer.class.name" in result["msg"]
    assert "failed" not in call({"topics": [{"name": "a"}]})


def test_a_kept_password_refuses_the_run(kafka: Kafka) -> None:
    call({"users": [APP]})
    kafka.passwords["app"] = "another"
    result = call({"users": [{**APP, "replace": False}], "topics": [{"name": "a"}]})
    assert result["failed"]
    assert "user app" in result["msg"]
    assert "rotate_secrets.yml" in result["msg"]
    assert "a" not in kafka.memory.topics


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        ({"users": [{"name": "empty", "password": ""}]}, "user empty"),
        ({"quotas": [{"entity": {"user": "a"}, "values": {"k": "many"}}]}, "many"),
        ({"quotas": [{"entity": {}, "values": {"k": 1}}]}, "not of nothing"),
        ({"quotas": [{"entity": {"host": "a"}, "values": {"k": 1}}]}, "not of host a"),
        ({"topics": [{"name": "a", "partitions": "many"}]}, "many"),
        (
            {"acls": [{"principal": "p", "resource": "topic", "name": "a", "operation": "fly"}]},
            "fly",
        ),
        ({"acls": [{"principal": "p", "resource": "topic", "operation": "read"}]}, "no topic"),
        ({"topics": [{"name": "a", "confirm": ["everything"]}]}, "everything"),
    ],
)
def test_entries_that_mean_nothing_are_refused(kafka: Kafka, resources: Any, text: str) -> None:
    result = call(resources)
    assert result["failed"]
    assert text in result["msg"]
    assert kafka.memory.writes == []


def test_all_entries_that_mean_nothing_are_named_at_once(kafka: Kafka) -> None:
    wrong = {"entity": {"user": "a"}, "values": {"k": "many"}, "where": "a.yml:1"}
    result = call({"quotas": [wrong, {**wrong, "where": "a.yml:2"}], "users": [APP, APP]})
    for text in ("a.yml:1", "a.yml:2", "app"):
        assert text in result["msg"]


# Connections


@pytest.mark.parametrize(("wait", "changed"), [(0, False), (10, True)])
def test_a_cluster_that_is_not_ready_is_waited_for(kafka: Kafka, wait: int, changed: bool) -> None:
    kafka.up = 5
    result = call({"topics": [{"name": "a"}]}, wait=wait)
    assert result.get("changed", False) is changed


def test_a_control_node_connects_by_its_properties(kafka: Kafka) -> None:
    call({})
    (connection,) = kafka.connections
    assert connection.bootstrap == ("k1:9092",)
    assert connection.properties["security.protocol"] == "SASL_SSL"


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = run_module(
        "kafka_resources",
        options({"users": [APP]}, client_properties={"bootstrap.servers": "127.0.0.1:1"}),
    )
    assert result["failed"]
    assert "127.0.0.1:1" in result["msg"]
    assert PASSWORD not in json.dumps(result)
