"""The rules about numbers of Kafka that contradict each other.

From KafkaConfig.validateValues and GroupCoordinatorConfig: a broker with such numbers does not
start, or, where the rule is a warning, does not do what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import place

_MIB = 2**20
_UNITS: Mapping[str, int] = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
_BATCH_OVERHEAD = 12  # a record batch's offset and length, which the smaller default leaves out
_GROUP_SETTINGS = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
    "record.lock.duration.ms",
    "partition.max.record.locks",
    "delivery.count.limit",
    "num.standby.replicas",
)


_GROUP_PREFIXES = ("group.consumer.", "group.share.", "group.streams.")
# Pairs of keys of which the first may not be above the second; of a pair that a version does not
# have none is judged. The coordinator checks these of the protocols of KIP-848, 932 and 1071.
_GROUP_BOUNDS = tuple(
    pair
    for prefix in _GROUP_PREFIXES
    for setting in _GROUP_SETTINGS
    for pair in (
        (f"{prefix}min.{setting.removeprefix('num.')}", prefix + setting),
        (prefix + setting, f"{prefix}max.{setting.removeprefix('num.')}"),
    )
)
_GROUP_SESSIONS = tuple(
    (f"{prefix}heartbeat.interval.ms", f"{prefix}session.timeout.ms") for prefix in _GROUP_PREFIXES
)


def _above(
    cluster: Cluster, *pairs: tuple[str, str], times: int = 1, slack: int = 0, strict: bool = False
) -> Iterator[Finding]:
    """Find pairs where `times` the first number is above the second one by more than `slack`.

    With `strict` it may not be equal either.
    """
    for node in cluster.kafka.values():
        for small, large in pairs:
            low, high = node.number(small), node.number(large)
            if low is None or high is None or times * low + strict <= high + slack:
                continue
            factor = f"{times} x " if times > 1 else ""
            what = f"{factor}{small} {low} {'>=' if strict else '>'} {large} {high}."
            fix = f"Set {small}: {(high - strict) // times} or less, or {large}: "
            fix += f"{times * low + strict} or more."
            yield Finding(place(node, small, large), what, fix, (node.name,))


@rule(
    "heartbeat-interval",
    when="twice `broker.heartbeat.interval.ms` is more than `broker.session.timeout.ms`",
    why="A broker that misses one heartbeat would lose its session and all its leaderships.",
    remedy="Set the interval to half of the session or less.",
)
def _heartbeat_interval(cluster: Cluster) -> Iterator[Finding]:
    pair = ("broker.heartbeat.interval.ms", "broker.session.timeout.ms")
    if not cluster.inventory.in_zookeeper_mode:
        yield from _above(cluster, pair, times=2)


@rule(
    "replica-fetch-wait",
    when="`replica.fetch.wait.max.ms` is more than `replica.lag.time.max.ms` or "
    "`replica.socket.timeout.ms`",
    why="Followers of a quiet partition would leave the ISR, or time out, while they wait. Kafka "
    "does not start with it.",
    remedy="Lower `replica.fetch.wait.max.ms`; 500 is Kafka's default.",
)
def _replica_fetch_wait(cluster: Cluster) -> Iterator[Finding]:
    for limit in ("replica.lag.time.max.ms", "replica.socket.timeout.ms"):
        yield from _above(cluster, ("replica.fetch.wait.max.ms", limit))


@rule(
    "cleaner-buffer",
    when="`log.cleaner.dedupe.buffer.size` gives a thread of the cleaner 1 MiB or less, or there "
    "is no thread",
    why="Compaction needs more than 1 MiB a thread. Kafka does not start with less.",
    remedy="Raise `log.cleaner.dedupe.buffer.size` or lower `log.cleaner.threads`.",
)
def _cleaner_buffer(cluster: Cluster) -> Iterator[Finding]:
    buffer, threads = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
    for node in cluster.kafka.values():
        size, count = node.number(buffer), node.number(threads)
        if size is None or count is None or count < 0 or (count and size // count > _MIB):
            continue
        what = f"{buffer} {size} for {threads} {count}: more than 1 MiB a thread is needed."
        fix = f"Set {threads}: 1 or more."
        if count:
            fix = f"Set {buffer}: {count * (_MIB + 1)} or more."
        yield Finding(place(node, threads, buffer), what, fix, (node.name,))


@rule(
    "request-queue",
    when="`queued.max.request.bytes` is set and less than `socket.request.max.bytes`",
    why="The largest legal request would never fit into the queue. Kafka does not start with it.",
    remedy="Raise `queued.max.request.bytes`, or set it to -1 for no limit.",
)
def _request_queue(cluster: Cluster) -> Iterator[Finding]:
    queue, request = "queued.max.request.bytes", "socket.request.max.bytes"
    for node in cluster.kafka.values():
        room, size = node.number(queue), node.number(request)
        if room is not None and size is not None and 0 < room < size:
            what = f"{queue} {room} < {request} {size}."
            fix = f"Set {queue}: {size} or more, or -1 for no limit."
            yield Finding(place(node, queue, request), what, fix, (node.name,))


@rule(
    "authentication-delay",
    when="`connection.failed.authentication.delay.ms` is not less than `connections.max.idle.ms`",
    why="The connection would be closed as idle before the client hears why it was refused. Kafka "
    "does not start with it.",
    remedy="Lower the delay; 100 is Kafka's default.",
)
def _authentication_delay(cluster: Cluster) -> Iterator[Finding]:
    pair = ("connection.failed.authentication.delay.ms", "connections.max.idle.ms")
    yield from _above(cluster, pair, strict=True)


@rule(
    "group-limits",
    when="a setting of the consumer, share or streams groups is outside its own minimum and "
    "maximum, or a heartbeat is not less than its session",
    why="The group coordinator checks these pairs, and Kafka does not start when one is wrong.",
    remedy="Set a value between the minimum and the maximum that the message names.",
)
def _group_limits(cluster: Cluster) -> Iterator[Finding]:
    yield from _above(cluster, *_GROUP_BOUNDS)
    yield from _above(cluster, *_GROUP_SESSIONS, strict=True)


@rule(
    "message-over-request",
    when="`message.max.bytes` is more than `socket.request.max.bytes`",
    why="A record of that size needs a larger request, which the broker answers by closing the "
    "connection.",
    remedy="Raise `socket.request.max.bytes`.",
)
def _message_over_request(cluster: Cluster) -> Iterator[Finding]:
    yield from _above(cluster, ("message.max.bytes", "socket.request.max.bytes"))


@rule(
    "message-over-fetch",
    when="`message.max.bytes` is more than `replica.fetch.max.bytes`",
    why="A larger record is copied to followers alone, one a fetch, and replication falls behind.",
    remedy="Raise `replica.fetch.max.bytes` to the same.",
    severity="warning",
)
def _message_over_fetch(cluster: Cluster) -> Iterator[Finding]:
    pair = ("message.max.bytes", "replica.fetch.max.bytes")
    yield from _above(cluster, pair, slack=_BATCH_OVERHEAD)


def _milliseconds(node: KafkaNode, setting: str) -> tuple[str, int] | None:
    """Return the key that decides a time given in several units, and its milliseconds.

    Kafka takes the smallest unit that is set, else a default.
    """
    keys = {f"{setting}.{unit}": factor for unit, factor in _UNITS.items()}
    for key in sorted(keys, key=lambda key: key not in node.config):
        value = node.number(key)
        if value is not None:
            return key, value * keys[key]
    return None


@rule(
    "retention-zero",
    when="`log.retention.ms`, `.minutes` or `.hours` is 0",
    why="Kafka does not start with it: retention is at least 1, or -1 for no limit.",
    remedy="Set a time, or -1 to keep records for ever.",
)
def _retention_zero(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        found = _milliseconds(node, "log.retention")
        if found and found[1] == 0:
            fix = f"Set {found[0]}: 1 or more, or -1 to keep records for ever."
            yield Finding(place(node, found[0]), f"{found[0]} is 0.", fix, (node.name,))


@rule(
    "retention-below-roll",
    when="the inventory sets a retention time that is shorter than the age at which a segment is "
    "rolled",
    why="A segment goes as a unit, after its newest record: on a quiet topic records stay for the "
    "age of a segment and the retention together.",
    remedy="Set `log.roll.ms` to a part of the retention, if records must go in time.",
    severity="warning",
)
def _retention_below_roll(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        retention, roll = _milliseconds(node, "log.retention"), _milliseconds(node, "log.roll")
        if not retention or not roll or not 0 < retention[1] < roll[1]:
            continue
        if node.layer_of(retention[0]) or node.layer_of(roll[0]):
            what = f"{retention[0]} is {retention[1]} ms < {roll[0]} of {roll[1]} ms."
            fix = f"Set log.roll.ms: {max(1, retention[1] // 4)} for example."
            yield Finding(place(node, retention[0], roll[0]), what, fix, (node.name,))


@rule(
    "retention-below-segment",
    when="`log.retention.bytes` is set and less than `log.segment.bytes`",
    why="Only complete segments go, so a partition keeps more than the limit says.",
    remedy="Set `log.segment.bytes` to a part of `log.retention.bytes`.",
    severity="warning",
)
def _retention_below_segment(cluster: Cluster) -> Iterator[Finding]:
    retention, segment = "log.retention.bytes", "log.segment.bytes"
    for node in cluster.kafka.values():
        limit, size = node.number(retention), node.number(segment)
        if limit is not None and size is not None and 0 <= limit < size:
            what = f"{retention} {limit} < {segment} {size}."
            fix = f"Set {segment}: {max(_MIB, limit // 4)} for example."
            yield Finding(place(node, retention, segment), what, fix, (node.name,))


@rule(
    "setting-twice",
    when="a setting is given in several units, and one of the inventory's is not the one that "
    "counts",
    why="Kafka takes the smallest unit and ignores the others silently.",
    remedy="Set one unit alone.",
    severity="warning",
)
def _setting_twice(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        for setting in ("log.retention", "log.roll", "log.roll.jitter"):
            given = [key for unit in _UNITS if (key := f"{setting}.{unit}") in node.config]
            ignored = [key for key in given[1:] if node.layer_of(key)]
            if ignored:
                what = f"{given[0]} is set, so {listing(ignored)} is ignored."
                fix = f"Delete {listing(ignored)}, or {given[0]}."
                yield Finding(place(node, *ignored), what, fix, (node.name,))
