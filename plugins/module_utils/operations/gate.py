"""Whether a node may be stopped now, and in which order nodes are: the gate of a rolling change.

Pure, over one snapshot that was read with `gate`. What the snapshot cannot show is the caller's:
that the quorum is stable over time, free space, certificates. An empty list of blockers holds for
this moment only; the gate is asked again right before each stop.

The rules are those of Strimzi's KafkaAvailability and KafkaQuorumCheck, made stricter: partitions
that no order of restarts can keep available are refused unless their topic is named.

An unready node is one that does not serve, though its process may run. Only a restart can repair
it, so what follows from its own state does not forbid the restart: that it is not registered,
fenced, not in sync or behind as a voter; and a partition on it may be offline, below
min.insync.replicas or being reassigned. Every other problem forbids it: the next change must not
hide a fault of another cause. Topics without a spare replica are refused all the same: about them
the operator decides before any node is touched.

Brokers may also be stopped together, as a set. Each partition with replicas on several of them must
keep min.insync.replicas without all of these; no exception of a topic counts there. That others of
the set are away then forbids nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from ..kafka.snapshot import Partition, Quorum, Snapshot
from .gate_texts import TEXTS

SHOWN = 5
NO_NODES: frozenset[int] = frozenset()
CAUGHT_UP_MS = 2000
"""A voter that had all metadata this long ago is caught up: Kafka's own default of
controller.quorum.fetch.timeout.ms."""
MAX_LAG = 100
"""Records that a replica of the metadata log may be behind: idle controllers write as many in 50 s
(KIP-835)."""


@dataclass(frozen=True)
class Expected:
    """What the inventory says; None or empty means any."""

    brokers: frozenset[int] = frozenset()
    voters: frozenset[int] = frozenset()
    cluster_id: str | None = None


@dataclass(frozen=True)
class Policy:
    """What an operator lets a run do."""

    strict: bool = True
    """Ask for every replica in sync before a stop, so that one more failure during a restart does
    no harm."""
    allow_outage: frozenset[str] = frozenset()
    """Topics ("*": all) whose partitions may be unavailable or refuse acks=all while a node
    restarts, because they have no replica to spare; a partition that could be available stays
    protected."""
    allow_unsafe_quorum: bool = False

    def allows(self, topic: str) -> bool:
        """Return whether partitions of this topic may be unavailable if they have to be."""
        return bool({topic, "*"} & self.allow_outage)


NON_RETRIABLE = frozenset({"single-replica", "no-spare-replica", "unsafe-quorum"})
"""Predicates about the layout of the cluster, which waiting does not change."""


@dataclass(frozen=True)
class Blocker:
    """A reason not to touch nodes."""

    predicate: str
    """A slug."""
    what: str
    """A sentence with what, why and what to do."""
    partitions: tuple[str, ...] = ()
    """The names of all it is about (of topics, where it is about these), sorted."""

    def __str__(self) -> str:
        """Return it as one line with a few of the partitions."""
        if not self.partitions:
            return self.what
        hidden = len(self.partitions) - SHOWN
        few = ", ".join(self.partitions[:SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")
        return f"{self.what} ({few})"

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data, with all partitions and the line as `text`."""
        return {**vars(self), "partitions": list(self.partitions), "text": str(self)}


@dataclass(frozen=True)
class Node:
    """A node that is to be restarted; a combined one has both roles."""

    id: int
    broker: bool
    controller: bool
    rack: str = ""
    ready: bool = True
    """Whether it serves: the process of an unready one may be stopped, or run."""


def cluster_blockers(
    snapshot: Snapshot,
    expected: Expected,
    policy: Policy,
    unready: frozenset[int] = NO_NODES,
    leaving: frozenset[int] = NO_NODES,
) -> list[Blocker]:
    """Return what forbids touching any node; the state of `unready` nodes does not count.

    Replicas on brokers that are `leaving` need not be in sync.
    """
    return [
        *_identity_blockers(snapshot, expected),
        *_quorum_blockers(snapshot, expected, unready),
        *_broker_blockers(snapshot, expected, unready),
        *_partition_blockers(snapshot, policy, unready, leaving),
        *_replica_count_blockers(snapshot, policy),
    ]


def stop_blockers(
    snapshot: Snapshot,
    node: Node,
    expected: Expected,
    policy: Policy,
    others: frozenset[int] = NO_NODES,
) -> list[Blocker]:
    """Return what forbids stopping this node: what forbids touching any, and what would follow.

    An unready node's own state is no reason; the others must still serve without it. `others` are
    the brokers that are stopped together with it.
    """
    serving = {broker.id for broker in snapshot.brokers if not broker.fenced}
    unready = (NO_NODES if node.ready else frozenset({node.id})) | (others - serving)
    return [
        *cluster_blockers(snapshot, expected, policy, unready, others),
        *(_replica_blockers(snapshot, node, others) if node.broker else []),
        *(_majority_blockers(snapshot, node.id, expected, policy) if node.controller else []),
    ]


