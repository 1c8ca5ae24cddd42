"""Procedures for operators, by the commands of their pages, on a secured cluster."""

from __future__ import annotations

import importlib
import json
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import INVENTORY, Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.recap import changed

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
kafka: Any = importlib.import_module("kafka")  # which has no types
TEAMS, CONTROL_NODE = guide.TEAMS, guide.CONTROL_NODE
FILES = "2. Write a file for each team"
USERS = ("orders-shop", "orders-admin", "billing-invoices")


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    assert topology.closed, "there are no users on an open cluster"
    return Operator(topology, hosts, tmp_path)


def test_a_restored_control_node_is_the_former_one(operator: Operator, tmp_path: Path) -> None:
    inventory, place = operator.topology.inventory, tmp_path / "restored"
    place.mkdir()
    pack, look = guide.commands("Back up", CONTROL_NODE)
    unpack, *compare = guide.commands("Restore", CONTROL_NODE)
    operator.names = {INVENTORY: inventory.name}
    operator.run(pack, folder=inventory.parent)
    assert operator.run(look).strip() == f"{inventory.name}/.secrets/store.json"
    operator.run(unpack, folder=place)
    restored = place / inventory.name
    assert stat.S_IMODE((restored / ".secrets").stat().st_mode) == 0o700
    operator.names = {INVENTORY: str(restored)}
    outputs = [operator.run(command) for command in compare]
    assert [changed(output) for output in outputs] == [0, 0]


@pytest.fixture
def teams(operator: Operator, admin: Any) -> Iterator[Operator]:
    """The users of the page's teams, and a topic; all are removed afterwards."""
    topology = operator.topology
    variables: dict[str, Any] = {}
    for text in guide.blocks(FILES, "yaml", TEAMS):
        variables |= yaml.safe_load(text)
    added = topology.inventory / "teams.yml"

    def write(values: dict[str, Any]) -> None:
        hosts = dict.fromkeys(topology.group("kafka_brokers"), values)
        added.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))

    admin.create_topics({"orders.paid": {"num_partitions": 1, "replication_factor": 3}})
    write(variables)
    try:
        operator.follow("3. Apply it", TEAMS, topology.group("kafka_brokers")[0])
        yield operator
    finally:
        write({"kafka_users": [{"name": name, "state": "absent"} for name in USERS]})
        operator.run(guide.commands("3. Apply it", TEAMS)[-1])
        added.unlink()
        admin.delete_topics(["orders.paid"])


def test_teams_may_do_what_their_files_say(teams: Operator) -> None:
    [command] = guide.commands("4. Hand over the login", TEAMS)
    logins = {}
    for user in USERS:
        teams.run(command.replace("orders-shop", user))
        written = teams.folder / f"build/clients/{user}/kafka-python.json"
        logins[user] = json.loads(written.read_text())
    with closing(kafka.KafkaProducer(**logins["orders-shop"])) as producer:
        producer.send("orders.paid", b"paid").get(timeout=30)
        with pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send("billing.invoices", b"no").get(timeout=30)
    with closing(
        kafka.KafkaConsumer(
            "orders.paid",
            **logins["billing-invoices"],
            group_id="billing-1",
            auto_offset_reset="earliest",
            consumer_timeout_ms=30_000,
        )
    ) as consumer:
        assert next(consumer).value == b"paid"


def test_grants_and_limits_are_shown(teams: Operator) -> None:
    broker = teams.topology.group("kafka_brokers")[0]
    grants, users = teams.follow("5. See who may do what", TEAMS, broker)
    assert "orders.paid" in grants
    assert "orders-admin" not in grants
    assert all(name in users for name in USERS)
    limit, lift = guide.commands("6. Limit a team", TEAMS)
    show = guide.commands("5. See who may do what", TEAMS)[1]
    teams.run(limit, broker)
    assert "producer_byte_rate=10485760" in teams.run(show, broker)
    teams.run(lift, broker)
    assert "producer_byte_rate" not in teams.run(show, broker)
