"""Producers of confluent-kafka with each level of acknowledgement.

    acks_confluent.py DIRECTORY TOPIC

DIRECTORY is what `clients.yml` has written for a user that may write to TOPIC.
"""

import sys
from pathlib import Path

from confluent_kafka import Producer

directory, topic = sys.argv[1:]
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

LEVELS = {
    # Nothing is answered: a record that is lost, or that the broker refuses, is lost in silence.
    "acks-0": {"acks": 0},
    # The leader has it: it is lost if the leader fails before another replica has copied it.
    "acks-1": {"acks": 1},
    # All replicas in sync have it, at least min.insync.replicas. A retry may write it twice.
    "acks-all": {"acks": "all"},
    # The same, and a retry neither writes a record twice nor changes the order.
    "idempotent": {"acks": "all", "enable.idempotence": True},
}
for level, settings in LEVELS.items():
    producer = Producer({**login, **settings})
    offsets = []

    def delivered(error, record, offsets=offsets):
        """Called by poll() and flush(), once for each record."""
        if error:
            raise SystemExit(f"not written: {error}")
        offsets.append(record.offset())

    for number in range(5):
        value = f"{level} {number}"
        producer.produce(topic, key="order", value=value, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(30) == 0, "some records are still waiting"
    print(level, "written" if settings["acks"] == 0 else f"written at {offsets}")
    if settings["acks"] != 0:
        assert offsets == [*range(offsets[0], offsets[0] + 5)], "in order, each once"