def sets(snapshot: Snapshot, brokers: Sequence[int], most: int) -> list[list[int]]:
    """Return brokers in sets that may be stopped together, in their order, at most `most` in one.

    Each set takes the first broker that is left, and each following one that the partitions can
    spare beside those in it. Whether a set may be stopped now is asked at the gate of each broker.
    """
    of_broker: dict[int, list[Partition]] = defaultdict(list)
    for partition in snapshot.partitions:
        for broker in partition.replicas:
            of_broker[broker].append(partition)
    remaining, planned = list(brokers), []
    while remaining:
        together: list[int] = []
        for broker in remaining:
            members = {*together, broker}
            if len(members) > most:
                break
            if not together or all(_spares(item, members) for item in of_broker[broker]):
                together.append(broker)
        planned.append(together)
        remaining = [broker for broker in remaining if broker not in together]
    return planned


def without_topic(snapshot: Snapshot, topic: str) -> Snapshot:
    """Return a snapshot without the partitions of a topic."""
    partitions = tuple(item for item in snapshot.partitions if item.topic != topic)
    return replace(snapshot, partitions=partitions)


def order(
    nodes: Iterable[Node], active: int | None, *, on_zookeeper: bool, reverse_roles: bool = False
) -> list[int]:
    """Return the ids in the order of restarts; `active` is the active controller, if it is known.

    Unready nodes first, else each step would break another one; then controllers, the active one
    last so that leadership moves once; then brokers rack by rack. `reverse_roles`, for a rollback,
    takes brokers before controllers. On ZooKeeper the broker that is the controller is the last.
    """

    def place(node: Node) -> tuple[bool, bool, bool, bool, str, int]:
        return (
            node.ready,
            on_zookeeper and node.id == active,
            node.controller == reverse_roles,
            node.controller and node.id == active,
            "" if node.controller else node.rack,
            node.id,
        )

    return [node.id for node in sorted(nodes, key=place)]


def must_wait_for_others(node: int, remaining: Collection[int], snapshot: Snapshot) -> bool:
    """Return whether a ready node is the active controller while others are among `remaining`.

    Leadership may have moved since the order was made. An unready node waits for no other.
    """
    peers = snapshot.quorum.voters if snapshot.quorum else snapshot.brokers
    peer_ids = {peer.id for peer in peers} - {node}
    return node == snapshot.controller_id and not peer_ids.isdisjoint(remaining)


def _identity_blockers(snapshot: Snapshot, expected: Expected) -> list[Blocker]:
    if expected.cluster_id in (None, snapshot.cluster_id):
        return []
    return [_blocker("wrong-cluster", found=snapshot.cluster_id, expected=expected.cluster_id)]


def _quorum_blockers(
    snapshot: Snapshot, expected: Expected, unready: frozenset[int]
) -> list[Blocker]:
    quorum = snapshot.quorum
    if quorum is None:
        leaderless = snapshot.controller_id < 0 and not expected.voters
        return [
            *_about_nodes(("no-quorum", expected.voters)),
            *([_blocker("no-controller")] if leaderless else []),
        ]
    voters = frozenset(voter.id for voter in quorum.voters)
    led = quorum.leader_id >= 0
    affected = not unready.isdisjoint(voters | expected.voters)
    return [
        *([] if led or affected else [_blocker("no-leader")]),
        *_about_nodes(
            ("voter-missing", expected.voters - voters - unready),
            ("unexpected-voter", voters - expected.voters if expected.voters else NO_NODES),
            # Without a leader it is not known how far each voter is.
            ("voter-behind", voters - caught_up(quorum) - unready if led else NO_NODES),
            allowed=CAUGHT_UP_MS,
        ),
    ]


def caught_up(quorum: Quorum) -> frozenset[int]:
    """Return the voters that could carry the quorum; the leader always is one."""
    if quorum.leader_id < 0:
        return NO_NODES
    return frozenset(
        voter.id
        for voter in quorum.voters
        if voter.id == quorum.leader_id
        or (voter.behind_ms is not None and voter.behind_ms <= CAUGHT_UP_MS)
    )


def lacks_majority(quorum: Quorum, node: int) -> str:
    """Return why the quorum is no caught-up majority without a node, empty if it is one."""
    if quorum.leader_id < 0:
        return "the controllers have no leader"
    if quorum.high_watermark <= 0:
        return "the controllers have committed nothing yet"
    voters = {voter.id for voter in quorum.voters}
    remaining, majority = caught_up(quorum) - {node}, len(voters) // 2 + 1
    if len(remaining) >= majority:
        return ""
    return f"only {len(remaining)} of {len(voters)} voters are caught up without it, not {majority}"


def _broker_blockers(
    snapshot: Snapshot, expected: Expected, unready: frozenset[int]
) -> list[Blocker]:
    registered = frozenset(broker.id for broker in snapshot.brokers)
    fenced = frozenset(broker.id for broker in snapshot.brokers if broker.fenced)
    unexpected = registered - expected.brokers if expected.brokers else NO_NODES
    return _about_nodes(
        ("not-registered", expected.brokers - registered - unready),
        ("fenced", fenced - unexpected - unready),
        ("unexpected-broker", unexpected),
    )


