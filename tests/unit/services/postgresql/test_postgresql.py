"""The lab's database: its files, who may use it, and what connectors need of it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
    desired,
    module_options,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    NoServiceError,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.postgresql import (
    model as postgresql,
)

from tests.unit.cluster.small import cluster, with_secrets

KAFKA = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"]}
GROUPS = {**KAFKA, "kafka_connect": ["k1"], "postgresql": ["d1"]}
SOURCE = "io.debezium.connector.postgresql.PostgresConnector"
SINK = "io.debezium.connector.jdbc.JdbcSinkConnector"
URL = "jdbc:postgresql://d1:5432/flights?sslmode=verify-full"


def resolved(**variables: Any) -> Cluster:
    of_hosts = {"k1": {"kafka_node_id": 1}}
    return with_secrets(cluster(GROUPS, of_hosts, connect_security="standard", **variables))


def connector(name: str, **config: Any) -> dict[str, Any]:
    return {"name": name, "config": {key.replace("_", "."): value for key, value in config.items()}}


def source(**config: Any) -> dict[str, Any]:
    defaults = {
        "database_hostname": "d1",
        "database_dbname": "flights",
        "database_user": "debezium",
    }
    return connector("planes", connector_class=SOURCE, **{**defaults, **config})


def queries(*connectors: dict[str, Any]) -> str:
    deployment = resolved(connect_connectors=list(connectors))
    checks = module_options.of_module("postgresql_checks", deployment, "d1")["connectors"]
    return "\n".join(check["query"] for check in checks)


def test_a_verifier_is_that_of_rfc_7677() -> None:
    """Its keys are those that the messages of the example in RFC 7677 follow from."""
    salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
    stored = "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    server = "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    stored_verifier = postgresql.verifier("pencil", base64.b64decode(salt))
    assert stored_verifier == f"SCRAM-SHA-256$4096:{salt}${stored}:{server}"


def test_a_verifier_can_be_compared_and_its_salt_shows_nothing_of_the_password() -> None:
    salt = postgresql.salt_of("user")
    assert salt == postgresql.salt_of("user")
    assert salt != postgresql.salt_of("other")
    assert postgresql.verifier("pencil", salt) != postgresql.verifier("pen", salt)


def test_the_server_has_no_password_and_nobody_logs_in_without_tls() -> None:
    state = desired.of_service(resolved(), "d1", "postgresql")
    texts = {path: entry.get("content", "") for path, entry in state["files"].items()}
    assert not [path for path, text in texts.items() if "(password of" in text]
    access = texts["/etc/millrace-postgresql/pg_hba.conf"].splitlines()
    assert {line.split()[0] for line in access} == {"local", "hostssl"}
    assert all(line.split()[-1] in ("peer", "scram-sha-256") for line in access)
    key = state["files"]["/etc/millrace-postgresql/server.pem"]
    assert (key["mode"], key["owner"], key["secret"]) == ("0400", "postgres", True)


def test_statements_have_verifiers_alone() -> None:
    steps = module_options.of_module("postgresql_setup", resolved(), "d1")["steps"]
    assert "(password of" not in str(steps)
    salt = postgresql.salt_of("debezium")
    assert postgresql.verifier("(password of debezium)", salt) in str(steps)


def test_users_may_connect_before_everybody_else_may_not() -> None:
    """A run that ends between the two would leave connectors out: the check is true after both."""
    steps = module_options.of_module("postgresql_setup", resolved(), "d1")["steps"]
    [step] = [setup_step for setup_step in steps if "REVOKE" in setup_step["apply"]]
    assert step["apply"].index("GRANT") < step["apply"].index("REVOKE")


def test_settings_of_the_inventory_override_those_of_the_role() -> None:
    config = {"max_slot_wal_keep_size": "5GB", "it's": "quoted", "fsync": False}
    state = desired.of_service(resolved(postgresql_config=config), "d1", "postgresql")
    lines = state["files"]["/etc/millrace-postgresql/postgresql.conf"]["content"].splitlines()
    assert "max_slot_wal_keep_size = '5GB'" in lines
    assert "fsync = 'off'" in lines
    assert "wal_level = 'logical'" in lines


def test_workers_get_the_passwords_of_connectors_and_the_ca() -> None:
    files = desired.of_service(resolved(), "k1", "connect")["files"]
    secrets = files["/etc/connect/secrets/postgresql.properties"]
    assert secrets["secret"]
    assert "debezium=(password of debezium)" in secrets["content"]
    assert "owner" not in secrets["content"]
    assert "/etc/connect/certificates/connect-ca.pem" in files


def test_without_a_database_there_is_no_file() -> None:
    groups = {name: hosts for name, hosts in GROUPS.items() if name != "postgresql"}
    deployment = with_secrets(cluster(groups, {"k1": {"kafka_node_id": 1}}))
    assert "/etc/connect/secrets/postgresql.properties" not in str(
        desired.of_service(deployment, "k1", "connect")["files"]
    )
    with pytest.raises(NoServiceError, match="postgresql"):
        desired.of_service(deployment, "k1", "postgresql")


def test_what_is_missing_of_the_secrets_is_named() -> None:
    deployment = cluster(GROUPS, {"k1": {"kafka_node_id": 1}})
    missing = deployment.missing_secrets("d1", "postgresql")
    assert {"d1/postgresql", "postgresql_debezium"} < {*missing}
    assert "postgresql_sink" in deployment.missing_secrets("k1", "connect")


def test_a_firewall_lets_hosts_of_the_inventory_in() -> None:
    [port] = resolved().listening("d1")
    assert (port.port, port.callers) == (5432, ("nodes",))


def test_data_goes_only_if_it_is_asked_for() -> None:
    removal = desired.removal(resolved(), "d1", "postgresql")
    assert postgresql.DATA not in removal["removed"]
    gone = desired.removal(resolved(postgresql_remove_data=True), "d1", "postgresql")
    assert postgresql.DATA in gone["removed"]


def test_a_source_needs_its_log_its_user_its_publication_and_its_tables() -> None:
    query = queries(source(publication_name="it's", table_include_list="source.a, source.b"))
    assert "current_setting('wal_level')" in query
    assert "rolname = 'debezium'" in query
    assert "pubname = 'it''s'" in query
    assert "('source.a'), ('source.b')" in query


def test_a_sink_needs_its_tables() -> None:
    config = {"connector_class": SINK, "connection_url": URL, "topics": "a.b,c"}
    query = queries(connector("s", **config, collection_name_format="results.${topic}"))
    assert "('results.a_b'), ('results.c')" in query
    assert not queries(connector("s", **config, schema_evolution="basic"))


@pytest.mark.parametrize(
    "unrelated",
    [
        source(database_hostname="d2"),
        source(database_dbname="others"),
        {**source(), "state": "absent"},
        connector("s", connector_class=SINK, connection_url=URL.replace("d1", "d2"), topics="a"),
        connector(
            "s", connector_class=SINK, connection_url=f"{URL[: URL.index('?')]}2", topics="a"
        ),
    ],
)
def test_connectors_of_other_databases_are_not_asked_about(unrelated: dict[str, Any]) -> None:
    assert not queries(unrelated)
