"""Topics, users, grants and quotas as code, by the commands of their pages, on a secured cluster."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import ROOT, Topology
from tests.support.recap import changed
from tests.support.wait import wait_for_none

only_full = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
kafka: Any = importlib.import_module("kafka")  # which has no types
RESOURCES, TEAMS, FIRST_TOPIC = guide.RESOURCES, guide.TEAMS, guide.FIRST_TOPIC
TOPIC, TEAM_TOPIC = "audit.events", "orders.paid"
USERS = ("orders-shop", "orders-admin", "billing-invoices")
PLAN = "plan.json"
REFUSED = 2
"""Exit code of a playbook with a failed task."""
PLATFORM = {
    "teams": {
        "orders": {"prefixes": ["orders.", "orders-"]},
        "billing": {"prefixes": ["billing.", "billing-"], "quotas": True},
    }
}
Write = Callable[[Mapping[str, Any]], None]


@pytest.fixture
def operator(topology: Topology, hosts: dict[str, Host], tmp_path: Path) -> Operator:
    assert topology.closed, "there are no users on an open cluster"
    return Operator(topology, hosts, tmp_path)


@pytest.fixture
def write(topology: Topology) -> Iterator[Write]:
    """Write variables of all hosts of Kafka into a file of the inventory of its own."""
    added = topology.inventory / "resources.yml"
    names = [*topology.group("kafka_brokers"), *topology.group("kafka_controllers")]

    def write_variables(values: Mapping[str, Any]) -> None:
        hosts = {name: dict(values) for name in names}
        added.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))

    yield write_variables
    added.unlink(missing_ok=True)


@pytest.fixture
def removed(admin: Any) -> Iterator[None]:
    """Topics of the pages are deleted afterwards, however the test ends."""
    yield
    prefixes = (TOPIC, "audit.old.", "orders.", "billing.")
    remaining = [name for name in admin.list_topics() if name.startswith(prefixes)]
    if remaining:
        admin.delete_topics(remaining)
        wait_for_none(
            lambda: [name for name in remaining if name in admin.list_topics()],
            seconds=30,
            what="topics of the pages",
        )


def send(topology: Topology, topic: str) -> None:
    """Write a record with a key."""
    with closing(clients.producer(topology.connection, acks="all")) as producer:
        producer.send(topic, b"record", key=b"key").get(timeout=30)


def plan_of(operator: Operator) -> dict[str, Any]:
    """The plan that the last command has written."""
    plan: dict[str, Any] = json.loads((operator.folder / PLAN).read_text())
    return plan


def variables_of(title: str) -> dict[str, Any]:
    """The variables of a section of the page of resources."""
    [text] = guide.blocks(title, "yaml", RESOURCES)
    variables: dict[str, Any] = yaml.safe_load(text)
    return variables


# The page for the owner of a cluster


@only_full
@pytest.mark.usefixtures("removed")
def test_a_topic_of_the_inventory_is_created_and_deleted_with_a_word(
    operator: Operator, write: Write, admin: Any
) -> None:
    write(variables_of("1. A first topic"))
    check, create, again = guide.commands("1. A first topic", RESOURCES)
    assert f"create: topic {TOPIC}" in operator.run(check)
    assert TOPIC not in admin.list_topics()
    assert changed(operator.run(create)) == 1
    assert changed(operator.run(again)) == 0
    [described] = admin.describe_topics([TOPIC])
    assert len(described["partitions"]) == 6

    send(operator.topology, TOPIC)
    absent = variables_of("4. Changes that need a word")
    [delete] = guide.commands("4. Changes that need a word", RESOURCES)
    [entry] = absent["kafka_topics"]
    write({"kafka_topics": [{key: entry[key] for key in entry if key != "confirm"}]})
    code, output = operator.attempt(delete)
    assert code == REFUSED, output
    assert "delete-records" in output
    assert TOPIC in admin.list_topics()
    write(absent)
    assert changed(operator.run(delete)) == 1
    assert changed(operator.run(delete)) == 0
    assert TOPIC not in admin.list_topics()


@only_full
@pytest.mark.usefixtures("removed")
def test_what_nobody_describes_is_deleted_by_its_beginning(
    operator: Operator, write: Write, admin: Any
) -> None:
    write({"kafka_topics": [{"name": TOPIC}]})
    old = "audit.old.2019"
    admin.create_topics([old, TOPIC], wait_for_metadata=True)
    send(operator.topology, old)
    check, prune = guide.commands("6. Remove what nobody describes", RESOURCES)
    code, output = operator.attempt(check)
    assert code == REFUSED, output
    assert "delete-records" in output
    assert old in admin.list_topics()
    operator.run(prune)
    topics = admin.list_topics()
    assert old not in topics
    assert TOPIC in topics, "it begins otherwise"


@only_full
@pytest.mark.usefixtures("removed")
def test_an_export_is_imported_without_a_difference(operator: Operator, admin: Any) -> None:
    """Of topics and quotas made by Kafka's tools, beside those of the cluster."""
    broker = operator.topology.group("kafka_brokers")[0]
    options = "--bootstrap-server $KAFKA_BOOTSTRAP --command-config $KAFKA_CLIENT_CONFIG"
    operator.run(
        f"kafka-topics.sh {options} --create --topic {TOPIC} --partitions 2 "
        "--config retention.ms=86400000 --config cleanup.policy=compact,delete",
        broker,
    )
    quota = f"kafka-configs.sh {options} --alter --entity-type users --entity-default"
    operator.run(f"{quota} --add-config request_percentage=400", broker)
    try:
        export, check = guide.commands("7. Adopt an existing cluster", RESOURCES)
        operator.run(export)
        files = [*(operator.folder / "build/resources").glob("*.yml")]
        assert TOPIC in "".join(file.read_text() for file in files)
        assert changed(operator.run(check)) == 0
        topics = admin.list_topics()
        assert TOPIC in topics
    finally:
        operator.run(f"{quota} --delete-config request_percentage", broker)