def _partition_blockers(
    snapshot: Snapshot, policy: Policy, unready: frozenset[int], leaving: frozenset[int]
) -> list[Blocker]:
    affected = {
        partition.name
        for partition in snapshot.partitions
        if not unready.isdisjoint(partition.replicas)
    }
    unaffected = [partition for partition in snapshot.partitions if partition.name not in affected]
    missing = {
        partition.name: set(partition.replicas) - set(partition.isr) - unready - leaving
        for partition in snapshot.partitions
        if policy.strict
    }
    unreadable = snapshot.unreadable_topics.items()
    return _about_names(
        snapshot,
        ("unreadable", [f"{topic}: error {code}" for topic, code in unreadable]),
        ("throttled", snapshot.throttled),
        ("offline", [partition.name for partition in unaffected if partition.offline]),
        ("under-min-isr", [partition.name for partition in unaffected if partition.under_min_isr]),
        ("under-replicated", [name for name, brokers in missing.items() if brokers]),
        ("reassigning", set(snapshot.reassigning) - affected),
        ids=_listed(set().union(*missing.values())),
    )


def _replica_count_blockers(snapshot: Snapshot, policy: Policy) -> list[Blocker]:
    """Name partitions with too few replicas to stay available, in whatever order nodes restart."""
    exposed = [
        partition
        for partition in snapshot.partitions
        if not _has_spare(partition) and not policy.allows(partition.topic)
    ]
    return _about_names(
        snapshot,
        (
            "single-replica",
            [partition.name for partition in exposed if len(partition.replicas) <= 1],
        ),
        (
            "no-spare-replica",
            [partition.name for partition in exposed if len(partition.replicas) > 1],
        ),
    )


def _has_spare(partition: Partition) -> bool:
    """Return whether one replica can be missing while acks=all is accepted; the setting is >= 1."""
    return len(partition.replicas) > partition.min_isr


def _spares(partition: Partition, members: Set[int]) -> bool:
    """Return whether a partition serves without these brokers, if several of them have it.

    One that has no in-sync replica on them loses nothing.
    """
    several = len(members & set(partition.replicas)) > 1
    return not several or members.isdisjoint(partition.isr) or not _missing(partition, members)


def _missing(partition: Partition, members: Set[int]) -> str:
    """Return the predicate for what a partition lacks without these brokers, empty for nothing."""
    remaining = set(partition.isr) - members
    if not remaining:
        return "last-in-sync"
    short = len(remaining) < min(partition.min_isr, len(partition.replicas))
    return "min-isr-without" if short else ""


def _replica_blockers(snapshot: Snapshot, node: Node, others: frozenset[int]) -> list[Blocker]:
    members = others | {node.id}
    names: dict[str, list[str]] = {"last-in-sync": [], "min-isr-without": [], "": []}
    for partition in snapshot.partitions:
        if node.id not in (partition.replicas if node.ready else partition.isr):
            continue
        alone = others.isdisjoint(partition.replicas)
        in_sync = set(partition.isr).issuperset(partition.replicas)
        if alone and in_sync and not _has_spare(partition):
            # It has too few replicas: that is allowed, or named for the whole cluster.
            continue
        names[_missing(partition, members)].append(partition.name)
    del names[""]
    return _about_names(snapshot, *names.items(), node=_listed(members))


def _majority_blockers(
    snapshot: Snapshot, node: int, expected: Expected, policy: Policy
) -> list[Blocker]:
    """Return a blocker unless the remaining voters are a caught-up majority (Strimzi).

    With one or two voters all are needed, so none may stop unless that is allowed.
    """
    quorum = snapshot.quorum
    if quorum is None:
        # Where voters are expected it is named for the whole cluster.
        return [] if expected.voters else _about_nodes(("no-quorum", {node}))
    voters = {voter.id for voter in quorum.voters}
    if node in voters and len(voters) <= 2:
        unsafe = _blocker("unsafe-quorum", voters=len(voters), node=node)
        return [] if policy.allow_unsafe_quorum else [unsafe]
    remaining = len(caught_up(quorum) - {node})
    majority = len(voters) // 2 + 1
    if remaining >= majority:
        return []
    return [
        _blocker(
            "quorum-majority", node=node, left=remaining, voters=len(voters), majority=majority
        )
    ]


def _blocker(predicate: str, names: Collection[str] = (), /, **figures: object) -> Blocker:
    return Blocker(predicate, TEXTS[predicate].format(**figures), tuple(sorted(names)))


def _about_nodes(*cases: tuple[str, Collection[int]], **figures: object) -> list[Blocker]:
    return [_blocker(predicate, (), ids=_listed(ids), **figures) for predicate, ids in cases if ids]


def _about_names(
    snapshot: Snapshot, *cases: tuple[str, Collection[str]], **figures: object
) -> list[Blocker]:
    total = len(snapshot.partitions)
    return [
        _blocker(predicate, names, count=len(names), total=total, **figures)
        for predicate, names in cases
        if names
    ]


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(str(number) for number in sorted(ids))
