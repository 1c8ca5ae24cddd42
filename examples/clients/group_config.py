"""Configure a group as an administrator, with confluent-kafka.

    group_config.py DIRECTORY GROUP KEY=VALUE...

DIRECTORY is what `clients.yml` has written. Keys of the group that are not named stay as they are.
"""

import sys
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

directory, group, *settings = sys.argv[1:]
lines = Path(directory, "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")

entries = [
    ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    for key, value in (setting.split("=", 1) for setting in settings)
]
resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
admin = AdminClient(login)  # kept: results come only while it exists
for result in admin.incremental_alter_configs([resource]).values():
    result.result()
print("configured", group)
