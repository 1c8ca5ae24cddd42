"""Connectors of the inventory: as whom they read and write, and what the workers get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.model import (
    connectors,
    module_options,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.desired import of_service
from ansible_collections.millrace.streaming.plugins.module_utils.model.security import User

from tests.unit.model.small import cluster, with_secrets

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
    *given: Mapping[str, Any], security: str = "standard", secrets: Mapping[str, Any] = SECRETS
) -> Cluster:
    found = cluster(
        GROUPS,
        {"k1": {"kafka_node_id": 1}},
        kafka_security=security,
        connect_connectors=[dict(one) for one in given],
        connect_secrets=dict(secrets),
    )
    return with_secrets(found)


def written(*given: Mapping[str, Any]) -> list[connectors.Connector]:
    return connectors.of_settings({"connect_connectors": given})


def asked(found: Cluster) -> list[dict[str, Any]]:
    options = module_options.of_module("connect_connectors", found, "w1")
    return list(options["connectors"])


def user(found: Cluster, name: str) -> User:
    return next(one for one in found.kafka["k1"].users if one.name == name)


def test_a_connector_logs_in_as_its_own_user() -> None:
    (one,) = asked(closed(SINK))
    for prefix in ("producer.", "consumer.", "admin."):
        key = f"{prefix}override.sasl.jaas.config"
        assert one["config"][key] == f"${{file:{LOGIN}:sasl.jaas.config}}"
    assert one["config"]["tasks.max"] == "2"


def test_another_secret_is_another_configuration() -> None:
    """Whichever run has written it: a worker reads it only when it starts the connector."""

    def config(planes: Mapping[str, Any], *given: Mapping[str, Any]) -> dict[str, str]:
        found = asked(closed(*given or [SINK], security="open", secrets={"planes": planes}))
        return dict(found[0]["config"])

    before = config({"password": "geheim"})
    assert config({"password": "geheim"}) == before
    after = config({"password": "other"})
    assert {key for key in before if before[key] != after[key]} == {connectors.DIGEST}
    assert config({"password": "geheim", "of_others": "x"}) == before
    assert connectors.DIGEST not in config({"password": "x"}, SOURCE)


def test_another_login_is_another_configuration() -> None:
    found = closed(SINK)
    before = asked(found)[0]["config"]
    given = dict.fromkeys(found.inventory.secrets.passwords, "another")
    secrets = replace(found.inventory.secrets, passwords=given)
    after = asked(resolve(replace(found.inventory, secrets=secrets)))[0]["config"]
    assert {key for key in before if before[key] != after[key]} == {connectors.DIGEST}


def test_what_the_inventory_says_of_a_client_stays() -> None:
    own = {**SINK, "config": {**SINK["config"], "admin.override.sasl.jaas.config": "${file:x:y}"}}
    (one,) = asked(closed(own))
    assert one["config"]["admin.override.sasl.jaas.config"] == "${file:x:y}"


def test_on_an_open_cluster_nobody_logs_in() -> None:
    (one,) = asked(closed(SINK, security="open"))
    assert not [key for key in one["config"] if "jaas" in key]


def test_users_may_do_what_their_kind_of_connector_needs_and_no_more() -> None:
    found = closed(SINK, SOURCE)
    assert user(found, "planes-sink").grants == [
        {"group": "connect-planes", "operations": ["read", "delete"]},
        {"topic": "planes", "operations": ["read"], "pattern": "literal"},
    ]
    source = user(found, "airports-source").grants
    assert {one.get("topic") or one.get("transactional_id") for one in source} == {
        *("connect-offsets", "connect-airports-"),
    }


def test_the_user_of_an_absent_connector_is_left_until_it_is_gone() -> None:
    gone = {**SINK, "state": "absent"}
    found = closed(gone)
    assert "planes-sink" not in {one.name for one in found.kafka["k1"].users}
    assert LOGIN not in found.connect["w1"].secret_files()
    (one,) = asked(found)
    assert (one["state"], one["config"]) == ("absent", {})
    assert one["former_user"] == "planes-sink"
    assert asked(closed(SINK))[0]["former_user"] == ""
    assert asked(closed(gone, security="open"))[0]["former_user"] == ""
    renamed = asked(closed(gone, {**SINK, "name": "aircraft"}))
    assert [one["former_user"] for one in renamed] == ["", ""]


def test_secrets_are_files_that_only_the_workers_read() -> None:
    found = closed(SINK)
    files = of_service(found, "w1", "connect")["files"]
    for path in (LOGIN, "/etc/connect/secrets/planes.properties"):
        entry = files[path]
        assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "connect", True)
        assert not entry.get("restart"), "a connector reads them when it starts"
    assert "geheim" in files["/etc/connect/secrets/planes.properties"]["content"]
    assert "geheim" not in str(asked(found))


def test_topics_that_a_source_creates_need_not_be_there() -> None:
    grants = [{"topic": "db.", "pattern": "prefixed", "operations": ["create", "write"]}]
    sink = {**SINK, "config": {**SINK["config"], "topics": "planes, db.airports"}}
    read = connectors.topics_read(written(sink, {**SOURCE, "grants": grants}))
    assert read == {"planes": ["planes"]}
    assert connectors.topics_read(written({**sink, "state": "absent"})) == {}
    assert connectors.topics_read(written(sink, SOURCE)) == {}, "it may create any"
