"""Read, transform and write in transactions, with confluent-kafka.

    transactions_confluent.py DIRECTORY SOURCE SINK NAME [COUNT]

For each record of SOURCE one is written to SINK, and the offset of the group NAME is committed
with it: both are there, or neither. NAME is the transactional id too: a second program of that name
fences off the first. It ends after COUNT records, or when none has come for 15 seconds. DIRECTORY
is what `clients.yml` has written for a user that may read SOURCE as the group, write to SINK and
use the transactional id.
"""

import sys
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

directory, source, sink, name, *rest = sys.argv[1:]
left = int(rest[0]) if rest else None
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

consumer = Consumer(
    {
        **login,
        "group.id": name,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",  # nothing of transactions that were aborted
    }
)
consumer.subscribe([source])
producer = Producer({**login, "transactional.id": name})
producer.init_transactions(30)
while record := consumer.poll(15):
    if record.error():
        raise KafkaException(record.error())
    offsets = [TopicPartition(record.topic(), record.partition(), record.offset() + 1)]
    producer.begin_transaction()
    producer.produce(sink, key=record.key(), value=record.value().upper())
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)  # sends what was produced first
    left = left and left - 1
    if left == 0:
        break

# What a transaction wrote that is aborted stays in the log; who reads committed records skips it.
producer.begin_transaction()
producer.produce(sink, value="ABORTED")
producer.flush(30)
producer.abort_transaction(30)
consumer.close()
