"""The same as `stream_job.rows` without Spark: one process with a consumer and a producer.

With confluent-kafka, whose network and record code is in C: the faster of the two clients in
Python, and so the one to be compared with. What it has written is flushed before the offsets are
committed: at least once, as with Spark's sink.

    python -m tests.bench.plain_consumer CLIENT.properties

reads requests (`source`, `sink`) from standard input, one a line, and writes answers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.client_formats import (
    client_files,
)
from confluent_kafka import Consumer, Producer, TopicPartition

COLUMNS = (
    "event_time",
    "origin",
    "dest",
    "carrier",
    "flight",
    "tailnum",
    "dep_delay",
    "arr_delay",
)
TAKEN, COMMITTED = 1_000, 30_000
"""Records that are taken at once, and between two commits."""
SECONDS = 60.0


def librdkafka(connection: Connection) -> dict[str, Any]:
    """A connection as confluent-kafka takes it."""
    properties = {"bootstrap.servers": ",".join(connection.bootstrap), **connection.properties}
    return dict(parse_properties(client_files(properties)["librdkafka.conf"]))


def producer(connection: Connection) -> Any:
    """As Java's producer is by default, which is that of Spark's sink: idempotent, acks=all."""
    settings = {
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 5,
        "partitioner": "murmur2_random",
        "delivery.report.only.error": True,
    }
    return Producer({**librdkafka(connection), **settings})


def consumer(connection: Connection, group: str) -> Any:
    """Its partitions are assigned by hand; `group` only stores the offsets."""
    settings = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "error"}
    return Consumer({**librdkafka(connection), **settings})


def ends(reader: Any, topic: str) -> dict[int, int]:
    """Partition to the end of its log."""
    partitions = reader.list_topics(topic, SECONDS).topics[topic].partitions
    return {
        number: reader.get_watermark_offsets(TopicPartition(topic, number), SECONDS)[1]
        for number in partitions
    }


def transform(value: bytes, sent: int) -> tuple[str, str] | None:
    """Key and value of the result, None for what is no flight."""
    event = json.loads(value)
    if event.get("carrier") is None:
        return None
    result = {name: event[name] for name in COLUMNS if event.get(name) is not None}
    result["lost"] = (event.get("arr_delay") or 0) - (event.get("dep_delay") or 0)
    result["sent"] = sent
    return f"{event['carrier']}-{event['flight']}", json.dumps(result, separators=(",", ":"))


def send(writer: Any, topic: str, key: Any, value: Any) -> None:
    """Hand over a record, and wait while the client's queue is full."""
    while True:
        try:
            writer.produce(topic, value, key, on_delivery=_fail)
        except BufferError:
            writer.poll(0.05)
        else:
            return


def _fail(error: object, _: object) -> None:
    message = f"not written: {error}"
    raise RuntimeError(message)


def flush(writer: Any) -> None:
    """Wait until all is acknowledged."""
    if remaining := writer.flush(SECONDS):
        message = f"{remaining} records were not acknowledged within {SECONDS:.0f} s"
        raise TimeoutError(message)


def drain(reader: Any, writer: Any, source: str, sink: str) -> int:
    """Handle what there is in a topic, from its beginning; returns how many records it were."""
    todo = {number: end for number, end in ends(reader, source).items() if end}
    total = sum(todo.values())
    reader.assign([TopicPartition(source, number, 0) for number in todo])
    done, committed, next_offsets = 0, 0, dict[int, int]()
    while done < total:
        for record in reader.consume(min(TAKEN, total - done), 1.0):
            if record.error():
                raise RuntimeError(str(record.error()))
            if result := transform(record.value(), record.timestamp()[1]):
                send(writer, sink, *result)
            done += 1
            next_offsets[record.partition()] = record.offset() + 1
        writer.poll(0)
        if done - committed >= COMMITTED or done >= total:
            flush(writer)
            positions = [TopicPartition(source, *entry) for entry in next_offsets.items()]
            reader.commit(offsets=positions, asynchronous=False)
            committed = done
    return done


def main() -> None:
    connection = Connection.read(Path(sys.argv[1]))
    reader, writer = consumer(connection, "bench-plain"), producer(connection)
    for line in sys.stdin:
        request, begun = json.loads(line), time.monotonic()
        count = drain(reader, writer, request["source"], request["sink"])
        response = {"rows": count, "seconds": time.monotonic() - begun}
        sys.stdout.write(json.dumps(response) + "\n")
        sys.stdout.flush()
    reader.close()


if __name__ == "__main__":
    main()
