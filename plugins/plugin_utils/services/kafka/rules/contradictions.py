"""The rules about numbers of Kafka that contradict each other.

From KafkaConfig.validateValues and GroupCoordinatorConfig: a broker with such numbers does not
start, or, where the rule is a warning, does not do what they say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .....module_utils.formats.values import is_true, listing, property_text, texts
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import brokers, differing, falls_back_to_default, nodes, place
from ..node import KafkaNode

_MIB = 2**20
_UNITS: Mapping[str, int] = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
_BATCH_OVERHEAD = 12  # a record batch's offset and length, which the smaller default leaves out
# Key, the client's default, and whether the key is an upper limit of it.
_CLIENT_DEFAULTS = (
    ("group.max.session.timeout.ms", 45_000, True),
    ("group.min.session.timeout.ms", 45_000, False),
    ("transaction.max.timeout.ms", 60_000, True),
    ("producer.id.expiration.ms", 120_000, True),
)
# Broker settings that are the defaults of topics.
_TOPIC_DEFAULTS = (
    *(f"log.retention.{unit}" for unit in ("ms", "minutes", "hours")),
    "log.cleanup.policy",
    "log.cleaner.delete.retention.ms",
    "log.message.timestamp.type",
    "message.max.bytes",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)
_LONGEST_FETCH_MS = 500
_MIGRATION = "zookeeper.metadata.migration.enable"
_REQUIRED = (("remote.log.storage.system.enable", "remote.log.storage.manager.class.name"),)
_SHARED_SECRETS = ("delegation.token.secret.key", "delegation.token.master.key")
_GROUP_SETTINGS = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
    "record.lock.duration.ms",
    "partition.max.record.locks",
    "delivery.count.limit",
    "num.standby.replicas",
)


def _above(
    node: KafkaNode, small: str, large: str, times: int = 1, slack: int = 0, strict: bool = False
) -> Findings:
    """Find where `times` the first number exceeds the second one by more than `slack`.

    With `strict` it must not be equal either. A version without both keys is not checked.
    """
    low, high = node.properties.number(small), node.properties.number(large)
    if low is None or high is None or times * low + strict <= high + slack:
        return
    factor = f"{times} x " if times > 1 else ""
    problem = f"{factor}{small} {low} {'>=' if strict else '>'} {large} {high}."
    most, least = (high - strict) // times, times * low + strict
    fix = f"Set {small}: {most} or less, or {large}: {least} or more."
    if most < 0:
        fix = f"Set {large}: {least} or more."
    yield Finding(problem, fix, place(node, small, large))


@rule("heartbeat-interval", each=nodes)
def _heartbeat_interval(node: KafkaNode) -> Findings:
    """A broker that misses one heartbeat would lose its session and all its leaderships."""
    if node.mode == "kraft":
        yield from _above(
            node, "broker.heartbeat.interval.ms", "broker.session.timeout.ms", times=2
        )


@rule("replica-fetch-wait", each=nodes)
def _replica_fetch_wait(node: KafkaNode) -> Findings:
    """Followers of a quiet partition would leave the ISR, or time out, while they wait. Kafka
    does not start with it.
    """
    for limit in ("replica.lag.time.max.ms", "replica.socket.timeout.ms"):
        yield from _above(node, "replica.fetch.wait.max.ms", limit)


@rule("cleaner-buffer", each=nodes)
def _cleaner_buffer(node: KafkaNode) -> Findings:
    """Compaction needs more than 1 MiB per thread. Kafka does not start with less."""
    buffer, threads = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
    size, count = node.properties.number(buffer), node.properties.number(threads)
    if size is None or count is None or count < 0 or (count and size // count > _MIB):
        return
    problem = f"{buffer} {size} for {threads} {count}: more than 1 MiB per thread is needed."
    fix = f"{buffer}: {count * (_MIB + 1)} or more." if count else f"{threads}: 1 or more."
    yield Finding(problem, f"Set {fix}", place(node, threads, buffer))


@rule("request-queue", each=nodes)
def _request_queue(node: KafkaNode) -> Findings:
    """The largest legal request would never fit into the queue. Kafka does not start with it."""
    queue, request = "queued.max.request.bytes", "socket.request.max.bytes"
    room, size = node.properties.number(queue), node.properties.number(request)
    if room is not None and size is not None and 0 < room < size:
        fix = f"Set {queue}: {size} or more, or -1 for no limit."
        yield Finding(f"{queue} {room} < {request} {size}.", fix, place(node, queue, request))


@rule("authentication-delay", each=nodes)
def _authentication_delay(node: KafkaNode) -> Findings:
    """The connection would be closed as idle before the client hears why it was refused. Kafka
    does not start with it.
    """
    delay = "connection.failed.authentication.delay.ms"
    if (node.properties.number("connections.max.idle.ms") or 0) < 0:  # they are never closed
        return
    yield from _above(node, delay, "connections.max.idle.ms", strict=True)


@rule("group-limits", each=nodes)
def _group_limits(node: KafkaNode) -> Findings:
    """The group coordinator checks these pairs, and Kafka does not start when one is wrong."""
    # Of the protocols of KIP-848, 932 and 1071.
    for prefix in ("group.consumer.", "group.share.", "group.streams."):
        for setting in _GROUP_SETTINGS:
            limit = setting.removeprefix("num.")
            yield from _above(node, f"{prefix}min.{limit}", prefix + setting)
            yield from _above(node, prefix + setting, f"{prefix}max.{limit}")
        session = f"{prefix}session.timeout.ms"
        yield from _above(node, f"{prefix}heartbeat.interval.ms", session, strict=True)


@rule("message-over-request", each=nodes)
def _message_over_request(node: KafkaNode) -> Findings:
    """A record of that size needs a larger request, which the broker answers by closing the
    connection.
    """
    yield from _above(node, "message.max.bytes", "socket.request.max.bytes")


@rule("message-over-segment", each=nodes)
def _message_over_segment(node: KafkaNode) -> Findings:
    """A batch is never split: one that is larger than a segment is refused (UnifiedLog), although
    it may have this size.
    """
    yield from _above(node, "message.max.bytes", "log.segment.bytes")


@rule("message-over-fetch", each=nodes, severity="warning")
def _message_over_fetch(node: KafkaNode) -> Findings:
    """A follower fetches such a record by itself, one in each request, and replication falls
    behind.
    """
    yield from _above(node, "message.max.bytes", "replica.fetch.max.bytes", slack=_BATCH_OVERHEAD)


def _milliseconds(node: KafkaNode, setting: str) -> tuple[str, int]:
    """Return the key that decides a time given in several units, and its milliseconds.

    Kafka takes the smallest unit that is set, else a default; -1 is no limit, or none known.
    """
    keys = {f"{setting}.{unit}": factor for unit, factor in _UNITS.items()}
    for key in sorted(keys, key=lambda key: key not in node.config):
        value = node.properties.number(key)
        if value is not None:
            return key, value * keys[key]
    return "", -1


@rule("retention-zero", each=nodes)
def _retention_zero(node: KafkaNode) -> Findings:
    """Kafka does not start with it: retention is at least 1, or -1 for no limit."""
    key, retention = _milliseconds(node, "log.retention")
    if retention == 0:
        fix = f"Set {key}: 1 or more, or -1 to keep records forever."
        yield Finding(f"{key} is 0.", fix, place(node, key))


@rule("retention-below-roll", each=nodes, severity="warning")
def _retention_below_roll(node: KafkaNode) -> Findings:
    """A segment is deleted as a whole, after its newest record has expired. On a topic with few
    writes records stay for the age of a segment plus the retention time.
    """
    key, retention = _milliseconds(node, "log.retention")
    roll_key, roll = _milliseconds(node, "log.roll")
    if 0 < retention < roll and any(map(node.properties.layer_of, (key, roll_key))):
        problem = f"{key} is {retention} ms < {roll_key} of {roll} ms."
        fix = f"Set log.roll.ms: {max(1, retention // 4)} for example."
        yield Finding(problem, fix, place(node, key, roll_key))


@rule("retention-below-segment", each=nodes, severity="warning")
def _retention_below_segment(node: KafkaNode) -> Findings:
    """Only whole segments are deleted, so a partition keeps more than the limit."""
    retention, segment = "log.retention.bytes", "log.segment.bytes"
    limit, size = node.properties.number(retention), node.properties.number(segment)
    if limit is not None and size is not None and 0 <= limit < size:
        problem = f"{retention} {limit} < {segment} {size}."
        fix = f"Set {segment}: {max(_MIB, limit // 4)} for example."
        yield Finding(problem, fix, place(node, retention, segment))


@rule("setting-duplicate", each=nodes, severity="warning")
def _setting_duplicate(node: KafkaNode) -> Findings:
    """Kafka takes the smallest unit and ignores the others silently."""
    for setting in ("log.retention", "log.roll", "log.roll.jitter"):
        configured = [key for unit in _UNITS if (key := f"{setting}.{unit}") in node.config]
        ignored = [key for key in configured[1:] if node.properties.layer_of(key)]
        if ignored:
            problem = f"{configured[0]} is set, so {listing(ignored)} is ignored."
            yield Finding(
                problem, f"Delete {listing(ignored)}, or {configured[0]}.", place(node, *ignored)
            )


@rule("compaction-lags", each=nodes)
def _compaction_lags(node: KafkaNode) -> Findings:
    """Records would have to stay uncompacted for longer than they may: Kafka refuses each topic
    with a configuration of its own.
    """
    least, most = (f"log.cleaner.{end}.compaction.lag.ms" for end in ("min", "max"))
    yield from _above(node, least, most)


@rule("connections-zero", each=nodes)
def _connections_zero(node: KafkaNode) -> Findings:
    """0 means no connections, not an unlimited number: Kafka starts with it only if
    max.connections.per.ip.overrides lets some addresses in.
    """
    key = "max.connections.per.ip"
    if node.properties.number(key) == 0 and not node.config.get(f"{key}.overrides"):
        fix = f"Delete it for no limit, or set {key}.overrides too."
        yield Finding(f"{key} is 0.", fix, place(node, key))


@rule("quorum-fetch-timeout", each=nodes)
def _quorum_fetch_timeout(node: KafkaNode) -> Findings:
    """A leader without new records answers a fetch after 500 ms (KafkaRaftClient), so that the
    other controllers would elect another one again and again.
    """
    key = "controller.quorum.fetch.timeout.ms"
    timeout = node.properties.number(key)
    if node.mode == "kraft" and timeout is not None and timeout <= _LONGEST_FETCH_MS:
        fix = f"Set {key}: {2 * _LONGEST_FETCH_MS} or more, or delete it for 2000."
        yield Finding(f"{key} is {timeout}.", fix, place(node, key))


@rule("required-property", each=brokers)
def _required_property(node: KafkaNode) -> Findings:
    """Kafka does not start with one of them without the other."""
    for key, required in _REQUIRED:
        if is_true(node.config.get(key)) and not node.config.get(required):
            fix = f"Set {required}, or delete {key}."
            yield Finding(f"{key} is true, and {required} is not set.", fix, place(node, key))


@rule("zookeeper-migration", each=nodes)
def _zookeeper_migration(node: KafkaNode) -> Findings:
    """A broker with it does not start without the addresses of KRaft controllers, which the brokers
    of an ensemble do not have here (KIP-866).
    """
    if node.mode == "zookeeper" and is_true(node.config.get(_MIGRATION)):
        fix = "Delete it; a cluster goes to KRaft as a new one, whose topics a mirror fills "
        fix += "(docs/operate/mirroring.md)."
        yield Finding(f"{_MIGRATION} is true.", fix, place(node, _MIGRATION))


@rule("rebalance-protocols", each=nodes)
def _rebalance_protocols(node: KafkaNode) -> Findings:
    """Brokers on ZooKeeper have only the classic protocol, and do not start with another."""
    key = "group.coordinator.rebalance.protocols"
    if node.mode == "zookeeper" and {*texts(node.config.get(key))} - {"classic"}:
        yield Finding(f"{key} is {node.config[key]}.", "Delete it.", place(node, key))


@rule("shared-secret-differs")
def _shared_secret_differs(cluster: Cluster) -> Findings:
    """Tokens would be accepted only where they were made."""
    for key in _SHARED_SECRETS:
        values = {name: str(node.config.get(key, "")) for name, node in nodes(cluster)}
        if len({*values.values()}) > 1 and not any("${" in value for value in values.values()):
            fix = "Set it once, in kafka_config of all brokers and controllers."
            where = f"kafka_config[{key}]"
            yield Finding(f"{key} is not the same on all nodes.", fix, where, tuple(values))


@rule("client-timeouts", each=nodes)
def _client_timeouts(node: KafkaNode) -> Findings:
    """Clients with default settings ask for more, or less, and are refused: a consumer for a
    session of 45 s (INVALID_SESSION_TIMEOUT), a transactional producer for 60 s
    (INVALID_TRANSACTION_TIMEOUT). A producer retries for 120 s; if its id expires before that, a
    record is written twice or refused.
    """
    for key, default, most in _CLIENT_DEFAULTS:
        limit = node.properties.number(key)
        if limit is not None and (limit < default if most else limit > default):
            bound = f"{default} or {'more' if most else 'less'}"
            problem = f"{key} is {limit}, and clients ask for {default} by default."
            yield Finding(problem, f"Set {key}: {bound}, or delete it.", place(node, key))


@rule("kafka-config-differs", where="kafka_config")
def _kafka_config_differs(cluster: Cluster) -> Findings:
    """A kafka_config of one host or of a smaller group replaces that of a larger one as a whole."""
    roles: dict[tuple[bool, bool], dict[str, Mapping[str, Any]]] = {}
    for name, node in nodes(cluster):
        if not falls_back_to_default(cluster, name, "kafka_config"):
            alike = roles.setdefault((node.is_broker, node.is_controller), {})
            alike[name] = node.layers["kafka_config"]
    for alike in roles.values():
        held = Counter(key for keys in alike.values() for key in keys)
        common = [key for key, count in held.items() if count > len(alike) / 2]
        for name, keys in alike.items():
            lost = [key for key in common if key not in keys]
            if lost:
                fix = f"Set what only {name} has in kafka_host_config, or repeat the rest."
                problem = f"{name} has no {listing(lost)}, which most others have."
                yield Finding(problem, fix, hosts=(name,))


@rule("topic-defaults-differ")
def _topic_defaults_differ(cluster: Cluster) -> Findings:
    """Each broker applies its own value to the partitions that it has: records would be kept,
    compacted or accepted differently as leadership moves.
    """
    for key in _TOPIC_DEFAULTS:
        written = {name: _as_read(node, key) for name, node in brokers(cluster)}
        set_by = [name for name, node in brokers(cluster) if node.properties.layer_of(key)]
        differences = differing(cluster, "kafka_host_config", written) if set_by else ""
        if differences and "${" not in differences:
            fix = f"Set {key} once, in kafka_config of all brokers."
            where = place(cluster.kafka[set_by[0]], key)
            yield Finding(f"{key} is {differences}.", fix, where, tuple(written))


def _as_read(node: KafkaNode, key: str) -> str:
    """Return the value with which a node runs, as Kafka reads it."""
    value = node.config.get(key, node.table.get(key, {}).get("default"))
    text = property_text(value)
    return "none" if text is None else text.replace(" ", "").lower()
