"""Create topics as an administrator, with confluent-kafka.

    topics.py DIRECTORY TOPIC:PARTITIONS[:KEY=VALUE...]...

DIRECTORY is what `clients.yml` has written. A topic that exists already is left as it is.
"""

import sys
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

lines = Path(sys.argv[1], "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

topics = []
for text in sys.argv[2:]:
    name, partitions, *config = text.split(":")
    topics.append(
        NewTopic(name, int(partitions), config=dict(setting.split("=") for setting in config))
    )

admin = AdminClient(login)  # kept: results come only while it exists
for name, result in admin.create_topics(topics).items():
    try:
        result.result()
        print("created", name)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        print("exists already:", name)
