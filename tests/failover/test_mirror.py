"""A second cluster replicates the first one: switching over, the loss of the first, the failback.

`--inventory` is the first cluster, `--second` the one that follows it. Both have Kafka Connect.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.network import listens
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import mirrors
from testinfra.host import Host

from apps.ledger import journal
from apps.ledger.failover import judge
from apps.ledger.history import History
from tests.support.clients import guide, reading
from tests.support.clients.sender import Sender, value
from tests.support.faults.ledger_run import RUNS, ledger_running
from tests.support.faults.target import DROP_ANSWERS, STOP_DROPPING, Target
from tests.support.lab.change import Plays
from tests.support.lab.topology import ROOT, Topology, describe, over_ssh
from tests.support.recap import changed
from tests.support.services import mirror_user
from tests.support.wait import wait_for

PAGE = ROOT / "docs/operate/mirroring.md"
FIRST, SECOND = "first", "second"
PARTITIONS = 3


@dataclass
class Side:
    """A cluster of the two, and the name by which the other one calls it."""

    alias: str
    topology: Topology
    plays: Plays
    folder: Path
    password: str = field(default_factory=lambda: uuid.uuid4().hex)

    def entry(self, follower: str, prefix: str, **overrides: Any) -> dict[str, Any]:
        """How another cluster follows this one: all topics and groups with a prefix."""
        cluster, login = self.topology.cluster, {}
        if self.topology.closed:
            ca = Path(cluster.inventory.secrets.directory) / "ca.pem"
            credentials = {"user": f"mirror-{follower}", "password": self.password}
            login = {**credentials, "ca": ca.read_text()}
        return {
            "from": self.alias,
            "bootstrap_servers": cluster.brokers[0].clients.user_bootstrap,
            "topics": [f"{prefix}*"],
            "groups": [f"{prefix}*"],
            **login,
            **overrides,
        }

    def given(self, **variables: Any) -> tuple[str, str]:
        """The arguments of a playbook that add variables, which nobody else can read.

        The connectors of the inventory, whose topics are not there, are none of these tests.
        """
        path = self.folder / f"{self.alias}.json"
        path.touch(mode=0o600)
        defaults = {"connect_cluster_alias": self.alias, "connect_connectors": []}
        path.write_text(json.dumps({**defaults, **variables}))
        return "-e", f"@{path}"

    def admit(self, entry: dict[str, Any], follower: str) -> None:
        """Make the user with which the other cluster reads here."""
        if "user" not in entry:
            return
        settings = {mirrors.ALIAS: follower, mirrors.VARIABLE: [entry]}
        (mirror,) = mirrors.of_settings(settings)
        user = {"name": mirror.user, "password": mirror.password}
        extra_vars = self.given(kafka_users=[{**user, "grants": mirror_user.grants(mirror)}])
        self.plays.succeed("connectors", *extra_vars)

    def follow(self, source: Side, prefix: str, *arguments: str, **overrides: Any) -> str:
        """Let this cluster follow another one; the output."""
        entry = source.entry(self.alias, prefix, **overrides)
        if entry.get("state") != "absent":
            source.admit(entry, self.alias)
        extra_vars = self.given(connect_mirrors=[entry])
        return self.plays.succeed("connectors", *extra_vars, *arguments)

    def create(self, topic: str, **configs: str) -> None:
        copies = min(3, len(self.topology.brokers))
        size = {"num_partitions": PARTITIONS, "replication_factor": copies}
        plan = {**size, "configs": configs}
        with clients.admin(self.topology.connection) as admin:
            admin.create_topics({topic: plan}, wait_for_metadata=True)

    def topics(self) -> list[str]:
        with clients.admin(self.topology.connection) as admin:
            return list(admin.list_topics())

    def read(self, topic: str) -> list[Any]:
        """All records of a topic, none while it is not there."""
        return reading.topic(self.topology.connection, topic) if topic in self.topics() else []

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        """Partition -> from where a group goes on."""
        offsets = reading.committed(self.topology.connection, group)
        return {partition: offset for (name, partition), offset in offsets.items() if name == topic}

    def as_group(self, group: str, *topics: str) -> dict[str, list[Any]]:
        return reading.as_group(self.topology.connection, group, *topics)


@dataclass(frozen=True)
class Pair:
    """The first cluster and the second, and the beginning of all names of topics and groups."""

    first: Side
    second: Side
    prefix: str

    def name(self, suffix: str) -> str:
        return f"{self.prefix}{suffix}"

    def copied(self, topic: str, values: list[str]) -> None:
        """Wait until the second cluster has all values of a topic of the first."""
        copy = f"{FIRST}.{topic}"
        wait_for(
            lambda: Counter(record.value for record in self.second.read(copy)) == Counter(values),
            seconds=120,
            what=f"all of {topic} in the second cluster, once",
        )

    def translated(self, group: str, topic: str) -> None:
        """Wait until a group that has read all of a topic would go on at the end of the copy."""
        copy, connection = f"{FIRST}.{topic}", self.second.topology.connection

        def ready() -> bool:
            offsets = self.second.offsets(group, copy)
            ends = reading.ends(connection, copy)
            # Behind the last record there is the end of its transaction.
            return offsets.keys() == ends.keys() and all(
                end - offsets[partition] <= 1 for partition, end in ends.items()
            )

        wait_for(ready, seconds=180, what=f"offsets of {group} at the end of {copy}")


@pytest.fixture(scope="module")
def pair(
    request: pytest.FixtureRequest, topology: Topology, plays: Plays, tmp_path_factory: Any
) -> Iterator[Pair]:
    inventory = request.config.getoption("--second")
    if not inventory:
        pytest.skip("no second cluster here")
    second, state = describe(Path(inventory).resolve()), tmp_path_factory.mktemp("second")
    pair = Pair(
        Side(FIRST, topology, plays, tmp_path_factory.mktemp(FIRST)),
        Side(SECOND, second, Plays(second, state), state),
        f"mirror-{uuid.uuid4().hex[:6]}-",
    )
    try:
        yield pair
    finally:
        for follower, its in ((pair.second, pair.first), (pair.first, pair.second)):
            follower.follow(its, pair.prefix, state="absent")
            gone = [{"name": f"mirror-{its.alias}", "state": "absent"}]
            follower.plays.succeed("connectors", *follower.given(kafka_users=gone))
        for side in (pair.first, pair.second):
            with clients.admin(side.topology.connection) as admin:
                topics = admin.list_topics()
                created = [
                    name for name in topics if pair.prefix in name or name == Target.side_topic
                ]
                admin.delete_topics(created)


@contextmanager
def cut_off(side: Side, hosts: dict[str, Host]) -> Iterator[None]:
    """No client reaches a cluster during the block; its nodes use another listener."""
    brokers = {name: side.topology.bootstrap(name) for name in side.topology.group("kafka_brokers")}
    try:
        for name, address in brokers.items():
            hosts[name].check_output(DROP_ANSWERS, address.rpartition(":")[2])
        wait_for(
            lambda: not any(map(listens, brokers.values())), seconds=30, what="silent listeners"
        )
        yield
    finally:
        for name in brokers:
            hosts[name].run(STOP_DROPPING)  # one that failed keeps no other host silent
    wait_for(lambda: all(map(listens, brokers.values())), seconds=30, what="open listeners")


def values_of(history: History) -> set[str]:
    """What was acknowledged."""
    return {send.value for send in history.sends if send.outcome == "ok"}


def test_a_mirror_runs_and_a_second_run_changes_nothing(pair: Pair) -> None:
    checked = pair.second.follow(pair.first, pair.prefix, "--check", "--diff")
    assert f"create mirror-{FIRST}-topics" in checked
    again = [pair.second.follow(pair.first, pair.prefix) for _ in range(2)][1]
    assert changed(again) == 0
    assert "2 connectors" in pair.second.plays.succeed("health")


def test_records_are_copied_as_they_are(pair: Pair) -> None:
    """With their keys, headers and times, and with the settings of their topic."""
    topic, headers, days = pair.name("orders"), [("trace", b"\x00\xff")], "123456789"
    copy, second = f"{FIRST}.{topic}", pair.second.topology.connection
    pair.first.create(topic, **{"retention.ms": days})
    producer = clients.producer(pair.first.topology.connection, acks="all")
    producer.send(topic, b"\x01\x02", key=b"k", headers=headers, timestamp_ms=1_700_000_000_000)
    producer.send(topic, None, key=b"k", partition=1)
    producer.close()
    wait_for(lambda: copy in pair.second.topics(), seconds=120, what=copy)

    def both() -> list[Any]:
        records = reading.records(second, copy)
        return records if len(records) > 1 else []

    records = wait_for(both, seconds=60, what="both records")
    (first,) = [record for record in records if record.value]
    assert (first.key, first.value, list(first.headers)) == (b"k", b"\x01\x02", headers)
    assert first.timestamp == 1_700_000_000_000
    assert [(record.key, record.partition) for record in records if record.value is None] == [
        (b"k", 1)
    ]
    resources = [ConfigResource(ConfigResourceType.TOPIC, copy)]
    with clients.admin(second) as admin:
        described = admin.describe_configs(resources, config_filter="all")["topic"][copy]
    assert described["retention.ms"]["value"] == days


def test_a_planned_switch_over_loses_and_repeats_nothing(pair: Pair) -> None:
    """Producers stop, consumers read to the end, and both go on at the second cluster."""
    topic, group = pair.name("planned"), pair.name("planned-readers")
    pair.first.create(topic)
    sender = Sender(pair.first.topology, topic)
    wait_for(lambda: sender.acknowledged > 500, seconds=60, what="records")
    before = pair.first.as_group(group, topic)[topic]
    sender.stop()
    before += pair.first.as_group(group, topic)[topic]
    sent = [value(number).decode() for number in range(sender.acknowledged)]
    assert Counter(record.value for record in before) == Counter(sent)
    pair.copied(topic, sent)
    pair.translated(group, topic)
    pair.second.create(topic)
    here = Sender(pair.second.topology, topic)
    wait_for(lambda: here.acknowledged > 100, seconds=60, what="records at the second cluster")
    here.stop()
    after = pair.second.as_group(group, topic, f"{FIRST}.{topic}")
    assert after[f"{FIRST}.{topic}"] == []
    new = [value(number).decode() for number in range(here.acknowledged)]
    assert Counter(record.value for record in after[topic]) == Counter(new)


def typed(host: Host, command: str) -> str:
    """What a command prints that root types on a host."""
    return str(host.check_output("bash -lc %s", command))


def test_the_commands_of_the_page_work(pair: Pair, hosts: dict[str, Host]) -> None:
    """By which an operator sees that all is copied, and sets a group to the end."""
    topic, group = pair.name("planned"), pair.name("planned-readers")
    first, second = pair.first, pair.second
    first_host = hosts[first.topology.group("kafka_brokers")[0]]
    second_host = over_ssh(second.topology)[second.topology.group("kafka_brokers")[0]]
    ends_there, shown, lag = guide.commands("A planned switch-over", PAGE)
    *_, reset = guide.commands("Failback", PAGE)
    lines = typed(first_host, ends_there.replace("orders", topic)).splitlines()
    ends = {int(partition): int(end) for _, partition, end in (line.split(":") for line in lines)}
    assert ends == reading.ends(first.topology.connection, topic)
    _, _, arguments = shown.partition("playbooks/connectors.yml")
    output = second.follow(first, pair.prefix, *arguments.split())
    assert topic in output
    assert not [end for end in ends.values() if end and f" {end - 1}" not in output]
    rows = [
        line.split()
        for line in typed(second_host, lag.replace("billing", group)).splitlines()
        if f" {FIRST}.{topic} " in line
    ]
    assert len(rows) == len(ends)
    assert {row[5] for row in rows} <= {"0", "1"}, rows
    typed(first_host, reset.replace("orders", topic).replace("billing", group))
    assert first.offsets(group, topic) == ends


def test_the_first_cluster_is_lost_and_comes_back(pair: Pair, hosts: dict[str, Host]) -> None:
    """Under load: what the group does not get, what it gets twice, and what becomes of it all."""
    topic, folder = pair.name("lost"), RUNS.parent / "mirror"
    copy, back = f"{FIRST}.{topic}", f"{SECOND}.{topic}"
    shutil.rmtree(folder, ignore_errors=True)
    first = pair.first
    with ledger_running(
        first.topology, hosts, first.plays, folder, Target, rate=600, topic=topic
    ) as target:

        def follows() -> bool:
            offsets = pair.second.offsets(topic, copy)
            ends = reading.ends(pair.second.topology.connection, copy)
            return bool(offsets) and offsets.keys() == ends.keys() and min(offsets.values()) > 0

        wait_for(follows, seconds=180, what="offsets of the ledger's group")
        target.wait_for_acks(6000)
        with cut_off(first, hosts):
            target.acks_stop()
            history = journal.load(folder)
            pair.second.create(topic)
            # Consumers go on at once, and producers write to the second cluster from now on.
            after = pair.second.as_group(topic, copy, topic)
            here = Sender(pair.second.topology, topic)
            failover = judge(history, pair.second.read(copy), after[copy])
            (folder / "failover.json").write_text(json.dumps(asdict(failover), indent=2) + "\n")
            assert failover.acknowledged > 6000
            assert failover.read_after, "the group was given nothing at the second cluster"
            assert not failover.wrong(), failover
            # It was a moment behind, and so is what the group had committed.
            assert failover.lost < failover.acknowledged / 10, failover
            wait_for(lambda: here.acknowledged > 300, seconds=60, what="records meanwhile")
            here.stop()
            again = pair.second.as_group(topic, topic, copy)
            local, middle = after[topic] + again[topic], again[copy]
            new = Counter(value(number).decode() for number in range(here.acknowledged))
            assert Counter(record.value for record in local) == new
        # The first cluster is back with all that it had acknowledged, and the mirror goes on.
        target.wait_for_acks()
        acknowledged = values_of(journal.load(folder))
        wait_for(
            lambda: acknowledged <= {record.value for record in pair.second.read(copy)},
            seconds=180,
            what="what had not been copied",
        )
        everything = pair.second.read(copy)
        remaining = middle + pair.second.as_group(topic, topic, copy)[copy]
        # The ledger's consumer reads at the first cluster again, and its offsets are translated.
        late = judge(journal.load(folder), everything, after[copy] + remaining)
        assert not late.wrong(), late
        assert acknowledged <= {record.value for record in everything}
    first.follow(pair.second, pair.prefix)
    wait_for(
        lambda: Counter(record.value for record in first.read(back)) == new,
        seconds=180,
        what="what was written meanwhile, once",
    )
    wait_for(
        lambda: first.offsets(topic, back).keys() == {*range(PARTITIONS)},
        seconds=180,
        what="the offsets of the group, back",
    )
    last_sender = Sender(pair.second.topology, topic)
    wait_for(lambda: last_sender.acknowledged > 50, seconds=60, what="more records")
    last_sender.stop()
    both = new + Counter(value(number).decode() for number in range(last_sender.acknowledged))
    wait_for(
        lambda: Counter(record.value for record in first.read(back)) == both,
        seconds=120,
        what="the last records, once",
    )
    received = Counter(record.value for record in first.as_group(topic, back)[back])
    last = Counter(value(number).decode() for number in range(last_sender.acknowledged))
    assert last <= received, "a record was not given to the group after the failback"
    assert received <= both
    circular = [name for name in (*first.topics(), *pair.second.topics()) if name.count(".") > 1]
    assert not [name for name in circular if topic in name], "nothing is copied in a circle"
