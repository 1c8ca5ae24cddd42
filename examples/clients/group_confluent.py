"""A member of a consumer group with confluent-kafka that commits what it has processed.

    group_confluent.py DIRECTORY TOPIC GROUP [COUNT] [--fail]

DIRECTORY is what `clients.yml` has written for a user that may read TOPIC, as a member of GROUP.
It ends after COUNT records, or when none has come for 15 seconds. With --fail the last one is not
committed, as if its processing had failed: the next member of the group gets it again.
"""

import sys
from pathlib import Path

from confluent_kafka import Consumer, KafkaException

fail = "--fail" in sys.argv
directory, topic, group, *rest = [word for word in sys.argv[1:] if word != "--fail"]
left = int(rest[0]) if rest else None
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

consumer = Consumer(
    {
        **login,
        "group.id": group,
        "enable.auto.commit": False,  # it would also commit what is not processed yet
        "auto.offset.reset": "earliest",  # where a group begins that has committed nothing
        "partition.assignment.strategy": "cooperative-sticky",  # others keep what they have
    }
)
consumer.subscribe(
    [topic],
    on_assign=lambda _, gained: print("assigned", len(gained), file=sys.stderr),
    on_revoke=lambda _, lost: print("revoked", len(lost), file=sys.stderr),
)
while record := consumer.poll(15):
    if record.error():
        raise KafkaException(record.error())
    print(record.value().decode(), flush=True)  # here it is processed
    left = left and left - 1
    if left == 0 and fail:
        break
    consumer.commit(record, asynchronous=False)  # commit rarely if this takes too long
    if left == 0:
        break
consumer.close()
