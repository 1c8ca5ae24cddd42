"""Change data capture while what it needs fails: results are equal to the tables, row by row."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.faults.catalogue.changes import FAULTS
from tests.support.faults.changes_target import Changes, changes
from tests.support.faults.target import Fault, skip_unless_full
from tests.support.lab.change import Plays
from tests.support.lab.topology import Topology
from tests.support.services.changes import PAGE, Captured
from tests.support.wait import wait_for

SLOT = "millrace"


@pytest.fixture(scope="module")
def target(
    topology: Topology, hosts: dict[str, Host], plays: Plays, connect_rest: Rest
) -> Iterator[Changes]:
    if not topology.cluster.databases:
        pytest.skip("no database here")
    skip_unless_full()
    with changes(topology, hosts, plays, connect_rest) as target:
        yield target


@pytest.fixture
def captured(target: Changes) -> Captured:
    return target.captured


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault(target: Changes, fault: Fault) -> None:
    target.run(fault)


def test_health_is_as_before(target: Changes) -> None:
    wait_for(lambda: target.plays.run("health")[0] == 0, seconds=180, what="a healthy cluster")


def test_the_schema_changes_while_it_runs(target: Changes, captured: Captured) -> None:
    captured.sql(
        "ALTER TABLE source.planes ADD COLUMN note text; "
        "UPDATE source.planes SET note = 'seen', seats = 7 WHERE tailnum LIKE '%9UA'; "
        "ALTER TABLE source.planes ALTER COLUMN seats TYPE bigint; "
        "UPDATE source.planes SET seats = 3000000000 WHERE tailnum LIKE '%8UA'; "
        "ALTER TABLE source.planes DROP COLUMN speed"
    )
    target.change()
    captured.settled()
    assert target.both_run


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
    another_source = {
        **source,
        "name": "another-source",
        "kafka_user": "another-source",
        "config": config,
    }

    def given(**overrides: str) -> tuple[str, str]:
        return "-e", json.dumps(
            {"connect_connectors": [source, sink, {**another_source, **overrides}]}
        )

    try:
        assert "all replication slots are in use" in captured.plays.refuse("connectors", *given())
        assert "all replication slots are in use" in captured.plays.refuse("health")
    finally:
        captured.sql(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_name LIKE 'taken%'"
        )
        captured.plays.succeed("connectors", *given(state="absent"))
    assert captured.plays.run("health")[0] == 0


def test_after_a_lost_slot_the_procedure_of_the_page_leads_to_equal_results(
    target: Changes, captured: Captured
) -> None:
    captured.connectors("stopped")
    target.change()
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
    steps = [shlex.split(command)[3:] for command in guide.commands("Begin again", PAGE)]
    names = [step[0].removeprefix("playbooks/").removesuffix(".yml") for step in steps]
    reset = names.index("changes_reset")
    for number, (name, (_, *arguments)) in enumerate(zip(names, steps, strict=True)):
        if name == "jobs":
            captured.jobs("absent" if number < reset else "present")
        elif name == "connectors":
            captured.connectors("stopped" if number < reset else "running", *arguments)
        else:
            captured.plays.succeed(name, *arguments)
    captured.settled()
    assert captured.plays.run("health")[0] == 0