@pytest.fixture
def teams(operator: Operator, write: Write, removed: None) -> Iterator[Operator]:
    """The files of the page's teams, applied; all that they have is removed afterwards."""
    assert removed is None
    folder = operator.folder / "resources"
    folder.mkdir()
    for text in guide.blocks("2. Write a file for each team", "yaml", TEAMS):
        if name := re.match(r"# resources/(\w+\.yml)\n", text):
            (folder / name[1]).write_text(text)
    write({"kafka_resources_dir": str(folder)})
    validate, check, apply = guide.commands("3. Apply it", TEAMS)
    try:
        assert validate in guide.commands("2. A directory of files", RESOURCES)
        operator.run(validate)
        assert f"create: topic {TEAM_TOPIC}" in operator.run(check)
        operator.run(apply)
        yield operator
    finally:
        absent = [{"name": name, "state": "absent"} for name in USERS]
        limits = [{"user": name, "state": "absent"} for name in USERS if name != "orders-admin"]
        shutil.rmtree(folder)
        folder.mkdir()
        platform = {**PLATFORM, "users": absent, "quotas": limits}
        (folder / "platform.yml").write_text(yaml.safe_dump(platform))
        operator.run(guide.commands("6. Limit a team", TEAMS)[0])


@only_full
def test_the_plan_of_files_is_what_a_run_does(teams: Operator) -> None:
    check, apply, of_team = guide.commands("3. Plan and apply", RESOURCES)
    orders = teams.folder / "resources/orders.yml"
    described = yaml.safe_load(orders.read_text())
    described["topics"][0] |= {"partitions": 8, "config": {"retention.ms": 86_400_000}}
    orders.write_text(yaml.safe_dump(described))
    teams.run(check)
    plan = plan_of(teams)
    assert plan["changed"] is True
    [item] = [item for item in plan["plan"] if item["kind"] == "topics"]
    assert (item["name"], item["action"], item["owner"]) == (TEAM_TOPIC, "grow", "orders")
    assert str(orders) in item["where"]
    assert "partitions: 6 -> 8" in item["changes"]
    assert changed(teams.run(apply)) == 1
    assert changed(teams.run(of_team)) == 0
    described["topics"][0]["partitions"] = 4
    orders.write_text(yaml.safe_dump(described))
    code, output = teams.attempt(check)
    assert code == REFUSED, output
    assert "another name" in output, "what to do instead"


@only_full
def test_a_change_by_hand_is_drift(teams: Operator) -> None:
    broker = teams.topology.group("kafka_brokers")[0]
    [check] = guide.commands("8. Drift", RESOURCES)
    assert changed(teams.run(check)) == 0
    assert plan_of(teams)["changed"] is False
    options = "--bootstrap-server $KAFKA_BOOTSTRAP --command-config $KAFKA_CLIENT_CONFIG"
    words = f"--alter --entity-type topics --entity-name {TEAM_TOPIC}"
    teams.run(f"kafka-configs.sh {options} {words} --add-config retention.ms=3600000", broker)
    teams.run(check)
    plan = plan_of(teams)
    assert [item["name"] for item in plan["plan"]] == [TEAM_TOPIC]
    assert plan["plan"][0]["changes"] == ["- retention.ms: 3600000"]
    teams.run(guide.commands("3. Plan and apply", RESOURCES)[1])
    assert changed(teams.run(check)) == 0


