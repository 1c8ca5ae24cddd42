"""Connectors of the inventory: as whom they read and write, and what the workers get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.config_providers import (
    references,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import module_options
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import of_service
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import connectors
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import User

from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"], "kafka_connect": ["k1", "w1"]}
SINK: dict[str, Any] = {
    "name": "planes",
    "kafka_user": "planes-sink",
    "grants": [{"topic": "planes", "operations": ["read"]}],
    "config": {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": 2,
        "topics": "planes",
        "connection.password": "${file:/etc/connect/secrets/planes.properties:password}",
    },
}
SOURCE: dict[str, Any] = {
    "name": "airports",
    "kafka_user": "airports-source",
    "config": {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"},
}
SECRETS = {"planes": {"password": "geheim"}}
LOGIN = "/etc/connect/secrets/kafka-login-planes-sink.properties"


def closed(
    *entries: Mapping[str, Any], security: str = "standard", secrets: Mapping[str, Any] = SECRETS
) -> Cluster:
    deployment = cluster(
        GROUPS,
        {"k1": {"kafka_node_id": 1}},
        kafka_security=security,
        connect_connectors=[dict(entry) for entry in entries],
        connect_secrets=dict(secrets),
    )
    return with_secrets(deployment)


def written(*entries: Mapping[str, Any]) -> list[connectors.Connector]:
    return connectors.of_settings({"connect_connectors": entries})


def asked(deployment: Cluster) -> list[dict[str, Any]]:
    options = module_options.of_module("connect_connectors", deployment, "w1")
    return list(options["connectors"])


def user(deployment: Cluster, name: str) -> User:
    return next(user for user in deployment.kafka["k1"].security.users if user.name == name)


def test_a_connector_logs_in_as_its_own_user() -> None:
    (connector,) = asked(closed(SINK))
    for prefix in ("producer.", "consumer.", "admin."):
        key = f"{prefix}override.sasl.jaas.config"
        assert connector["config"][key] == f"${{file:{LOGIN}:sasl.jaas.config}}"
    assert connector["config"]["tasks.max"] == "2"


def test_another_secret_is_another_configuration() -> None:
    """Whichever run has written it: a worker reads it only when it starts the connector."""

    def config(planes: Mapping[str, Any], *entries: Mapping[str, Any]) -> dict[str, str]:
        options = asked(closed(*entries or [SINK], security="open", secrets={"planes": planes}))
        return dict(options[0]["config"])

    before = config({"password": "geheim"})
    assert config({"password": "geheim"}) == before
    after = config({"password": "other"})
    assert {key for key in before if before[key] != after[key]} == {connectors.DIGEST}
    assert config({"password": "geheim", "of_others": "x"}) == before
    assert connectors.DIGEST not in config({"password": "x"}, SOURCE)


def test_another_login_is_another_configuration() -> None:
    deployment = closed(SINK)
    before = asked(deployment)[0]["config"]
    passwords = dict.fromkeys(deployment.inventory.secrets.passwords, "another")
    secrets = replace(deployment.inventory.secrets, passwords=passwords)
    after = asked(resolve(replace(deployment.inventory, secrets=secrets)))[0]["config"]
    assert {key for key in before if before[key] != after[key]} == {connectors.DIGEST}


def test_what_the_inventory_says_of_a_client_stays() -> None:
    entry = {**SINK, "config": {**SINK["config"], "admin.override.sasl.jaas.config": "${file:x:y}"}}
    (connector,) = asked(closed(entry))
    assert connector["config"]["admin.override.sasl.jaas.config"] == "${file:x:y}"


def test_on_an_open_cluster_nobody_logs_in() -> None:
    (connector,) = asked(closed(SINK, security="open"))
    assert not [key for key in connector["config"] if "jaas" in key]


def test_users_may_do_what_their_kind_of_connector_needs_and_no_more() -> None:
    deployment = closed(SINK, SOURCE)
    assert user(deployment, "planes-sink").grants == [
        {"group": "connect-planes", "operations": ["read", "delete"]},
        {"topic": "planes", "operations": ["read"], "pattern": "literal"},
    ]
    source = user(deployment, "airports-source").grants
    assert {grant.get("topic") or grant.get("transactional_id") for grant in source} == {
        "connect-offsets",
        "connect-airports-",
    }


def test_the_user_of_an_absent_connector_is_left_until_it_is_gone() -> None:
    gone = {**SINK, "state": "absent"}
    deployment = closed(gone)
    assert "planes-sink" not in {user.name for user in deployment.kafka["k1"].security.users}
    assert LOGIN not in deployment.connect["w1"].secret_files()
    (connector,) = asked(deployment)
    assert (connector["state"], connector["config"]) == ("absent", {})
    assert connector["former_user"] == "planes-sink"
    assert asked(closed(SINK))[0]["former_user"] == ""
    assert asked(closed(gone, security="open"))[0]["former_user"] == ""
    renamed = asked(closed(gone, {**SINK, "name": "aircraft"}))
    assert [connector["former_user"] for connector in renamed] == ["", ""]


def test_secrets_are_files_that_only_the_workers_read() -> None:
    deployment = closed(SINK)
    files = of_service(deployment, "w1", "connect")["files"]
    for path in (LOGIN, "/etc/connect/secrets/planes.properties"):
        entry = files[path]
        assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "connect", True)
        assert not entry.get("restart"), "a connector reads them when it starts"
    assert "geheim" in files["/etc/connect/secrets/planes.properties"]["content"]
    assert "geheim" not in str(asked(deployment))


def test_topics_that_a_source_creates_need_not_be_there() -> None:
    grants = [{"topic": "db.", "pattern": "prefixed", "operations": ["create", "write"]}]
    sink = {**SINK, "config": {**SINK["config"], "topics": "planes, db.airports"}}
    read = connectors.topics_read(written(sink, {**SOURCE, "grants": grants}))
    assert read == {"planes": ["planes"]}
    assert connectors.topics_read(written({**sink, "state": "absent"})) == {}
    assert connectors.topics_read(written(sink, SOURCE)) == {}, "it may create any"


def connector(name: str = "a", **entry: Any) -> connectors.Connector:
    """Read the only connector of an inventory."""
    (connector,) = written({"name": name, **entry})
    return connector


def test_what_an_entry_leaves_out() -> None:
    entry = connector()
    assert (entry.state, entry.present, entry.user, list(entry.grants)) == ("running", True, "", [])
    assert entry.config(logs_in=True) == {"name": "a"}
    assert not connector(state="absent").present
    assert connector(state="stopped").present


def test_values_are_text_as_workers_read_it() -> None:
    config = {"tasks.max": 2, "flag": True, "none": None, "text": "x"}
    assert connector(config=config).config(logs_in=False) == {
        "name": "a",
        "tasks.max": "2",
        "flag": "true",
        "none": "",
        "text": "x",
    }


def test_a_connector_without_a_user_does_not_log_in() -> None:
    assert not [key for key in connector(config={}).config(logs_in=True) if "jaas" in key]
    assert not [key for key in connector(kafka_user="u").config(logs_in=False) if "jaas" in key]
    assert len(connector(kafka_user="u").config(logs_in=True)) == 4


@pytest.mark.parametrize(
    ("name", "is_sink"),
    [
        ("io.debezium.connector.jdbc.JdbcSinkConnector", True),
        ("JdbcSink", True),
        ("org.Sink.FileSource", False),
        ("FileStreamSource", False),
    ],
)
def test_a_sink_is_known_by_its_class(name: str, is_sink: bool) -> None:
    assert connector(config={"connector.class": name}).is_sink is is_sink
    assert not connector().is_sink


def test_a_source_may_write_only_by_its_own_transactions() -> None:
    offsets, transactions, topic = connector(
        "planes", grants=[{"topic": "t", "operations": ["write"]}]
    ).all_grants("group")
    assert offsets == {"topic": "group-offsets", "operations": ["read", "write"]}
    assert transactions["transactional_id"] == "group-planes-"
    assert transactions["pattern"] == "prefixed"
    assert topic["topic"] == "t"


def test_references_are_all_values_that_come_from_files() -> None:
    config = {"a": "${file:/x:k}-${file:/y:l}", "b": "plain", "c": 7, "d": "${env:HOME}"}
    assert references(config) == [("a", "/x", "k"), ("a", "/y", "l")]


def test_a_digest_is_that_of_what_a_connector_refers_to() -> None:
    config = {"a": connectors.reference("/x", "k")}

    def digest(name: str = "n", **values: str) -> str:
        return connectors.digest(name, config, {"/x": values, "/y": {"k": "other"}})

    first = digest(k="1")
    assert first == digest(k="1", other="2")
    assert len({first, digest(k="2"), digest("m", k="1"), digest()}) == 4
    assert "1" * 8 not in first
    assert connectors.digest("n", {"a": "plain"}, {"/x": {"k": "1"}}) == ""
    assert connectors.digest("n", config, {}) == digest(), "a file that is not known has no value"
    both = {"b": connectors.reference("/y", "k"), **config}
    files = {"/x": {"k": "1"}, "/y": {"k": "2"}}
    turned = dict(reversed(both.items()))
    assert connectors.digest("n", both, files) == connectors.digest("n", turned, files)


def test_a_digest_never_changes_between_releases() -> None:
    """Each connector would be restarted, as if its secrets had changed."""
    config = {"password": "${file:/x:k}"}
    assert connectors.digest("n", config, {"/x": {"k": "1"}}) == "71d8ea9c53ef17ffaff614c350362bae"


@pytest.mark.parametrize(
    ("grant", "topic", "allowed"),
    [
        ({"topic": "a", "operations": ["create"]}, "a", True),
        ({"topic": "a", "operations": ["create"]}, "ab", False),
        ({"topic": "a", "operations": ["create"], "pattern": "prefixed"}, "ab", True),
        ({"topic": "a", "operations": ["create"], "pattern": "prefixed"}, "ba", False),
        ({"topic": "*", "operations": ["create"]}, "ab", True),
        ({"topic": "a", "operations": ["all"]}, "a", True),
        ({"topic": "a", "operations": ["write"]}, "a", False),
        ({"topic": "a", "operations": []}, "a", False),
        ({"operations": ["create"]}, "a", False),
        ({"group": "a", "operations": ["all"], "pattern": "prefixed"}, "a", False),
    ],
)
def test_what_a_grant_allows(grant: dict[str, Any], topic: str, allowed: bool) -> None:
    assert connectors.allows(grant, topic, "create") is allowed


def test_topics_that_sinks_read() -> None:
    config = {"connector.class": "JdbcSink", "topics": "x,y"}
    sinks = [{"name": name, "config": config} for name in ("a", "b")]
    assert connectors.topics_read(written(*sinks)) == {"x": ["a", "b"], "y": ["a", "b"]}
    source = {"name": "s", "config": {"connector.class": "Source", "topics": "z"}}
    for operation, read in (("create", {"y"}), ("write", {"x", "y"})):
        grants = [{"topic": "x", "operations": [operation]}]
        topics = connectors.topics_read(written(*sinks, {**source, "grants": grants}))
        assert {*topics} == read
    gone = {**source, "state": "absent"}
    assert {*connectors.topics_read(written(*sinks, gone))} == {"x", "y"}


def test_users_are_those_of_connectors_that_stay() -> None:
    listed = written(
        {"name": "a", "kafka_user": "u"},
        {"name": "b", "kafka_user": "gone", "state": "absent"},
        {"name": "c"},
        {"name": "d", "kafka_user": "u", "state": "absent"},
    )
    assert [user.name for user in connectors.users("g", listed)] == ["u"]
    assert [connectors.former_user(entry, listed) for entry in listed] == [
        "",
        "gone",
        "",
        "",
    ]
