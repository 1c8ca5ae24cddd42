"""Producers of kafka-python with each level of acknowledgement.

    acks_kafka_python.py DIRECTORY TOPIC

DIRECTORY is what `clients.yml` has written for a user that may write to TOPIC.
"""

import json
import sys
from pathlib import Path

from kafka import KafkaProducer

directory, topic = sys.argv[1:]
login = json.loads(Path(directory, "kafka-python.json").read_text())

LEVELS = {
    # Nothing is answered: a record that is lost, or that the broker refuses, is lost in silence.
    "acks-0": {"acks": 0, "enable_idempotence": False},
    # The leader has it: it is lost if the leader fails before another replica has copied it.
    "acks-1": {"acks": 1, "enable_idempotence": False},
    # All replicas in sync have it, at least min.insync.replicas. A retry may write it twice.
    "acks-all": {"acks": "all", "enable_idempotence": False},
    # The same, and a retry neither writes a record twice nor changes the order.
    "idempotent": {"acks": "all", "enable_idempotence": True},
}
for level, settings in LEVELS.items():
    producer = KafkaProducer(**login, **settings)
    sent = [producer.send(topic, key=b"order", value=f"{level} {n}".encode()) for n in range(5)]
    offsets = [future.get(timeout=30).offset for future in sent]  # raises what the broker refused
    producer.close()
    print(level, "written" if settings["acks"] == 0 else f"written at {offsets}")
    if settings["acks"] != 0:
        assert offsets == [*range(offsets[0], offsets[0] + 5)], "in order, each once"
