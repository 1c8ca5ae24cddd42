"""Rides for rides.py: rides_start.py DIRECTORY TOPIC COUNT."""

import json
import sys
from pathlib import Path

from confluent_kafka import Producer

directory, topic, count = sys.argv[1:]
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
producer = Producer(dict(line.split("=", 1) for line in lines if line and line[0] != "#"))
for number in range(int(count)):
    zone = f"zone-{number % 3}"
    # From midnight, 2013-01-01, one ride every ten minutes; each fourth takes an hour.
    ride = {
        "zone": zone,
        "started": 1356998400 + 600 * number,
        "seconds": 3600 if number % 4 == 0 else 600,
    }
    producer.produce(topic, key=zone, value=json.dumps(ride))
assert producer.flush(30) == 0, "some rides are still waiting"
