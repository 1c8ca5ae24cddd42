"""Change data capture from outside: the database, and tables, topics and results that are equal."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from testinfra.host import Host

from changes.schemas import DIMENSIONS
from tests.support.clients import guide
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.recap import changed
from tests.support.services.changes import LIMIT, PAGE, SINK_NAME, SOURCE_NAME, Captured


@pytest.fixture(scope="module")
def captured(
    topology: Topology, hosts: dict[str, Host], plays: Plays, connect_rest: Rest
) -> Iterator[Captured]:
    if not topology.cluster.databases:
        pytest.skip("no database here")
    captured = Captured(topology, hosts, plays, connect_rest)
    try:
        captured.begin()
        yield captured
    finally:
        captured.end()


def test_tables_topics_and_results_are_equal(captured: Captured) -> None:
    captured.settled()
    assert all(captured.expected(dimension) for dimension in DIMENSIONS)


def test_results_follow_what_is_written(captured: Captured) -> None:
    captured.sql(
        "UPDATE source.planes SET seats = seats + 1 WHERE tailnum LIKE 'N1%'; "
        "DELETE FROM source.planes WHERE tailnum LIKE 'N2%'; "
        "UPDATE source.airports SET faa = 'X' || faa WHERE faa IN ('ATL', 'ORD'); "
        "INSERT INTO source.airports (faa, name) VALUES ('ATL', 'Another one')"
    )
    captured.settled()


def test_both_connectors_run_and_a_second_run_changes_nothing(captured: Captured) -> None:
    assert captured.runs(SOURCE_NAME)
    assert captured.runs(SINK_NAME)
    assert changed(captured.connectors()) == 0
    assert changed(captured.plays.succeed("changes", "-e", f"flights_limit={LIMIT}")) == 0
    assert captured.plays.run("health")[0] == 0


def test_the_command_of_the_page_works(captured: Captured) -> None:
    (command,) = guide.commands("Users", PAGE)
    assert int(captured.host.check_output(f"cd / && {command} -At")) > 0


def test_the_server_takes_passwords_over_tls_alone(captured: Captured, topology: Topology) -> None:
    """Who does not ask for TLS is refused before a password is sent."""
    database = captured.database
    address = topology.addresses[database.host.name], database.ports["postgresql_port"]
    with socket.create_connection(address, timeout=10) as plain:
        words = b"user\0debezium\0database\0" + database.database.encode() + b"\0\0"
        message = (196608).to_bytes(4, "big") + words  # protocol 3.0
        plain.sendall((len(message) + 4).to_bytes(4, "big") + message)
        response = plain.recv(4096)
    assert response[:1] == b"E"
    assert b"no encryption" in response


@pytest.mark.parametrize("user", ["debezium", "sink"])
def test_a_user_may_do_no_more_than_it_needs(captured: Captured, user: str) -> None:
    privileges = captured.sql(
        f"SELECT json_build_array(has_table_privilege('{user}', 'source.planes', 'SELECT'), "
        f"has_table_privilege('{user}', 'source.planes', 'INSERT, UPDATE, DELETE'), "
        f"has_table_privilege('{user}', 'results.planes_flights', 'INSERT'), "
        f"has_schema_privilege('{user}', 'source', 'CREATE'), "
        f"(SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = '{user}'))"
    )
    assert json.loads(privileges[0]) == [user == "debezium", False, user == "sink", False, False]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "database.password",
            "${file:/etc/connect/secrets/postgresql.properties:sink}",
            "password",
        ),
        ("database.dbname", "nowhere", "nowhere"),
        ("publication.name", "nothing", "publication nothing"),
        ("table.include.list", "source.planes,source.trains", "source.trains"),
        ("database.user", "sink", "may not replicate"),
    ],
)
def test_what_the_database_lacks_is_refused_first(
    captured: Captured, key: str, value: str, message: str
) -> None:
    source, sink = captured.described
    wrong = {**source, "config": {**source["config"], key: value}}
    variables = json.dumps({"connect_connectors": [wrong, sink]})
    before = captured.rest.call("GET", f"/connectors/{SOURCE_NAME}/config")
    assert message in captured.plays.refuse("connectors", "-e", variables)
    assert captured.rest.call("GET", f"/connectors/{SOURCE_NAME}/config") == before


def test_a_server_without_logical_replication_is_refused(captured: Captured) -> None:
    variables = json.dumps({"postgresql_config": {"wal_level": "replica"}})
    output = captured.plays.refuse("connectors", "-e", variables)
    assert "postgresql-wal-level" in output
    assert "wal_level: logical" in output
