"""The rules about numbers that contradict each other.

From KafkaConfig.validateValues and GroupCoordinatorConfig: a broker with such numbers does not
start, or, where the rule is a warning, does not do what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    listing,
    mapping,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import (
    number,
    own_layer,
    place,
)

_MIB = 2**20
_BATCH_OVERHEAD = 12  # a record batch's offset and length, which the smaller default leaves out
_GROUP_KINDS = ("consumer", "share", "streams")
_GROUP_SETTINGS = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
    "record.lock.duration.ms",
    "partition.max.record.locks",
    "delivery.count.limit",
    "num.standby.replicas",
)
_MS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}


def _where(host: Host, *keys: str) -> str:
    """Name the place of the first key that the user set, else of the first."""
    return place(host, next((key for key in keys if own_layer(host, key)), keys[0]))


def _above(
    inventory: Inventory, small: str, large: str, *, strict: bool = False
) -> Iterator[Finding]:
    """Refuse a key that is above another one, or not below it with `strict`."""
    for host in inventory.kafka_hosts():
        low, high = number(host, small), number(host, large)
        if low is None or high is None or low < high or (low == high and not strict):
            continue
        sign, word = (">=", "more than") if strict else (">", "at least")
        what = f"{small} {low} {sign} {large} {high}."
        fix = f"Set {small}: {high - strict} or less, or {large} to {word} {low}."
        yield Finding(_where(host, small, large), what, fix, (host.name,))


@rule(
    "heartbeat-interval",
    when="twice `broker.heartbeat.interval.ms` is more than `broker.session.timeout.ms`",
    why="A broker that misses one heartbeat would lose its session and all its leaderships.",
    remedy="Set the interval to half of the session or less.",
)
def heartbeat_interval(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a session that one lost heartbeat ends."""
    if inventory.in_zookeeper_mode():
        return
    interval, session = "broker.heartbeat.interval.ms", "broker.session.timeout.ms"
    for host in inventory.kafka_hosts():
        beat, timeout = number(host, interval), number(host, session)
        if beat is not None and timeout is not None and 2 * beat > timeout:
            what = f"2 x {interval} {beat} > {session} {timeout}."
            fix = f"Set {interval}: {timeout // 2} or less, or {session}: {2 * beat} or more."
            yield Finding(_where(host, interval, session), what, fix, (host.name,))


