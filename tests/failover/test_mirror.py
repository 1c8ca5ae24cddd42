"""A second cluster follows the first one: switching over, the loss of the first, the way back.

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

    def entry(self, follower: str, prefix: str, **more: Any) -> dict[str, Any]:
        """How another cluster follows this one: all topics and groups with a prefix."""
        cluster, login = self.topology.cluster, {}
        if self.topology.closed:
            ca = Path(cluster.inventory.secrets.directory) / "ca.pem"
            own = {"user": f"mirror-{follower}", "password": self.password}
            login = {**own, "ca": ca.read_text()}
        return {
            "from": self.alias,
            "bootstrap_servers": cluster.brokers[0].clients.user_bootstrap,
            "topics": [f"{prefix}*"],
            "groups": [f"{prefix}*"],
            **login,
            **more,
        }

    def given(self, **variables: Any) -> tuple[str, str]:
        """The arguments of a playbook that add variables, which nobody else can read.

        The connectors of the inventory, whose topics are not there, are none of these tests.
        """
        path = self.folder / f"{self.alias}.json"
        path.touch(mode=0o600)
        own = {"connect_cluster_alias": self.alias, "connect_connectors": []}
        path.write_text(json.dumps({**own, **variables}))
        return "-e", f"@{path}"

    def admit(self, entry: dict[str, Any], follower: str) -> None:
        """Make the user with which the other cluster reads here."""
        if "user" not in entry:
            return
        settings = {mirrors.ALIAS: follower, mirrors.VARIABLE: [entry]}
        (mirror,) = mirrors.of_settings(settings)
        user = {"name": mirror.user, "password": mirror.password}
        given = self.given(kafka_users=[{**user, "grants": mirror_user.grants(mirror)}])
        self.plays.succeed("connectors", *given)

    def follow(self, other: Side, prefix: str, *arguments: str, **more: Any) -> str:
        """Let this cluster follow another one; the output."""
        entry = other.entry(self.alias, prefix, **more)
        if entry.get("state") != "absent":
            other.admit(entry, self.alias)
        given = self.given(connect_mirrors=[entry])
        return self.plays.succeed("connectors", *given, *arguments)

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
        found = reading.committed(self.topology.connection, group)
        return {part: offset for (name, part), offset in found.items() if name == topic}

    def as_group(self, group: str, *topics: str) -> dict[str, list[Any]]:
        return reading.as_group(self.topology.connection, group, *topics)


@dataclass(frozen=True)
class Pair:
    """The first cluster and the second, and the beginning of all names of topics and groups."""

    first: Side
    second: Side
    prefix: str

    def name(self, what: str) -> str:
        return f"{self.prefix}{what}"

    def copied(self, topic: str, values: list[str]) -> None:
        """Wait until the second cluster has all values of a topic of the first."""
        copy = f"{FIRST}.{topic}"
        wait_for(
            lambda: Counter(one.value for one in self.second.read(copy)) == Counter(values),
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
                end - offsets[part] <= 1 for part, end in ends.items()
            )

        wait_for(ready, seconds=180, what=f"offsets of {group} at the end of {copy}")


@pytest.fixture(scope="module")
def pair(
    request: pytest.FixtureRequest, topology: Topology, plays: Plays, tmp_path_factory: Any
) -> Iterator[Pair]:
    given = request.config.getoption("--second")
    if not given:
        pytest.skip("no second cluster here")
    other, state = describe(Path(given).resolve()), tmp_path_factory.mktemp("second")
    found = Pair(
        Side(FIRST, topology, plays, tmp_path_factory.mktemp(FIRST)),
        Side(SECOND, other, Plays(other, state), state),
        f"mirror-{uuid.uuid4().hex[:6]}-",
    )
    try:
        yield found
    finally:
        for one, its in ((found.second, found.first), (found.first, found.second)):
            one.follow(its, found.prefix, state="absent")
            gone = [{"name": f"mirror-{its.alias}", "state": "absent"}]
            one.plays.succeed("connectors", *one.given(kafka_users=gone))
        for side in (found.first, found.second):
            with clients.admin(side.topology.connection) as admin:
                every = admin.list_topics()
                own = [x for x in every if found.prefix in x or x == Target.side_topic]
                admin.delete_topics(own)


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
    return {one.value for one in history.sends if one.outcome == "ok"}


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
        found = reading.records(second, copy)
        return found if len(found) > 1 else []

    found = wait_for(both, seconds=60, what="both records")
    (first,) = [one for one in found if one.value]
    assert (first.key, first.value, list(first.headers)) == (b"k", b"\x01\x02", headers)
    assert first.timestamp == 1_700_000_000_000
    assert [(one.key, one.partition) for one in found if one.value is None] == [(b"k", 1)]
    asked = [ConfigResource(ConfigResourceType.TOPIC, copy)]
    with clients.admin(second) as admin:
        described = admin.describe_configs(asked, config_filter="all")["topic"][copy]
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
    assert Counter(one.value for one in before) == Counter(sent)
    pair.copied(topic, sent)
    pair.translated(group, topic)
    pair.second.create(topic)
    here = Sender(pair.second.topology, topic)
    wait_for(lambda: here.acknowledged > 100, seconds=60, what="records at the second cluster")
    here.stop()
    after = pair.second.as_group(group, topic, f"{FIRST}.{topic}")
    assert after[f"{FIRST}.{topic}"] == []
    new = [value(number).decode() for number in range(here.acknowledged)]
    assert Counter(one.value for one in after[topic]) == Counter(new)


def typed(host: Host, command: str) -> str:
    """What a command prints that root types on a host."""
    return str(host.check_output("bash -lc %s", command))


def test_the_commands_of_the_page_work(pair: Pair, hosts: dict[str, Host]) -> None:
    """By which an operator sees that all is copied, and sets a group to the end."""
    topic, group = pair.name("planned"), pair.name("planned-readers")
    first, second = pair.first, pair.second
    here = hosts[first.topology.group("kafka_brokers")[0]]
    there = over_ssh(second.topology)[second.topology.group("kafka_brokers")[0]]
    ends_there, shown, lag = guide.commands("A planned switch-over", PAGE)
    *_, reset = guide.commands("The way back", PAGE)
    lines = typed(here, ends_there.replace("orders", topic)).splitlines()
    ends = {int(part): int(end) for _, part, end in (line.split(":") for line in lines)}
    assert ends == reading.ends(first.topology.connection, topic)
    _, _, arguments = shown.partition("playbooks/connectors.yml")
    output = second.follow(first, pair.prefix, *arguments.split())
    assert topic in output
    assert not [end for end in ends.values() if end and f" {end - 1}" not in output]
    rows = [
        line.split()
        for line in typed(there, lag.replace("billing", group)).splitlines()
        if f" {FIRST}.{topic} " in line
    ]
    assert len(rows) == len(ends)
    assert {row[5] for row in rows} <= {"0", "1"}, rows
    typed(here, reset.replace("orders", topic).replace("billing", group))
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
            found = pair.second.offsets(topic, copy)
            every = reading.ends(pair.second.topology.connection, copy)
            return bool(found) and found.keys() == every.keys() and min(found.values()) > 0

        wait_for(follows, seconds=180, what="offsets of the ledger's group")
        target.wait_for_acks(6000)
        with cut_off(first, hosts):
            target.acks_stop()
            history = journal.load(folder)
            pair.second.create(topic)
            # Consumers go on at once, and producers write to the second cluster from now on.
            after = pair.second.as_group(topic, copy, topic)
            here = Sender(pair.second.topology, topic)
            found = judge(history, pair.second.read(copy), after[copy])
            (folder / "failover.json").write_text(json.dumps(asdict(found), indent=2) + "\n")
            assert found.acknowledged > 6000
            assert found.read_after, "the group was given nothing at the second cluster"
            assert not found.wrong(), found
            # It was a moment behind, and so is what the group had committed.
            assert found.lost < found.acknowledged / 10, found
            wait_for(lambda: here.acknowledged > 300, seconds=60, what="records meanwhile")
            here.stop()
            again = pair.second.as_group(topic, topic, copy)
            local, middle = after[topic] + again[topic], again[copy]
            new = Counter(value(number).decode() for number in range(here.acknowledged))
            assert Counter(one.value for one in local) == new
        # The first cluster is back with all that it had acknowledged, and the mirror goes on.
        target.wait_for_acks()
        acknowledged = values_of(journal.load(folder))
        wait_for(
            lambda: acknowledged <= {one.value for one in pair.second.read(copy)},
            seconds=180,
            what="what had not been copied",
        )
        everything = pair.second.read(copy)
        rest = middle + pair.second.as_group(topic, topic, copy)[copy]
        # The ledger's consumer reads at the first cluster again, and its offsets are translated.
        late = judge(journal.load(folder), everything, after[copy] + rest)
        assert not late.wrong(), late
        assert acknowledged <= {one.value for one in everything}
    first.follow(pair.second, pair.prefix)
    wait_for(
        lambda: Counter(one.value for one in first.read(back)) == new,
        seconds=180,
        what="what was written meanwhile, once",
    )
    wait_for(
        lambda: first.offsets(topic, back).keys() == {*range(PARTITIONS)},
        seconds=180,
        what="the offsets of the group, back",
    )
    more = Sender(pair.second.topology, topic)
    wait_for(lambda: more.acknowledged > 50, seconds=60, what="more records")
    more.stop()
    both = new + Counter(value(number).decode() for number in range(more.acknowledged))
    wait_for(
        lambda: Counter(one.value for one in first.read(back)) == both,
        seconds=120,
        what="the last records, once",
    )
    given = Counter(one.value for one in first.as_group(topic, back)[back])
    last = Counter(value(number).decode() for number in range(more.acknowledged))
    assert last <= given, "a record was not given to the group on the way back"
    assert given <= both
    circles = [one for one in (*first.topics(), *pair.second.topics()) if one.count(".") > 1]
    assert not [one for one in circles if topic in one], "nothing is copied in a circle"
