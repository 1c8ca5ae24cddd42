"""Read, transform and write in transactions, with kafka-python.

    transactions_kafka_python.py DIRECTORY SOURCE SINK NAME [COUNT]

For each record of SOURCE one is written to SINK, and the offset of the group NAME is committed
with it: both are there, or neither. NAME is the transactional id too: a second program of that name
fences off the first. It ends after COUNT records, or when none has come for 15 seconds. DIRECTORY
is what `clients.yml` has written for a user that may read SOURCE as the group, write to SINK and
use the transactional id.
"""

import json
import sys
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

directory, source, sink, name, *rest = sys.argv[1:]
left = int(rest[0]) if rest else None
login = json.loads(Path(directory, "kafka-python.json").read_text())

consumer = KafkaConsumer(
    source,
    **login,
    group_id=name,
    enable_auto_commit=False,
    auto_offset_reset="earliest",
    isolation_level="read_committed",  # nothing of transactions that were aborted
    consumer_timeout_ms=15_000,
)
producer = KafkaProducer(**login, transactional_id=name)
producer.init_transactions()
for record in consumer:
    partition = TopicPartition(record.topic, record.partition)
    offsets = {partition: OffsetAndMetadata(record.offset + 1, "", -1)}
    producer.begin_transaction()
    producer.send(sink, key=record.key, value=record.value.upper())
    producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
    producer.commit_transaction()
    left = left and left - 1
    if left == 0:
        break

# What a transaction wrote that is aborted stays in the log; who reads committed records skips it.
producer.begin_transaction()
producer.send(sink, value=b"ABORTED").get(timeout=30)
producer.abort_transaction()
producer.close()
consumer.close(autocommit=False)
