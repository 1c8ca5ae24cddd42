"""Write the table of the keys of a version of Kafka Connect, as the binary itself prints them.

    python -m artifacts.connect.keys HOME plugins/plugin_utils/services/connect/keys/<version>.json

The keys of a worker's clients follow their prefixes. What converters, config providers and other
plugins read is not in it (see plugins/plugin_utils/services/connect/key_table.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

from artifacts.kafka import keys

CONFIGS = {
    "": "org.apache.kafka.connect.runtime.distributed.DistributedConfig",
    "admin.": "org.apache.kafka.clients.admin.AdminClientConfig",
    "consumer.": "org.apache.kafka.clients.consumer.ConsumerConfig",
    "producer.": "org.apache.kafka.clients.producer.ProducerConfig",
}
_FIELDS = [field for field in keys.FIELDS if field != "Update Mode"]


def connect_keys(libs: Path) -> dict[str, dict[str, str | None]]:
    """Return the table of the Kafka Connect in a directory of jars."""
    return {
        f"{prefix}{key}": entry
        for prefix, config in CONFIGS.items()
        for key, entry in keys.parse(keys.page(libs, config), _FIELDS).items()
    }


if __name__ == "__main__":
    sys.exit(keys.main(read=connect_keys))
