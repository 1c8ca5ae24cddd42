"""Change data capture while what it needs fails: results are equal to the tables, row by row."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.model.postgresql import UNIT
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.faults.target import skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.changes import PAGE, SINK_NAME, SOURCE_NAME, Captured
from tests.support.wait import wait_for

SLOT = "millrace"


@pytest.fixture(scope="module")
def captured(
    topology: Topology, hosts: dict[str, Host], plays: Plays, connect_rest: Rest
) -> Iterator[Captured]:
    if not topology.cluster.databases:
        pytest.skip("no database here")
    skip_unless_full()
    found = Captured(topology, hosts, plays, connect_rest)
    try:
        found.begin()
        found.settled()
        yield found
    finally:
        found.end()


def change(captured: Captured, number: int) -> None:
    """Insert, update, delete, and change primary keys, each time of other rows."""
    digit = number % 10
    captured.sql(
        f"INSERT INTO source.planes (tailnum, manufacturer, seats) VALUES ('NEW{number}', 'X', 1); "
        f"UPDATE source.planes SET seats = coalesce(seats, 0) + {number} "
        f"WHERE tailnum LIKE '%{digit}UA'; "
        f"DELETE FROM source.planes WHERE tailnum LIKE 'N{digit}%' AND seats < 100; "
        f"UPDATE source.planes SET tailnum = tailnum || '-{number}' "
        f"WHERE tailnum LIKE '%{digit}AA'; "
        f"UPDATE source.airports SET lat = lat + {number} WHERE faa LIKE '{'ABCDEFGHIJ'[digit]}%'"
    )


def worker_of(captured: Captured, name: str) -> str:
    """The host whose worker has the first task of a connector."""
    workers = captured.topology.cluster.connect
    hosts = dict(zip(next(iter(workers.values())).rest_addresses.values(), workers, strict=True))
    found = captured.rest.call("GET", f"/connectors/{name}/status")["tasks"]
    return hosts[found[0]["worker_id"]]


def both_run(captured: Captured) -> bool:
    return captured.runs(SOURCE_NAME) and captured.runs(SINK_NAME)


@pytest.mark.parametrize("name", [SOURCE_NAME, SINK_NAME])
def test_a_worker_killed_in_mid_task_loses_nothing(captured: Captured, name: str) -> None:
    lost = worker_of(captured, name)
    config = captured.topology.cluster.connect[lost].config
    session = int(config.get("session.timeout.ms", 10_000))  # Kafka Connect's own
    delay = (int(config["scheduled.rebalance.max.delay.ms"]) + session) / 1000
    change(captured, 1 if name == SOURCE_NAME else 2)
    host = captured.hosts[lost]
    host.check_output("systemctl kill --signal=KILL connect && systemctl stop connect")
    change(captured, 3 if name == SOURCE_NAME else 4)
    try:

        def moved() -> bool:
            return both_run(captured) and worker_of(captured, name) != lost

        wait_for(moved, seconds=1.5 * delay, what="all tasks on the other worker")
        captured.settled()
    finally:
        host.check_output("systemctl reset-failed connect; systemctl start connect")
    wait_for(lambda: captured.plays.run("health")[0] == 0, seconds=180, what="a healthy group")


def test_a_killed_database_loses_nothing(captured: Captured) -> None:
    """Its unit starts it again, and the connectors find it by themselves."""
    change(captured, 5)
    asked = f"systemctl show --value --property=MainPID {UNIT}"
    killed = captured.host.check_output(asked)
    captured.host.check_output(f"systemctl kill --signal=KILL {UNIT}")

    def again() -> bool:
        client = "psql -XAtq -h /run/millrace-postgresql -d flights -c 'SELECT 1'"
        another = captured.host.check_output(asked) not in ("0", killed)
        return another and captured.host.run(f"cd / && runuser -u postgres -- {client}").rc == 0

    wait_for(again, seconds=60, what="the database again")
    change(captured, 6)
    captured.settled()
    assert both_run(captured)


def test_health_shows_a_database_that_cannot_be_reached(captured: Captured) -> None:
    """The tasks try again, and Kafka Connect shows them as running."""
    change(captured, 7)
    captured.host.check_output(f"systemctl stop {UNIT}")
    try:
        assert "PostgreSQL does not answer" in captured.plays.refuse("health")
    finally:
        captured.start_again()
    change(captured, 8)
    captured.settled()
    assert captured.plays.run("health")[0] == 0


def test_the_schema_changes_while_it_runs(captured: Captured) -> None:
    captured.sql(
        "ALTER TABLE source.planes ADD COLUMN note text; "
        "UPDATE source.planes SET note = 'seen', seats = 7 WHERE tailnum LIKE '%9UA'; "
        "ALTER TABLE source.planes ALTER COLUMN seats TYPE bigint; "
        "UPDATE source.planes SET seats = 3000000000 WHERE tailnum LIKE '%8UA'; "
        "ALTER TABLE source.planes DROP COLUMN speed"
    )
    change(captured, 9)
    captured.settled()
    assert both_run(captured)


def test_the_slot_follows_when_only_other_tables_change(captured: Captured) -> None:
    """Else the log of the database would be kept for a table that nobody writes to."""
    captured.sql(
        "CREATE TABLE IF NOT EXISTS batch.other (text text); INSERT INTO batch.other VALUES ('')"
    )
    [written] = captured.sql("SELECT pg_current_wal_lsn()")
    query = f"SELECT confirmed_flush_lsn >= '{written}' FROM pg_replication_slots"
    wait_for(
        lambda: captured.sql(query) == ["t"], seconds=60, what="the slot behind the other table"
    )


def test_without_a_free_slot_a_source_says_so(captured: Captured) -> None:
    [free] = captured.sql(
        "SELECT current_setting('max_replication_slots')::int - count(*) FROM pg_replication_slots"
    )
    captured.sql(
        "SELECT pg_create_physical_replication_slot('taken' || n) "
        f"FROM generate_series(1, {free}) n"
    )
    source, sink = captured.described
    config = {**source["config"], "slot.name": "another"}
    other = {**source, "name": "another-source", "kafka_user": "another-source", "config": config}

    def given(**more: str) -> tuple[str, str]:
        return "-e", json.dumps({"connect_connectors": [source, sink, {**other, **more}]})

    try:
        assert "all replication slots are in use" in captured.plays.refuse("connectors", *given())
        assert "all replication slots are in use" in captured.plays.refuse("health")
    finally:
        captured.plays.succeed("connectors", *given(state="absent"))
        captured.sql(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_name LIKE 'taken%'"
        )
    assert captured.plays.run("health")[0] == 0


def test_after_a_lost_slot_the_procedure_of_the_page_leads_to_equal_results(
    captured: Captured,
) -> None:
    captured.connectors("stopped")
    change(captured, 10)
    fill = (
        "INSERT INTO batch.other SELECT repeat(md5(n::text), 30) FROM generate_series(1, 40000) n"
    )
    lost = f"SELECT wal_status = 'lost' FROM pg_replication_slots WHERE slot_name = '{SLOT}'"

    def filled() -> bool:
        captured.sql(f"{fill}; SELECT pg_switch_wal(); CHECKPOINT")
        return captured.sql(lost) == ["t"]

    wait_for(filled, seconds=180, what="the slot lost")
    captured.sql("TRUNCATE batch.other; DELETE FROM source.planes WHERE tailnum LIKE 'N3%'")
    assert f"slot {SLOT} of the database flights is lost" in captured.plays.refuse("health")
    steps = [shlex.split(one)[3:] for one in guide.commands("Begin again", PAGE)]
    names = [one[0].removeprefix("playbooks/").removesuffix(".yml") for one in steps]
    reset = names.index("changes_reset")
    for number, (name, (_, *arguments)) in enumerate(zip(names, steps, strict=True)):
        if name == "jobs":
            captured.jobs("absent" if number < reset else "present")
        elif name == "connectors":
            captured.connectors("stopped" if number < reset else "running", *arguments)
        else:
            more = ["-e", "flights_limit=20000"] if name == "changes" else []
            captured.plays.succeed(name, *arguments, *more)
    captured.settled()
    assert captured.plays.run("health")[0] == 0