@only_full
def test_teams_may_do_what_their_files_say(teams: Operator) -> None:
    [command] = guide.commands("4. Hand over the login", TEAMS)
    logins = {}
    for user in USERS:
        teams.run(command.replace("orders-shop", user))
        written = teams.folder / f"build/clients/{user}/kafka-python.json"
        logins[user] = json.loads(written.read_text())
    with closing(kafka.KafkaProducer(**logins["orders-shop"])) as producer:
        producer.send(TEAM_TOPIC, b"paid").get(timeout=30)
        with pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send("billing.invoices", b"no").get(timeout=30)
    with closing(
        kafka.KafkaConsumer(
            TEAM_TOPIC,
            **logins["billing-invoices"],
            group_id="billing-1",
            auto_offset_reset="earliest",
            consumer_timeout_ms=30_000,
        )
    ) as consumer:
        assert next(consumer).value == b"paid"


@only_full
def test_grants_and_limits_are_shown(teams: Operator) -> None:
    broker = teams.topology.group("kafka_brokers")[0]
    show_grants, show_users = guide.commands("5. See who may do what", TEAMS)
    grants, users = teams.run(show_grants, broker), teams.run(show_users, broker)
    assert TEAM_TOPIC in grants
    assert "orders-admin" not in grants
    assert all(name in users for name in USERS)
    [limited] = [
        line for line in users.splitlines() if "billing-invoices" in line and "rate" in line
    ]
    assert "producer_byte_rate" in limited
    billing = teams.folder / "resources/billing.yml"
    billing.write_text(billing.read_text().replace("producer_byte_rate", "consumer_byte_rate"))
    [limit] = guide.commands("6. Limit a team", TEAMS)
    assert changed(teams.run(limit)) == 1
    users = teams.run(show_users, broker)
    [limited] = [
        line for line in users.splitlines() if "billing-invoices" in line and "rate" in line
    ]
    assert "consumer_byte_rate" in limited
    assert "producer_byte_rate" not in limited


# The page for a team


@pytest.fixture
def repository(
    operator: Operator, removed: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The team's repository with its login, as its owner hands it over."""
    assert removed is None
    copy = operator.folder / "team"
    shutil.copytree(ROOT / "examples/team", copy)
    operator.names = {"examples/team": str(copy)}
    # As install.sh leaves it: Ansible is on the path, and the collection is found.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "collections"))
    create, write_login, make_relative = guide.commands("2. Get a login", FIRST_TOPIC)
    try:
        for command in (create, write_login, make_relative):
            operator.run(command)
        for name in ("client.properties", "ca.pem"):
            source = operator.folder / "build/clients/orders-pipeline" / name
            shutil.copy(source, copy / name)
        yield copy
    finally:
        _remove_users(operator, copy, create)


def _remove_users(operator: Operator, copy: Path, command: str) -> None:
    """Remove the users of the example, with their quotas."""
    users = [{"name": name, "state": "absent"} for name in ("orders-pipeline", "orders-shop")]
    quotas = [{"user": "orders-shop", "state": "absent"}]
    platform = {**PLATFORM, "users": users, "quotas": quotas}
    (copy / "kafka/platform.yml").write_text(yaml.safe_dump(platform))
    with suppress(FileNotFoundError):
        (copy / "kafka/orders.yml").unlink()
    operator.run(command)


def test_a_team_makes_its_topic_with_its_own_login(
    operator: Operator, repository: Path, admin: Any
) -> None:
    [check] = guide.commands("3. See the plan", FIRST_TOPIC)
    apply, again = guide.commands("4. Merge", FIRST_TOPIC)
    assert f"create: topic {TEAM_TOPIC}" in operator.run(check)
    plan = json.loads((repository / PLAN).read_text())
    assert [(item["name"], item["action"]) for item in plan["plan"]] == [(TEAM_TOPIC, "create")]
    assert TEAM_TOPIC not in admin.list_topics()
    assert changed(operator.run(apply)) == 1
    assert TEAM_TOPIC in admin.list_topics()
    assert changed(operator.run(again)) == 0

    orders = repository / "kafka/orders.yml"
    described = yaml.safe_load(orders.read_text())
    orders.write_text(yaml.safe_dump({**described, "topics": [{"name": "billing.invoices"}]}))
    code, output = operator.attempt(check)
    assert code == REFUSED, output
    assert "resource-prefix" in output
    # A team that gives itself a prefix is refused by the brokers.
    platform = repository / "kafka/platform.yml"
    document = yaml.safe_load(platform.read_text())
    document["teams"]["orders"]["prefixes"] = ["orders.", "orders-", "billing."]
    platform.write_text(yaml.safe_dump(document))
    code, output = operator.attempt(apply)
    assert code == REFUSED, output
    assert "billing.invoices" in output
    assert "billing.invoices" not in admin.list_topics()
