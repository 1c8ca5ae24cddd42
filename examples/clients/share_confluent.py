"""A member of a share group with confluent-kafka that acknowledges each record (KIP-932).

    share_confluent.py DIRECTORY TOPIC GROUP [COUNT] [--fail]

DIRECTORY is what `clients.yml` has written for a user that may read TOPIC, as a member of GROUP.
It ends after COUNT records, or when none has come for 15 seconds. With --fail the last one is
released, as if its processing had failed: a member of the group gets it again.
"""

import sys
import time
from pathlib import Path

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

IDLE_SECONDS = 15
fail = "--fail" in sys.argv
directory, topic, group, *rest = [word for word in sys.argv[1:] if word != "--fail"]
left = int(rest[0]) if rest else None
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

consumer = ShareConsumer(
    {
        **login,
        "group.id": group,
        "share.acknowledgement.mode": "explicit",  # else the next poll accepts all of the last one
    }
)
consumer.subscribe([topic])
last = time.monotonic()
while left != 0 and time.monotonic() < last + IDLE_SECONDS:
    for record in consumer.poll(1):
        if record.error():
            raise KafkaException(record.error())
        last = time.monotonic()
        if left == 0:  # it came with the last one; nobody has processed it
            consumer.acknowledge(record, AcknowledgeType.RELEASE)
            continue
        print(record.value().decode(), flush=True)  # here it is processed
        left = left and left - 1
        release = fail and left == 0
        # REJECT is for a record that nobody can process: it does not come again.
        consumer.acknowledge(record, AcknowledgeType.RELEASE if release else AcknowledgeType.ACCEPT)
    for partition, error in consumer.commit_sync(30.0).items():
        if error:  # the records are delivered again when their locks expire
            print(partition.topic, partition.partition, error, file=sys.stderr)
consumer.close()
