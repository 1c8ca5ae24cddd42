"""The rules about a Kafka cluster: identity, quorum, replication and properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import key_table, versions
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    mapping,
    rule,
    sequence,
)
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import is_cluster_id

_MAX_NODE_ID = 2**31 - 1
_FIRST_CONTROLLER_ID = 100
_USER_LAYERS = ("kafka_config", "kafka_host_config")
_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_MIN_ISR = {
    "min.insync.replicas": "default.replication.factor",
    "transaction.state.log.min.isr": "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.min.isr": "share.coordinator.state.topic.replication.factor",
}


def raw_node_id(host: Host) -> Any:  # noqa: ANN401 - whatever YAML gave
    """Return the id as written; a host that --limit left undescribed still has its variable."""
    if "node_id" in host.kafka:
        return host.kafka["node_id"]
    return host.variables.get("kafka_node_id")


def node_id(host: Host) -> int | None:
    """Return a legal id as a number, None for anything else."""
    number = integer(raw_node_id(host))
    return number if number is not None and 0 <= number <= _MAX_NODE_ID else None


def nodes(inventory: Inventory) -> list[Host]:
    """Return the hosts of both Kafka groups, in the order of the inventory."""
    members = {*inventory.members("kafka_controllers"), *inventory.members("kafka_brokers")}
    return [host for name, host in inventory.hosts.items() if name in members]


def suggested_ids(inventory: Inventory) -> dict[str, int]:
    """Return an unused id for each node that has none, an illegal one or one taken before it."""
    everyone = nodes(inventory)
    used = {number for host in everyone if (number := node_id(host)) is not None}
    brokers = set(inventory.members("kafka_brokers"))
    seen: set[int] = set()
    suggested: dict[str, int] = {}
    for host in everyone:
        number = node_id(host)
        if number is not None and number not in seen:
            seen.add(number)
            continue
        candidate = 1 if host.name in brokers else _FIRST_CONTROLLER_ID
        while candidate in used:
            candidate += 1
        used.add(candidate)
        suggested[host.name] = candidate
    return suggested


def _set_ids(suggested: dict[str, int], hosts: list[str]) -> str:
    return "Set " + listing(f"kafka_node_id: {suggested[host]} on {host}" for host in hosts) + "."


@rule(
    "node-id-missing",
    when="a host in `kafka_brokers` or `kafka_controllers` has no `kafka_node_id`",
    why="A node's data is bound to its id, so the id is written down and never counted out.",
    remedy="Give each Kafka host its own `kafka_node_id`.",
)
def missing_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a Kafka node without an id."""
    hosts = [host.name for host in nodes(inventory) if raw_node_id(host) in (None, "")]
    if hosts:
        fix = _set_ids(suggested_ids(inventory), hosts)
        what = f"{listing(hosts)} {'have' if len(hosts) > 1 else 'has'} no node.id."
        yield Finding("kafka_node_id", what, fix, tuple(hosts))


@rule(
    "node-id-invalid",
    when="a `kafka_node_id` is negative, above 2147483647 or no whole number",
    why="Kafka takes an id from 0 to 2147483647.",
    remedy="Set `kafka_node_id` to an unused whole number.",
)
def invalid_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id that Kafka cannot take."""
    suggested = suggested_ids(inventory)
    for host in nodes(inventory):
        raw = raw_node_id(host)
        if raw not in (None, "") and node_id(host) is None:
            what = f"{raw!r} is no node.id."
            yield Finding("kafka_node_id", what, _set_ids(suggested, [host.name]), (host.name,))


@rule(
    "node-id-duplicate",
    when="two Kafka hosts have the same `kafka_node_id`",
    why="Brokers and controllers share one id space; the second node is refused by the cluster.",
    remedy="Give one of them an unused id; a node that already holds data keeps its own.",
)
def duplicate_node_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id used twice."""
    suggested = suggested_ids(inventory)
    holders: dict[int, list[str]] = {}
    for host in nodes(inventory):
        number = node_id(host)
        if number is not None:
            holders.setdefault(number, []).append(host.name)
    for number, hosts in holders.items():
        if len(hosts) > 1:
            what = f"node.id {number} is used by {listing(hosts)}."
            yield Finding("kafka_node_id", what, _set_ids(suggested, hosts[1:]), tuple(hosts))


