"""The topics of the changes and of the results, which are there before whoever uses them.

`python -m changes.topics --client-config FILE` creates those that are missing, or deletes them with
`--delete`.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from changes.schemas import DIMENSIONS
from flights.kafka_log import create_topics, granted

LOG = logging.getLogger("changes.topics")
PARTITIONS = 3


class Topics:
    """Of changes every record is kept; of results the newest one of a key is the row of a table."""

    @staticmethod
    def layout() -> dict[str, tuple[int, dict[str, str]]]:
        """Name -> (partitions, topic configs)."""
        changes = {
            dimension.topic: (PARTITIONS, {"retention.ms": "-1"}) for dimension in DIMENSIONS
        }
        compacted = {"cleanup.policy": "compact"}
        return {
            **changes,
            **{dimension.result: (PARTITIONS, compacted) for dimension in DIMENSIONS},
        }


def delete(connection: Connection) -> list[str]:
    """Delete the topics that there are, and return their names."""
    with clients.admin(connection) as admin:
        present = sorted({*Topics.layout()} & {*admin.list_topics()})
        if present:
            admin.delete_topics(present)
    return present


def main(argv: list[str] | None = None) -> int:
    """Create the topics that are missing, or delete them."""
    parser = argparse.ArgumentParser(prog="changes.topics", description=main.__doc__)
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    parser.add_argument("--delete", action="store_true", help="delete them")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    connection = Connection.read(arguments.client_config)
    if arguments.delete:
        LOG.info("topics deleted: %s", ", ".join(delete(connection)) or "none, none exists")
        return 0
    with granted("create", *Topics.layout()):
        created = create_topics(connection, Topics())
    LOG.info("topics created: %s", ", ".join(created) or "none, all exist")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
