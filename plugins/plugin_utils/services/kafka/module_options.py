"""The options of modules that operate Kafka, from the model of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from ..connect import connectors
from ..schema_registry import model as schema_registry
from . import node as kafka
from .listeners import MOVED
from .node import KafkaNode
from .peers import addresses
from .security import ITERATIONS, User

_FACTORS = {
    "": "default.replication.factor",
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}
"""Topic -> the property with the number of replicas that brokers create it with; all others: ""."""


def _kafka_health(node: KafkaNode, cluster: Cluster) -> Options:
    factors = {
        topic: factor
        for topic, key in _FACTORS.items()
        if (factor := node.properties.number(key)) is not None
    }
    return {**_gate(node, cluster), "tls_addresses": _tls_addresses(node), "factors": factors}


def _tls_addresses(node: KafkaNode) -> list[str]:
    """Return what the nodes of the cluster listen on with TLS, `host:port`."""
    listeners = [(listener, node.brokers) for listener in node.listeners.brokers]
    listeners += [(listener, node.voters) for listener in node.listeners.controllers]
    return [
        address
        for listener, peers in listeners
        if listener.encrypted
        for address in addresses(listener, peers)
    ]


def _expected(node: KafkaNode, _: Cluster) -> Options:
    return {
        "bootstrap": node.clients.other_brokers_first,
        "expect_brokers": [peer.id for peer in node.brokers],
        "expect_voters": [peer.id for peer in node.voters],
        **({"cluster_id": node.cluster_id} if node.cluster_id else {}),
    }


def _gate(node: KafkaNode, cluster: Cluster) -> Options:
    return {
        **_expected(node, cluster),
        "strict": node.settings["kafka_gate_strict"],
        "allow_outage": node.settings["kafka_allow_outage"],
        "allow_unsafe_quorum": node.settings["kafka_allow_unsafe_quorum"],
    }


def _kafka_restart(node: KafkaNode, cluster: Cluster) -> Options:
    # The options that stay the same for a whole roll.
    return {
        **_gate(node, cluster),
        "node": {
            "id": node.id,
            "broker": node.is_broker,
            "controller": node.is_controller,
            "address": node.clients.own_address,
            "ports": [listener.port for listener in node.listeners.all],
            "data_dirs": node.data_dirs,
            "replication": node.replication_factor,
            "peers": peers(node),
        },
    }


def limits(node: KafkaNode) -> Mapping[str, float]:
    """Return the seconds that each phase of a restart may take."""
    settings = node.settings
    return {
        "gate": settings["kafka_gate_timeout"],
        # After its timeout systemd kills the process; 30 s are for that and for a slow host.
        "stop": settings["kafka_stop_timeout"] + 30,
        "reboot": settings["kafka_reboot_timeout"],
        "start": settings["kafka_start_timeout"],
        "ready": settings["kafka_isr_timeout"],
    }


def _kafka_sets(node: KafkaNode, _: Cluster) -> Options:
    return {"bootstrap": node.clients.other_brokers_first}


def _kafka_rebalance(node: KafkaNode, cluster: Cluster) -> Options:
    return {**_expected(node, cluster), "gate_timeout": node.settings["kafka_gate_timeout"]}


def _kafka_decommission(node: KafkaNode, _: Cluster) -> Options:
    return {"bootstrap": node.clients.other_brokers_first}


def _kafka_replace(node: KafkaNode, cluster: Cluster) -> Options:
    replaced = {"id": node.id, "broker": node.is_broker, "controller": node.is_controller}
    return {**_expected(node, cluster), "node": replaced}


def _kafka_storage(node: KafkaNode, _: Cluster) -> Options:
    return {
        **_as_service_user(node),
        "cluster_id": node.cluster_id,
        "log_dirs": list(dict.fromkeys(path for _, path in node.data_directories)),
        "controller": node.is_controller,
        "initial_controllers": node.quorum.initial_controllers,
        "bootstrap": node.clients.other_brokers_first,
    }


def _kafka_voter(node: KafkaNode, _: Cluster) -> Options:
    return {
        **_as_service_user(node),
        "bootstrap": node.clients.bootstrap,
        "timeout": node.settings["kafka_start_timeout"],
    }


def _kafka_features(node: KafkaNode, cluster: Cluster) -> Options:
    return {**_expected(node, cluster), "target": node.version}


def _kafka_dynamic_config(node: KafkaNode, _: Cluster) -> Options:
    # The connection is to the broker itself. Before its restart the certificate that it shows lacks
    # an address that has changed since.
    address = node.clients.own_address
    port = address.rpartition(":")[2]
    return {
        "bootstrap": [f"localhost:{port}" if node.security.keys_are_ours else address],
        "node_id": node.id,
        "keys": node.dynamic_keys,
        "path": kafka.SERVER_PROPERTIES,
        "content": node.files()[kafka.SERVER_PROPERTIES]["content"],
    }


def _kafka_users(node: KafkaNode, _: Cluster) -> Options:
    # A login shows whether a user's password is the one that it should have.
    security = node.security
    login = security.login_listener
    trust = {
        key: value
        for key, value in node.clients.config.items()
        if key.startswith("ssl.truststore.")
    }
    return {
        "bootstrap": node.clients.bootstrap,
        "users": [_user(user, may_replace=security.may_replace(user)) for user in security.users],
        "mechanism": security.login_mechanism,
        "iterations": ITERATIONS,
        "login_bootstrap": node.clients.user_bootstrap if login else [],
        "login_properties": {"security.protocol": login.protocol, **trust} if login else {},
        "wait": node.settings["kafka_start_timeout"],
    }


def _kafka_topics(node: KafkaNode, cluster: Cluster) -> Options:
    worker = next(iter(cluster.connect.values()), None)
    topics = connectors.topics_read(worker.connectors) if worker else {}
    return {"bootstrap": node.clients.bootstrap, "topics": topics}


def _kafka_service_topics(node: KafkaNode, cluster: Cluster) -> Options:
    topics = schema_registry.topics(node.replication_factor) if cluster.schema_registry else {}
    wait = node.settings["kafka_start_timeout"]
    return {"bootstrap": node.clients.bootstrap, "topics": topics, "wait": wait}


def _kafka_listeners(node: KafkaNode, _: Cluster) -> Options:
    # Who still uses the former listeners counts when they are about to be closed.
    change = node.listeners.change
    leaves = change is not None and change.complete and change.phase == MOVED
    return {"ports": [listener.port for listener in node.listeners.former] if leaves else []}


def _user(user: User, *, may_replace: bool) -> Options:
    login = {"password": user.password, **({} if may_replace else {"replace": False})}
    return {
        "name": user.name,
        "state": "present" if user.present else "absent",
        "grants": [*user.grants],
        **(login if user.scram and user.password else {}),
    }


def _as_service_user(node: KafkaNode) -> Options:
    """Return what Kafka's own tools are run with on the node's host."""
    user = node.settings["kafka_user"]
    return {
        "home": node.distribution.home,
        "java": node.host.java.binary,
        "node_id": node.id,
        "user": user,
        "group": user,
    }


def peers(node: KafkaNode, others: Collection[int | None] = ()) -> list[str]:
    """Return the addresses of all nodes but this one and `others`, which are node ids."""
    brokers = zip(node.clients.bootstrap, (peer.id for peer in node.brokers), strict=False)
    voters = zip(node.quorum.addresses, (peer.id for peer in node.voters), strict=False)
    all_addresses = [*brokers, *voters]
    omitted = {address for address, id_ in all_addresses if id_ in (node.id, *others)}
    return list(dict.fromkeys(address for address, _ in all_addresses if address not in omitted))


OPERATIONS: Operations = {
    "kafka_contents": _expected,
    "kafka_health": _kafka_health,
    "kafka_restart": _kafka_restart,
    "kafka_sets": _kafka_sets,
    "kafka_rebalance": _kafka_rebalance,
    "kafka_decommission": _kafka_decommission,
    "kafka_replace": _kafka_replace,
    "kafka_remove_voter": _kafka_decommission,
    "kafka_storage": _kafka_storage,
    "kafka_voter": _kafka_voter,
    "kafka_features": _kafka_features,
    "kafka_dynamic_config": _kafka_dynamic_config,
    "kafka_listeners": _kafka_listeners,
    "kafka_users": _kafka_users,
    "kafka_topics": _kafka_topics,
    "kafka_service_topics": _kafka_service_topics,
}
