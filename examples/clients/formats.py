"""The same records as JSON, msgpack and Avro.

    formats.py DIRECTORY TOPIC FORMAT

It writes three orders to TOPIC, which has one partition, and reads them back. FORMAT is json,
msgpack or avro. DIRECTORY is what `clients.yml` has written for a user that may write to TOPIC, and
read it as a member of the group shop.
"""

import io
import json
import sys
from pathlib import Path

import fastavro
import msgpack
from confluent_kafka import Consumer, Producer, TopicPartition

# Avro's bytes hold neither names nor types: whoever reads them needs the schema of the writer.
SCHEMA = json.loads(Path(__file__).with_name("order.avsc").read_text())
PARSED = fastavro.parse_schema(SCHEMA)


def to_avro(order):
    """The bytes that Spark's `from_avro` reads with the same schema: without a header."""
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, PARSED, order, strict=True)
    return buffer.getvalue()


FORMATS = {
    "json": (lambda order: json.dumps(order).encode(), json.loads),
    "msgpack": (msgpack.packb, msgpack.unpackb),
    "avro": (to_avro, lambda data: fastavro.schemaless_reader(io.BytesIO(data), PARSED, None)),
}
ORDERS = [
    {"id": 1, "item": "cup", "price": 4.5, "note": None},
    {"id": 2, "item": "Müsli", "price": 3.25, "note": "without nuts"},
    {"id": 2**40, "item": "", "price": 0.0, "note": ""},
]

directory, topic, name = sys.argv[1:]
serialize, deserialize = FORMATS[name]
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

# It says itself what it reads, yet the library wants a group, and the user a grant for it.
consumer = Consumer({**login, "group.id": "shop", "enable.auto.commit": False})
_, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
producer = Producer(login)
for order in ORDERS:
    producer.produce(topic, value=serialize(order), headers={"content-type": name})
assert producer.flush(30) == 0, "some records are still waiting"

consumer.assign([TopicPartition(topic, 0, end)])
for order in ORDERS:
    record = consumer.poll(30)
    assert record, "nothing came"
    assert not record.error(), record.error()
    assert dict(record.headers()) == {"content-type": name.encode()}
    assert deserialize(record.value()) == order
    print(name, record.value().hex())
consumer.close()
