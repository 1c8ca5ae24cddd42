"""The topics of the results, which neither the stream nor the sink creates.

`python -m changes.topics --client-config FILE` creates those that are missing.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection

from changes.schemas import DIMENSIONS
from flights.kafka_log import create_topics, granted

LOG = logging.getLogger("changes.topics")
PARTITIONS = 3


class Results:
    """The topics: the newest record of a key is the row of a table."""

    @staticmethod
    def layout() -> dict[str, tuple[int, dict[str, str]]]:
        """Name -> (partitions, topic configs)."""
        return {one.result: (PARTITIONS, {"cleanup.policy": "compact"}) for one in DIMENSIONS}


def main(argv: list[str] | None = None) -> int:
    """Create the topics of the results that are missing."""
    parser = argparse.ArgumentParser(prog="changes.topics", description=main.__doc__)
    parser.add_argument("--client-config", type=Path, required=True, metavar="FILE.properties")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    connection = Connection.read(arguments.client_config)
    with granted("create", *Results.layout()):
        created = create_topics(connection, Results())
    LOG.info("topics created: %s", ", ".join(created) or "none, all exist")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