@rule(
    "quorum-size",
    when="the number of controllers is even, or one beside more than one broker",
    why="A quorum needs a majority: an even number tolerates no more failures than one less.",
    remedy="Use 3 or 5 controllers, or set `kafka_allow_unsafe_quorum: true`.",
)
def quorum_size(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a quorum that tolerates no failure, or no more than a smaller one would."""
    controllers = inventory.members("kafka_controllers")
    brokers = inventory.members("kafka_brokers")
    count = len(controllers)
    one_node = count == 1 and set(brokers) <= set(controllers)
    answers = {str(host.kafka.get("allow_unsafe_quorum")).lower() for host in nodes(inventory)}
    accepted = bool(answers & {"true", "yes", "on", "1"})
    if count == 0 or accepted or one_node or (count > 1 and count % 2 == 1):
        return
    what = (
        f"{count} controller{'s' if count > 1 else ''} ({listing(controllers)}) "
        f"tolerate{'' if count > 1 else 's'} {(count - 1) // 2} failures."
    )
    sizes = f"{count - 1} or {count + 1}" if count > 3 else "3 or 5"
    fix = f"Use {sizes} controllers, or set kafka_allow_unsafe_quorum: true."
    yield Finding("group kafka_controllers", what, fix)


def _place(host: Host, key: str) -> str:
    """Name the layer that sets a key on this host."""
    own = mapping(host.kafka.get("own_config"))
    for layer in reversed(_USER_LAYERS):
        if key in mapping(own.get(layer)):
            return f"{layer}[{key}]"
    return f"kafka_config[{key}] (not set)"


def _value(host: Host, key: str) -> int | None:
    """Return the effective whole number of a key, Kafka's default included."""
    config = mapping(host.kafka.get("config"))
    if key in config:
        return integer(config[key])
    table = key_table.load(str(host.kafka.get("version", "")))
    return integer(table.get(key, {}).get("default"))


@rule(
    "replication-factor",
    when="a replication factor is larger than the number of brokers",
    why="Creating such a topic fails; without its internal topics no group can commit.",
    remedy="Lower the factor, or add brokers. Without a value Millrace takes min(3, brokers).",
)
def replication_factor(inventory: Inventory) -> Iterator[Finding]:
    """Refuse more replicas than brokers."""
    brokers = len(inventory.members("kafka_brokers"))
    if not brokers:
        return
    for host in inventory.kafka_hosts():
        for key in _FACTORS:
            factor = _value(host, key)
            if factor is not None and factor > brokers:
                count = f"{brokers} broker{'s' if brokers > 1 else ''}"
                what = f"{key} {factor} > {count}."
                fix = f"Set {key}: {min(3, brokers)}, or add brokers."
                yield Finding(_place(host, key), what, fix, (host.name,))


@rule(
    "min-isr",
    when="a minimum of in-sync replicas is not below its replication factor (1 of 1 is legal)",
    why="One restart would stop all producers that want acks=all.",
    remedy="Set it one below the replication factor.",
)
def min_isr(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a minimum that leaves no room for a restart."""
    for host in inventory.kafka_hosts():
        for key, factor_key in _MIN_ISR.items():
            minimum, factor = _value(host, key), _value(host, factor_key)
            if minimum is None or factor is None or minimum < factor or minimum == factor == 1:
                continue
            what = f"{key} {minimum} >= {factor_key} {factor}."
            fix = f"Set {key}: {max(1, factor - 1)}."
            yield Finding(_place(host, key), what, fix, (host.name,))


def _own_keys(inventory: Inventory) -> Iterator[tuple[Host, str, str, Any]]:
    """Yield host, layer, key and value of each property that the user wrote."""
    for host in inventory.kafka_hosts():
        own = mapping(host.kafka.get("own_config"))
        for layer in _USER_LAYERS:
            for key, value in mapping(own.get(layer)).items():
                yield host, layer, str(key), value


def _is_owned(host: Host, key: str) -> bool:
    return key in mapping(host.kafka.get("owned"))


@rule(
    "owned-key",
    when="`kafka_config` or `kafka_host_config` holds a key that a variable or a group decides",
    why="Millrace derives the key on every host; a second source would disagree with it.",
    remedy="Remove the key and set the variable that the message names.",
)
def owned_key(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a property that Millrace itself writes."""
    for host, layer, key, _written in _own_keys(inventory):
        if _is_owned(host, key):
            owner = str(mapping(host.kafka.get("owned"))[key])
            instead = f"it follows from {owner}" if " " in owner else f"set {owner} instead"
            what = f"{key} is written by Millrace alone."
            yield Finding(f"{layer}[{key}]", what, f"Remove it; {instead}.", (host.name,))


@rule(
    "unknown-key",
    when="`kafka_config` or `kafka_host_config` holds a key that this Kafka version does not know",
    why="Kafka ignores an unknown key without a word.",
    remedy="Correct or delete the key; the message names the nearest legal one.",
)
def unknown_key(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a property that the binary would ignore."""
    for host, layer, key, _written in _own_keys(inventory):
        version = str(host.kafka.get("version", ""))
        table = key_table.load(version)
        if not table or (key_table.is_known(key, table) and not versions.removed(key, version)):
            continue
        if _is_owned(host, key):
            continue
        what, fix = _about_unknown(key, version, table)
        yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


def _about_unknown(key: str, version: str, table: key_table.Table) -> tuple[str, str]:
    removal = versions.removed(key, version)
    if removal:
        what = f"{key} was removed in Kafka {removal.since}, this is {version}."
        return what, f"Set {removal.instead} instead." if removal.instead else "Delete it."
    near = key_table.nearest_key(key, table)
    what = f"Kafka {version} has no key {key}."
    return what, f"Did you mean {near}? Else delete it." if near else "Delete it."


@rule(
    "key-value",
    when="a property's value is not of the type, in the range or among the values Kafka takes",
    why="Kafka would refuse to start with it.",
    remedy="Set a value of the kind that the message names.",
)
def key_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a value that the binary would refuse."""
    for host, layer, key, value in _own_keys(inventory):
        table = key_table.load(str(host.kafka.get("version", "")))
        wanted = "" if _is_owned(host, key) else key_table.wanted_value(key, value, table)
        if wanted:
            kind = table.get(key_table.table_key(key), {}).get("type")
            secret = kind == "password" or _yaml_type(value) == "mapping"
            shown = f"This {_yaml_type(value)}" if secret else f"{value!r} ({_yaml_type(value)})"
            what = f"{shown} is no legal value of {key}."
            yield Finding(f"{layer}[{key}]", what, f"Set {key} to {wanted}.", (host.name,))


def _yaml_type(value: object) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "nothing"}
    for kind, name in names.items():
        if isinstance(value, kind):
            return name
    return "list" if isinstance(value, list | tuple) else "mapping"


@rule(
    "cluster-id",
    when="`kafka_cluster_id` is set and no cluster id",
    why="A cluster id is a UUID of 16 bytes in 22 characters of URL-safe base64.",
    remedy="Leave `kafka_cluster_id` empty for a new cluster: an id is minted and kept beside the "
    "inventory. For an existing one copy `cluster.id` from its `meta.properties`.",
)
def cluster_id(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an id that kafka-storage would refuse."""
    for host in inventory.kafka_hosts():
        value = host.kafka.get("cluster_id")
        if value in (None, "") or (isinstance(value, str) and is_cluster_id(value)):
            continue
        fix = "Leave it empty to mint one, or copy cluster.id from a node's meta.properties."
        yield Finding("kafka_cluster_id", f"{value!r} is no cluster id.", fix, (host.name,))


@rule(
    "listener-port",
    when="two listeners of a Kafka node have the same port",
    why="A node binds each listener to its own port.",
    remedy="Give each listener in `kafka_listeners` and `kafka_controller_listener` its own port.",
)
def listener_port(inventory: Inventory) -> Iterator[Finding]:
    """Refuse two listeners on one port."""
    for host in inventory.kafka_hosts():
        listeners = [mapping(one) for one in sequence(host.kafka.get("listeners"))]
        ports = [port for one in listeners if (port := integer(one.get("port"))) is not None]
        for port, count in Counter(ports).items():
            if count > 1:
                names = [one.get("name") for one in listeners if integer(one.get("port")) == port]
                free = next(number for number in range(port + 1, port + 100) if number not in ports)
                what = f"The listeners {listing(names)} both have port {port}."
                fix = f"Set port: {free} for {names[-1]}."
                yield Finding("kafka_listeners", what, fix, (host.name,))
