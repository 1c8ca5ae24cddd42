"""Taxi rides with a schema for the key and one for the value, as a course's example has them.

    python taxi_rides.py TOPIC GROUP COUNT

It writes COUNT rides and reads them back. The calls are those of `python/avro_example` in the
stream processing module of DataTalksClub's data engineering zoomcamp, without any other setting,
and at its addresses; schemas have the same names and fields. Its files are not here: the course
states no licence.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SERVERS, REGISTRY = "localhost:9092", "http://localhost:8081"
NAMESPACE = "com.datatalksclub.taxi"
INT, FLOAT = "int", "float"
FIELDS = {
    "vendor_id": INT,
    "passenger_count": INT,
    "trip_distance": FLOAT,
    "payment_type": INT,
    "total_amount": FLOAT,
}
SECONDS = 60


@dataclass
class RideRecordKey:
    """Whose ride it is."""

    vendor_id: int


@dataclass
class RideRecord:
    """A ride."""

    vendor_id: int
    passenger_count: int
    trip_distance: float
    payment_type: int
    total_amount: float


def schema(name: str, fields: dict[str, str]) -> str:
    """The text of an Avro schema."""
    columns = [{"name": field, "type": kind} for field, kind in fields.items()]
    record = {"namespace": NAMESPACE, "type": "record", "name": name, "fields": columns}
    return json.dumps(record, indent=2)


KEY = schema("RideRecordKey", {"vendor_id": INT})
VALUE = schema("RideRecord", FIELDS)


def to_dict(record: RideRecord | RideRecordKey, _: Any) -> dict[str, Any]:
    """What the serializers call."""
    return asdict(record)


def produce(topic: str, rides: list[RideRecord]) -> None:
    """Write rides, each with its vendor as key."""
    registry = SchemaRegistryClient({"url": REGISTRY})
    to_key = AvroSerializer(registry, KEY, to_dict)
    to_value = AvroSerializer(registry, VALUE, to_dict)
    producer = Producer({"bootstrap.servers": SERVERS})
    failures: list[Any] = []
    for ride in rides:
        key = RideRecordKey(ride.vendor_id)
        producer.produce(
            topic=topic,
            key=to_key(key, SerializationContext(topic=topic, field=MessageField.KEY)),
            value=to_value(ride, SerializationContext(topic=topic, field=MessageField.VALUE)),
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    assert producer.flush(SECONDS) == 0
    assert not failures, failures


def consume(topic: str, group: str, count: int) -> list[tuple[RideRecordKey, RideRecord]]:
    """Read keys and values as a member of a group."""
    registry = SchemaRegistryClient({"url": REGISTRY})
    from_key = AvroDeserializer(
        schema_registry_client=registry,
        schema_str=KEY,
        from_dict=lambda fields, _: RideRecordKey(**fields),
    )
    from_value = AvroDeserializer(
        schema_registry_client=registry,
        schema_str=VALUE,
        from_dict=lambda fields, _: RideRecord(**fields),
    )
    consumer = Consumer(
        {"bootstrap.servers": SERVERS, "group.id": group, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(topics=[topic])
    records: list[tuple[RideRecordKey, RideRecord]] = []
    while len(records) < count:
        message = consumer.poll(SECONDS)
        assert message, "nothing came"
        assert not message.error(), message.error()
        records.append(
            (
                from_key(message.key(), SerializationContext(topic, MessageField.KEY)),
                from_value(message.value(), SerializationContext(topic, MessageField.VALUE)),
            )
        )
    consumer.close()
    return records


def main(topic: str, group: str, count: int) -> None:
    """Write and read."""
    rides = [
        # Halves and quarters, which a float of four bytes holds exactly.
        RideRecord(number % 2 + 1, number % 5, number * 0.5, number % 3, number * 0.25)
        for number in range(count)
    ]
    produce(topic, rides)
    records = consume(topic, group, count)
    assert sorted(map(repr, records)) == sorted(
        repr((RideRecordKey(ride.vendor_id), ride)) for ride in rides
    )
    sys.stdout.write(f"{len(records)} rides\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
