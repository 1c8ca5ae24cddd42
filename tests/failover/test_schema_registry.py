"""Schemas as code, killed instances under load, and a backup that is restored."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry.model import (
    topics,
)
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.registrations import LAG_SECONDS, Registrations
from tests.support.faults.catalogue.registries import FAULTS
from tests.support.faults.ledger_run import RUNS
from tests.support.faults.registries_target import Registries
from tests.support.faults.target import Fault
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.recap import changed
from tests.support.services.registry import Login
from tests.support.wait import wait_for

PAGE = ROOT / "docs/operate/schema_registry.md"
SUBJECTS = f"{CONFLUENT}/subjects"
PREFIX = f"test-{uuid.uuid4().hex[:8]}"
PLANES, WINGS, DEPARTURES, POSITIONS = (
    f"{PREFIX}-{name}-value" for name in ("planes", "wings", "departures", "positions")
)
READY_SECONDS = 180


def plane(*fields: str) -> dict[str, Any]:
    """A record with some fields that have no default."""
    return {
        "type": "record",
        "name": "Plane",
        "namespace": "flights",
        "fields": [{"name": name, "type": "int"} for name in fields],
    }


def wing() -> dict[str, Any]:
    return {
        "type": "record",
        "name": "Wing",
        "fields": [{"name": "of", "type": "flights.Plane"}],
    }


def entries(*fields: str, **keys: Any) -> list[dict[str, Any]]:
    """Entries of the inventory, one of each language; `keys` are keys of the first."""
    position = 'syntax = "proto3";\npackage flights;\nmessage Position { double latitude = 1; }\n'
    return [
        {"topic": f"{PREFIX}-planes", "schema": plane(*fields), **keys},
        {
            "subject": WINGS,
            "schema": wing(),
            "references": [{"name": "flights.Plane", "subject": PLANES, "version": 1}],
        },
        {
            "topic": f"{PREFIX}-departures",
            "type": "JSON",
            "schema": {"title": "Departure", "type": "object", "properties": {}},
        },
        {
            "topic": f"{PREFIX}-positions",
            "type": "PROTOBUF",
            "schema": position,
            "compatibility": "FULL",
        },
    ]


def given(*subjects: dict[str, Any]) -> tuple[str, str]:
    """The arguments of a playbook that name subjects."""
    return "-e", json.dumps({"schema_registry_subjects": [*subjects]})


def versions(registry: Registry) -> dict[tuple[str, int], int]:
    """Subject and version -> id, of all that there is."""
    ids = {}
    for name in registry.call("GET", SUBJECTS):
        for version in registry.call("GET", f"{SUBJECTS}/{name}/versions"):
            registered = registry.call("GET", f"{SUBJECTS}/{name}/versions/{version}")
            ids[(name, version)] = registered["id"]
    return ids


@pytest.fixture(scope="module", autouse=True)
def _removed(registry: Registry) -> Iterator[None]:
    """Remove what the tests have registered, what refers to others first."""
    yield
    subjects = [name for name in registry.call("GET", SUBJECTS) if name.startswith(PREFIX)]
    for name in sorted(subjects, key=lambda subject: subject != WINGS):
        # As a whole a subject is refused as long as a removed one refers to it.
        for version in registry.call("GET", f"{SUBJECTS}/{name}/versions"):
            registry.call("DELETE", f"{SUBJECTS}/{name}/versions/{version}")


def healthy(plays: Plays) -> None:
    wait_for(lambda: plays.run("health")[0] == 0, seconds=READY_SECONDS, what="a healthy registry")


def test_check_mode_changes_nothing(registry: Registry, plays: Plays) -> None:
    output = plays.succeed("schemas", *given(*entries("seats")), "--check", "--diff")
    assert f"register {PLANES}" in output
    assert PLANES not in registry.call("GET", SUBJECTS)


def test_schemas_are_registered_and_a_second_run_changes_nothing(
    registry: Registry, plays: Plays
) -> None:
    plays.succeed("schemas", *given(*entries("seats")))
    assert {PLANES, WINGS, DEPARTURES, POSITIONS} <= {*registry.call("GET", SUBJECTS)}
    level = registry.call("GET", f"{CONFLUENT}/config/{POSITIONS}")
    assert level["compatibilityLevel"] == "FULL"
    assert changed(plays.succeed("schemas", *given(*entries("seats")))) == 0


def test_schemas_that_are_refused_change_nothing_and_are_all_named(
    registry: Registry, plays: Plays
) -> None:
    before = versions(registry)
    broken = {"subject": f"{PREFIX}-broken", "schema": {"type": "recod"}}
    new = {"subject": f"{PREFIX}-new", "schema": {"type": "string"}}
    output = plays.refuse("schemas", *given(new, broken, *entries("seats", "year")))
    assert PLANES in output
    assert f"{PREFIX}-broken" in output
    assert versions(registry) == before


def test_a_level_that_a_schema_breaks_is_set_back(registry: Registry, plays: Plays) -> None:
    before = versions(registry)
    subjects = entries("seats", "year", compatibility="FULL")
    assert PLANES in plays.refuse("schemas", *given(*subjects))
    level = registry.call("GET", f"{CONFLUENT}/config/{PLANES}")
    assert level["compatibilityLevel"] != "FULL"
    assert versions(registry) == before


def test_a_level_of_a_subject_lets_a_schema_in(registry: Registry, plays: Plays) -> None:
    plays.succeed("schemas", *given(*entries("seats", "year", compatibility="NONE")))
    assert registry.call("GET", f"{SUBJECTS}/{PLANES}/versions") == [1, 2]
    plays.succeed("schemas", *given(*entries("seats", "year")))
    assert changed(plays.succeed("schemas", *given(*entries("seats", "year")))) == 0


def test_wrong_entries_and_names_are_refused(plays: Plays) -> None:
    wrong = (
        {"topic": "a", "strategy": "TopicName", "schema": {"type": "string"}},
        {"topic": "b", "file": "/nowhere/b.avsc"},
    )
    assert "TopicNameStrategy" in plays.refuse("schemas", *given(wrong[0]))
    assert "/nowhere/b.avsc" in plays.refuse("schemas", *given(wrong[1]))
    right = given({"topic": "c", "schema": {"type": "string"}})
    assert "c-value" in plays.refuse("schemas", *right, "-e", "subject=c")


def test_a_subject_is_removed_when_it_is_asked_for_and_can_come_back(
    registry: Registry, plays: Plays
) -> None:
    departures = {"topic": f"{PREFIX}-departures", "type": "JSON"}
    present = {**departures, "schema": {"title": "Departure", "type": "object", "properties": {}}}
    plays.succeed("schemas", *given({**departures, "state": "absent"}))
    assert DEPARTURES not in registry.call("GET", SUBJECTS)
    assert changed(plays.succeed("schemas", *given({**departures, "state": "absent"}))) == 0
    plays.succeed("schemas", *given(present))
    assert DEPARTURES in registry.call("GET", SUBJECTS)
    assert changed(plays.succeed("schemas", *given(present))) == 0


def test_a_subject_to_which_another_refers_is_removed_with_it_or_not_at_all(
    registry: Registry, plays: Plays
) -> None:
    base, user = (f"{PREFIX}-{name}-value" for name in ("base", "user"))
    refers = {"name": "flights.Plane", "subject": base}
    present: list[dict[str, Any]] = [
        {"subject": user, "schema": wing(), "references": [refers]},
        {"subject": base, "schema": plane("seats")},
    ]
    plays.succeed("schemas", *given(*present))
    before = versions(registry)
    assert user in plays.refuse("schemas", *given({"subject": base, "state": "absent"}))
    assert versions(registry) == before
    absent = [{"subject": name, "state": "absent"} for name in (base, user)]
    plays.succeed("schemas", *given(*absent))
    assert not {base, user} & {*registry.call("GET", SUBJECTS)}
    assert changed(plays.succeed("schemas", *given(*absent))) == 0


def test_the_commands_of_the_page_work(plays: Plays, tmp_path: Path) -> None:
    for command in guide.commands("Schemas", PAGE):
        _, _, arguments = command.partition("playbooks/schemas.yml")
        plays.succeed(
            "schemas",
            *arguments.replace("planes-value", PLANES).split(),
            *given(*entries("seats", "year")),
        )
    for command in guide.commands("Backup", PAGE):
        name, _, arguments = command.partition("playbooks/")[2].partition(".yml")
        file = arguments.replace("/backup/schemas.zip", str(tmp_path / "schemas.zip"))
        plays.succeed(name, *file.split())


@pytest.fixture(scope="module")
def target(
    topology: Topology,
    hosts: dict[str, Host],
    plays: Plays,
    registry: Registry,
    registry_authority: str,
    registry_login: Login,
) -> Iterator[Registries]:
    client = {
        "ssl.ca.location": registry_authority,
        "basic.auth.user.info": registry_login("write"),
    }
    with Registrations(PREFIX, client, registry.instances) as load:
        yield Registries(
            topology,
            hosts,
            plays,
            RUNS / topology.name,
            registry=registry,
            registrations=load,
            schemas=given(*entries("seats", "year")),
        )


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault(target: Registries, fault: Fault) -> None:
    target.run(fault)


def test_no_client_gave_up_and_nothing_registered_is_missing(target: Registries) -> None:
    target.registrations.stop()
    assert not target.registrations.errors
    wait_for(lambda: not target.missing(), seconds=LAG_SECONDS, what="all of it at each instance")


def test_schemas_survive_a_restart_of_all_instances(
    topology: Topology, hosts: dict[str, Host], registry: Registry, plays: Plays
) -> None:
    before = versions(registry)
    names = [*topology.cluster.schema_registry]
    for name in names:
        hosts[name].check_output("systemctl stop schema_registry")
    for name in names:
        hosts[name].check_output("systemctl start schema_registry")
    healthy(plays)
    assert versions(registry) == before


def test_a_backup_is_restored_with_the_same_ids(
    topology: Topology,
    hosts: dict[str, Host],
    registry: Registry,
    plays: Plays,
    admin: Any,
    tmp_path: Path,
) -> None:
    archive = tmp_path / "schemas.zip"
    before = versions(registry)
    plays.succeed("schemas_backup", "-e", f"path={archive}")
    for name in topology.cluster.schema_registry:
        hosts[name].check_output("systemctl stop schema_registry")
    storage_topics = [*topics(1)]
    admin.delete_topics(storage_topics)
    wait_for(
        lambda: not {*storage_topics} & {*admin.list_topics()}, seconds=60, what="topics to be gone"
    )
    plays.succeed("site", seconds=1200)
    healthy(plays)
    assert registry.call("GET", SUBJECTS) == []
    output = plays.succeed("schemas_restore", "-e", f"path={archive}", "--check")
    assert registry.call("GET", SUBJECTS) == [], output
    plays.succeed("schemas_restore", "-e", f"path={archive}")
    assert versions(registry) == before
    level = registry.call("GET", f"{CONFLUENT}/config/{POSITIONS}")
    assert level["compatibilityLevel"] == "FULL"
    assert changed(plays.succeed("schemas_restore", "-e", f"path={archive}")) == 0
    healthy(plays)


def test_other_schemas_are_not_mixed_with_those_of_a_backup(
    registry: Registry, plays: Plays, tmp_path: Path
) -> None:
    archive = tmp_path / "schemas.zip"
    plays.succeed("schemas_backup", "-e", f"path={archive}")
    later = f"{PREFIX}-later-value"
    registry.call("POST", f"{SUBJECTS}/{later}/versions", {"schema": '"string"'})
    before = versions(registry)
    assert later in plays.refuse("schemas_restore", "-e", f"path={archive}")
    assert versions(registry) == before
