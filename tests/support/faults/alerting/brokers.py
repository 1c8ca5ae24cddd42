"""Faults of brokers, their partitions and disks, and of hosts."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from unittest import mock

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    ConfigResource,
    ConfigResourceType,
    errors,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.metrics.model import (
    NODE_UNIT,
)

from tests.support.faults.alerting.watched import (
    AlertingFault,
    Labels,
    Watched,
    remove_topics,
    stopped,
)
from tests.support.faults.catalogue.disks import fill, small_disk
from tests.support.faults.catalogue.entry import KILL
from tests.support.faults.catalogue.identities import authority
from tests.support.faults.catalogue.machines import clock_ahead
from tests.support.faults.catalogue.network import SLOW
from tests.support.faults.catalogue.resources import OFF_SECONDS
from tests.support.faults.target import DROP_ANSWERS, DROP_ANSWERS_TO, STOP_DROPPING
from tests.support.lab.topology import Topology
from tests.support.repeat import repeated
from tests.support.wait import wait_for

OUT_OF_SYNC_SECONDS = 90
# What is mounted in a container later does not reach the mounts of a unit that runs.
SEE_MOUNTS = f"systemctl restart {NODE_UNIT}"
SMALL, GROWTH, GROWTH_SECONDS = 200_000_000, 200_000, 5
"""Bytes of a disk, and by how much a file on it grows each time."""
SEGMENT = "00000000000000000000.log"
UNCLEAN = 1
"""The type of an election, as the protocol has it."""
LARGE = 150_000
"""Bytes that take two followers more than two seconds to fetch over a link of 1 Mbit/s."""


@contextlib.contextmanager
def producing(topology: Topology, topic: str, pause: float, size: int = 100) -> Iterator[None]:
    """A producer during the block, one record after the other, whatever it is answered."""
    ended = threading.Event()
    connected = clients.producer(
        topology.connection, acks="all", retries=0, enable_idempotence=False
    )

    def send() -> None:
        with contextlib.closing(connected) as producer:
            while not ended.wait(pause):
                with contextlib.suppress(errors.KafkaError):
                    producer.send(topic, b"x" * size, partition=0).get(30)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def broker_stopped(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The last broker is stopped; it has the only replica of one topic, and another needs it."""
    where = on.member("kafka_brokers")
    node = on.topology.cluster.kafka[where].id
    alone, strict = f"alone-{on.suffix}", f"strict-{on.suffix}"
    peers = [broker for broker in on.topology.brokers if broker != node]
    on.create_topic(alone, assignments={0: [node]})
    on.create_topic(strict, assignments={0: [*peers, node]}, configs={"min.insync.replicas": "3"})
    try:
        with stopped(on.hosts[where], "kafka"), producing(on.topology, strict, 0.2):
            yield {"KafkaDown": {"host": where}, "ProduceErrors": {"error": "NOT_ENOUGH_REPLICAS"}}
    finally:
        # A topic is not removed while its only replica is offline: docs/explain/weaknesses.md.
        on.wait_until_healthy()
        remove_topics(on, alone, strict)


