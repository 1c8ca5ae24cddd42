"""Keys and values as Avro, JSON and Protobuf with schemas in a registry, with confluent-kafka.

    registry.py DIRECTORY TOPIC FORMAT

It writes three orders to TOPIC, which has one partition, and reads them back. FORMAT is avro, json
or protobuf. Schemas are registered when they are first used, as TOPIC-key and TOPIC-value.
DIRECTORY is what `clients.yml` has written for a user that may write to TOPIC, read it as a member
of the group shop, and register schemas.
"""

import json
import sys
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KEY = {"id": "long"}
ORDER = {"id": "long", "item": "string", "price": "double"}
ORDERS = [
    {"id": 1, "item": "cup", "price": 4.5},
    {"id": 2, "item": "Müsli", "price": 3.25},
    {"id": 2**40, "item": "plate", "price": 0.5},
]


def avro(registry, name, fields):
    """Serializer and deserializer, which reads each record by its writer's schema."""
    columns = [{"name": field, "type": kind} for field, kind in fields.items()]
    schema = json.dumps({"type": "record", "name": name, "fields": columns})
    return AvroSerializer(registry, schema), AvroDeserializer(registry)


def json_schema(registry, name, fields):
    """JSON Schema: the serializer refuses what is not valid."""
    kinds = {"long": "integer", "double": "number", "string": "string"}
    properties = {field: {"type": kinds[kind]} for field, kind in fields.items()}
    schema = json.dumps({"title": name, "type": "object", "properties": properties})
    return (
        JSONSerializer(schema, registry),
        JSONDeserializer(schema, schema_registry_client=registry),
    )


def protobuf(registry, name, fields):
    """The class is made here, so that nothing has to be generated: `protoc` makes the same one."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name=name)
    kinds = {"long": "TYPE_INT64", "double": "TYPE_DOUBLE", "string": "TYPE_STRING"}
    for number, (field, kind) in enumerate(fields.items(), start=1):
        message.field.add(name=field, number=number, type=kinds[kind], label="LABEL_OPTIONAL")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))
    serialize = ProtobufSerializer(made, registry)
    deserialize = ProtobufDeserializer(made, schema_registry_client=registry)

    def to_dict(data, context):
        record = deserialize(data, context)
        return {field: getattr(record, field) for field in fields}

    return lambda values, context: serialize(made(**values), context), to_dict


def properties(path):
    """Keys and values of a file."""
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and line[0] != "#")


directory, topic, name = Path(sys.argv[1]), *sys.argv[2:]
login = properties(directory / "librdkafka.conf")
registry = SchemaRegistryClient(properties(directory / "schema-registry.conf"))
serializers = {"avro": avro, "json": json_schema, "protobuf": protobuf}[name]
to_key, from_key = serializers(registry, "Key", KEY)
to_value, from_value = serializers(registry, "Order", ORDER)
key, value = (
    SerializationContext(topic, field) for field in (MessageField.KEY, MessageField.VALUE)
)

# It says itself what it reads, yet the library wants a group, and the user a grant for it.
consumer = Consumer({**login, "group.id": "shop", "enable.auto.commit": False})
_, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
producer = Producer(login)
for order in ORDERS:
    producer.produce(topic, key=to_key({"id": order["id"]}, key), value=to_value(order, value))
assert producer.flush(30) == 0, "some records are still waiting"

consumer.assign([TopicPartition(topic, 0, end)])
for order in ORDERS:
    record = consumer.poll(30)
    assert record, "nothing came"
    assert not record.error(), record.error()
    assert from_key(record.key(), key) == {"id": order["id"]}
    assert from_value(record.value(), value) == order
    print(name, record.value().hex())
consumer.close()
