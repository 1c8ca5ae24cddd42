"""Connectors as code, and what becomes of a source's records when its worker is killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients, users
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    TopicPartition,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_plugins import (
    directory,
)
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.sender import Sender, value
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology
from tests.support.recap import changed
from tests.support.services.connect import by_address, moves_within
from tests.support.services.connectors import ALIAS, LOGIN_FILE, NAME, SECRETS_FILE, connector
from tests.support.services.unit import lost
from tests.support.wait import wait_for

PAGE = ROOT / "docs/operate/connect.md"
PLUGIN = {
    "name": "files",
    "maven": "org.apache.kafka:connect-file:4.3.1",
    "sha256": "5d4133787e0732f731203f926fe31e39f098109ef9973a95d7f038fe37f5f368",
}
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@dataclass(frozen=True)
class Copy:
    """A connector that copies a topic of the cluster into another one, and what sends to it."""

    topic: str
    connector: dict[str, Any]
    sender: Sender

    @property
    def target(self) -> str:
        return f"{ALIAS}.{self.topic}"

    def given(self, *, tasks: str = "2", **changes: Any) -> tuple[str, str]:
        """The arguments of a playbook that name the connector, with some of its keys changed.

        How many tasks it has is a secret, so that a changed one is seen; with none there is none.
        """
        secrets = {NAME: {"tasks": tasks}} if tasks else {}
        connectors = [{**self.connector, **changes}]
        return "-e", json.dumps({"connect_connectors": connectors, "connect_secrets": secrets})


@pytest.fixture(scope="module")
def copy(topology: Topology, plays: Plays, admin: Any) -> Iterator[Copy]:
    if not topology.cluster.connect:
        pytest.skip("no Kafka Connect here")
    topic, copies = f"connect-{uuid.uuid4().hex[:8]}", min(3, len(topology.brokers))
    admin.create_topics(
        {topic: {"num_partitions": 4, "replication_factor": copies}}, wait_for_metadata=True
    )
    sender = Sender(topology, topic)
    copy = Copy(topic, connector(topology, topic, copies), sender)
    try:
        yield copy
    finally:
        sender.stop()
        plays.run("connectors", *copy.given(state="absent", tasks=""))
        present = [name for name in (topic, copy.target) if name in admin.list_topics()]
        admin.delete_topics(present)


def tasks(rest: Rest) -> dict[int, tuple[str, str]]:
    """Task -> its state and the worker that has it."""
    tasks = rest.call("GET", f"/connectors/{NAME}/status")["tasks"]
    return {task["id"]: (task["state"], task["worker_id"]) for task in tasks}


def secrets(topology: Topology, hosts: dict[str, Host]) -> set[str]:
    """The files of secrets that are on any worker."""
    listed = "find /etc/connect/secrets -name '*.properties'"
    workers = topology.cluster.connect
    return {path for name in workers for path in hosts[name].check_output(listed).splitlines()}


def test_check_mode_changes_nothing(
    topology: Topology,
    hosts: dict[str, Host],
    connect_rest: Rest,
    admin: Any,
    plays: Plays,
    copy: Copy,
) -> None:
    output = plays.succeed("connectors", *copy.given(), "--check", "--diff")
    assert f"create {NAME}" in output
    assert NAME not in connect_rest.call("GET", "/connectors")
    assert not secrets(topology, hosts) & {LOGIN_FILE, SECRETS_FILE}
    assert not users.read(admin, [NAME])[NAME]


def test_a_missing_topic_is_refused_first(admin: Any, plays: Plays, copy: Copy) -> None:
    """A sink would wait for it without an error."""
    topic, name = f"{copy.topic}-missing", "missing"
    sink = {
        "name": name,
        "kafka_user": name,
        "grants": [{"topic": topic, "operations": ["read"]}],
        "config": {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "topics": topic,
        },
    }
    variables = json.dumps({"connect_connectors": [sink]})
    assert f"reads {topic}" in plays.refuse("connectors", "-e", variables)
    assert not users.read(admin, [name])[name]


def test_a_connector_runs_and_a_second_run_changes_nothing(
    connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    plays.succeed("connectors", *copy.given())
    assert {state for state, _ in tasks(connect_rest).values()} == {"RUNNING"}
    assert changed(plays.succeed("connectors", *copy.given())) == 0
    assert "1 connectors" in plays.succeed("health")


def test_the_commands_of_the_page_work(
    connect_addresses: list[str], connect_secrets: Path, plays: Plays, copy: Copy
) -> None:
    for command in guide.commands("Connectors", PAGE):
        _, _, arguments = command.partition("playbooks/connectors.yml")
        options = arguments.replace("connector=planes", f"connector={NAME}").split()
        plays.succeed("connectors", *copy.given(), *options)
    text = "\n".join(guide.commands("Who may use it", PAGE))
    text = text.replace("inventories/<yours>/.secrets", str(connect_secrets))
    text = text.replace("<worker>:8083", connect_addresses[0])
    result = subprocess.run(
        ["/bin/sh", "-ec", text], check=True, capture_output=True, text=True, timeout=60
    )
    assert NAME in json.loads(result.stdout)


def test_what_the_plugin_refuses_changes_nothing(
    connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    before = connect_rest.call("GET", f"/connectors/{NAME}/config")
    wrong = {**copy.connector["config"], "tasks.max": "many"}
    assert "tasks.max" in plays.refuse("connectors", *copy.given(config=wrong), "--check")
    misspelt = {**copy.connector["config"], "connector.class": "MirorSourceConnector"}
    assert "no worker has the class" in plays.refuse("connectors", *copy.given(config=misspelt))
    assert connect_rest.call("GET", f"/connectors/{NAME}/config") == before


def plugin_homes(topology: Topology, hosts: dict[str, Host]) -> list[list[str]]:
    """The directories of plugins of the inventory, of each worker."""
    listed = f"find {directory('connect')} -mindepth 1 -maxdepth 1 -printf '%f\\n' || true"
    return [hosts[name].check_output(listed).split() for name in topology.cluster.connect]


def started(topology: Topology, hosts: dict[str, Host]) -> dict[str, str]:
    """When each worker was started."""
    asked = "systemctl show connect --property ActiveEnterTimestampMonotonic --value"
    return {name: hosts[name].check_output(asked) for name in topology.cluster.connect}


def failed_tasks(rest: Rest, ended: threading.Event, failed: list[Any]) -> None:
    """Collect the tasks that have failed, until the end; a worker that restarts does not answer."""
    while not ended.wait(0.5):
        with contextlib.suppress(RestError, OSError):
            failed += [task for task in tasks(rest).values() if task[0] == "FAILED"]


def test_a_plugin_comes_and_goes_with_the_workers_one_by_one_and_no_task_fails(
    topology: Topology, hosts: dict[str, Host], connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    def given(*plugins: dict[str, Any]) -> tuple[str, ...]:
        return *copy.given(), "-e", json.dumps({"connect_plugins": plugins})

    before = started(topology, hosts)
    wrong = plays.refuse("site", *given({**PLUGIN, "sha256": "0" * 64}))
    assert "no host was touched" in wrong
    assert f"set sha256: {PLUGIN['sha256']}" in wrong
    assert started(topology, hosts) == before

    ended = threading.Event()
    failed: list[Any] = []
    watching = threading.Thread(target=failed_tasks, args=(connect_rest, ended, failed))
    watching.start()
    try:
        plays.succeed("site", *given(PLUGIN), seconds=1200)
        with_plugin = started(topology, hosts)
        classes = [
            {plugin["class"] for plugin in connect_rest.ask(worker, "GET", "/connector-plugins")}
            for worker in connect_rest.instances
        ]
        assert all(FILE_SOURCE in names for names in classes)
        assert all(len(homes) == 1 for homes in plugin_homes(topology, hosts))
        assert changed(plays.succeed("site", *given(PLUGIN), seconds=1200)) == 0
        assert started(topology, hosts) == with_plugin
        plays.succeed("site", *given(), seconds=1200)
    finally:
        ended.set()
        watching.join()
    assert all(with_plugin[name] != before[name] for name in before), "each worker was restarted"
    assert not any(plugin_homes(topology, hosts)), "what no worker uses is removed"
    assert not failed
    assert {state for state, _ in tasks(connect_rest).values()} == {"RUNNING"}


def test_the_tasks_of_a_killed_worker_run_on_another(
    topology: Topology, hosts: dict[str, Host], connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    workers = topology.cluster.connect
    killed = sorted(worker for _, worker in tasks(connect_rest).values())[0]
    name = by_address(workers)[killed]

    def moved() -> bool:
        states = tasks(connect_rest).values()
        return bool(states) and all(
            state == "RUNNING" and worker != killed for state, worker in states
        )

    with lost(hosts[name], "connect"):
        wait_for(moved, seconds=moves_within(workers[name]), what="all tasks on the other worker")
    wait_for(lambda: plays.run("health")[0] == 0, seconds=180, what="a healthy group")


def test_each_record_is_copied_once(topology: Topology, copy: Copy) -> None:
    """Whatever was killed: records and their offsets are in one transaction."""
    copy.sender.stop()
    consumer = clients.consumer(
        topology.connection, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    copies: Counter[bytes] = Counter()
    try:
        partitions = sorted(consumer.partitions_for_topic(copy.target))
        consumer.assign([TopicPartition(copy.target, partition) for partition in partitions])

        def complete() -> bool:
            for batch in consumer.poll(timeout_ms=1000).values():
                copies.update(record.value for record in batch)
            return len(copies) >= copy.sender.acknowledged

        wait_for(complete, seconds=120, what="all records in the copy")
        complete()
    finally:
        consumer.close()
    assert copies == Counter(map(value, range(copy.sender.acknowledged)))
    assert copy.sender.acknowledged > 1000


def test_a_connector_is_restarted_when_it_is_asked_for(
    connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    output = plays.succeed("connectors", *copy.given(), "-e", "connector_restart=all")
    assert f"restart {NAME}" in output
    assert {state for state, _ in tasks(connect_rest).values()} == {"RUNNING"}


def test_a_new_secret_is_used_although_the_run_that_wrote_it_has_failed(
    connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    before = connect_rest.call("GET", f"/connectors/{NAME}/config")
    wrong = {**copy.connector["config"], "connector.class": "MirorSourceConnector"}
    plays.refuse("connectors", *copy.given(tasks="1", config=wrong))
    assert connect_rest.call("GET", f"/connectors/{NAME}/config") == before
    assert f"change {NAME}" in plays.succeed("connectors", *copy.given(tasks="1"))
    wait_for(lambda: len(tasks(connect_rest)) == 1, seconds=60, what="one task")


def test_a_paused_connector_begins_again_once_its_offsets_are_reset(
    topology: Topology, connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    plays.succeed("connectors", *copy.given(tasks="1", state="paused"))
    assert {state for state, _ in tasks(connect_rest).values()} == {"PAUSED"}
    with closing(clients.consumer(topology.connection)) as consumer:
        partitions = [
            TopicPartition(copy.target, partition)
            for partition in consumer.partitions_for_topic(copy.target)
        ]

        def end() -> int:
            return sum(consumer.end_offsets(partitions).values())

        before = end()
        options = ("-e", f"connector={NAME}", "-e", "connector_offsets=reset")
        output = plays.succeed("connectors", *copy.given(tasks="1"), *options)
        done = [f"stop {NAME}", f"reset the offsets of {NAME}", f"resume {NAME}"]
        assert [message for message in done if message not in output] == []
        copied = before + copy.sender.acknowledged
        wait_for(lambda: end() >= copied, seconds=60, what="all records once more")


def test_offsets_are_shown_and_a_stopped_connector_has_no_task(
    connect_rest: Rest, plays: Plays, copy: Copy
) -> None:
    stopped = copy.given(tasks="1", state="stopped")
    output = plays.succeed("connectors", *stopped, "-e", "connector_offsets=show")
    assert f"stop {NAME}" in output
    assert copy.topic in output
    assert tasks(connect_rest) == {}


def test_a_connector_is_removed_only_when_it_is_asked_for(
    topology: Topology,
    hosts: dict[str, Host],
    connect_rest: Rest,
    admin: Any,
    plays: Plays,
    copy: Copy,
) -> None:
    """Its user and its secrets are there as long as it is."""
    plays.succeed("connectors", "-e", json.dumps({"connect_connectors": []}))
    assert NAME in connect_rest.call("GET", "/connectors")
    assert secrets(topology, hosts) >= {SECRETS_FILE, *([LOGIN_FILE] if topology.closed else [])}
    assert bool(users.read(admin, [NAME])[NAME]) == topology.closed
    plays.succeed("connectors", *copy.given(state="absent", tasks=""))
    assert NAME not in connect_rest.call("GET", "/connectors")
    assert not secrets(topology, hosts) & {LOGIN_FILE, SECRETS_FILE}
    assert not users.read(admin, [NAME])[NAME]
