"""The message of each predicate of the availability gate: what, why it forbids, what to do."""

from __future__ import annotations

from collections.abc import Mapping

_SPARE = (
    "add replicas with rebalance.yml (-e topic= -e replication=), or name the topics in "
    "kafka_allow_outage"
)
_IN_SYNC = "wait until their other replicas are in sync, or see the journals of those brokers"

# --config is what all versions know; /etc/profile.d/kafka.sh sets the variables on each Kafka host.
UNREGISTER = (
    "sudo kafka-cluster.sh unregister --bootstrap-server $KAFKA_BOOTSTRAP "
    "--config $KAFKA_CLIENT_CONFIG --id"
)
"""The command by which KRaft forgets a broker that is gone; its id follows."""

# By predicate; `gate` fills in the figures in braces.
TEXTS: Mapping[str, str] = {
    # The cluster
    "wrong-cluster": (
        "this is cluster {found}, the inventory says {expected}, which is not the cluster of "
        "these nodes: correct the bootstrap addresses or the inventory"
    ),
    # The quorum
    "no-leader": (
        "the controllers have no leader, so no partition could get another one: start a majority "
        "of them, or let them reach each other"
    ),
    "no-controller": (
        "no broker is the controller, so no partition could get another leader: see whether "
        "ZooKeeper serves, and the brokers' journals"
    ),
    "no-quorum": (
        "controller {ids} is not known to the brokers, which have no KRaft quorum, so the effect "
        "of its stop is unknown: correct the inventory, or finish the migration from ZooKeeper"
    ),
    "voter-missing": (
        "controller {ids} is not a voter, so fewer may fail than the inventory promises: add it "
        "to the quorum, or correct the inventory"
    ),
    "unexpected-voter": (
        "controller {ids} is a voter but not in the inventory, so Millrace does not manage it: "
        "add it to the inventory, or remove it from the quorum"
    ),
    "voter-behind": (
        "controller {ids} did not have all metadata within the last {allowed} ms, so it could not "
        "become the leader: wait for it, or see its journal"
    ),
    "unsafe-quorum": (
        "the quorum needs all of its {voters} voters, so it has no leader while controller "
        "{node} restarts: use three controllers, or set kafka_allow_unsafe_quorum"
    ),
    "quorum-majority": (
        "without controller {node} only {left} of {voters} voters are up and caught up; a leader "
        "needs {majority}: start the others, or wait until they are caught up"
    ),
    # Brokers
    "not-registered": (
        "broker {ids}: not registered, so the other brokers already carry the load: start it, or "
        "see its journal"
    ),
    "fenced": (
        "broker {ids} is registered but fenced, so it does not serve clients: wait until it has "
        "caught up, or see its journal"
    ),
    "unexpected-broker": (
        "broker {ids} is registered but not in the inventory, so Millrace does not "
        "manage it: add it there, or stop it and run on a Kafka host, for each id, "
        "`" + UNREGISTER + " ID`"
    ),
    # Topics
    "unreadable": (
        "{count} of the topics cannot be described, so the effect of a stop on them is "
        "unknown: let this client describe all topics"
    ),
    "throttled": (
        "the replication of {count} of the topics is throttled, so a restarted broker might never "
        "get in sync again: delete (leader|follower).replication.throttled.replicas"
    ),
    # Partitions, whichever node is to stop
    "offline": (
        "{count} of {total} partitions have no leader, so the node that is stopped could be the "
        "one they wait for: start the brokers of their replicas"
    ),
    "under-min-isr": (
        "{count} of {total} partitions have fewer replicas in sync than min.insync.replicas, so "
        "acks=all is refused already: start the brokers of their replicas, or wait until they are "
        "in sync"
    ),
    "under-replicated": (
        "{count} of {total} partitions have a replica that is not in sync (broker {ids}), so "
        "no further replica may fail during a restart: wait, or see that broker's journal"
    ),
    "reassigning": (
        "{count} of {total} partitions are being reassigned, so their replicas change during "
        "the restart: wait until the reassignment is done, or cancel it"
    ),
    "single-replica": (
        "{count} of {total} partitions have a single replica, so they are offline while its "
        "broker restarts: " + _SPARE
    ),
    "no-spare-replica": (
        "{count} of {total} partitions have no more replicas than min.insync.replicas, so "
        "acks=all is refused while a broker of theirs restarts: " + _SPARE
    ),
    # Partitions of the broker that is to stop
    "last-in-sync": (
        "{count} of {total} partitions have no in-sync replica but broker {node}, so they "
        "would be offline without it: " + _IN_SYNC
    ),
    "min-isr-without": (
        "{count} of {total} partitions would have fewer replicas in sync than "
        "min.insync.replicas without broker {node}, so acks=all would be refused: " + _IN_SYNC
    ),
}