@rule(
    "replica-fetch-wait",
    when="`replica.fetch.wait.max.ms` is more than `replica.lag.time.max.ms` or "
    "`replica.socket.timeout.ms`",
    why="Followers of a quiet partition would leave the ISR, or time out, while they wait. Kafka "
    "does not start with it.",
    remedy="Lower `replica.fetch.wait.max.ms`; 500 is Kafka's default.",
)
def replica_fetch_wait(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a follower that waits for longer than it may."""
    for limit in ("replica.lag.time.max.ms", "replica.socket.timeout.ms"):
        yield from _above(inventory, "replica.fetch.wait.max.ms", limit)


@rule(
    "cleaner-buffer",
    when="`log.cleaner.dedupe.buffer.size` gives a thread of the cleaner 1 MiB or less, or there "
    "is no thread",
    why="Compaction needs more than 1 MiB a thread. Kafka does not start with less.",
    remedy="Raise `log.cleaner.dedupe.buffer.size` or lower `log.cleaner.threads`.",
)
def cleaner_buffer(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a buffer in which nothing can be compacted."""
    buffer, threads = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"
    for host in inventory.kafka_hosts():
        size, count = number(host, buffer), number(host, threads)
        if size is None or count is None or count < 0 or (count and size // count > _MIB):
            continue
        what = f"{buffer} {size} for {threads} {count}: more than 1 MiB a thread is needed."
        fix = f"Set {threads}: 1 or more."
        if count:
            fix = f"Set {buffer}: {count * (_MIB + 1)} or more."
        yield Finding(_where(host, threads, buffer), what, fix, (host.name,))


@rule(
    "request-queue",
    when="`queued.max.request.bytes` is set and less than `socket.request.max.bytes`",
    why="The largest legal request would never fit into the queue. Kafka does not start with it.",
    remedy="Raise `queued.max.request.bytes`, or set it to -1 for no limit.",
)
def request_queue(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a queue smaller than one request."""
    queue, request = "queued.max.request.bytes", "socket.request.max.bytes"
    for host in inventory.kafka_hosts():
        room, size = number(host, queue), number(host, request)
        if room is not None and size is not None and 0 < room < size:
            what = f"{queue} {room} < {request} {size}."
            fix = f"Set {queue}: {size} or more, or -1 for no limit."
            yield Finding(_where(host, queue, request), what, fix, (host.name,))


@rule(
    "authentication-delay",
    when="`connection.failed.authentication.delay.ms` is not less than `connections.max.idle.ms`",
    why="The connection would be closed as idle before the client hears why it was refused. Kafka "
    "does not start with it.",
    remedy="Lower the delay; 100 is Kafka's default.",
)
def authentication_delay(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an answer that comes after the connection's end."""
    keys = ("connection.failed.authentication.delay.ms", "connections.max.idle.ms")
    yield from _above(inventory, *keys, strict=True)


@rule(
    "group-limits",
    when="a setting of the consumer, share or streams groups is outside its own minimum and "
    "maximum, or a heartbeat is not less than its session",
    why="The group coordinator checks these pairs, and Kafka does not start when one is wrong.",
    remedy="Set a value between the minimum and the maximum that the message names.",
)
def group_limits(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a setting of the new group protocols (KIP-848, 932 and 1071) beyond its limits."""
    for kind in _GROUP_KINDS:
        prefix = f"group.{kind}."
        for setting in _GROUP_SETTINGS:
            limit = setting.removeprefix("num.")
            yield from _above(inventory, f"{prefix}min.{limit}", prefix + setting)
            yield from _above(inventory, prefix + setting, f"{prefix}max.{limit}")
        pair = (f"{prefix}heartbeat.interval.ms", f"{prefix}session.timeout.ms")
        yield from _above(inventory, *pair, strict=True)


@rule(
    "message-over-request",
    when="`message.max.bytes` is more than `socket.request.max.bytes`",
    why="A record of that size needs a larger request, which the broker answers by closing the "
    "connection.",
    remedy="Raise `socket.request.max.bytes`.",
)
def message_over_request(inventory: Inventory) -> Iterator[Finding]:
    """Refuse records that no request can carry."""
    yield from _above(inventory, "message.max.bytes", "socket.request.max.bytes")


@rule(
    "message-over-fetch",
    when="`message.max.bytes` is more than `replica.fetch.max.bytes`",
    why="A larger record is copied to followers alone, one a fetch, and replication falls behind.",
    remedy="Raise `replica.fetch.max.bytes` to the same.",
    severity="warning",
)
def message_over_fetch(inventory: Inventory) -> Iterator[Finding]:
    """Say when followers fetch less than a record."""
    message, fetch = "message.max.bytes", "replica.fetch.max.bytes"
    for host in inventory.kafka_hosts():
        largest, size = number(host, message), number(host, fetch)
        if largest is not None and size is not None and largest - _BATCH_OVERHEAD > size:
            what = f"{message} {largest} > {fetch} {size}."
            fix = f"Set {fetch}: {largest} or more."
            yield Finding(_where(host, message, fetch), what, fix, (host.name,))


def _units(host: Host, setting: str) -> dict[str, int]:
    """Return key -> value of a setting with several units, the one that Kafka takes first."""
    config = mapping(host.kafka.get("config"))
    found = {f"{setting}.{unit}": number(host, f"{setting}.{unit}") for unit in _MS}
    held = {key: value for key, value in found.items() if value is not None}
    return {key: held[key] for key in sorted(held, key=lambda key: key not in config)}


def _milliseconds(host: Host, setting: str) -> tuple[str, int] | None:
    """Return the key that decides a setting and its milliseconds, None without any."""
    for key, value in _units(host, setting).items():
        return key, value * _MS[key.rpartition(".")[2]]
    return None


@rule(
    "retention-zero",
    when="`log.retention.ms`, `.minutes` or `.hours` is 0",
    why="Kafka does not start with it: retention is at least 1, or -1 for no limit.",
    remedy="Set a time, or -1 to keep records for ever.",
)
def retention_zero(inventory: Inventory) -> Iterator[Finding]:
    """Refuse to keep nothing."""
    for host in inventory.kafka_hosts():
        found = _milliseconds(host, "log.retention")
        if found and found[1] == 0:
            fix = f"Set {found[0]}: 1 or more, or -1 to keep records for ever."
            yield Finding(_where(host, found[0]), f"{found[0]} is 0.", fix, (host.name,))


@rule(
    "retention-below-roll",
    when="the user sets a retention time that is shorter than the age at which a segment is rolled",
    why="A segment goes as a whole, after its newest record: on a quiet topic records stay for the "
    "age of a segment and the retention together.",
    remedy="Set `log.roll.ms` to a part of the retention, if records must go in time.",
    severity="warning",
)
def retention_below_roll(inventory: Inventory) -> Iterator[Finding]:
    """Say when records stay for longer than the retention says."""
    for host in inventory.kafka_hosts():
        retention, roll = _milliseconds(host, "log.retention"), _milliseconds(host, "log.roll")
        if not retention or not roll or not 0 < retention[1] < roll[1]:
            continue
        if own_layer(host, retention[0]) or own_layer(host, roll[0]):
            what = f"{retention[0]} is {retention[1]} ms < {roll[0]} of {roll[1]} ms."
            fix = f"Set log.roll.ms: {max(1, retention[1] // 4)} for example."
            yield Finding(_where(host, retention[0], roll[0]), what, fix, (host.name,))


@rule(
    "retention-below-segment",
    when="`log.retention.bytes` is set and less than `log.segment.bytes`",
    why="Only whole segments go, so a partition keeps more than the limit says.",
    remedy="Set `log.segment.bytes` to a part of `log.retention.bytes`.",
    severity="warning",
)
def retention_below_segment(inventory: Inventory) -> Iterator[Finding]:
    """Say when a partition keeps more bytes than the limit."""
    retention, segment = "log.retention.bytes", "log.segment.bytes"
    for host in inventory.kafka_hosts():
        limit, size = number(host, retention), number(host, segment)
        if limit is not None and size is not None and 0 <= limit < size:
            what = f"{retention} {limit} < {segment} {size}."
            fix = f"Set {segment}: {max(_MIB, limit // 4)} for example."
            yield Finding(_where(host, retention, segment), what, fix, (host.name,))


_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "log.retention": ("ms", "minutes", "hours"),
    "log.roll": ("ms", "hours"),
    "log.roll.jitter": ("ms", "hours"),
}


@rule(
    "setting-twice",
    when="a setting is given in several units, and one of the user's is not the one that counts",
    why="Kafka takes the smallest unit and ignores the others without a word.",
    remedy="Set one unit alone.",
    severity="warning",
)
def setting_twice(inventory: Inventory) -> Iterator[Finding]:
    """Say which of several units is ignored."""
    for host in inventory.kafka_hosts():
        config = mapping(host.kafka.get("config"))
        for setting, units in _SETTINGS.items():
            given = [key for unit in units if (key := f"{setting}.{unit}") in config]
            ignored = [key for key in given[1:] if own_layer(host, key)]
            if ignored:
                what = f"{given[0]} is set, so {listing(ignored)} counts for nothing."
                fix = f"Delete {listing(ignored)}, or {given[0]}."
                yield Finding(_where(host, *ignored), what, fix, (host.name,))
