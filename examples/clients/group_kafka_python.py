"""A member of a consumer group with kafka-python that commits what it has processed.

    group_kafka_python.py DIRECTORY TOPIC GROUP [COUNT] [--fail]

DIRECTORY is what `clients.yml` has written for a user that may read TOPIC, as a member of GROUP.
It ends after COUNT records, or when none has come for 15 seconds. With --fail the last one is not
committed, as if its processing had failed: the next member of the group gets it again.
"""

import json
import sys
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

fail = "--fail" in sys.argv
directory, topic, group, *rest = [word for word in sys.argv[1:] if word != "--fail"]
left = int(rest[0]) if rest else None
login = json.loads(Path(directory, "kafka-python.json").read_text())

consumer = KafkaConsumer(
    topic,
    **login,
    group_id=group,
    enable_auto_commit=False,  # it would also commit what is not processed yet
    auto_offset_reset="earliest",  # where a group begins that has committed nothing
    consumer_timeout_ms=15_000,
)
for record in consumer:
    print(record.value.decode(), flush=True)  # here it is processed
    left = left and left - 1
    if left == 0 and fail:
        break
    # The offset of the next record to read. Commit rarely if this takes too long.
    partition = TopicPartition(record.topic, record.partition)
    consumer.commit({partition: OffsetAndMetadata(record.offset + 1, "", -1)})
    if left == 0:
        break
consumer.close(autocommit=False)