@contextlib.contextmanager
def proxy_unreachable(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """No exporter of a host answers: what a cut link looks like to Prometheus."""
    name = on.member("kafka_brokers", 0)
    port = on.topology.cluster.metrics[name].ports["metrics_port"]
    on.hosts[name].check_output(DROP_ANSWERS, str(port))
    try:
        yield {"HostDown": {"host": name}}
    finally:
        on.hosts[name].run(STOP_DROPPING)  # what heals another fault may have done it


@contextlib.contextmanager
def certificate_ends(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The file of a certificate that ends tomorrow; what is running keeps the former one."""
    name = on.member("monitoring")
    certificate = on.topology.cluster.metrics[name].certificates[0]
    with mock.patch.object(certificates, "LEAF_DAYS", 1):
        text = certificates.issue(authority(on.topology.cluster), certificate)
    on.hosts[name].check_output("cp --preserve %s %s.kept", certificate.path, certificate.path)
    try:
        on.hosts[name].check_output("printf %%s %s > %s", text, certificate.path)
        yield {"CertificateExpiresSoon": {"host": name}, "CertificateExpired": {"host": name}}
    finally:
        on.hosts[name].check_output("mv %s.kept %s", certificate.path, certificate.path)


@contextlib.contextmanager
def disk_full(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The second log directory of a broker is a small disk, and becomes full.

    The first one has the metadata log of a combined node, which ends without it.
    """
    where = on.member("kafka_brokers")
    path = on.topology.cluster.kafka[where].data_dirs[-1]
    try:
        with small_disk(on, where, path):
            on.sh(where, SEE_MOUNTS)
            fill(on, where, path)
            yield {
                "LogDirectoryOffline": {"host": where},
                "DiskAlmostFull": {"host": where, "mountpoint": path},
            }
    finally:
        on.heal()
        on.wait_until_healthy()


@contextlib.contextmanager
def disk_fills(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A small disk of which a quarter is free; a file on it goes on growing."""
    where, path = on.member("monitoring"), "/srv/millrace-fills"
    grows = f"head -c {GROWTH} /dev/zero >> {path}/grows"
    try:
        on.sh(where, f"mkdir {path} && mount -t tmpfs -o size={SMALL} tmpfs {path}")
        on.sh(where, f"head -c {SMALL * 3 // 4} /dev/zero > {path}/kept; {SEE_MOUNTS}")
        with repeated(lambda: on.hosts[where].run(grows), GROWTH_SECONDS):
            yield {"DiskFullSoon": {"host": where, "mountpoint": path}}
    finally:
        on.hosts[where].run(f"umount {path}; rmdir {path}")


@contextlib.contextmanager
def unclean_election(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A leader answers a follower no more, and is killed once that one is out of sync.

    The follower is then elected on request.
    """
    controller = on.controller()
    leader, follower = sorted(on.topology.brokers, key=controller.__eq__)[:2]
    topic, where = f"unclean-{on.suffix}", on.topology.node(leader)
    # With more, a replica that has left the ISR could still be elected cleanly (KIP-966).
    configs = {"min.insync.replicas": "1"}
    on.create_topic(topic, assignments={0: [leader, follower]}, configs=configs)
    port = on.topology.cluster.kafka[where].listeners.for_host.port
    peer = on.topology.addresses[on.topology.node(follower)]

    def partition_is(**state: object) -> None:
        def found() -> bool:
            partition = on.partition(topic=topic)
            return bool(partition) and all(
                getattr(partition, name) == value for name, value in state.items()
            )

        wait_for(found, seconds=OUT_OF_SYNC_SECONDS, what=f"{topic} with {state}")

    try:
        partition_is(leader=leader, isr=(leader, follower))
        on.sh(where, DROP_ANSWERS_TO, peer, str(port))
        with producing(on.topology, topic, 0.2):
            partition_is(isr=(leader,))
        on.sh(where, f"{KILL}; systemctl stop kafka")
        partition_is(leader=-1)
        on.hosts[where].run(STOP_DROPPING)
        with on.admin() as admin:
            admin.elect_leaders(UNCLEAN, {topic: [0]})
        partition_is(leader=follower)
        yield {}
    finally:
        on.heal()
        on.wait_until_healthy()
        remove_topics(on, topic)


@contextlib.contextmanager
def slow_leader(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The link of a leader is slow, and it gets large records."""
    controller = on.controller()
    leader, *followers = sorted(on.topology.brokers, key=controller.__eq__)
    topic, where = f"slow-{on.suffix}", on.topology.node(leader)
    on.create_topic(topic, assignments={0: [leader, *followers[:2]]})
    try:
        on.sh(where, SLOW)
        with producing(on.topology, topic, 0.01, LARGE):
            yield {"ProduceLatencyHigh": {"host": where}}
    finally:
        on.hosts[where].run("tc qdisc del dev eth0 root")
        remove_topics(on, topic)


@contextlib.contextmanager
def damaged_segment(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The first segment of a topic is damaged on its only broker before it is to be compacted."""
    where = on.member("kafka_brokers")
    node = on.topology.cluster.kafka[where]
    topic = f"damaged-{on.suffix}"
    # Another segment with each record; small, so that the cleaner may take it at once.
    configs = {"segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
    on.create_topic(topic, assignments={0: [node.id]}, configs=configs)
    connected = clients.producer(on.topology.connection, acks="all")
    with contextlib.closing(connected) as producer:
        for number in range(4):
            time_stamp = int(time.time() * 1000) - 60_000 + number * 1000
            producer.send(topic, b"x", key=b"k", partition=0, timestamp_ms=time_stamp).get(30)
    paths = " ".join(f"{path}/{topic}-0" for path in node.data_dirs)
    on.hosts[where].check_output(
        f"set -- $(ls -d {paths} 2>/dev/null); test -s $1/{SEGMENT};"
        # The length of the first batch, which is then shorter than any batch can be.
        f" printf '\\0\\0\\0\\1' | dd of=$1/{SEGMENT} bs=1 seek=8 conv=notrunc status=none"
    )
    try:
        with on.admin() as admin:
            compact = ConfigResource(ConfigResourceType.TOPIC, topic, {"cleanup.policy": "compact"})
            admin.alter_configs([compact])
        yield {"LogCleanerFails": {"host": where}}
    finally:
        remove_topics(on, topic)


@contextlib.contextmanager
def wrong_clock(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """The clock of a machine is ten minutes ahead of that of the host that watches it."""
    where = on.topology.machines[0]
    with clock_ahead(on, where, OFF_SECONDS):
        yield {"ClockOffset": {"host": where}}


BROKER_STOPPED = AlertingFault(
    "a broker is stopped",
    broker_stopped,
    (
        "KafkaDown",
        "PartitionsWithoutLeader",
        "PartitionsUnderMinIsr",
        "PartitionsUnderReplicated",
        "ProduceErrors",
    ),
    needs=("kafka_brokers",),
)
CERTIFICATE_ENDS = AlertingFault(
    "a certificate ends", certificate_ends, ("CertificateExpiresSoon", "CertificateExpired")
)
HOST_UNREACHABLE = AlertingFault(
    "no exporter of a host answers", proxy_unreachable, ("HostDown",), needs=("kafka_brokers",)
)
WRONG_CLOCK = AlertingFault(
    "a machine's clock is ten minutes ahead",
    wrong_clock,
    ("ClockOffset",),
    needs=("monitoring",),
    needs_machine=True,
)
DAMAGED_SEGMENT = AlertingFault(
    "the log cleaner reads a damaged segment",
    damaged_segment,
    ("LogCleanerFails",),
    needs=("kafka_brokers",),
)
DISK_FULL = AlertingFault(
    "a log directory is full",
    disk_full,
    ("DiskAlmostFull", "LogDirectoryOffline"),
    needs=("kafka_brokers",),
)
DISK_FILLS = AlertingFault("a file that grows steadily", disk_fills, ("DiskFullSoon",), fires=900)
UNCLEAN_ELECTION = AlertingFault(
    "the last in-sync replica is killed, and an unclean election is asked for",
    unclean_election,
    ("UncleanLeaderElection",),
    needs=("kafka_controllers",),
    clears=420,
)
SLOW_LEADER = AlertingFault(
    "a leader's link is slow (1 Mbit/s)",
    slow_leader,
    ("ProduceLatencyHigh",),
    needs=("kafka_brokers",),
    clears=300,
)
